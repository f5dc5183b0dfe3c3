package report

import (
	"fmt"
	"io"
	"time"
)

// Test is the verdict on one test function or subtest.
type Test struct {
	Name           string // as go test prints it, e.g. "TestGet/empty"
	Verdict        Verdict
	Reason         string // one line
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
	text := fmt.Sprintf("--- %s: %s (%s, %.2fs)", verdict, printable(t.Name), countOf(t.Executions, "execution"), t.Elapsed.Seconds())
	if t.Verdict == Unknown {
		text += ": " + printable(t.Reason)
	}
	p.line(verdictStyles[t.Verdict], text)
	_, err := w.Write(p.text.Bytes())
	return err
}

// TestPackage is the tests of a package.
type TestPackage struct {
	Name        string // import path
	Tests       []Test // subtests before the tests that they are part of
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
	p.linef(plain, "%s: %s: %s, %s violated, %s unknown, in %.2fs", printable(t.Name), countOf(len(t.Tests), "test"),
		holding(counts[Holds]), count(counts[Violated]), count(counts[Unknown]), t.Elapsed.Seconds())
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
	return count(n) + " hold"
}
