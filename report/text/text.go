// Package text writes reports for a terminal of at least 100 columns, or for a file:
// counterexamples, summaries of searches, and verdicts on tests.
package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// The layout of a schedule, in columns: the source of an operation is at the right.
const (
	sourceColumn = 64
	numberWidth  = 11 // "  123-456  "
	indentWidth  = 3
	maxIndents   = 5 // goroutines beyond share the last indentation
)

// maxOutcome bounds the lines that tell how an execution ended.
const maxOutcome = 100

// Write writes a counterexample: the schedule, indented by goroutine, with the network messages
// decoded, then the failure, the restores of the peers, the summary, and the command that replays
// it. The error is the writer's.
func Write(w io.Writer, c *report.Counterexample, options report.Options) error {
	p := printer.New(options)
	printCounterexample(p, c)
	_, err := w.Write(p.Bytes())
	return err
}

// WriteFailure writes what Write has about the failure. The error is the writer's. There is no
// colour, and no empty line at its beginning or end: a page has it in an element of its own.
func WriteFailure(w io.Writer, c *report.Counterexample) error {
	p := printer.New(report.Options{})
	printFailure(p, c)
	_, err := io.WriteString(w, strings.TrimSpace(p.String()))
	return err
}

// WriteSearch writes what Write has about output, the search, and how to see the failure again, in
// the way of WriteFailure.
func WriteSearch(w io.Writer, c *report.Counterexample) error {
	p := printer.New(report.Options{})
	printOutputs(p, c)
	printRestores(p, c.Steps)
	printMissing(p, c.Run)
	printSummary(p, c.Run)
	printReplay(p, c)
	_, err := io.WriteString(w, strings.TrimSpace(p.String()))
	return err
}

// WriteSummary writes the verdict of a search and what it rests on. The error is the writer's. A
// search that can be continued has the command for that at the end.
func WriteSummary(w io.Writer, run report.Run, options report.Options) error {
	p := printer.New(options)
	printVerdict(p, run)
	printSummary(p, run)
	if run.ResumeCommand != "" {
		p.Heading("Go on")
		p.Print("  " + words.Printable(run.ResumeCommand))
	}
	_, err := w.Write(p.Bytes())
	return err
}

// printCounterexample prints all that there is to say about a violation, the most important thing
// first. The headline is the failure itself, and not why the search stopped.
func printCounterexample(p *printer.Printer, c *report.Counterexample) {
	headline := c.Run
	if c.Failure.Message != "" {
		// Why the search stopped is said below, under Search.
		headline.Reason = c.Failure.Headline()
	}
	printVerdict(p, headline)
	p.Heading("Goroutines")
	for i, g := range c.Goroutines {
		if i == printer.MaxListed {
			p.Printf("  and %s more", textutil.Count(len(c.Goroutines)-printer.MaxListed))
			break
		}
		printGoroutine(p, g)
	}
	printSchedule(p, c)
	printAfterSchedule(p, c)
}

// printAfterSchedule prints what follows the schedule, which pages show as text, too.
func printAfterSchedule(p *printer.Printer, c *report.Counterexample) {
	printFailure(p, c)
	printOutputs(p, c)
	printRestores(p, c.Steps)
	printMissing(p, c.Run)
	printSummary(p, c.Run)
	printReplay(p, c)
}

// printReplay says how to see it again.
func printReplay(p *printer.Printer, c *report.Counterexample) {
	if c.ReplayCommand != "" {
		p.Heading("Replay")
		p.Print("  " + words.Printable(c.ReplayCommand))
	}
	if c.Schedule != "" {
		p.Printf("  or, in a test: tandem.Replay(t, %q)", string(c.Schedule))
	}
}

