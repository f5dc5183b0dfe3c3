package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/report"
)

// TestAligned: each cell keeps its text, and the cells of a column have the same width.
func TestAligned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(1, 5).Draw(t, "columns")
		left := rapid.IntRange(0, columns).Draw(t, "left")
		cell := rapid.StringMatching("[a-z]{1,6}")
		table := rapid.SliceOfN(rapid.SliceOfN(cell, columns, columns), 1, 5).Draw(t, "table")
		lines := aligned(table, left)
		if len(lines) != len(table) {
			t.Fatalf("%d lines of %d", len(lines), len(table))
		}
		at := 0
		for column := range columns {
			width := 0
			for _, row := range table {
				width = max(width, len(row[column]))
			}
			for i, line := range lines {
				got := line[at : at+width]
				want := fmt.Sprintf("%*s", width, table[i][column])
				if column < left {
					want = fmt.Sprintf("%-*s", width, table[i][column])
				}
				if got != want {
					t.Fatalf("line %d, column %d is %q, want %q, of\n%s", i, column, got, want,
						strings.Join(lines, "\n"))
				}
			}
			at += width + 2
		}
		for _, line := range lines {
			if len(line) != at-2 {
				t.Fatalf("a line has %d columns, want %d: %q", len(line), at-2, line)
			}
		}
	})
}

// TestDisagreementTakesTheHeadline: where two combinations disagree there is no verdict to be
// shown.
func TestDisagreementTakesTheHeadline(t *testing.T) {
	c := fourWays()
	c.Rows[1].Outcomes = map[string]int{"completed": 139, "deadlock": 1}
	var text strings.Builder
	if err := Write(&text, c, report.Options{Color: true}); err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(text.String(), "\n"); first != "DISAGREEMENT" {
		t.Errorf("%q", first)
	}
}

// TestHeadlines: how many combinations have come to the verdict, of all.
func TestHeadlines(t *testing.T) {
	row := func(v report.Verdict) Row { return Row{Verdict: v, Failed: v == ""} }
	for want, verdicts := range map[string][]report.Verdict{
		"NO VERDICT: none of 0 combinations could be run": {},
		"NO VERDICT: none of 2 combinations could be run": {"", ""},
		"HOLDS: 1 of 1 combination":                       {report.Holds},
		"HOLDS: 2 of 4 combinations":                      {report.Unknown, report.Holds, "", report.Holds},
		"VIOLATED: 1 of 2 combinations":                   {report.Unknown, report.Violated},
		"UNKNOWN: 2 of 2 combinations":                    {report.Unknown, report.Unknown},
	} {
		c := &Comparison{Package: "p"}
		for _, v := range verdicts {
			c.Rows = append(c.Rows, row(v))
		}
		var text strings.Builder
		if err := Write(&text, c, report.Options{}); err != nil {
			t.Fatal(err)
		}
		if first, _, _ := strings.Cut(text.String(), "\n"); first != want {
			t.Errorf("%q: %q, want %q", verdicts, first, want)
		}
	}
}

// TestUnknownValues: what was not measured is a dash in the table, nothing in CSV, and never zero.
func TestUnknownValues(t *testing.T) {
	r := compared("never", "criu", "group", 5)
	for _, m := range append(slices.Clone(measures), ofRuns...) {
		value, known := m.of(&r)
		switch m.key {
		case "peak_bytes", "fastest_seconds", "slowest_seconds", "to_best":
			if known {
				t.Errorf("%s is %v without anything to measure", m.key, value)
			}
		default:
			if !known || math.IsNaN(value) || m.text(value) == "" {
				t.Errorf("%s is %v, known: %t", m.key, value, known)
			}
		}
		if value, known := m.of(&Row{Failed: true}); known || value != 0 {
			t.Errorf("%s of what was not run is %v", m.key, value)
		}
	}
	r.Counts.Checkpoints, r.PeakBytes, r.fastest, r.toBest = 1, 0, time.Second, 0.5
	for key, want := range map[string]string{
		"peak_bytes": "0 B", "fastest_seconds": "1.00 s", "to_best": "0.50 x",
	} {
		for _, m := range append(slices.Clone(measures), ofRuns...) {
			if value, known := m.of(&r); m.key == key && (!known || m.text(value) != want) {
				t.Errorf("%s is %q, want %q", key, m.text(value), want)
			}
		}
	}
}

