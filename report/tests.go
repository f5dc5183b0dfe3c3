package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/internal/textutil"
)

// Test is the verdict on one test function or subtest.
type Test struct {
	Name           string // as go test prints it, e.g. "TestGet/empty"
	Verdict        Verdict
	Reason         string // one line; of Errored, lines after the first tell where
	Skipped        bool   // it skipped itself
	Executions     int    // of the search that it was part of
	Elapsed        time.Duration
	Counterexample *Counterexample // of a violation by the test itself, not by its subtests
}

// WriteTest writes one line with the verdict. The error is the writer's.
func WriteTest(w io.Writer, t Test, options Options) error {
	p := &printer{options: options}
	verdict := string(t.Verdict)
	if t.Skipped && t.Verdict == Holds {
		verdict = "skipped"
	}
	text := fmt.Sprintf("--- %s: %s (%s, %.2fs)", verdict, printable(t.Name),
		textutil.CountOf(t.Executions, "execution"), t.Elapsed.Seconds())
	reason, where, _ := strings.Cut(t.Reason, "\n")
	if t.Verdict == Unknown || t.Verdict == Errored {
		text += ": " + printable(reason)
	}
	p.line(verdictStyles[t.Verdict], text)
	if t.Verdict == Errored && where != "" {
		for line := range strings.SplitSeq(where, "\n") {
			p.line(plain, "    "+printable(strings.TrimSpace(line)))
		}
	}
	_, err := w.Write(p.text.Bytes())
	return err
}

// TestPackage is the tests of a package.
type TestPackage struct {
	Name        string // import path
	Tests       []Test // subtests before the tests that they are part of
	Error       string // why the package could not be checked to its end; "" if it was
	Elapsed     time.Duration
	Assumptions Assumptions
}

// WriteTestPackage writes, after the verdicts of its tests, the counterexamples of a
// package and a summary. The error is the writer's.
func WriteTestPackage(w io.Writer, t TestPackage, options Options) error {
	p := &printer{options: options}
	counts := map[Verdict]int{}
	for _, test := range t.Tests {
		counts[test.Verdict]++
		if test.Counterexample != nil {
			p.line(plain, "")
			p.line(bold, "=== "+printable(test.Name))
			p.counterexample(test.Counterexample)
			p.line(plain, "")
		}
	}
	errored := ""
	if counts[Errored] > 0 {
		errored = ", " + textutil.CountOf(counts[Errored], "error")
	}
	p.linef(plain, "%s: %s: %s, %s violated, %s unknown%s, in %.2fs", printable(t.Name),
		textutil.CountOf(len(t.Tests), "test"),
		holding(counts[Holds]), textutil.Count(counts[Violated]), textutil.Count(counts[Unknown]), errored,
		t.Elapsed.Seconds())
	if counts[Violated] == 0 {
		p.assumptions(t.Assumptions)
	}
	_, err := w.Write(p.text.Bytes())
	return err
}

func holding(n int) string {
	if n == 1 {
		return "1 holds"
	}
	return textutil.Count(n) + " hold"
}