// printVerdict prints the headline: the verdict, its reason, and what was checked. What cut
// executions off is said only where it matters: a violation that was found is none the less one.
func printVerdict(p *printer.Printer, run report.Run) {
	p.Line(printer.OfVerdict[run.Verdict], words.Fit(
		strings.ToUpper(string(run.Verdict))+": "+words.Printable(run.Reason), printer.Width))
	p.Print("  " + words.Printable(run.Program()))
	for _, line := range run.Details[:min(len(run.Details), printer.MaxListed)] {
		p.Print("  " + words.Printable(line))
	}
	if run.Verdict != report.Violated {
		printMissed(p, run.Missed, run.Reason)
	}
	if run.CutOff != "" && run.Verdict == report.Unknown {
		for line := range strings.Lines(run.CutOff) {
			p.Print("  cut off by " + words.Printable(strings.TrimSuffix(line, "\n")))
		}
	}
}

// printGoroutine says where a goroutine comes from and what it runs.
func printGoroutine(p *printer.Printer, g report.Goroutine) {
	created := ""
	if g.Created != "" {
		created = "started at " + words.Printable(g.Created)
	}
	p.Print(fmt.Sprintf("  %-12s %-48s %s", words.Printable(g.Name),
		words.Fit(words.ShortFunction(g.Function), 48), created))
}

// printFailure says how the execution ended and what each goroutine that did not get to its end
// waits for. Goroutines that wait are left out of a data race, since they have nothing to do with
// it. A timer of a peer that was not waited for may be why the program waits, so it is named there,
// too.
func printFailure(p *printer.Printer, c *report.Counterexample) {
	p.Heading("Failure")
	lines := strings.Split(strings.TrimRight(c.Failure.String(), "\n"), "\n")
	for i, line := range lines {
		if i == maxOutcome {
			p.Printf("  and %s", textutil.CountOf(len(lines)-maxOutcome, "more line"))
			break
		}
		p.Line(printer.Red, "  "+strings.ReplaceAll(words.Printable(line), `\t`, "    "))
	}
	// The later access comes first: it is where the race was found.
	if c.Race != nil {
		printMemoryAccess(p, "", c.Race.Later)
		printMemoryAccess(p, "after the ", c.Race.Earlier)
	}
	listed := 0
	for _, g := range c.Goroutines {
		if g.Blocked != "" && c.Race == nil && listed < printer.MaxListed {
			if listed == 0 && c.Failure.Printed != "" && c.Failure.Kind != model.Exited {
				p.Print("") // else it looks as if the program had printed that
			}
			p.Printf("  %-12s waits: %s", words.Printable(g.Name), words.Printable(g.Blocked))
			listed++
		}
	}
	if t := c.PeerTimer; t != nil && c.Race == nil {
		p.Printf("  %s still had a timer, due in %v (see peer_patience)", words.Printable(t.Peer), t.Due)
	}
}

// printMemoryAccess prints one access of a data race with its stack. The runtime itself may access
// memory on behalf of nobody, and then there is no stack.
func printMemoryAccess(p *printer.Printer, when string, a report.MemoryAccess) {
	size, created := "", ""
	if a.Size > 0 {
		size = " of " + textutil.CountOf(a.Size, "byte")
	}
	if a.Goroutine.Created != "" {
		created = ", started at " + a.Goroutine.Created
	}
	p.Print("")
	p.Print("  " + words.Printable(fmt.Sprintf("%s%s%s at %#x by %s%s", when, a.Operation, size, a.Address,
		a.Goroutine.Name, created)))
	for _, f := range a.Stack[:min(len(a.Stack), printer.MaxListed)] {
		p.Print("    " + words.Pad(words.ShortFunction(f.Function), sourceColumn-4) +
			words.Printable(f.Source))
	}
	if len(a.Stack) == 0 {
		p.Print("    by the runtime, for nobody in particular")
	}
}

// printRestores lists where the peers were taken back. The steps are the numbers of the schedule,
// which begin with 1.
func printRestores(p *printer.Printer, steps []report.Step) {
	listed := 0
	for i, step := range steps {
		if step.Restored == "" || listed == printer.MaxListed {
			continue
		}
		if listed == 0 {
			p.Heading("Peers restored")
		}
		p.Linef(printer.Yellow, "  for step %d: %s", i+1, words.Printable(step.Restored))
		listed++
	}
}
