package text

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
	"github.com/tandem-mc/tandem/report/internal/rows"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// scheduleRows are the rows of a schedule, and the outputs that belong to none of them.
func scheduleRows(c *report.Counterexample, o report.Options) (list []rows.Row, left []report.Output) {
	list = rows.Of(c.Steps)
	if o.Unfold {
		return list, placeOutputs(list, c.Outputs)
	}
	// Libraries come first: what they do in the rounds of a loop may differ in steps that nobody
	// asks for.
	list = rows.Fold(rows.FoldLoops(rows.FoldLibraries(list, c.Goroutines)))
	left = placeOutputs(list, c.Outputs)
	return rows.Shorten(list), left
}

// printSchedule prints the steps as rows, indented by goroutine, with a header where another
// goroutine goes on. Goroutines get their indentations in the order in which they first run, so
// that main is at the left. Time that passes has a header, too, but neither preempts nor is
// preempted. It returns the outputs that belong to no row.
func printSchedule(p *printer.Printer, c *report.Counterexample) (left []report.Output) {
	p.Heading("Schedule: " + c.Size().String())
	list, left := scheduleRows(c, p.Options)
	names := map[int]string{}
	for _, g := range c.Goroutines {
		names[g.ID] = words.Printable(g.Name) + "  " + words.ShortFunction(g.Function)
	}
	names[report.Clock] = "clock"
	// The goroutine that ran before, which the next one may preempt. The clock stands for none.
	last := report.Clock
	margin := strings.Repeat(" ", numberWidth)
	indents := map[int]string{}
	for i, r := range list {
		if r.Omission != "" {
			p.Line(printer.Dim, margin+r.Omission)
			continue
		}
		if r.Summary != "" {
			printRow(p, r, "")
			last = r.Goroutine
			continue
		}
		// The first goroutine has the smallest indentation; all beyond maxIndents share the last
		// one.
		indent, ok := indents[r.Goroutine]
		if !ok {
			indent = strings.Repeat(" ", indentWidth*min(len(indents), maxIndents))
			indents[r.Goroutine] = indent
		}
		// What was folded has said who acts in words of its own.
		if i == 0 || list[i-1].Goroutine != r.Goroutine || list[i-1].Omission+list[i-1].Summary != "" {
			name, ok := names[r.Goroutine]
			if !ok {
				name = fmt.Sprintf("goroutine %d", r.Goroutine)
			}
			if r.Preempts && last != report.Clock {
				name += "  (preempts " + rows.NameOf(c.Goroutines, last) + ")"
			}
			p.Line(printer.Bold, words.Fit(margin+indent+name, printer.Width))
		}
		printRow(p, r, indent+"  ")
		if r.Goroutine != report.Clock {
			last = r.Goroutine
		}
	}
	return left
}

// printRow prints a row and, below it, the messages and the output that belong to it. A restore of
// the peers stands above the row, since it was done before its messages were sent.
func printRow(p *printer.Printer, r rows.Row, indent string) {
	margin := strings.Repeat(" ", numberWidth)
	if r.Restored != "" {
		p.Line(printer.Yellow, words.Fit(margin+"  === "+restored(r, p.Options), printer.Width))
	}
	// Readers count from 1.
	number := fmt.Sprint(r.First + 1)
	if r.Last > r.First {
		number = fmt.Sprintf("%d-%d", r.First+1, r.Last+1)
	}
	what, style := r.Done(), printer.Plain
	if r.Summary != "" {
		what, style = r.Summary, printer.Dim
	}
	text := fmt.Sprintf("%*s  %s%s", numberWidth-2, number, indent, strings.TrimRight(what, " "))
	p.Line(style, withPlace(text, words.Printable(r.Source), r.Function))
	for i, message := range r.Messages {
		if i == 0 && r.Cached && p.Options.Verbose {
			message += "  [answered by the cache]"
		}
		p.Line(printer.Cyan, words.Fit(margin+indent+"  "+message, printer.Width))
	}
	for _, line := range r.Outputs {
		p.Line(printer.Dim, words.Fit(margin+indent+"  "+line, maxPrinted))
	}
}

// maxPrinted bounds the columns of a line that was printed.
const maxPrinted = 200

// restored says in short that the peers were restored, or, if more is wanted, how.
func restored(r rows.Row, o report.Options) string {
	text := words.Printable(r.Restored)
	if short, _, ok := strings.Cut(text, " from "); ok && !o.Verbose {
		return short
	}
	return text
}

// withPlace puts a place at the right of a text. It is never cut, since it is to be opened; the
// function is left out where there is no room.
func withPlace(text, source, function string) string {
	if source == "" {
		return words.Fit(text, printer.Width)
	}
	room := max(sourceColumn-2, printer.Width-utf8.RuneCountInString(source)-2)
	text = words.Fit(text, room) + "  "
	if n := sourceColumn - utf8.RuneCountInString(text); n > 0 {
		text += strings.Repeat(" ", n)
	}
	text += source
	if function != "" && utf8.RuneCountInString(text+" "+function) <= printer.Width {
		text += " " + function
	}
	return text
}
