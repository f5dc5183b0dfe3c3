package text

import (
	"fmt"
	"strings"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
	"github.com/tandem-mc/tandem/report/internal/rows"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// printSchedule prints the steps as rows, indented by goroutine, with a header where another
// goroutine goes on. Goroutines get their indentations in the order in which they first run, so
// that main is at the left. Time that passes has a header, too, but neither preempts nor is
// preempted.
func printSchedule(p *printer.Printer, c *report.Counterexample) {
	p.Heading("Schedule: " + c.Size().String())
	if c.Shrunk != nil {
		p.Print("  " + c.Shrunk.String())
	}
	list := rows.Of(c.Steps)
	if !p.Options.Unfold {
		list = rows.Shorten(rows.Fold(list))
	}
	names := map[int]string{}
	for _, g := range c.Goroutines {
		names[g.ID] = words.Printable(g.Name) + "  " + words.ShortFunction(g.Function)
	}
	names[report.Clock] = "clock"
	// The goroutine that ran before, which the next one may preempt. The clock stands for none.
	last := report.Clock // goroutine that ran before
	margin := strings.Repeat(" ", numberWidth)
	indents := map[int]string{}
	for i, r := range list {
		if r.Omission != "" {
			p.Line(printer.Dim, margin+r.Omission)
			continue
		}
		// The first goroutine has the smallest indentation; all beyond maxIndents share the last
		// one.
		indent, ok := indents[r.Goroutine]
		if !ok {
			indent = strings.Repeat(" ", indentWidth*min(len(indents), maxIndents))
			indents[r.Goroutine] = indent
		}
		if i == 0 || list[i-1].Goroutine != r.Goroutine || list[i-1].Omission != "" {
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
}

// printRow prints a row and, below it, the messages that belong to it. A restore of the peers
// stands above the row, since it was done before its messages were sent.
func printRow(p *printer.Printer, r rows.Row, indent string) {
	if r.Restored != "" {
		p.Line(printer.Yellow, words.Fit(strings.Repeat(" ",
			numberWidth)+"  === "+words.Printable(r.Restored), printer.Width))
	}
	number := fmt.Sprint(r.First + 1)
	if r.Last > r.First {
		number = fmt.Sprintf("%d-%d", r.First+1, r.Last+1)
	}
	text := fmt.Sprintf("%*s  %s%s %s", numberWidth-2, number, indent, r.What(), words.Printable(r.Object))
	source := words.Printable(r.Source)
	if r.Function != "" {
		source += " " + r.Function
	}
	p.Print(words.Pad(text, sourceColumn-1) + " " + words.Fit(source, printer.Width-sourceColumn))
	for _, message := range r.Messages {
		p.Line(printer.Cyan, words.Fit(strings.Repeat(" ", numberWidth)+indent+"  "+message, printer.Width))
	}
}
