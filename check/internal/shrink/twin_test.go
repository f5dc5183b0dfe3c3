package shrink

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// toy is a program whose goroutines make steps; some wait until another goroutine has made enough.
// It is wrong that the victim makes its step after the intruder has begun, and before that is done.
type toy struct {
	steps            []int // of each goroutine
	waits            map[at]at
	victim, intruder at
}

// at is a step of a goroutine.
type at struct{ goroutine, step int }

func drawToy(t *rapid.T) *toy {
	p := &toy{waits: map[at]at{}}
	for range rapid.IntRange(2, 3).Draw(t, "goroutines") {
		p.steps = append(p.steps, rapid.IntRange(2, 4).Draw(t, "steps"))
	}
	place := func(of string) at {
		g := rapid.IntRange(0, len(p.steps)-1).Draw(t, of)
		return at{g, rapid.IntRange(0, p.steps[g]-2).Draw(t, of+" step")}
	}
	for range rapid.IntRange(0, 2).Draw(t, "waits") {
		if who, whom := place("waits"), place("for"); who.goroutine < whom.goroutine {
			p.waits[who] = whom // so that there is no circle
		}
	}
	p.victim, p.intruder = place("victim"), place("intruder")
	return p
}

// state is how far each goroutine is.
type state struct {
	*toy
	done   []int
	last   int // goroutine that ran, or -1
	steps  []translate.Step
	failed bool
}

func (p *toy) begin() *state { return &state{toy: p, done: make([]int, len(p.steps)), last: -1} }

func (s *state) enabled(g int) bool {
	if g < 0 || g >= len(s.done) || s.done[g] >= s.toy.steps[g] {
		return false
	}
	whom, waits := s.waits[at{g, s.done[g]}]
	return !waits || s.done[whom.goroutine] > whom.step
}

func (s *state) anyEnabled() (list []int) {
	for g := range s.done {
		if s.enabled(g) {
			list = append(list, g)
		}
	}
	return list
}

// step makes a step of a goroutine that is enabled.
func (s *state) step(g int) {
	s.steps = append(s.steps, translate.Step{
		Action: model.Action{Goroutine: model.GoroutineID(g + 1)}, Choices: 1,
		Preempts: s.last >= 0 && s.last != g && s.enabled(s.last),
	})
	intruding := s.done[s.intruder.goroutine] == s.intruder.step+1
	s.failed = s.failed || intruding && s.intruder.goroutine != g && s.victim == at{g, s.done[g]}
	s.done[g]++
	s.last = g
}

// follow runs a schedule as far as it can be followed, and then as a worker goes on by itself. A
// program that fails ends.
func (p *toy) follow(candidate []model.Action) *state {
	s := p.begin()
	for _, a := range candidate {
		g := int(a.Goroutine) - 1
		for s.enabled(g) && !s.failed {
			if s.step(g); a.Choice != sut.GoOn {
				break
			}
		}
	}
	for list := s.anyEnabled(); len(list) > 0 && !s.failed; list = s.anyEnabled() {
		if slices.Contains(list, s.last) {
			s.step(s.last)
		} else {
			s.step(list[0])
		}
	}
	return s
}

// least is the dumb twin: the least cost of all executions that fail.
func (p *toy) least() (best Cost, exists bool) {
	var walk func(prefix []model.Action)
	walk = func(prefix []model.Action) {
		s := p.begin()
		for _, a := range prefix {
			s.step(int(a.Goroutine) - 1)
		}
		if s.failed {
			if c := CostOf(s.steps); !exists || c.Less(best) {
				best, exists = c, true
			}
			return
		}
		for _, g := range s.anyEnabled() {
			walk(append(slices.Clone(prefix), model.Action{Goroutine: model.GoroutineID(g + 1)}))
		}
	}
	walk(nil)
	return best, exists
}

// TestShrinkRandom: from a random execution that fails the shrinker comes to one that fails and
// costs at most as much, runs no schedule twice and no more than it may, and does not come further
// when it begins there. Nearly always it comes to the least number of preemptions that there is.
func TestShrinkRandom(t *testing.T) {
	all, atLeast := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawToy(t)
		least, exists := p.least()
		if !exists {
			return
		}
		first := p.failing(rapid.Uint64().Draw(t, "seed"))
		limit := rapid.SampledFrom([]int{5, 1000}).Draw(t, "limit")
		shrunk := p.shrink(t, first.steps, limit)
		if CostOf(first.steps).Less(shrunk.Cost) || shrunk.Cost.Less(least) {
			t.Fatalf("shrunk from %v to %v, and the least is %v", CostOf(first.steps), shrunk.Cost, least)
		}
		if limit < 1000 {
			return
		}
		if again := p.shrink(t, shrunk.best, limit); again.Cost != shrunk.Cost {
			t.Errorf("shrunk to %v, and again to %v", shrunk.Cost, again.Cost)
		}
		if all++; shrunk.Cost[0] == least[0] {
			atLeast++
		}
	})
	t.Logf("%d of %d have the least number of preemptions", atLeast, all)
	if all < 10 || atLeast < all*9/10 {
		t.Errorf("%d of %d have the least number of preemptions", atLeast, all)
	}
}

// failing is a random execution that fails; there is one.
func (p *toy) failing(seed uint64) *state {
	random := rand.New(rand.NewPCG(seed, 1))
	for {
		s := p.begin()
		for list := s.anyEnabled(); len(list) > 0 && !s.failed; list = s.anyEnabled() {
			s.step(list[random.IntN(len(list))])
		}
		if s.failed {
			return s
		}
	}
}

// shrink shrinks an execution, and checks what is asked of a Shrinker besides.
func (p *toy) shrink(t rapid.TB, steps []translate.Step, limit int) *Shrinker {
	t.Helper()
	seen := map[uint64]bool{}
	runs := 0
	s := New(steps, limit, func(candidate []model.Action, below Cost) ([]translate.Step, error) {
		if key := hashOf(candidate); seen[key] {
			t.Errorf("%v is run twice", candidate)
		} else {
			seen[key] = true
		}
		runs++
		ran := p.follow(candidate)
		if !ran.failed || !CostOf(ran.steps).Less(below) {
			return nil, nil
		}
		return ran.steps, nil
	})
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	if runs > limit || s.Tried != runs {
		t.Errorf("%d runs, %d are counted, at most %d are allowed", runs, s.Tried, limit)
	}
	if s.Cost != CostOf(s.best) {
		t.Errorf("the cost is %v, said to be %v", CostOf(s.best), s.Cost)
	}
	return s
}

// TestShrinkEndsWithTheError: an error of an execution ends the shrinking; what was found stays.
func TestShrinkEndsWithTheError(t *testing.T) {
	steps := translate.Steps(eventsOf("a>a ab>b ab>a ab>b"))
	runs := 0
	s := New(steps, 100, func([]model.Action, Cost) ([]translate.Step, error) {
		if runs++; runs == 3 {
			return nil, errForTest
		}
		return nil, nil
	})
	var told []int
	s.Tell = func(tried, limit int) { told = append(told, tried, limit) }
	if err := s.Run(); err != errForTest || runs != 3 || s.Cost != CostOf(steps) {
		t.Errorf("error %v after %d runs, cost %v", err, runs, s.Cost)
	}
	if want := []int{0, 100, 1, 100, 2, 100}; !slices.Equal(told, want) {
		t.Errorf("it is told %v, want %v", told, want)
	}
}

var errForTest = errors.New("an error for this test")
