package compare

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/internal/testkit/golden"
	"github.com/tandem-mc/tandem/internal/textutil"

	"github.com/tandem-mc/tandem/report"
)

// compared is a row of a search that holds.
func compared(strategy, backend, scope string, executions int) Row {
	return Row{
		Strategy: strategy, Backend: backend, Scope: scope, Verdict: report.Holds,
		Reason:   "every execution is covered",
		Outcomes: map[string]int{"completed": executions},
		Elapsed:  time.Duration(executions) * 9 * time.Millisecond,
		Counts: report.Counts{Executions: executions, Transitions: 19 * executions, CacheHits: 872,
			CacheMisses: 248},
	}
}

// fourWays is a comparison in which all that are run agree.
func fourWays() *Comparison {
	never, memory := compared("never", "criu", "group", 140),
		compared("after-io,every=2", "memory", "group", 140)
	never.Restarts, never.Counts.Replayed = 69, 312
	memory.Counts.Checkpoints, memory.Counts.Restores, memory.ImageBytes, memory.PeakBytes = 101, 69,
		28766208, 36069376
	late := compared("always", "criu", "group", 77)
	late.Verdict, late.Reason = report.Unknown, "the time of 1s is over"
	return &Comparison{Package: "./examples/alphabet", Args: []string{"-connections", "2", "a <b>"},
		Rows: []Row{
			never, memory, late,
			{Strategy: "never", Backend: "auto", Scope: "connection", Failed: true,
				Reason: "the peers have answered twice\n  earlier: a\x1b[2J\n  now: \"A\", <&>"},
		}}
}

func TestComparisonText(t *testing.T) {
	var text bytes.Buffer
	if err := Write(&text, fourWays(), report.Options{}); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "comparison.txt", text.String())
}

func TestComparisonCSV(t *testing.T) {
	var text bytes.Buffer
	if err := WriteCSV(&text, fourWays()); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "comparison.csv", text.String())
	lines, err := csv.NewReader(&text).ReadAll() // which wants as many fields in each
	if err != nil {
		t.Fatal(err)
	}
	if got := lines[4][len(lines[4])-1]; !strings.HasSuffix(got, `now: "A", <&>`) {
		t.Errorf("the reason is read as %q", got)
	}
}

func TestComparisonSVG(t *testing.T) {
	var text bytes.Buffer
	if err := WriteSVG(&text, fourWays()); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "comparison.svg", text.String())
	bars := 0
	for d := xml.NewDecoder(&text); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "rect" {
			bars++
		}
	}
	if want := 1 + len(measures)*4; bars != want {
		t.Errorf("there are %d rectangles, want %d", bars, want)
	}
}

func TestComparisonWithoutVerdict(t *testing.T) {
	c := &Comparison{Package: "p", Rows: []Row{{Strategy: "never", Backend: "criu", Scope: "group",
		Failed: true, Reason: strings.Repeat("line\n", 30)}}}
	var text bytes.Buffer
	if err := Write(&text, c, report.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"NO VERDICT: none of 1 combination could be run\n", "and 10 more lines\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &text)
		}
	}
	if err := WriteSVG(io.Discard, c); err != nil {
		t.Fatal(err)
	}
	if got := c.Verdict(); got != "" {
		t.Errorf("the verdict is %q", got)
	}
}

