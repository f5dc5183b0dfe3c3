package check

import (
	"context"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/sut"
)

// TestDeterminism runs 50 random schedules of each example 20 times and
// compares the logs event by event.
func TestDeterminism(t *testing.T) {
	const schedules, repetitions = 50, 20
	for _, e := range []example{alphabet, randomAlphabet, httpGet, scpTo, scpToFixed} {
		t.Run(e.pkg+" "+e.config, func(t *testing.T) {
			r, err := newRun(context.Background(), e.options(t))
			if err != nil {
				t.Fatal(err)
			}
			defer r.executor.close()
			defer r.peers.close()
			events := 0
			for seed := range uint64(schedules) {
				s := sut.Schedule{Seed: seed + 1}
				first := keep(runOnce(t, r, s))
				events += len(first.events)
				for i := 1; i < repetitions; i++ {
					log := runOnce(t, r, s)
					if at := firstDifference(first.events, log.Events); at >= 0 || log.Outcome != first.log.Outcome {
						t.Fatalf("schedule %d, repetition %d: another log from event %d on%s", seed+1, i, at, r.eventPlace(log.Events, at))
					}
				}
			}
			t.Logf("%d schedules, %d events on average, each %d times", schedules, events/schedules, repetitions)
		})
	}
}

func runOnce(t testing.TB, r *run, s sut.Schedule) *sut.Log {
	t.Helper()
	log, err := r.executor.worker.Run(s, r.executor.answers())
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// BenchmarkCacheHit is what an input costs that the cache answers, in the
// checker, and in all, seen from the program; every input of alphabet is one.
func BenchmarkCacheHit(b *testing.B) {
	r, err := newRun(context.Background(), alphabet.options(b))
	if err != nil {
		b.Fatal(err)
	}
	defer r.executor.close()
	defer r.peers.close()
	runOnce(b, r, sut.Schedule{})
	misses := r.executor.counts.Misses
	inputs, inChecker := 0, time.Duration(0)
	for b.Loop() {
		timed := &timedPeers{peers: r.executor.answers()}
		if _, err := r.executor.worker.Run(sut.Schedule{}, timed); err != nil {
			b.Fatal(err)
		}
		inputs, inChecker = inputs+timed.inputs, inChecker+timed.spent
	}
	if r.executor.counts.Misses != misses {
		b.Fatal("not every input was a hit")
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(inChecker.Nanoseconds())/float64(inputs), "ns/hit-in-checker")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(inputs), "ns/hit-with-execution")
}

// timedPeers measures how long answers take.
type timedPeers struct {
	peers  sut.Peers
	inputs int
	spent  time.Duration
}

// Exchange implements sut.Peers.
func (p *timedPeers) Exchange(in sut.Input) (sut.Answer, error) {
	started := time.Now()
	a, err := p.peers.Exchange(in)
	p.spent += time.Since(started)
	p.inputs++
	return a, err
}
