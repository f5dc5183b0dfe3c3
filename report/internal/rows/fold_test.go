package rows

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/report"
)

// quietSteps are so many steps of a goroutine that nobody outside can notice, none of which joins
// another.
func quietSteps(goroutine, n int) (steps []report.Step) {
	for i := range n {
		steps = append(steps, report.Step{
			Goroutine: goroutine, Operation: "lock", Object: fmt.Sprint("mutex ", i),
			Kind: report.Synchronisation,
		})
	}
	return steps
}

// TestFoldsLongStretches: a stretch of up to maxQuiet rows stays; of a longer one the ends stay,
// and one row says how many operations are between them.
func TestFoldsLongStretches(t *testing.T) {
	for _, n := range []int{0, 1, maxQuiet, maxQuiet + 1, 100, 1500} {
		rows := Of(quietSteps(1, n))
		kept := slices.Clone(rows)
		folded := Fold(rows)
		if n <= maxQuiet {
			if len(folded) != n {
				t.Errorf("%d rows are folded to %d", n, len(folded))
			}
			continue
		}
		if len(folded) != 2*quietEnds+1 {
			t.Fatalf("%d rows are folded to %d", n, len(folded))
		}
		middle := folded[quietEnds]
		want := fmt.Sprintf("... %s operations", countOf(n-2*quietEnds))
		if middle.What() != want || middle.First != quietEnds || middle.Last != n-quietEnds-1 ||
			middle.Goroutine != 1 {
			t.Errorf("%d rows: the middle is %q, steps %d to %d", n, middle.What(), middle.First, middle.Last)
		}
		if !slices.EqualFunc(rows, kept, func(a, b Row) bool {
			return a.First == b.First &&
				a.What() == b.What()
		}) {
			t.Error("the rows themselves were changed")
		}
	}
}

// countOf is a number as it is printed.
func countOf(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// TestLoudRowsAreNeverFolded: whatever is between them, rows that another process can notice stay,
// and so do the first and last ones of each goroutine's turn.
func TestLoudRowsAreNeverFolded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var steps []report.Step
		for range rapid.IntRange(1, 6).Draw(t, "turns") {
			goroutine := rapid.IntRange(1, 2).Draw(t, "goroutine")
			steps = append(steps, quietSteps(goroutine, rapid.IntRange(0, 15).Draw(t, "quiet"))...)
			if rapid.Bool().Draw(t, "loud") {
				steps = append(steps, report.Step{Goroutine: goroutine, Operation: "write",
					Kind: report.Socket})
			}
		}
		rows := Of(steps)
		folded := Fold(rows)
		count := func(list []Row) (loud int) {
			for _, r := range list {
				if !r.quiet() {
					loud++
				}
			}
			return loud
		}
		if count(folded) != count(rows) {
			t.Fatalf("%d of %d loud rows are left", count(folded), count(rows))
		}
		for i, r := range folded {
			if len(r.operations) == 1 && r.operations[0].name[0] == '.' && (i < quietEnds ||
				i >= len(folded)-quietEnds || r.Last-r.First+1 <= maxQuiet-2*quietEnds) {
				t.Fatalf("row %d stands for steps %d to %d, and is too near to an end", i, r.First, r.Last)
			}
		}
		if again := Fold(folded); len(again) != len(folded) {
			t.Fatalf("%d rows are folded again, to %d", len(folded), len(again))
		}
	})
}

// TestJoinedOperations: a row has a bounded number of different operations; the same one again only
// counts.
func TestJoinedOperations(t *testing.T) {
	// The place may follow the operation.
	step := func(operation string) report.Step {
		operation, place, _ := strings.Cut(operation, "@")
		return report.Step{Operation: operation, Object: "m", Function: "p.f", Source: place,
			Kind: report.Synchronisation}
	}
	for _, test := range []struct {
		operations []string
		want       []string
	}{
		{[]string{"a", "a", "a"}, []string{"a x3"}},
		{[]string{"a", "b", "a", "b"}, []string{"a, b", "a, b"}}, // two critical sections
		{[]string{"a@1", "b@2", "b@2", "a@3", "a@3", "a@4"}, []string{"a, b x2", "a x2", "a"}},
		{[]string{"a", "b", "c", "c", "c", "d"}, []string{"a, b, c x3", "d"}},
	} {
		var steps []report.Step
		for _, o := range test.operations {
			steps = append(steps, step(o))
		}
		var got []string
		for _, r := range Of(steps) {
			got = append(got, r.What())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.operations, got, test.want)
		}
	}
}

// TestWhatKeepsRowsApart: neighbours are one row only if they are of one goroutine, one object and
// one function, and nothing of either can be seen outside.
func TestWhatKeepsRowsApart(t *testing.T) {
	base := report.Step{Goroutine: 1, Operation: "a", Object: "m", Function: "p.f", Kind: report.Channel}
	if rows := Of([]report.Step{base, base}); len(rows) != 1 {
		t.Fatalf("%d rows of the same", len(rows))
	}
	for name, change := range map[string]func(*report.Step){
		"goroutine": func(s *report.Step) { s.Goroutine = 2 },
		"object":    func(s *report.Step) { s.Object = "n" },
		"function":  func(s *report.Step) { s.Function = "p.g" },
		"kind":      func(s *report.Step) { s.Kind = report.Timer },
		"restored":  func(s *report.Step) { s.Restored = "checkpoint 1" },
		"message":   func(s *report.Step) { s.IO = []report.Message{{Event: "reset"}} },
	} {
		other := base
		change(&other)
		for _, steps := range [][]report.Step{{base, other}, {other, base}} {
			if rows := Of(steps); len(rows) != 2 {
				t.Errorf("another %s: %d rows", name, len(rows))
			}
		}
	}
}
