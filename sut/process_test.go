package sut_test

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/sut"
)

// TestStay: a goroutine that stays is on the worker's processor, also after it has run
// executions of other workers, and after the worker has become another process.
func TestStay(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := affinity(t, 0)
	w, other := start(t, sut.Snapshot, "fatal"), start(t, sut.Snapshot, "counter")
	where := affinity(t, w.Pid())
	if where.Count() != 1 {
		t.Fatalf("the worker may run on %d processors, want 1", where.Count())
	}
	leave := w.Stay()
	pid := w.Pid()
	for range 3 {
		run(t, w, sut.Schedule{}, nil)
		run(t, other, sut.Schedule{}, nil)
		if got := affinity(t, 0); got != where {
			t.Errorf("the goroutine may run on %v, want %v, that of the worker", got, where)
		}
	}
	if w.Pid() == pid {
		t.Error("the worker is the same process, after a fatal error")
	}
	if got := affinity(t, w.Pid()); got != where {
		t.Errorf("a new process may run on %v, want %v", got, where)
	}
	leave()
	if got := affinity(t, 0); got != before {
		t.Errorf("afterwards the goroutine may run on %v, want %v", got, before)
	}
}

// TestTogether: workers that are together are on one processor, at first that of the first, and so
// is the goroutine, also after one of them has become another process.
func TestTogether(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := affinity(t, 0)
	var all []*sut.Worker
	for i, name := range []string{"counter", "fatal"} {
		w, err := sut.Start(program, sut.Options{Args: []string{name}, Processor: i + 1})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		all = append(all, w)
	}
	where := affinity(t, all[0].Pid())
	leave := sut.Together(all)
	if got := affinity(t, 0); got != where {
		t.Errorf("the goroutine may run on %v, want %v", got, where)
	}
	pid := all[1].Pid()
	for range 3 {
		for _, w := range all {
			run(t, w, sut.Schedule{}, nil)
			// They move where others want the processor, all of them.
			here := affinity(t, 0)
			for _, w := range all {
				if got := affinity(t, w.Pid()); got != here {
					t.Errorf("a worker may run on %v, the goroutine on %v", got, here)
				}
			}
		}
	}
	if all[1].Pid() == pid {
		t.Error("the worker is the same process, after a fatal error")
	}
	leave()
	if got := affinity(t, 0); got != before {
		t.Errorf("afterwards the goroutine may run on %v, want %v", got, before)
	}
}

func affinity(t *testing.T, pid int) (set unix.CPUSet) {
	t.Helper()
	if err := unix.SchedGetaffinity(pid, &set); err != nil {
		t.Fatal(err)
	}
	return set
}

// TestGarbageIsCollectedMeanwhile: an execution that lasts does not keep the checker from
// collecting garbage, for which all of its goroutines have to stop.
func TestGarbageIsCollectedMeanwhile(t *testing.T) {
	w, err := sut.Start(program, sut.Options{Args: []string{"spin"}, HangTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ended := make(chan error, 1)
	go func() {
		defer w.Stay()()
		_, err := w.Run(sut.Schedule{}, nil)
		ended <- err
	}()
	for range 5 {
		runtime.GC()
		runtime.Gosched()
	}
	select {
	case err := <-ended:
		t.Errorf("the execution ended, which it does not by itself: %v", err)
	default:
	}
	w.Interrupt()
	if err := <-ended; err == nil {
		t.Error("an execution that was interrupted ended well")
	}
}
