package text

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// maxOutput bounds how many lines of the output of each peer are shown: the last ones say
// most.
const maxOutput = 24

// printOutputs shows what the peers wrote to their standard output and error, peer by peer, with
// the steps in which they did. The order is that of their first outputs.
func printOutputs(p *printer.Printer, c *report.Counterexample) {
	var names []string
	lines := map[string][]string{}
	for _, o := range c.Outputs {
		if _, known := lines[o.Peer]; !known && len(names) < printer.MaxListed {
			names = append(names, o.Peer)
		}
		lines[o.Peer] = append(lines[o.Peer], outputLines(o.Step, o.Text)...)
	}
	if len(names) == 0 {
		return
	}
	p.Heading("Output of the peers")
	for _, name := range names {
		p.Print("  " + words.Printable(name))
		all := lines[name]
		if left := len(all) - maxOutput; left > 0 {
			p.Linef(printer.Dim, "%s... %s before", strings.Repeat(" ", numberWidth),
				textutil.CountOf(left, "line"))
			all = all[left:]
		}
		for _, line := range all {
			p.Print(line)
		}
	}
	if c.Unheard {
		p.Line(printer.Dim, "  they may have written more: it was not kept, or they had answered before "+
			"this check")
	}
}

// outputLines are the lines of a text, the first one with the number of its step. Tabs become
// blanks, since escape sequences for them would be harder to read.
func outputLines(step int, text []byte) (lines []string) {
	number := fmt.Sprintf("%*d", numberWidth-2, step+1)
	for line := range bytes.Lines(text) {
		shown := strings.ReplaceAll(words.Printable(strings.TrimRight(string(line), "\r\n")), `\t`, "    ")
		lines = append(lines, fmt.Sprintf("%-*s%s", numberWidth, number, shown))
		number = ""
	}
	return lines
}
