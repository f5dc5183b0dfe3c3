package process

import (
	"os"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/sut/internal/toolchain"
)

func TestHangPosition(t *testing.T) {
	own := toolchain.Position{Function: "main.f", File: "main.go", Line: 3}
	inside := toolchain.Position{Function: "sort.Sort", File: "sort.go", Line: 7}
	for want, h := range map[string]hangPosition{
		"":                               {},
		"\n\tat main.go:3, in main.f":    {own: own, inside: own},
		"\n\tat sort.go:7, in sort.Sort": {inside: inside},
		"\n\tat main.go:3, in main.f\n\tat sort.go:7, in sort.Sort": {own: own, inside: inside},
	} {
		if got := h.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestOfRuntime(t *testing.T) {
	for function, want := range map[string]bool{
		"runtime.mallocgc": true, "internal/runtime/atomic.Load": true, "gosave_systemstack_switch": true,
		"main.main": false, "runtimes.f": false, "internal/poll.f": false,
	} {
		if got := ofRuntime(function); got != want {
			t.Errorf("ofRuntime(%s) = %v", function, got)
		}
	}
}

// TestWatchdog: time counts only while the process is armed.
func TestWatchdog(t *testing.T) {
	var d watchdog
	d.Arm()
	if since := time.Since(time.Unix(0, d.armed.Load())); since < 0 || since > time.Minute {
		t.Errorf("armed %v ago", since)
	}
	d.Disarm()
	if d.armed.Load() != 0 {
		t.Error("it is armed")
	}
}

// TestStarved: what a process has waited for a processor counts from the first look after it was
// armed, and again from zero when it is armed anew.
func TestStarved(t *testing.T) {
	var s starved
	for i, step := range []struct{ armed, now, want int64 }{
		{1, 500, 0}, {1, 700, 200}, {1, 900, 400}, {2, 950, 0}, {2, 990, 40},
		{2, 0, 40}, // another process, or the kernel does not tell
		{2, 10, 50},
	} {
		if got := s.since(step.armed, step.now); got != step.want {
			t.Errorf("step %d: %d ns, want %d", i, got, step.want)
		}
	}
	for text, want := range map[string]int64{"12 345 6\n": 345, "": 0, "12": 0, "12 x 6": 0} {
		if got := waited([]byte(text)); got != want {
			t.Errorf("%q: %d ns, want %d", text, got, want)
		}
	}
	var reader procfs.Reader
	if got := waitedOf(&reader, -1); got != 0 {
		t.Errorf("a process that is not there has waited %d ns", got)
	}
}

// TestProcessors: processes with numbers that follow one another run on different processors, and
// one that was chosen stays.
func TestProcessors(t *testing.T) {
	first, second := Processor{Number: 1}, Processor{Number: 2}
	first.choose(os.Getpid())
	second.choose(os.Getpid())
	if !first.chosen || first.one.Count() != 1 {
		t.Fatalf("%d processors are chosen", first.one.Count())
	}
	if first.all.Count() > 1 && first.one == second.one {
		t.Error("two processes run on one of several processors")
	}
	leave := first.Share() // the process is not known to run there
	leave()
}
