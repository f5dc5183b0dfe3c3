package ckptd

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/peers/watch"
)

// TestQuiescenceIsChosen: each method is the one that was asked for, and what there is not is
// refused.
func TestQuiescenceIsChosen(t *testing.T) {
	c := spawn(t, Options{Quiescence: watch.MethodProcfs})
	if method, why := c.Quiescence(); method != watch.MethodProcfs || why != nil {
		t.Errorf("procfs was asked for, and it is %s (%v)", method, why)
	}
	o := binaries
	o.Quiescence = "time-out"
	if _, err := Spawn(testContext(t), o); err == nil ||
		!strings.Contains(err.Error(),
			`there is no way "time-out" to judge quiescence: choose auto, procfs or ebpf`) {
		t.Errorf("%v", err)
	}
	c = spawn(t, Options{})
	switch method, why := c.Quiescence(); {
	case method == watch.MethodProcfs && why != nil:
		t.Logf("eBPF cannot be loaded here: %v", why)
		o.Quiescence = watch.MethodEBPF
		if _, err := Spawn(testContext(t), o); err == nil ||
			!strings.Contains(err.Error(), "count wake-ups by eBPF: ") {
			t.Errorf("%v", err)
		}
	case method != watch.MethodEBPF || why != nil:
		t.Errorf("by itself it is %s (%v)", method, why)
	}
}

// TestQuiescenceWithoutEBPF: who may not load it judges by /proc, and knows why; if nothing else
// was wanted it is an error.
func TestQuiescenceWithoutEBPF(t *testing.T) {
	err := osthread.Run(func() error { // which ends with it
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&header, &none[0]); err != nil {
			return err
		}
		var c Client
		if err := c.openWakeups(QuiescenceAuto); err != nil {
			return err
		}
		if method, why := c.Quiescence(); method != watch.MethodProcfs || why == nil {
			t.Errorf("without privileges quiescence is judged by %s (%v)", method, why)
		}
		if err := c.openWakeups(watch.MethodEBPF); err == nil {
			t.Error("without privileges eBPF was loaded")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkQuiescence is about a request to merecat, its answer, and the judgement that it is
// whole.
func BenchmarkQuiescence(b *testing.B) {
	for _, method := range []string{watch.MethodProcfs, watch.MethodEBPF} {
		b.Run(method, func(b *testing.B) {
			c := spawnPlain(b, Options{Quiescence: method})
			g := start(b, c, patientMerecat(b))
			talk := connectTo(b, g, merecatAddress)
			image := savedGroup(b, g)
			total := watch.Effort{}
			for n := 0; b.Loop(); n++ {
				if n%90 == 89 { // merecat closes a connection after 100 requests
					b.StopTimer()
					if err := g.Restore(testContext(b), image); err != nil {
						b.Fatal(err)
					}
					talk.obtain()
					g.ResetEffort()
					b.StartTimer()
				}
				talk.ask(get("/a.txt"))
				e := g.ResetEffort()
				total.Cuts += e.Cuts
				total.Time += e.Time
			}
			b.ReportMetric(float64(total.Time.Microseconds())/float64(total.Cuts), "µs/cut")
			b.ReportMetric(float64(total.Time.Microseconds())/float64(b.N), "µs-of-cuts/op")
		})
	}
}