// TestNotes: a reason of several lines is indented below its number, and bounded.
func TestNotes(t *testing.T) {
	c := &Comparison{Package: "p", Rows: []Row{
		compared("never", "criu", "group", 5),
		{Strategy: "always", Backend: "criu", Scope: "group", Failed: true,
			Reason: "\nfirst\n\x1bsecond\n" + strings.Repeat("more\n", maxNoteLines)},
	}}
	var text strings.Builder
	if err := Write(&text, c, report.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"none [1]", "\n   [1] always, criu, group:\n", "\n       first\n       \\x1bsecond\n",
		"\n       and 3 more lines\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
}

// slowMedians is Comparison.Medians by sorting all runs of each name: the row of the median time,
// or of the first failure.
func slowMedians(rows []Row) (medians []Row) {
	byName := map[string][]Row{}
	var names []string
	for _, r := range rows {
		if byName[r.Name()] == nil {
			names = append(names, r.Name())
		}
		byName[r.Name()] = append(byName[r.Name()], r)
	}
	for _, name := range names {
		runs := slices.DeleteFunc(slices.Clone(byName[name]), func(r Row) bool { return r.Interrupted })
		failed := slices.IndexFunc(runs, func(r Row) bool { return r.Failed })
		slices.SortStableFunc(runs, func(a, b Row) int { return cmp.Compare(a.Elapsed, b.Elapsed) })
		switch {
		case len(runs) == 0:
			medians = append(medians, byName[name][0])
		case failed >= 0:
			first := slices.IndexFunc(byName[name], func(r Row) bool { return r.Failed && !r.Interrupted })
			medians = append(medians, byName[name][first])
		default:
			m := runs[(len(runs)-1)/2]
			m.fastest, m.slowest = runs[0].Elapsed, runs[len(runs)-1].Elapsed
			medians = append(medians, m)
		}
	}
	return medians
}

// TestMediansTwin: whatever runs there are, each combination has the row that the twin finds, and
// "to best" is how its time compares with the fastest of the others.
func TestMediansTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Comparison{Package: "p"}
		for i := range rapid.IntRange(1, 12).Draw(t, "runs") {
			r := Row{
				Strategy: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "strategy"),
				Backend:  "criu", Scope: "group", Reason: fmt.Sprint(i), Verdict: report.Holds,
				Elapsed: time.Duration(rapid.IntRange(1, 5).Draw(t, "elapsed")),
			}
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				r.Failed, r.Verdict = true, ""
			case 1:
				r.Interrupted = true
			case 2:
				r.Verdict = report.Unknown
			}
			c.Rows = append(c.Rows, r)
		}
		m := c.Medians()
		want := slowMedians(c.Rows)
		for i, r := range want {
			best := time.Duration(0)
			decided := func(r Row) bool {
				return !r.Failed && (r.Verdict == report.Holds || r.Verdict == report.Violated)
			}
			for j, other := range want {
				if i != j && decided(other) && (best == 0 || other.Elapsed < best) {
					best = other.Elapsed
				}
			}
			if best > 0 && decided(r) {
				want[i].toBest = float64(r.Elapsed) / float64(best)
			}
		}
		if diff := gocmp.Diff(want, m.Rows, gocmp.AllowUnexported(Row{})); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if !m.repeated || m.Package != c.Package {
			t.Fatalf("%+v", m)
		}
	})
}

// TestVerdictTwin: together, combinations have the strongest verdict of all, and no other.
func TestVerdictTwin(t *testing.T) {
	all := []report.Verdict{"", report.Unknown, report.Holds, report.Violated} // the weakest first
	rapid.Check(t, func(t *rapid.T) {
		c, strongest := &Comparison{}, 0
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			i := rapid.IntRange(0, len(all)-1).Draw(t, "verdict")
			c.Rows, strongest = append(c.Rows, Row{Verdict: all[i]}), max(strongest, i)
		}
		if got := c.Verdict(); got != all[strongest] {
			t.Fatalf("%q, want %q", got, all[strongest])
		}
	})
}

// TestDisagreementIsSymmetric: it does not matter in which order two combinations were run.
func TestDisagreementIsSymmetric(t *testing.T) {
	draw := func(t *rapid.T, name string) Row {
		r := Row{
			Strategy: name, Scope: rapid.SampledFrom([]string{"group", "connection"}).Draw(t, "scope"),
			Verdict: rapid.SampledFrom([]report.Verdict{"", report.Unknown, report.Holds, report.Violated}).
				Draw(t, "verdict"),
			Failed:   rapid.Bool().Draw(t, "failed"),
			Outcomes: map[string]int{"completed": rapid.IntRange(1, 2).Draw(t, "completed")},
		}
		r.Counts.Executions = rapid.IntRange(1, 2).Draw(t, "executions")
		return r
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		one := (&Comparison{Rows: []Row{a, b}}).Disagreement()
		other := (&Comparison{Rows: []Row{b, a}}).Disagreement()
		if (one == nil) != (other == nil) {
			t.Fatalf("%v, and the other way round %v", one, other)
		}
		if (&Comparison{Rows: []Row{a, a}}).Disagreement() != nil {
			t.Fatalf("%+v disagrees with itself", a)
		}
	})
}
