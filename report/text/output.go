package text

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
	"github.com/tandem-mc/tandem/report/internal/rows"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// maxOutput bounds how many lines are shown of what is printed in one row: the last ones say most.
const maxOutput = 8

// placeOutputs has the rows show what the program and the peers printed in their steps. It returns
// what belongs to none of them.
func placeOutputs(list []rows.Row, outputs []report.Output) (left []report.Output) {
	placed := map[int][]string{}
	for _, o := range outputs {
		// Steps that were folded have one row, which shows what was printed in any of them.
		i := slices.IndexFunc(list, func(r rows.Row) bool {
			return r.Omission == "" && r.First <= o.Step && o.Step <= r.Last
		})
		if i < 0 {
			left = append(left, o)
			continue
		}
		placed[i] = append(placed[i], outputLines(o)...)
	}
	for i, lines := range placed {
		list[i].Outputs = lastLines(lines)
	}
	return left
}

// lastLines leaves out all but the last lines.
func lastLines(lines []string) []string {
	more := len(lines) - maxOutput
	if more <= 0 {
		return lines
	}
	return append([]string{"... " + textutil.CountOf(more, "line") + " before"}, lines[more:]...)
}

// printOutputs shows the output that could be placed at no step, peer by peer.
func printOutputs(p *printer.Printer, left []report.Output, unheard bool) {
	if len(left) > printer.MaxListed {
		left = left[:printer.MaxListed]
	}
	byPeer := map[string][]string{}
	var peers []string
	for _, o := range left {
		if _, known := byPeer[o.Peer]; !known {
			peers = append(peers, o.Peer)
		}
		byPeer[o.Peer] = append(byPeer[o.Peer], outputLines(o)...)
	}
	if len(peers) > 0 {
		p.Heading("Output")
	}
	for _, peer := range peers {
		for _, line := range lastLines(byPeer[peer]) {
			p.Print("  " + line)
		}
	}
	if unheard {
		p.Line(printer.Dim,
			"  the peers may have written more: it was not kept, or they had answered before this check")
	}
}

// outputLines are the lines of an output, each after who printed it. Tabs become blanks, since
// escape sequences for them would be harder to read.
func outputLines(o report.Output) (lines []string) {
	name := "the program"
	if o.Peer != "" {
		name = words.Fit(words.Printable(o.Peer), 40)
	}
	for line := range bytes.Lines(o.Text) {
		shown := strings.ReplaceAll(words.Printable(strings.TrimRight(string(line), "\r\n")), `\t`, "    ")
		lines = append(lines, name+" prints: "+shown)
	}
	return lines
}
