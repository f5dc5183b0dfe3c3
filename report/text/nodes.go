package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// laneWidth is how far apart the lanes of two nodes begin. A line has one step, so what is longer
// reaches into the lanes to the right of it.
const laneWidth = 24

// WriteNodes writes the result of a check of several programs: the verdict, what led to it with a
// lane for each node, and what was explored.
func WriteNodes(w io.Writer, n *report.Nodes) error {
	p := printer.New(report.Options{})
	headline := strings.ToUpper(string(n.Verdict))
	switch n.Verdict {
	case report.Holds:
		p.Print(headline + ": every order of what the nodes do is covered")
	default:
		p.Print(headline + ": " + words.Printable(n.Reason))
	}
	if n.Note != "" {
		p.Print("  " + words.Printable(n.Note) + ": see whether this order is possible")
	}
	if c := n.Counterexample; c != nil {
		printFailure(p, c)
		printLed(p, c)
		printSchedule(p, c)
	}
	if len(n.Steps) > 0 {
		p.Heading("What the nodes did to each other")
		p.Print("  " + lanes(n.Names))
		for _, step := range n.Steps {
			if step.Node == "" {
				p.Print("  " + across(len(n.Names), words.Printable(step.What)))
				continue
			}
			at := max(slices.Index(n.Names, step.Node), 0)
			p.Print("  " + strings.Repeat(" ", at*laneWidth) + words.Printable(step.What))
		}
		p.Print("  The same check takes the same steps again. There is no file to replay yet.")
	}
	p.Heading("Search")
	p.Print("  " + textutil.CountOf(n.Executions, "execution") + " of single nodes")
	if n.Local > 0 && n.Verdict != report.Violated {
		p.Print("  " + textutil.CountOf(n.Skeletons, "way") +
			" in which the nodes talk to each other (skeletons)")
		p.Print(fmt.Sprintf("  %d of them differ within skeletons, and stand for %.0f of all nodes together",
			n.Local, n.Global))
	}
	if n.Verdict == report.Holds {
		p.Heading("Assumptions")
		for _, line := range []string{
			"a connect waits until the node listens; it is never refused",
			"time passes only when no node can do anything else, and messages take none",
			"a write arrives whole, and never waits for who reads",
			"the network loses no connection, and no node crashes",
		} {
			p.Print("  " + line)
		}
	}
	_, err := w.Write(p.Bytes())
	return err
}

// across is a line through all lanes, with words at its beginning.
func across(lanes int, what string) string {
	line := "-- " + what + " "
	return line + strings.Repeat("-", max(lanes*laneWidth-len(line), 2))
}

// lanes is the line with the names of all nodes.
func lanes(names []string) string {
	var b strings.Builder
	for i, name := range names {
		b.WriteString(strings.Repeat(" ", max(i*laneWidth-b.Len(), cmp.Compare(i, 0))))
		b.WriteString(name)
	}
	return b.String()
}
