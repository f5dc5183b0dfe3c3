package sut_test

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/sut"
)

// BenchmarkBesideBusyLoop measures how much longer executions take while somebody computes on a
// processor: on each in turn, without an end. The other processors are left alone, so there is
// always room for the pair of checker and worker somewhere else. Longest is that execution which
// took longest of all; half a second of executions is measured each time.
func BenchmarkBesideBusyLoop(b *testing.B) {
	p, err := build(b.TempDir(), "./testdata/speed")
	if err != nil {
		b.Fatal(err)
	}
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		b.Fatal(err)
	}
	w := startProgram(b, p, sut.Snapshot, "small", 1)
	defer w.Stay()()
	const size = 500 * time.Millisecond
	count := 0 // of executions that take about that long, on a quiet machine
	for began := time.Now(); time.Since(began) < size; count++ {
		complete(b, w)
	}
	quiet, calm := executionsTake(b, w, count)
	worst, longest := 0., time.Duration(0)
	for b.Loop() {
		for cpu := range 64 * len(all) { // bits of the set
			if !all.IsSet(cpu) {
				continue
			}
			end := computeOn(b, cpu)
			took, stall := executionsTake(b, w, count)
			end()
			worst, longest = max(worst, took.Seconds()/quiet.Seconds()), max(longest, stall)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(worst, "busy/quiet")
	b.ReportMetric(float64(longest.Milliseconds()), "longest-ms")
	b.ReportMetric(float64(calm.Milliseconds()), "longest-quiet-ms")
}

// executionsTake is the time of so many executions, and of the longest of them.
func executionsTake(b *testing.B, w *sut.Worker, count int) (all, longest time.Duration) {
	began := time.Now()
	for range count {
		one := time.Now()
		complete(b, w)
		longest = max(longest, time.Since(one))
	}
	return time.Since(began), longest
}

// computeOn has a process compute on a processor until end is called.
func computeOn(b *testing.B, cpu int) (end func()) {
	b.Helper()
	loop := exec.CommandContext(b.Context(), "sh", "-c", "while :; do :; done")
	if err := loop.Start(); err != nil {
		b.Fatal(err)
	}
	end = func() {
		loop.Process.Kill()
		loop.Wait()
	}
	var there unix.CPUSet
	there.Set(cpu)
	if err := unix.SchedSetaffinity(loop.Process.Pid, &there); err != nil {
		end()
		b.Fatal(err)
	}
	return end
}
