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
	printViolations(p, run, violations)
	_, err := w.Write(p.Bytes())
	return err
}

// printViolations prints all distinct violations of a search, and what is known of that.
func printViolations(p *printer.Printer, run report.Run, violations []report.Violation) {
	headline := run
	if len(violations) > 0 {
		headline.Reason = title(violations[0])
		headline.Details = append([]string{run.Reason}, run.Details...)
	}
	if n := len(violations) - 1; n > 0 {
		headline.Reason += fmt.Sprintf(", and %s", textutil.CountOf(n, "other"))
	}
	printVerdict(p, headline)
	p.Heading(textutil.CountOf(len(violations), "distinct violation"))
	for i, v := range violations {
		printViolation(p, i+1, v)
	}
	printMissing(p, run)
	run.Reason = "" // has been said
	printSummary(p, run, nil)
}

// title is what a violation is, in a line.
func title(v report.Violation) string {
	if v.Message == "" {
		return words.Printable(v.Outcome)
	}
	return words.Printable(v.Outcome) + ": " + words.Printable(v.Message)
}

// printViolation prints one of several violations in short. It has the outcome, how often it was
// seen, where, how complicated its schedule is, and the command that replays it.
func printViolation(p *printer.Printer, number int, v report.Violation) {
	seen := ""
	if v.Executions > 0 {
		seen = textutil.CountOf(v.Executions, "execution")
	}
	p.Line(printer.Red, fmt.Sprintf("%4d  %s %16s", number, words.Pad(title(v), printer.Width-23), seen))
	for i, place := range v.Places {
		if i == maxPlaces {
			p.Printf("      and %s more", textutil.Count(len(v.Places)-maxPlaces))
			break
		}
		p.Print(words.Fit("      "+words.Printable(place), printer.Width))
	}
	p.Printf("      %s", v.Size)
	if v.File != "" {
		p.Print("      tandem replay " + words.Printable(textutil.QuoteArg(v.File)))
	}
}

// maxPlaces bounds the places of one violation.
const maxPlaces = 12
