package check

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/shrink"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// found is the violation that a search finds first, as it was and as it was shrunk.
type found struct {
	before, after shrink.Cost // preemptions and transitions only
	signature     narrate.Signature
	prefix        []model.Action
	executions    int
	recording     *report.Recording
}

// findAndShrink checks one of the programs of testdata/programs. There is nothing if the search
// finds no violation.
func findAndShrink(t *testing.T, p *sut.Program, text string, s *explore.Search) *found {
	t.Helper()
	r, err := newRun(context.Background(), Options{Program: p, Package: "programs", Args: []string{text},
		Search: s, Shrink: DefaultShrink, Depth: 1000}, interest{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.finish()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if len(r.found.list) == 0 {
		return nil
	}
	v, shrunk := r.found.list[0], result.Counterexample.Shrunk
	f := &found{signature: narrate.SignatureOf(p, &v.Log), prefix: v.Prefix, executions: shrunk.Executions,
		recording: result.Recording}
	f.before = shrink.Cost{shrunk.Before.Preemptions, shrunk.Before.Transitions}
	f.after = shrink.Cost{shrunk.After.Preemptions, shrunk.After.Transitions}
	return f
}

// simplest is the least cost, without alternatives and switches, of all executions that show a
// violation; false if there are too many executions.
func simplest(t *testing.T, p *sut.Program, text string, want narrate.Signature, limit int) (
	least shrink.Cost, ok bool) {
	t.Helper()
	least[0] = 1 << 30
	executions := 0
	ok, err := eachExecution(p, sut.Options{Args: []string{text}}, dfsSearch(),
		func(log *sut.Log, x explore.Execution) bool {
			if c := shrink.CostOf(translate.Steps(log.Events)); x.Outcome.Violation() &&
				narrate.SignatureOf(p, log).Same(want) {
				if c[2], c[3] = 0, 0; c.Less(least) {
					least = c
				}
			}
			executions++
			return executions <= limit
		})
	if err != nil {
		t.Fatal(err)
	}
	return least, ok
}

// TestShrinkingAgainstTwin compares what violations of random programs are shrunk to with the
// simplest of all executions that show them. SHRINK says how many programs of each flavour.
func TestShrinkingAgainstTwin(t *testing.T) {
	p, err := buildProgram("testdata/programs", filepath.Join(tree, "programs"))
	if err != nil {
		t.Fatal(err)
	}
	programs := cases(5, 3)
	if text := os.Getenv("SHRINK"); text != "" {
		if programs, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	compared, fewest, shortest, asFound, executions := 0, 0, 0, 0, 0
	for _, flavour := range flavourNames {
		for number := range uint64(programs) {
			text := drawProgram(flavour, 1000+number).String()
			f := findAndShrink(t, p, text, randomSearch(60, number))
			if f == nil {
				continue
			}
			least, ok := simplest(t, p, text, f.signature, 20*programs*programs)
			if !ok {
				continue
			}
			compared++
			executions += f.executions
			if f.before[0] == least[0] {
				asFound++
			}
			if f.after[0] == least[0] {
				fewest++
			}
			switch {
			case f.after == least:
				shortest++
			case f.after.Less(least):
				t.Errorf("%s: shrunk to %v, which is less than the least, %v", text, f.after, least)
			default:
				t.Logf("%s: shrunk from %v to %v, the least is %v", text, f.before, f.after, least)
			}
		}
	}
	t.Logf("%d violations: %d have the fewest preemptions as found and %d when shrunk, %d also the fewest "+
		"transitions then; %d executions each",
		compared, asFound, fewest, shortest, executions/max(compared, 1))
	if compared < programs || fewest*100 < compared*95 {
		t.Errorf("%d of %d violations have the fewest preemptions", fewest, compared)
	}
}

// TestShrinkingEnds shrinks what has been shrunk: nothing changes any more, and it is replayed as
// it was.
func TestShrinkingEnds(t *testing.T) {
	p, err := buildProgram("testdata/programs", filepath.Join(tree, "programs"))
	if err != nil {
		t.Fatal(err)
	}
	shrunk := 0
	for number := range uint64(30) {
		text := drawProgram("everything", number).String()
		first := findAndShrink(t, p, text, randomSearch(60, number))
		if first == nil {
			continue
		}
		shrunk++
		again := findAndShrink(t, p, text,
			mustSearch(explore.Config{Algorithm: explore.Replay, Prefix: actions(first.prefix)}))
		if again == nil || again.before != first.after || !slices.Equal(again.prefix, first.prefix) {
			t.Errorf("%s: shrunk to %v, then to %+v", text, first, again)
			continue
		}
		if _, err := Replay(p, again.recording, 3); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if shrunk < 10 {
		t.Errorf("only %d of the programs have violations", shrunk)
	}
}

func actions(prefix []model.Action) (list []explore.Action) {
	for _, c := range prefix {
		list = append(list, explore.Action{Goroutine: explore.GoroutineID(c.Goroutine), Choice: c.Choice})
	}
	return list
}
