package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// WriteTest writes the verdict on one test, much as go test has it, in one line. A reason follows
// where the verdict does not speak for itself. Of an error, further lines tell where it was. A line
// of its own has the note. The error is the writer's.
func WriteTest(w io.Writer, t report.Test, options report.Options) error {
	p := printer.New(options)
	verdict := string(t.Verdict)
	if t.Skipped && t.Verdict == report.Holds {
		verdict = "skipped"
	}
	text := fmt.Sprintf("--- %s: %s (%s, %.2fs)", verdict, words.Printable(t.Name),
		textutil.CountOf(t.Executions, "execution"), t.Elapsed.Seconds())
	reason, where, _ := strings.Cut(t.Reason, "\n")
	if t.Verdict == report.Unknown || t.Verdict == report.Errored {
		text += ": " + words.Printable(reason)
	}
	p.Line(printer.OfVerdict[t.Verdict], text)
	if t.Verdict == report.Errored && where != "" {
		for line := range strings.SplitSeq(where, "\n") {
			p.Print("    " + words.Printable(strings.TrimSpace(line)))
		}
	}
	if t.Note != "" {
		p.Print("    " + words.Printable(t.Note))
	}
	_, err := w.Write(p.Bytes())
	return err
}

// WriteTestPackage writes, after the verdicts of its tests, the counterexamples of a package and a
// summary. The error is the writer's. Assumptions are of all tests, and are written only where none
// is violated: a violation does not rest on them.
func WriteTestPackage(w io.Writer, t report.TestPackage, options report.Options) error {
	p := printer.New(options)
	counts := map[report.Verdict]int{}
	for _, test := range t.Tests {
		counts[test.Verdict]++
		if test.Counterexample != nil {
			p.Print("")
			p.Line(printer.Bold, "=== "+words.Printable(test.Name))
			printTest(p, test)
			p.Print("")
		}
	}
	errored := ""
	if counts[report.Errored] > 0 {
		errored = ", " + textutil.CountOf(counts[report.Errored], "error")
	}
	p.Printf("%s: %s: %s, %s violated, %s unknown%s, in %.2fs", words.Printable(t.Name),
		textutil.CountOf(len(t.Tests), "test"),
		holding(counts[report.Holds]), textutil.Count(counts[report.Violated]),
		textutil.Count(counts[report.Unknown]), errored, t.Elapsed.Seconds())
	missed := t.Missed()
	printMissed(p, missed, "")
	for _, note := range missed.Notes() {
		p.Print("  " + words.Printable(note))
	}
	if counts[report.Violated] == 0 {
		printAssumptions(p, t.Assumptions)
	}
	_, err := w.Write(p.Bytes())
	return err
}

// printTest prints the violation of a test, or, if there are several, a table of them.
func printTest(p *printer.Printer, t report.Test) {
	if len(t.Violations) > 1 {
		run := t.Counterexample.Run
		run.Args = []string{t.Name}
		printViolations(p, run, t.Violations)
		return
	}
	printCounterexample(p, t.Counterexample)
}

// holding is how many tests hold.
func holding(n int) string {
	if n == 1 {
		return "1 holds"
	}
	return textutil.Count(n) + " hold"
}
