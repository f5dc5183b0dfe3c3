package text

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// maxOutcome bounds the lines that tell how an execution ended.
const maxOutcome = 100

// printFailure says how the execution ended and where, and what each goroutine that did not get to
// its end waits for. Goroutines that wait are left out of a data race, since they have nothing to
// do with it. A timer of a peer that was not waited for may be why the program waits, so it is
// named there, too.
func printFailure(p *printer.Printer, c *report.Counterexample) {
	p.Heading("Failure")
	if c.Failure.Peer != "" {
		p.Line(printer.Red, "  "+words.Printable(c.Failure.Peer))
	}
	printMessage(p, c.Failure)
	if len(c.Failure.Stack) > 0 {
		p.Print("")
		p.Print("  in " + words.Printable(c.Failure.Goroutine) + ":")
		printStack(p, c.Failure.Stack)
	}
	// The later access comes first: it is where the race was found.
	if c.Race != nil {
		printMemoryAccess(p, "", c.Race.Later)
		printMemoryAccess(p, "after the ", c.Race.Earlier)
		return
	}
	printNotBegun(p, c)
	printWaiting(p, c)
	if t := c.PeerTimer; t != nil {
		p.Printf("  %s still had a timer, due in %v (see peer_patience)", words.Printable(t.Peer), t.Due)
	}
}

// printMessage prints what is wrong. The stack that the runtime prints of a panic is left out where
// it is shown below.
func printMessage(p *printer.Printer, f report.Failure) {
	text := f.String()
	if before, _, ok := strings.Cut(f.Message, "\n\ngoroutine "); ok && len(f.Stack) > 0 &&
		!p.Options.Verbose {
		f.Message = before
		text = f.String()
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		if i == maxOutcome {
			p.Printf("  and %s", textutil.CountOf(len(lines)-maxOutcome, "more line"))
			break
		}
		p.Line(printer.Red, "  "+strings.ReplaceAll(words.Printable(line), `\t`, "    "))
	}
}

// printWaiting says what the goroutines wait for that are left. Where that is the failure, each has
// its stack, and what the objects are. Most of libraries wait for the next that the program asks of
// them, but one may be what the program waits for. So a few have a line each, and many are only
// counted, unless more is wanted.
func printWaiting(p *printer.Printer, c *report.Counterexample) {
	isFailure := c.Failure.Kind == model.Deadlock || c.Failure.Kind == model.Leaked ||
		c.Failure.Kind == model.Livelock
	const fewLibraries = 3
	listed, libraries := 0, []report.Goroutine(nil)
	for _, g := range c.Goroutines {
		switch {
		case g.Blocked == "":
			continue
		case g.Library && !p.Options.Verbose:
			libraries = append(libraries, g)
			continue
		case listed == printer.MaxListed:
			continue
		}
		// Elsewhere it is no failure that a goroutine waits, and one line says enough.
		stack := isFailure && len(g.Stack) > 0
		if stack || listed == 0 && c.Failure.Printed != "" && c.Failure.Kind != model.Exited ||
			listed == 0 && len(c.Failure.Stack) > 0 {
			p.Print("") // else it looks as if the program had printed that
		}
		p.Printf("  %-12s waits: %s", words.Printable(g.Name), words.Printable(g.Blocked))
		listed++
		if !stack {
			continue
		}
		for _, object := range g.Objects[:min(len(g.Objects), printer.MaxListed)] {
			p.Print("    " + words.Printable(object))
		}
		printStack(p, g.Stack)
		if g.Created != "" {
			p.Print("    started at " + words.Printable(g.Created))
		}
	}
	switch {
	case !isFailure || len(libraries) == 0:
	case len(libraries) > fewLibraries:
		p.Printf("  and %s of libraries: --verbose lists them", textutil.CountOf(len(libraries), "goroutine"))
	default:
		p.Print("")
		for _, g := range libraries {
			p.Printf("  %-12s waits: %s, in a library", words.Printable(g.Name), words.Printable(g.Blocked))
		}
	}
}