func TestDisagreement(t *testing.T) {
	change := func(c Row, by func(*Row)) Row {
		by(&c)
		return c
	}
	never, always := compared("never", "criu", "group", 5), compared("always", "criu", "group", 5)
	violated := change(always, func(c *Row) {
		c.Verdict, c.Outcomes = report.Violated, map[string]int{"completed": 4, "deadlock": 1}
	})
	cases := []struct {
		name     string
		rows     []Row
		names    []string // in the error; nil: they agree
		together report.Verdict
	}{
		{"the same", []Row{never, always}, nil, report.Holds},
		{"verdict", []Row{never, violated}, []string{"never, criu, group: holds (5 completed)",
			"always, criu, group: violated (4 completed, 1 deadlock)", "report it"}, report.Violated},
		{"number", []Row{never, change(always, func(c *Row) { c.Outcomes = map[string]int{"completed": 6} })},
			[]string{"holds (5 completed)", "holds (6 completed)"}, report.Holds},
		{"another way", []Row{violated, change(violated,
			func(c *Row) { c.Outcomes = map[string]int{"completed": 4, "panicked": 1} })},
			[]string{"1 deadlock", "1 panicked"}, report.Violated},
		{"the third", []Row{never, always, violated}, []string{"never, criu", "always, criu"},
			report.Violated},
		{"number, in another scope", []Row{never, compared("never", "criu", "connection", 3)}, nil,
			report.Holds},
		{"verdict, in another scope", []Row{violated, compared("never", "criu", "connection", 3)},
			[]string{"use scope group"}, report.Violated},
		{"ended early", []Row{never, change(always, func(c *Row) {
			c.Verdict, c.Counts.Executions, c.Outcomes = report.Unknown, 3, map[string]int{"completed": 3}
		})}, nil, report.Holds},
		{"ended by the same bound", []Row{
			change(never, func(c *Row) { c.Verdict = report.Unknown }),
			change(always, func(c *Row) {
				c.Verdict, c.Outcomes = report.Unknown,
					map[string]int{"completed": 4, "step limit reached": 1}
			}),
		}, []string{"unknown (5 completed)", "1 step limit reached"}, report.Unknown},
		{"no verdict", []Row{{Strategy: "never", Failed: true, Reason: "x"}, violated}, nil, report.Violated},
		{"an error after the violation", []Row{violated,
			change(violated, func(c *Row) { c.Failed, c.Outcomes = true, nil })}, nil, report.Violated},
		{"random numbers", []Row{change(never, func(c *Row) { c.Counts.Reads = "dropbear: time 5" }),
			violated},
			[]string{"dropbear: time 5", "choices"}, report.Violated},
		{"uninstrumented", []Row{
			change(never, func(c *Row) { c.Counts.Uninstrumented = []string{"server"} }), violated},
			[]string{"not known whether"}, report.Violated},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			c := &Comparison{Rows: test.rows}
			if got := c.Verdict(); got != test.together {
				t.Errorf("together: %q, want %q", got, test.together)
			}
			err := c.Disagreement()
			if (err != nil) != (test.names != nil) {
				t.Fatalf("the disagreement is %v", err)
			}
			for _, name := range test.names {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("%q is missing in %q", name, err)
				}
			}
		})
	}
}

func TestBytesText(t *testing.T) {
	for bytes, want := range map[float64]string{0: "0 B", 1023: "1023 B", 1 << 10: "1.0 KiB",
		3 << 19: "1.5 MiB", 5 << 40: "5120.0 GiB"} {
		if got := textutil.Bytes(bytes); got != want {
			t.Errorf("%v bytes are %q, want %q", bytes, got, want)
		}
	}
}

// TestMedians: of several runs of each combination the table has the median, and how that
// compares with the fastest other one.
func TestMedians(t *testing.T) {
	c := &Comparison{Package: "./examples/alphabet"}
	for round, ms := range [][]int{{30, 50, 70, 5}, {10, 40, 90, 5}, {20, 60, 80, 5}} {
		for i, name := range []string{"adaptive", "always", "never", "after-io"} {
			r := compared(name, "auto", "group", 140)
			r.Elapsed = time.Duration(ms[i]) * time.Millisecond
			switch {
			case name == "never" && round == 1:
				r.Verdict, r.Failed, r.Reason = "", true, "the peers have answered twice"
			case name == "after-io":
				r.Scope = "connection"
			}
			c.Rows = append(c.Rows, r)
		}
	}
	// as if it were interrupted in a fourth round
	for _, name := range []string{"adaptive", "always", "after-nd"} {
		c.Rows = append(c.Rows, Row{Strategy: name, Backend: "auto", Scope: "group",
			Failed: name != "adaptive", Interrupted: true})
	}
	m := c.Medians()
	var got []string
	for _, r := range m.Rows {
		got = append(got, fmt.Sprint(r.Strategy, " ", r.Elapsed, " ", r.fastest, " ", r.slowest, " ",
			r.toBest))
	}
	want := []string{"adaptive 20ms 10ms 30ms 0.4", "always 50ms 40ms 60ms 2.5", "never 90ms 0s 0s 0",
		"after-io 5ms 5ms 5ms 0", "after-nd 0s 0s 0s 0"}
	if !slices.Equal(got, want) || !m.Rows[2].Failed || !m.Rows[4].Failed {
		t.Errorf("%q, want %q", got, want)
	}
	var text, csv bytes.Buffer
	if err := errors.Join(Write(&text, m, report.Options{}), WriteCSV(&csv, m)); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"adaptive auto group holds 0.02 s 0.01 s 0.03 s 0.40 x 140 2,660 ",
		"never auto group none [1] - - - - - ",
		"as a multiple of the fastest other strategy's",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), line) {
			t.Errorf("no %q in\n%s", line, &text)
		}
	}
	if !strings.Contains(csv.String(), "adaptive,auto,group,holds,completed: 140,0.02,0.01,0.03,0.4,140,") {
		t.Errorf("CSV:\n%s", &csv)
	}
}
