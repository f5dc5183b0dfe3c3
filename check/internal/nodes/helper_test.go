package nodes

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandem-mc/tandem/check/internal/nodes/away"
	"github.com/tandem-mc/tandem/check/internal/nodes/given"
	"github.com/tandem-mc/tandem/check/internal/nodes/lives"
	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/internal/model"
)

// helpers are helpers of a test, each of which does one task at a time. Chance loses some of what
// they are given, and damages some of what they answer.
type helpers struct {
	t    *testing.T
	idle chan *Helper
	done chan bool // whether a task was done, for each
}

// start starts so many, with what they would be sent.
func start(t *testing.T, c Config, count int) *helpers {
	t.Helper()
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var there Config
	if err := json.Unmarshal(data, &there); err != nil {
		t.Fatal(err)
	}
	for i := range there.Nodes { // what was read from the file of the program does not cross
		there.Nodes[i].Program = c.Nodes[i].Program
	}
	w := &helpers{t: t, idle: make(chan *Helper, count), done: make(chan bool, 100_000)}
	for range count {
		h, err := NewHelper(t.Context(), there)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Close)
		w.idle <- h
	}
	return w
}

// Gather implements away.Workers.
func (w *helpers) Gather(int) int { return cap(w.idle) }

// Do implements away.Workers.
func (w *helpers) Do(_ context.Context, task []byte) ([]byte, bool) {
	chance := rand.IntN(10)
	if chance == 0 {
		w.done <- false
		return nil, false
	}
	h := <-w.idle
	defer func() { w.idle <- h }()
	answer, _, err := h.Explore(task, func() bool { return false })
	if err != nil {
		w.t.Error(err)
	}
	if chance == 1 {
		answer = answer[:rand.IntN(len(answer))]
	}
	w.done <- chance > 1
	return answer, true
}

// did is how many tasks they have done.
func (w *helpers) did() (count int) {
	for len(w.done) > 0 {
		if <-w.done {
			count++
		}
	}
	return count
}

// TestHelpers: an exploration comes to the same whoever explores its items, up to the
// counterexample and the number of executions.
func TestHelpers(t *testing.T) {
	air := exampleNodes(t, "heartbeat", "primary 127.0.0.1:7900", "backup 127.0.0.1:7901")
	slow := exampleNodes(t, "retry", "server 127.0.0.1:7400", "client")
	for _, c := range append(explorations(t),
		exploringCase{"datagrams", Config{Nodes: air,
			Datagrams: []string{"lost"}, Often: given.Often{DatagramLimit: 1}},
			model.Holds},
		exploringCase{"slow", Config{Nodes: slow, Slow: 1}, model.Violated},
	) {
		t.Run(c.name, func(t *testing.T) {
			alone, err := Run(t.Context(), c.Config)
			if err != nil {
				t.Fatal(err)
			}
			const count = 2
			w := start(t, c.Config, count)
			c.Away = w
			r, err := Run(t.Context(), c.Config)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(alone, r, cmpopts.IgnoreUnexported(Violation{})); d != "" {
				t.Errorf("%d helpers (-alone +helped)\n%s", count, d)
			}
			if did := w.did(); did == 0 && alone.Runs > 100 {
				t.Errorf("%d helpers have explored nothing", count)
			}
			if alone.Verdict != c.verdict {
				t.Errorf("%v (%s), want %v", alone.Verdict, alone.Reason, c.verdict)
			}
		})
	}
}

// TestFirst: what nodes do without anything chosen is the same wherever they run, and something
// else if they are others.
func TestFirst(t *testing.T) {
	program := build(t, "./paxos")
	first := func(ballots string) string {
		list := paxosNodes(program, 2, 2, "-ballots", ballots)
		h, err := NewHelper(t.Context(), Config{Nodes: list, Walks: &pick.Walks{}, Crash: given.Crash{}})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		digest, err := h.First()
		if err != nil || digest == "" {
			t.Errorf("%q, %v", digest, err)
		}
		return digest
	}
	one := first("1")
	if again := first("1"); again != one {
		t.Errorf("%s, and again %s", one, again)
	}
	if other := first("2"); other == one {
		t.Error("with other arguments nodes do the same")
	}
}

// TestUnwanted: an item that is not wanted any more ends without an answer, and the helper goes on.
func TestUnwanted(t *testing.T) {
	c := Config{Nodes: paxosNodes(build(t, "./paxos"), 2, 2, "-ballots", "1"), Executions: 300}
	w := start(t, c, 1)
	var tasks [][]byte
	c.Away = recordingTasks{w, &tasks}
	if _, err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if len(tasks) == 0 {
		t.Fatal("there are no tasks")
	}
	h := <-w.idle
	if answer, _, err := h.Explore(tasks[0], func() bool { return true }); answer != nil || err != nil {
		t.Errorf("%d bytes, %v", len(answer), err)
	}
	if answer, _, err := h.Explore(tasks[0], func() bool { return false }); answer == nil || err != nil {
		t.Errorf("%d bytes, %v", len(answer), err)
	}
	if _, _, err := h.Explore(tasks[0][:9], func() bool { return false }); err == nil {
		t.Error("a damaged task was explored")
	}
}

// recordingTasks notes tasks, and has nobody do them.
type recordingTasks struct {
	*helpers
	tasks *[][]byte
}

// Do implements away.Workers.
func (r recordingTasks) Do(_ context.Context, task []byte) ([]byte, bool) {
	*r.tasks = append(*r.tasks, task)
	return nil, false
}

// missing answers each task, and says that it has looked for some schedules in vain.
type missing struct {
	*helpers
	keys []string
}

// Do implements away.Workers.
func (m missing) Do(ctx context.Context, task []byte) ([]byte, bool) {
	data, _ := m.helpers.Do(ctx, task)
	a, err := away.DecodeAnswer(data)
	if err != nil {
		return nil, false
	}
	a.Missed = m.keys
	data, err = a.Encode()
	return data, err == nil
}

// TestMissed: an item whose helper has looked in vain for a schedule that is known here is not
// taken: with that, it may have come to something else.
func TestMissed(t *testing.T) {
	c := Config{Nodes: paxosNodes(build(t, "./paxos"), 2, 2, "-ballots", "1")}
	x, err := newExplorer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	x.ways.Remember("known", lives.Lives{{}})
	item := x.system.Work()[0]
	for key, taken := range map[string]bool{"known": false, "other": true} {
		w := start(t, c, 1)
		x.config.Away = missing{w, []string{key}}
		done := false
		for range 50 { // some are lost or damaged
			_, got := sender{x}.sent(t.Context(), item)
			done = done || got
		}
		if done != taken {
			t.Errorf("the schedule that was missed is %s: taken is %v", key, done)
		}
	}
}
