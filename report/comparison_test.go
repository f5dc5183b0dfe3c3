package report

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

	"github.com/tandem-mc/tandem/internal/textutil"
)

// compared is a row of a search that holds.
func compared(strategy, backend, scope string, executions int) Compared {
	return Compared{
		Strategy: strategy, Backend: backend, Scope: scope, Verdict: Holds, Reason: "every execution is covered",
		Outcomes: map[string]int{"completed": executions}, Elapsed: time.Duration(executions) * 9 * time.Millisecond,
		Counts: Counts{Executions: executions, Transitions: 19 * executions, CacheHits: 872, CacheMisses: 248},
	}
}

// fourWays is a comparison in which all that are run agree.
func fourWays() *Comparison {
	never, memory := compared("never", "criu", "group", 140), compared("after-io,every=2", "memory", "group", 140)
	never.Restarts, never.Counts.Replayed = 69, 312
	memory.Counts.Checkpoints, memory.Counts.Restores, memory.ImageBytes, memory.PeakBytes = 101, 69, 28766208, 36069376
	late := compared("always", "criu", "group", 77)
	late.Verdict, late.Reason = Unknown, "the time of 1s is over"
	return &Comparison{Package: "./examples/alphabet", Args: []string{"-connections", "2", "a <b>"}, Rows: []Compared{
		never, memory, late,
		{Strategy: "never", Backend: "auto", Scope: "connection", Failed: true, Reason: "the peers have answered twice\n  earlier: a\x1b[2J\n  now: \"A\", <&>"},
	}}
}

func TestComparisonText(t *testing.T) {
	var text bytes.Buffer
	if err := WriteComparison(&text, fourWays(), Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "comparison.txt", text.String())
}

func TestComparisonCSV(t *testing.T) {
	var text bytes.Buffer
	if err := WriteComparisonCSV(&text, fourWays()); err != nil {
		t.Fatal(err)
	}
	golden(t, "comparison.csv", text.String())
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
	if err := WriteComparisonSVG(&text, fourWays()); err != nil {
		t.Fatal(err)
	}
	golden(t, "comparison.svg", text.String())
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
	c := &Comparison{Package: "p", Rows: []Compared{{Strategy: "never", Backend: "criu", Scope: "group", Failed: true, Reason: strings.Repeat("line\n", 30)}}}
	var text bytes.Buffer
	if err := WriteComparison(&text, c, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"NO VERDICT: none of 1 combination could be run\n", "and 10 more lines\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &text)
		}
	}
	if err := WriteComparisonSVG(io.Discard, c); err != nil {
		t.Fatal(err)
	}
	if got := c.Verdict(); got != "" {
		t.Errorf("the verdict is %q", got)
	}
}

func TestDisagreement(t *testing.T) {
	change := func(c Compared, by func(*Compared)) Compared {
		by(&c)
		return c
	}
	never, always := compared("never", "criu", "group", 5), compared("always", "criu", "group", 5)
	violated := change(always, func(c *Compared) { c.Verdict, c.Outcomes = Violated, map[string]int{"completed": 4, "deadlock": 1} })
	cases := []struct {
		name     string
		rows     []Compared
		names    []string // in the error; nil: they agree
		together Verdict
	}{
		{"the same", []Compared{never, always}, nil, Holds},
		{"verdict", []Compared{never, violated}, []string{"never, criu, group: holds (5 completed)", "always, criu, group: violated (4 completed, 1 deadlock)", "report it"}, Violated},
		{"number", []Compared{never, change(always, func(c *Compared) { c.Outcomes = map[string]int{"completed": 6} })},
			[]string{"holds (5 completed)", "holds (6 completed)"}, Holds},
		{"another way", []Compared{violated, change(violated, func(c *Compared) { c.Outcomes = map[string]int{"completed": 4, "panicked": 1} })},
			[]string{"1 deadlock", "1 panicked"}, Violated},
		{"the third", []Compared{never, always, violated}, []string{"never, criu", "always, criu"}, Violated},
		{"number, in another scope", []Compared{never, compared("never", "criu", "connection", 3)}, nil, Holds},
		{"verdict, in another scope", []Compared{violated, compared("never", "criu", "connection", 3)}, []string{"use scope group"}, Violated},
		{"ended early", []Compared{never, change(always, func(c *Compared) {
			c.Verdict, c.Counts.Executions, c.Outcomes = Unknown, 3, map[string]int{"completed": 3}
		})}, nil, Holds},
		{"ended by the same bound", []Compared{
			change(never, func(c *Compared) { c.Verdict = Unknown }),
			change(always, func(c *Compared) {
				c.Verdict, c.Outcomes = Unknown, map[string]int{"completed": 4, "step limit reached": 1}
			}),
		}, []string{"unknown (5 completed)", "1 step limit reached"}, Unknown},
		{"no verdict", []Compared{{Strategy: "never", Failed: true, Reason: "x"}, violated}, nil, Violated},
		{"an error after the violation", []Compared{violated, change(violated, func(c *Compared) { c.Failed, c.Outcomes = true, nil })}, nil, Violated},
		{"random numbers", []Compared{change(never, func(c *Compared) { c.Counts.Reads = "dropbear: time 5" }), violated},
			[]string{"dropbear: time 5", "choices"}, Violated},
		{"blind", []Compared{change(never, func(c *Compared) { c.Counts.Blind = []string{"server"} }), violated}, []string{"not known whether"}, Violated},
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
	for bytes, want := range map[float64]string{0: "0 B", 1023: "1023 B", 1 << 10: "1.0 KiB", 3 << 19: "1.5 MiB", 5 << 40: "5120.0 GiB"} {
		if got := textutil.Bytes(bytes); got != want {
			t.Errorf("%v bytes are %q, want %q", bytes, got, want)
		}
	}
}

// TestMedians: of several runs of each combination the table has the median, and how that compares with the fastest other one.
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
	for _, name := range []string{"adaptive", "always", "after-nd"} { // as if it were interrupted in a fourth round
		c.Rows = append(c.Rows, Compared{Strategy: name, Backend: "auto", Scope: "group", Failed: name != "adaptive", Interrupted: true})
	}
	m := c.Medians()
	var got []string
	for _, r := range m.Rows {
		got = append(got, fmt.Sprint(r.Strategy, " ", r.Elapsed, " ", r.fastest, " ", r.slowest, " ", r.toBest))
	}
	want := []string{"adaptive 20ms 10ms 30ms 0.4", "always 50ms 40ms 60ms 2.5", "never 90ms 0s 0s 0", "after-io 5ms 5ms 5ms 0", "after-nd 0s 0s 0s 0"}
	if !slices.Equal(got, want) || !m.Rows[2].Failed || !m.Rows[4].Failed {
		t.Errorf("%q, want %q", got, want)
	}
	var text, csv bytes.Buffer
	if err := errors.Join(WriteComparison(&text, m, Options{}), WriteComparisonCSV(&csv, m)); err != nil {
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
