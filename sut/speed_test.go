package sut_test

import (
	"fmt"
	"slices"
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
			b.Run(fmt.Sprintf("%s/races=%v", name, races),
				func(b *testing.B) { benchmarkIsolation(b, p, name) })
		}
	}
}

func benchmarkIsolation(b *testing.B, p *sut.Program, name string) {
	const batch, fresh, rounds = 50, 3, 100
	snapshot, fork := startProgram(b, p, sut.Snapshot, name, 1), startProgram(b, p, sut.Fork, name, 1)
	loop := startProgram(b, p, sut.Snapshot, name, rounds)
	var inPlace, forked, inFresh, looped []float64 // executions per second, of each batch
	events := 0
	for b.Loop() {
		inPlace = append(inPlace, rateWith(snapshot, batch,
			func() { events = len(complete(b, snapshot).Events) }))
		forked = append(forked, rateWith(fork, batch, func() { complete(b, fork) }))
		inFresh = append(inFresh, rateOf(fresh, func() {
			w := startProgram(b, p, sut.Fork, name, 1)
			complete(b, w)
			w.Close()
		}))
		looped = append(looped, rounds*rateWith(loop, 1, func() { complete(b, loop) }))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(events), "events")
	b.ReportMetric(median(inPlace), "snapshot/s")
	b.ReportMetric(median(forked), "fork/s")
	b.ReportMetric(median(inFresh), "process/s")
	b.ReportMetric(median(looped), "unisolated/s")
	b.ReportMetric(median(inPlace)/median(forked), "snapshot/fork")
	b.ReportMetric(median(looped)/median(inPlace), "unisolated/snapshot")
}

// median of some numbers: other processes disturb the mean.
func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

func startProgram(
	b *testing.B, p *sut.Program, isolation sut.Isolation, name string, rounds int,
) *sut.Worker {
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

// rateWith is rateOf for what runs executions of a worker, as a check does: on its processor.
func rateWith(w *sut.Worker, n int, do func()) float64 {
	defer w.Stay()()
	return rateOf(n, do)
}

// rateOf is how often per second something can be done.
func rateOf(n int, do func()) float64 {
	started := time.Now()
	for range n {
		do()
	}
	return float64(n) / time.Since(started).Seconds()
}
