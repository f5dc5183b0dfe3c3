package process

import (
	"maps"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// crowded is a machine on which a pair always waits, while one processor is always idle.
type crowded struct {
	idle  int
	began time.Time
}

func (c *crowded) now() time.Duration {
	if c.began.IsZero() {
		c.began = time.Now()
	}
	return time.Since(c.began)
}

func (c *crowded) Waited(...int) time.Duration { return c.now() }
func (c *crowded) Idle() map[int]time.Duration { return map[int]time.Duration{c.idle: c.now()} }

// told is a machine that tells what a test says.
type told struct {
	waited time.Duration
	idle   map[int]time.Duration
}

func (m *told) Waited(...int) time.Duration { return m.waited }
func (m *told) Idle() map[int]time.Duration { return maps.Clone(m.idle) }

// TestCrowding: in each step, the pair has waited for a part of the time since the last, and others
// were idle for a part. It moves only if both were much in two steps, one after the other.
func TestCrowding(t *testing.T) {
	type step struct {
		passed, waited time.Duration
		idle           map[int]time.Duration
		thread         int // 0: the same as ever
		want           int
	}
	const e = lookEvery
	much := map[int]time.Duration{1: e * 6 / 10, 2: e * 9 / 10, 7: e}
	for name, steps := range map[string][]step{
		"alone": {{e, 0, much, 0, -1}, {e, e / 10, much, 0, -1}, {e, e / 10, much, 0, -1}},
		"with others": {
			{e, 0, much, 0, -1}, {e, e / 2, much, 0, -1}, {e, e / 2, much, 0, 2}, {e, e / 2, much, 0, 2},
		},
		"for a moment": {
			{e, 0, much, 0, -1}, {e, e / 2, much, 0, -1}, {e, 0, much, 0, -1}, {e, e / 2, much, 0, -1},
		},
		"all are busy": {
			{e, 0, nil, 0, -1}, {e, e / 2, nil, 0, -1},
			{e, e / 2, map[int]time.Duration{0: 0, 1: e / 3, 2: e / 2}, 0, -1},
		},
		"another thread": {{e, 0, much, 0, -1}, {e, e / 2, much, 0, -1}, {e, e / 2, much, 5, -1}},
		"long ago":       {{e, 0, much, 0, -1}, {e, e / 2, much, 0, -1}, {20 * e, 10 * e, much, 0, -1}},
		"equally idle": {
			{e, 0, nil, 0, -1}, {e, e, nil, 0, -1}, {e, e, map[int]time.Duration{2: e, 1: e}, 0, 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var allowed unix.CPUSet
			for _, cpu := range []int{0, 1, 2} { // but not 7
				allowed.Set(cpu)
			}
			m := &told{idle: map[int]time.Duration{0: 0, 1: 0, 2: 0, 7: 0}}
			c := crowding{machine: m}
			now := time.Unix(1, 0)
			for i, s := range steps {
				now = now.Add(s.passed)
				m.waited += s.waited
				for cpu, d := range s.idle {
					m.idle[cpu] += d
				}
				if !c.due(now) {
					t.Fatalf("step %d: it is not time to look", i)
				}
				if got := c.better(now, 3+s.thread, 4, &allowed); got != s.want {
					t.Errorf("step %d: processor %d, want %d", i, got, s.want)
				}
			}
			if c.due(now.Add(e - 1)) {
				t.Error("it looks too often")
			}
		})
	}
}

// TestKernel: what the kernel of this machine tells. A thread that never runs has not waited more.
func TestKernel(t *testing.T) {
	var k kernel
	if k.Idle() == nil {
		t.Error("nothing is known of processors")
	}
	tid := unix.Gettid()
	one := k.Waited(tid)
	if two := k.Waited(tid, tid); two < 2*one {
		t.Errorf("%v, twice %v", one, two)
	}
	const nobody = 1<<22 + 1 // above every pid
	if d := k.Waited(nobody); d != 0 {
		t.Errorf("nobody has waited for %v", d)
	}
}
