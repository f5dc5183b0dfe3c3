package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// laneWidth is how far apart the lanes of two nodes begin. A line has one step, so what is longer
// reaches into the lanes to the right of it.
const laneWidth = 24

// WriteNodes writes the result of a check of several programs: the verdict, what led to it with a
// lane for each node, and what was explored. The error is the writer's. Several violations are
// listed, and each has a file.
func WriteNodes(w io.Writer, run report.Run, violations []report.Violation,
	options report.Options) error {
	p := printer.New(options)
	verdict, headline := run.Verdict, words.Printable(run.Reason)
	if len(violations) > 0 {
		verdict, headline = report.Violated, ofNode(violations[0])
	}
	if n := len(violations) - 1; n > 0 {
		headline += ", and " + textutil.CountOf(n, "other")
	}
	printReason(p, verdict, headline)
	p.Print("  " + words.Printable(run.Together()))
	for _, line := range run.Details {
		p.Print("  " + words.Printable(line))
	}
	var shrunk *report.Shrinking
	if len(violations) == 1 {
		printNodesViolation(p, run, violations[0])
		if c := violations[0].Counterexample; c != nil {
			shrunk = c.Shrunk
		}
	} else if len(violations) > 1 {
		p.Heading(textutil.CountOf(len(violations), "distinct violation"))
		for i, v := range violations {
			v.Outcome = "node " + v.Node + ": " + v.Outcome
			printViolation(p, i+1, v)
		}
	}
	printNodesSearch(p, run, shrunk)
	_, err := w.Write(p.Bytes())
	return err
}

// ofNode is what is wrong with a node, in a line.
func ofNode(v report.Violation) string {
	text := title(v)
	if c := v.Counterexample; c != nil && c.Failure.Message != "" {
		text = words.Printable(c.Failure.Headline())
	}
	return "node " + words.Printable(v.Node) + ": " + text
}

// printNodesViolation prints a violation in full: the execution of the node that has it, and what
// all of them do to each other.
func printNodesViolation(p *printer.Printer, run report.Run, v report.Violation) {
	if c := v.Counterexample; c != nil {
		printFailure(p, c)
		printLed(p, c)
		left := printSchedule(p, c)
		printOutputs(p, left, c.Unheard)
	}
	p.Heading("What the nodes did to each other")
	var names []string
	for _, node := range run.Nodes {
		names = append(names, node.Name)
	}
	if run.Beside != "" {
		names = append(names, run.Beside)
	}
	p.Print("  " + lanes(names))
	reads := 1
	for i, step := range v.Network {
		if step.Node == "" {
			p.Print("  " + across(len(names), words.Printable(step.What)))
			continue
		}
		// Who reads byte by byte has a line for the last one.
		if !p.Options.Unfold && i+1 < len(v.Network) && readsOn(step, v.Network[i+1]) {
			reads++
			continue
		}
		text := words.Printable(step.What)
		if reads > 1 {
			text += ", in " + textutil.CountOf(reads, "read")
		}
		reads = 1
		at := max(slices.Index(names, step.Node), 0)
		p.Print("  " + strings.Repeat(" ", at*laneWidth) + text)
	}
	p.Heading("Replay")
	if v.File != "" {
		p.Print("  tandem replay " + words.Printable(textutil.QuoteArg(v.File)))
	} else {
		p.Print("  there is no file to replay: " + words.Printable(v.Unkept))
	}
}

// readsOn says whether a step is a read, and the next one is too, of the same stream.
func readsOn(step, next report.NodeStep) bool {
	return step.Taken > 0 && step.Kind == next.Kind && step.Node == next.Node && step.Conn == next.Conn &&
		next.Taken > step.Taken
}

// printNodesSearch prints how much was explored, and what the verdict rests on. Of a replay there
// is nothing to say, nor of a violation that was not made simpler.
func printNodesSearch(p *printer.Printer, run report.Run, shrunk *report.Shrinking) {
	if n := run.Counts; n.Executions > 0 {
		p.Heading("Search")
		p.Printf("  %s of single nodes in %s%s", textutil.CountOf(n.Executions, "execution"),
			n.Elapsed.Round(time.Millisecond), rate(n))
		if n.Sampled > 0 {
			p.Printf("  %s of these were made at random, with all nodes together", textutil.Count(n.Sampled))
		}
		if n.Local > 0 && run.Verdict != report.Violated {
			who := "the nodes"
			if len(components(run.Nodes)) < len(run.Nodes) {
				who = "nodes and groups of them"
			}
			p.Print("  " + textutil.CountOf(n.Skeletons, "way") + " in which " + who +
				" talk to each other (skeletons)")
			p.Printf("  %s of single nodes within these stand for %s of all nodes together",
				textutil.PluralOf(n.Local, "different execution", "different executions"), countOf(n.Global))
			if p.Options.Verbose {
				printReduction(p, run)
			}
		}
		if n.CacheHits+n.CacheMisses > 0 {
			printPeers(p, n)
		}
		if shrunk != nil {
			p.Print("  " + shrunk.String())
		}
	}
	if run.Verdict != report.Violated {
		printAssumptions(p, run.Assumptions)
	}
	if run.ResumeCommand != "" {
		p.Heading("Go on")
		p.Print("  " + words.Printable(run.ResumeCommand))
	}
}

// countOf is a number of executions of all nodes together. It grows with the product of those of
// each, so it may be beyond what is counted exactly.
func countOf(n float64) string {
	if n < 1<<53 {
		return textutil.Count(int(n))
	}
	return fmt.Sprintf("%.3g", n)
}

// printReduction prints how many executions of the system one of a node stands for, and where that
// comes from: a row for each skeleton, with the executions of each node, and their product.
func printReduction(p *printer.Printer, run report.Run) {
	n := run.Counts
	p.Printf("  reduction: each execution of a single node stands for %.1f of all nodes together",
		n.Global/float64(n.Local))
	const width = 10 // of a column
	row := "  " + words.Pad("skeleton", width)
	for _, name := range components(run.Nodes) {
		row += " " + words.Pad(words.Printable(name), width)
	}
	p.Print(row + " together")
	for i, traces := range n.Traces {
		if i == printer.MaxListed {
			p.Printf("  and %s more", textutil.Count(len(n.Traces)-printer.MaxListed))
			break
		}
		row, product := "  "+words.Pad(textutil.Count(i+1), width), 1.0
		for _, of := range traces {
			row += " " + words.Pad(textutil.Count(of), width)
			product *= float64(of)
		}
		p.Printf("%s %.0f", row, product)
	}
}

// components are the names of what is explored by itself: nodes, and groups of them.
func components(nodes []report.Node) (names []string) {
	known := map[string]bool{}
	for _, n := range nodes {
		if n.Group == "" {
			names = append(names, n.Name)
		} else if !known[n.Group] {
			known[n.Group] = true
			names = append(names, n.Group)
		}
	}
	return names
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
