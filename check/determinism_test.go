package check

import (
	"context"
	"testing"

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
			defer r.worker.Close()
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

func runOnce(t *testing.T, r *run, s sut.Schedule) *sut.Log {
	t.Helper()
	log, err := r.worker.Run(s, r.answers())
	if err != nil {
		t.Fatal(err)
	}
	return log
}
