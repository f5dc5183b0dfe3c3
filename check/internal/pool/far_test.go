package pool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/explore"
)

// distant is an executor that has parts explored elsewhere: by a fake, from what was written. Now
// and then nothing comes of it, or it fails.
type distant struct {
	*fake
	ctx      context.Context
	explored *atomic.Int32 // executions that have come back
	failed   *atomic.Int32
	// What parts have in common: where they are written, and where they are read.
	here, away explore.Common
}

// ExploreFar implements Far.
func (d *distant) ExploreFar(p *explore.Subtree, b Bounds, wanted <-chan struct{}, known func(string) bool) (
	*Explored, error) {
	written, err := explore.SaveSubtree(p, &d.here)
	if err != nil {
		return nil, err
	}
	there, err := explore.ResumeSubtree(written, &d.away)
	if err != nil {
		return nil, err
	}
	stop := func() bool {
		select {
		case <-wanted:
			return true
		default:
			return false
		}
	}
	switch rand.IntN(12) {
	case 0:
		d.failed.Add(1)
		return nil, ErrUnexplored
	case 1:
		d.failed.Add(1)
		return nil, errForTest
	}
	b.Executions = min(b.Executions, 1+rand.IntN(20))
	x, err := Explore(d.ctx, d.fake, there, b, stop, func(string) bool { return false })
	if err != nil || x.Executions == 0 {
		return nil, ErrUnexplored
	}
	back, err := explore.SaveExplored(there)
	if err != nil {
		return nil, err
	}
	d.explored.Add(int32(x.Executions))
	return x, explore.TakeOver(p, back)
}

// contradicted is an executor elsewhere of which it is found out that peers contradict themselves.
type contradicted struct{ *fake }

// ExploreFar implements Far.
func (contradicted) ExploreFar(*explore.Subtree, Bounds, <-chan struct{}, func(string) bool) (
	*Explored, error) {
	return nil, fmt.Errorf("in a part: %w", errForTest)
}

// TestFarConclusive: an error of a part elsewhere that may not come again ends the search.
func TestFarConclusive(t *testing.T) {
	c := Config{Search: newSearch(t, explore.Config{Algorithm: explore.DPOR}), Executors: 1, Eager: true,
		Conclusive: func(err error) bool { return errors.Is(err, errForTest) }}
	m := newTeam(t.Context(), c, writers(4, 3), unsteadily)
	x, _ := m.config.New(9)
	m.AddFar(contradicted{x.(*fake)})
	m.start()
	if _, err := m.wait(t); !errors.Is(err, errForTest) {
		t.Errorf("the error is %v", err)
	}
}

// TestFar: with executors elsewhere, whose parts may come to nothing, and who may fail one after
// the other, everything is as without a pool.
func TestFar(t *testing.T) {
	var explored, failed atomic.Int32
	rapid.Check(t, func(t *rapid.T) {
		p := generate(t, 4, 4)
		most := rapid.SampledFrom([]int{40, 500}).Draw(t, "most")
		stops := []explore.Stop{explore.MaxExecutions(most)}
		if rapid.Bool().Draw(t, "first violation") {
			stops = append(stops, explore.AtViolation)
		}
		c := explore.Config{Algorithm: explore.DPOR}
		want, verdict := sequential(t, p, newSearch(t, c, stops...))
		here := rapid.IntRange(1, 3).Draw(t, "executors here")
		m := newTeam(t.Context(), Config{Search: newSearch(t, c, stops...), Executors: here, Eager: true}, p,
			unsteadily)
		for range rapid.IntRange(1, 3).Draw(t, "executors elsewhere") {
			x, _ := m.config.New(9)
			m.AddFar(&distant{fake: x.(*fake), ctx: t.Context(), explored: &explored, failed: &failed})
		}
		m.start()
		found, err := m.wait(t)
		if err != nil {
			t.Fatalf("%v\n%+v", err, p)
		}
		if diff := cmp.Diff(want, m.journal.kinds); diff != "" {
			t.Fatalf("(-without +with)\n%s", diff)
		}
		if diff := cmp.Diff(verdict, found.Verdict); diff != "" {
			t.Errorf("(-without +with)\n%s", diff)
		}
		if hits := found.Tally.Counts.Hits; hits != len(want) || m.journal.settled != len(want) {
			t.Errorf("%d executions are counted, %d settled, want %d", hits, m.journal.settled, len(want))
		}
	})
	t.Logf("%d executions were explored elsewhere, %d parts came to nothing", explored.Load(), failed.Load())
	if explored.Load() == 0 || failed.Load() == 0 {
		t.Error("nobody elsewhere has explored anything, or nobody has failed")
	}
}
