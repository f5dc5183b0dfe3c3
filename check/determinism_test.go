package check

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/strategy"
	"github.com/tandem-mc/tandem/sut"
)

// TestDeterminism runs 50 random schedules of each example 20 times and compares the logs event by
// event.
func TestDeterminism(t *testing.T) {
	const schedules, repetitions = 50, 20
	for _, e := range []example{alphabet, randomAlphabet, httpGet, scpTo, scpToFixed} {
		t.Run(e.pkg+" "+e.config, func(t *testing.T) {
			r, err := newRun(context.Background(), e.options(t), interest{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.executor.Close()
			defer r.peers.Close()
			events := 0
			for seed := range uint64(schedules) {
				s := sut.Schedule{Seed: seed + 1}
				first := executor.Keep(runOnce(t, r, s))
				events += len(first.Events)
				for i := 1; i < repetitions; i++ {
					log := runOnce(t, r, s)
					if at := narrate.FirstDifference(first.Events, log.Events); at >= 0 ||
						log.Outcome != first.Log.Outcome {
						t.Fatalf("schedule %d, repetition %d: another log from event %d on%s", seed+1, i, at,
							narrate.EventPlace(r.options.Program, log.Events, at))
					}
				}
			}
			t.Logf("%d schedules, %d events on average, each %d times", schedules, events/schedules,
				repetitions)
		})
	}
}

func runOnce(t testing.TB, r *run, s sut.Schedule) *sut.Log {
	t.Helper()
	log, err := r.executor.Run(s)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// BenchmarkCacheHit is what an input costs that the cache answers: in the checker, and in all, as
// the program sees it. The latter is what each of many further requests adds to an execution, with
// all that the program itself does for it: it writes the request, blocks and reads the answer.
func BenchmarkCacheHit(b *testing.B) {
	const few, many = 10, 210
	inChecker := &timedPeers{}
	execute := [2]func() time.Duration{executeCached(b, few, inChecker), executeCached(b, many, inChecker)}
	var took [2]time.Duration
	executions := 0
	for b.Loop() {
		executions++
		for i := range execute {
			took[i] += execute[i]()
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(inChecker.spent.Nanoseconds())/float64(inChecker.inputs), "ns/hit-in-checker")
	b.ReportMetric(float64((took[1]-took[0]).Nanoseconds())/float64(executions*(many-few)),
		"ns/request-of-the-program")
}

// executeCached has the peers answer so many requests, and returns what runs them again, with the
// same answers.
func executeCached(b *testing.B, requests int, in *timedPeers) func() time.Duration {
	o := example{alphabet.pkg, alphabet.config,
		[]string{"-connections", "1", "-requests", fmt.Sprint(requests)}}.options(b)
	o.Strategy = strategy.Never{}
	r, err := newRun(context.Background(), o, interest{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		r.executor.Close()
		r.peers.Close()
	})
	runOnce(b, r, sut.Schedule{})
	misses := r.executor.Session().Counts.Misses
	return func() time.Duration {
		in.peers = r.executor.Answers()
		started := time.Now()
		log, err := r.executor.Worker().Run(sut.Schedule{}, in)
		took := time.Since(started)
		if err != nil || log.Outcome != sut.Completed || r.executor.Session().Counts.Misses != misses {
			b.Fatalf("%v, error %v, %d misses", log.Outcome, err, r.executor.Session().Counts.Misses-misses)
		}
		return took
	}
}

// timedPeers measures how long answers take.
type timedPeers struct {
	peers  sut.Peers
	inputs int
	spent  time.Duration
}

// Exchange implements sut.Peers.
func (p *timedPeers) Exchange(in model.Input) (model.Answer, error) {
	started := time.Now()
	a, err := p.peers.Exchange(in)
	p.spent += time.Since(started)
	p.inputs++
	return a, err
}