// printNotBegun names the goroutines that were started, and have done nothing yet.
func printNotBegun(p *printer.Printer, c *report.Counterexample) {
	var names []string
	// One that has not begun may be what the others wait for, and it is in no step.
	for _, g := range c.Goroutines {
		if g.Created != "" && g.Blocked == "" && !slices.ContainsFunc(c.Steps, func(s report.Step) bool {
			return s.Goroutine == g.ID
		}) {
			names = append(names, words.Printable(g.Name))
		}
	}
	const most = 6
	if more := len(names) - most; more > 0 {
		names = append(names[:most], "and "+textutil.Count(more)+" more")
	}
	if len(names) > 0 {
		p.Print("  not begun yet: " + strings.Join(names, ", "))
	}
}

// printStack prints calls, the innermost first. The line is quoted of the innermost call in the
// user's own code.
func printStack(p *printer.Printer, stack []report.Frame) {
	// The outermost calls are left out of a deep stack: they say where the goroutine was started.
	for _, f := range stack[:min(len(stack), printer.MaxListed)] {
		p.Print(withPlace("    "+words.ShortFunction(f.Function), words.Printable(f.Source), ""))
		if f.Text != "" {
			p.Line(printer.Bold, "      > "+words.Printable(f.Text))
		}
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
	printStack(p, a.Stack)
	if len(a.Stack) == 0 {
		p.Print("    by the runtime, for nobody in particular")
	}
}

// printLed says which accesses to one object led to the failure, with their lines.
func printLed(p *printer.Printer, c *report.Counterexample) {
	if len(c.Led) == 0 {
		return
	}
	margin := strings.Repeat(" ", numberWidth)
	object := ""
	for _, a := range c.Led {
		if step, ok := stepOf(c, a.Last); ok && object == "" { // a default has none
			object = words.Printable(step.Object)
		}
	}
	p.Heading("Order that led to it, on " + cmp.Or(object, "one object") + spelled(c.Led))
	for _, a := range c.Led {
		step, ok := stepOf(c, a.First)
		if !ok {
			continue
		}
		number := fmt.Sprint(a.First + 1)
		if a.Last > a.First {
			number = fmt.Sprintf("%d-%d", a.First+1, a.Last+1)
		}
		name := "goroutine " + fmt.Sprint(step.Goroutine)
		for _, g := range c.Goroutines {
			if g.ID == step.Goroutine {
				name = words.Printable(g.Name)
			}
		}
		text := fmt.Sprintf("%*s  %s, in %s", numberWidth-2, number, name, words.ShortFunction(step.Function))
		p.Print(withPlace(text, words.Printable(step.Source), ""))
		for _, line := range a.Lines {
			p.Print(margin + "  > " + words.Printable(line.Text))
		}
		if f := a.Caller; f.Function != "" {
			// The compiler makes a function of a go statement whose call has arguments.
			function, way := goWrapper.ReplaceAllString(f.Function, ""), "called in "
			if function != f.Function {
				way = "started in "
			}
			p.Print(withPlace(margin+way+words.ShortFunction(function), words.Printable(f.Source), ""))
			p.Print(margin + "  > " + words.Printable(f.Text))
		}
	}
}

// goWrapper is what the compiler adds to the name of a function for a go statement.
var goWrapper = regexp.MustCompile(`\.gowrap[0-9]+$`)

// operated finds what a line calls a method of, such as s.mu of s.mu.Lock().
var operated = regexp.MustCompile(`([\w.]+)\.(?:` +
	`R?Lock|R?Unlock|Load|Store|Add|Swap|CompareAndSwap|Wait|Done)\(`)

// spelled is how the source calls the object of all accesses, in brackets, if that is the same in
// each.
func spelled(led []report.Access) string {
	found := ""
	for _, a := range led {
		if len(a.Lines) == 0 {
			return ""
		}
		m := operated.FindStringSubmatch(a.Lines[0].Text)
		if m == nil || found != "" && m[1] != found {
			return ""
		}
		found = m[1]
	}
	return " (" + words.Printable(found) + ")"
}

// stepOf is a step of a counterexample, if there is one of that index.
func stepOf(c *report.Counterexample, index int) (report.Step, bool) {
	if index < 0 || index >= len(c.Steps) {
		return report.Step{}, false
	}
	return c.Steps[index], true
}
