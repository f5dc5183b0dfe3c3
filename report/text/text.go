// Package text writes reports for a terminal of at least 100 columns, or for a file:
// counterexamples, summaries of searches, and verdicts on tests.
//
// A counterexample is told in the order in which a reader asks:
//
//   - what happened, and where: the failure, with the line of the user's own code. A goroutine that
//     is left has its stack, what it waits for, who holds that, and what the object is;
//   - which accesses led to it, where that is known;
//   - what the peers had got and sent by then;
//   - the schedule: a row for each step, or for several that belong together. What the program and
//     the peers printed stands below the row of its step;
//   - how to see it again, and at last what the search was and what its verdict rests on.
//
// Steps of libraries and the rounds of a loop are folded unless all are asked for, but those that
// the failure is about. What tells of Tandem rather than of the program is said on request alone:
// looks at the peers, backends, what the cache has answered.
//
// The legend is in docs/guide/reading-a-counterexample.md.
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

// The layout of a schedule, in columns: the source of an operation is at the right.
const (
	sourceColumn = 64
	numberWidth  = 11 // "  123-456  "
	indentWidth  = 3
	maxIndents   = 5 // goroutines beyond share the last indentation
)

// maxReason bounds the reason of a verdict, in characters.
const maxReason = 1000

// Write writes a counterexample: the failure and where it happened, what led to it, the schedule,
// indented by goroutine, with the network messages decoded and what was printed, the command that
// replays it, and the summary. The error is the writer's.
func Write(w io.Writer, c *report.Counterexample, options report.Options) error {
	p := printer.New(options)
	printCounterexample(p, c)
	_, err := w.Write(p.Bytes())
	return err
}

// WriteFailure writes what Write has before the schedule: the failure and what led to it. The error
// is the writer's. There is no colour, and no empty line at its beginning or end: a page has it in
// an element of its own.
func WriteFailure(w io.Writer, c *report.Counterexample) error {
	p := printer.New(report.Options{})
	printFailure(p, c)
	printLed(p, c)
	printConnections(p, c)
	_, err := io.WriteString(w, strings.TrimSpace(p.String()))
	return err
}

// WriteSearch writes what Write has after the schedule, in the way of WriteFailure: output, how to
// see the failure again, and the search with all that is known of it.
func WriteSearch(w io.Writer, c *report.Counterexample) error {
	p := printer.New(report.Options{Verbose: true})
	printAfterSchedule(p, c, c.Outputs)
	_, err := io.WriteString(w, strings.TrimSpace(p.String()))
	return err
}

// WriteSummary writes the verdict of a search and what it rests on. The error is the writer's. A
// search that can be continued has the command for that at the end.
func WriteSummary(w io.Writer, run report.Run, options report.Options) error {
	p := printer.New(options)
	printVerdict(p, run)
	printSummary(p, run, nil)
	if run.ResumeCommand != "" {
		p.Heading("Go on")
		p.Print("  " + words.Printable(run.ResumeCommand))
	}
	_, err := w.Write(p.Bytes())
	return err
}

// printCounterexample prints all that there is to say about a violation, the most important thing
// first: what happened and where, what led to it, the schedule. What the search was comes last. The
// headline is the failure itself, and not why the search stopped.
func printCounterexample(p *printer.Printer, c *report.Counterexample) {
	headline := c.Run
	headline.Details = nil
	if c.Failure.Message != "" {
		// Why the search stopped is said below, under Search.
		headline.Reason = c.Failure.Headline()
	}
	printVerdict(p, headline)
	printFailure(p, c)
	printLed(p, c)
	printConnections(p, c)
	if p.Options.Verbose {
		printGoroutines(p, c)
	}
	left := printSchedule(p, c)
	printAfterSchedule(p, c, left)
}

// printAfterSchedule prints what follows the schedule.
func printAfterSchedule(p *printer.Printer, c *report.Counterexample, left []report.Output) {
	printOutputs(p, left, c.Unheard)
	if p.Options.Verbose {
		printRestores(p, c.Steps)
	}
	printMissing(p, c.Run)
	printReplay(p, c)
	printSummary(p, c.Run, c.Shrunk)
}

// printGoroutines lists the goroutines, with where they come from.
func printGoroutines(p *printer.Printer, c *report.Counterexample) {
	p.Heading("Goroutines")
	for i, g := range c.Goroutines {
		if i == printer.MaxListed {
			p.Printf("  and %s more", textutil.Count(len(c.Goroutines)-printer.MaxListed))
			break
		}
		printGoroutine(p, g)
	}
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
	printReason(p, run.Verdict, words.Printable(run.Reason))
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

// printReason prints a verdict and its reason. That of a violation is cut off, since the whole
// failure is below it. Any other is nowhere else, so it goes on in further lines.
func printReason(p *printer.Printer, v report.Verdict, reason string) {
	verdict := strings.ToUpper(string(v)) + ": "
	if v == report.Violated {
		p.Line(printer.OfVerdict[v], words.Fit(verdict+reason, printer.Width))
		return
	}
	for _, line := range words.Wrap(words.Fit(reason, maxReason), printer.Width-len(verdict)) {
		p.Line(printer.OfVerdict[v], verdict+line)
		verdict = strings.Repeat(" ", len(verdict))
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
