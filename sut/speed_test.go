package sut_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/sut"
)

// BenchmarkIsolation measures what it costs to keep executions apart: each in turn
// in place (snapshot), in a fork, in a fresh process, and not at all, which is many
// rounds of the program in one execution. They take turns, so that the ratios are
// those of the same moments. All of it without race detection, with it in the main
// module, and with it in the standard library too.
func BenchmarkIsolation(b *testing.B) {
	for _, races := range [][]string{nil, {sut.RacesMain}, {sut.RacesAll}} {
		p, err := build(b.TempDir(), "./testdata/speed", races...)
		if err != nil {
			b.Fatal(err)
		}
		for _, name := range []string{"small", "http"} {
			b.Run(fmt.Sprintf("%s/races=%v", name, races), func(b *testing.B) { benchmarkIsolation(b, p, name) })
		}
	}
}

func benchmarkIsolation(b *testing.B, p *sut.Program, name string) {
	const batch, fresh, rounds = 200, 5, 100
	snapshot, fork := startProgram(b, p, sut.Snapshot, name, 1), startProgram(b, p, sut.Fork, name, 1)
	loop := startProgram(b, p, sut.Snapshot, name, rounds)
	var inPlace, forked, inFresh, looped time.Duration
	events, batches := 0, 0
	for b.Loop() {
		inPlace += timeOf(b, batch, func() { events = len(complete(b, snapshot).Events) })
		forked += timeOf(b, batch, func() { complete(b, fork) })
		inFresh += timeOf(b, fresh, func() {
			w := startProgram(b, p, sut.Fork, name, 1)
			complete(b, w)
			w.Close()
		})
		looped += timeOf(b, 1, func() { complete(b, loop) })
		batches++
	}
	rate := func(d time.Duration, n int) float64 { return float64(batches*n) / d.Seconds() }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(events), "events")
	b.ReportMetric(rate(inPlace, batch), "snapshot/s")
	b.ReportMetric(rate(forked, batch), "fork/s")
	b.ReportMetric(rate(inFresh, fresh), "process/s")
	b.ReportMetric(rate(looped, rounds), "unisolated/s")
	b.ReportMetric(rate(inPlace, batch)/rate(forked, batch), "snapshot/fork")
	b.ReportMetric(rate(looped, rounds)/rate(inPlace, batch), "unisolated/snapshot")
}

func startProgram(b *testing.B, p *sut.Program, isolation sut.Isolation, name string, rounds int) *sut.Worker {
	b.Helper()
	w, err := sut.Start(p, sut.Options{Args: []string{name, fmt.Sprint(rounds)}, Isolation: isolation})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { w.Close() })
	return w
}

func complete(b *testing.B, w *sut.Worker) *sut.Log {
	b.Helper()
	log := run(b, w, sut.Schedule{}, nil)
	if log.Outcome != sut.Completed {
		b.Fatalf("%v: %s%s", log.Outcome, log.Stderr, log.Message)
	}
	return log
}

func timeOf(b *testing.B, n int, do func()) time.Duration {
	b.Helper()
	started := time.Now()
	for range n {
		do()
	}
	return time.Since(started)
}
