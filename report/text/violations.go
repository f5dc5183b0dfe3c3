package text

import (
	"fmt"
	"io"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// WriteViolations writes the verdict of a search that went on after the first violation, a table of
// the distinct violations, and what the verdict rests on. The error is the writer's. Violations are
// numbered in the order in which they are given, beginning with 1, as are their files.
func WriteViolations(w io.Writer, run report.Run, violations []report.Violation,
	options report.Options) error {
	p := printer.New(options)
	printVerdict(p, run)
	p.Heading(textutil.CountOf(len(violations), "distinct violation"))
	for i, v := range violations {
		printViolation(p, i+1, v)
	}
	printMissing(p, run)
	run.Reason = "" // has been said
	printSummary(p, run)
	_, err := w.Write(p.Bytes())
	return err
}

// printViolation prints one of several violations in short. It has the outcome, how often it was
// seen, where, how complicated its schedule is, and the command that replays it.
func printViolation(p *printer.Printer, number int, v report.Violation) {
	title := words.Printable(v.Outcome)
	if v.Message != "" {
		title += ": " + words.Printable(v.Message)
	}
	seen := ""
	if v.Executions > 0 {
		seen = textutil.CountOf(v.Executions, "execution")
	}
	p.Line(printer.Red, fmt.Sprintf("%4d  %s %16s", number, words.Pad(title, printer.Width-23), seen))
	for i, place := range v.Places {
		if i == maxPlaces {
			p.Printf("      and %s more", textutil.Count(len(v.Places)-maxPlaces))
			break
		}
		p.Print(words.Fit("      "+words.Printable(place), printer.Width))
	}
	p.Printf("      %s", v.Size)
	if v.File != "" {
		p.Print("      tandem replay " + words.Printable(words.QuoteArg(v.File)))
	}
}

// maxPlaces bounds the places of one violation.
const maxPlaces = 12
