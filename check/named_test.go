package check

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// drawNamed is a random program whose goroutines name the whole state, most of them.
func drawNamed(number uint64, rounds int) string {
	r := rand.New(rand.NewPCG(number, 5))
	blocks := []string{"load,v", "store,v", "swap,v", "swap,v", "move,v", "lock swap,v unlock",
		"lock move,v unlock", "lock state store,v unlock", "send", "recv", "poll", "choose", "sleep",
		"assert"}
	goroutines := make([]string, 2+r.IntN(2)*r.IntN(2))
	for i := range goroutines {
		if rounds == 0 || r.IntN(4) > 0 {
			goroutines[i] = "state"
		}
		for range 1 + r.IntN(4-len(goroutines)) {
			block := blocks[r.IntN(len(blocks))]
			goroutines[i] += " " + strings.ReplaceAll(block, ",v", fmt.Sprint(",", r.IntN(2)))
		}
	}
	return fmt.Sprint(rounds, "/", strings.Join(goroutines, "/"))
}

// named is what a search of a program that names its state has found.
type named struct {
	outcomes map[string]bool
	verdict  explore.Verdict
}

// exploredNamed is false if there are more executions than the limit, or long ones.
func exploredNamed(t *testing.T, p *sut.Program, text string, s *explore.Search, limit int) (
	f named, ok bool) {
	t.Helper()
	f.outcomes = map[string]bool{}
	world := sut.Environment{Inputs: sut.Inputs{States: s.NamesStates()}}
	w, err := sut.Start(p, sut.Options{Args: []string{text}, Environment: world})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var translator translate.Translator
	for schedule, more := s.Next(); more; schedule, more = s.Next() {
		next := translator.Schedule(schedule)
		next.Steps, next.Rounds = 600, executor.MaxRounds
		log, err := w.Run(next, nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		x, err := translator.Log(log, translate.SourceOf(w))
		if err == nil {
			err = s.Report(x)
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if x.Outcome != explore.Redundant && x.Outcome != explore.StepLimit && log.Outcome != sut.Known {
			f.outcomes[outcomeOf(log)] = true
		}
		if limit--; limit == 0 {
			return f, false
		}
	}
	f.verdict = s.Verdict()
	return f, f.verdict.Limited == 0
}

// withStates has a search end executions at known states.
func withStates(s *explore.Search) *explore.Search {
	s.NameStates()
	return s
}

// TestNamedStates: programs of real Go that name their whole state have the same outcomes with and
// without executions that end at known states. Endless ones have the same states with and without
// reduction. No promise is broken.
func TestNamedStates(t *testing.T) {
	p, err := buildProgram("testdata/named", filepath.Join(tree, "named"))
	if err != nil {
		t.Fatal(err)
	}
	compared, spared, endless, ended := 0, 0, 0, 0
	for number := range uint64(cases(90, 45)) {
		rounds := int(number % 3)
		text := drawNamed(number, rounds)
		reduced, ok := exploredNamed(t, p, text, withStates(dporSearch()), 600)
		if b := reduced.verdict.States.Broken; b != nil {
			t.Fatalf("%s: %v", text, b)
		}
		twin := dfsSearch()
		if rounds == 0 {
			twin = withStates(twin)
		}
		all, complete := exploredNamed(t, p, text, twin, 600)
		if !ok || !complete {
			continue
		}
		if diff := cmp.Diff(all.outcomes, reduced.outcomes); diff != "" {
			t.Errorf("%s\noutcomes (-exist +found):\n%s", text, diff)
		}
		compared++
		ended += reduced.verdict.States.Ended
		if rounds > 0 {
			spared += all.verdict.Executions - reduced.verdict.Executions
			continue
		}
		endless++
		if n, m := all.verdict.States.Known, reduced.verdict.States.Known; n != m {
			t.Errorf("%s\n%d states, and %d with reduction", text, n, m)
		}
	}
	t.Logf("%d programs, %d of them endless; %d executions ended at known states; %d are spared", compared,
		endless, ended, spared)
	if compared < cases(20, 10) || endless < cases(5, 3) || ended < cases(100, 50) ||
		spared < cases(100, 50) {
		t.Error("too little was compared")
	}
}
