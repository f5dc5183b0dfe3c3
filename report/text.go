package report

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tandem-mc/tandem/internal/textutil"
)

// The layout: 100 columns, the source of an operation at the right.
const (
	width        = 100
	sourceColumn = 64
	numberWidth  = 11 // "  123-456  "
	indentWidth  = 3
	maxIndents   = 5 // goroutines beyond share the last indentation
	maxListed    = 100
	maxOutcome   = 100 // lines
	maxLine      = 2000
)

var verdictStyles = map[Verdict]style{Holds: green, Violated: red, Unknown: yellow, Errored: red}

// printer collects the text of a report.
type printer struct {
	options Options
	text    bytes.Buffer
}

// style is an ANSI colour sequence.
type style string

const (
	plain  style = ""
	bold   style = "\x1b[1m"
	dim    style = "\x1b[2m"
	red    style = "\x1b[1;31m"
	green  style = "\x1b[1;32m"
	yellow style = "\x1b[33m"
	cyan   style = "\x1b[36m"
)

// line writes one line, without blanks at its end.
func (p *printer) line(s style, text string) {
	text = strings.TrimRight(fit(text, maxLine), " ")
	if s != plain && p.options.Color && text != "" {
		text = string(s) + text + "\x1b[0m"
	}
	p.text.WriteString(text + "\n")
}

func (p *printer) linef(s style, format string, args ...any) {
	p.line(s, fmt.Sprintf(format, args...))
}

func (p *printer) heading(text string) {
	p.line(plain, "")
	p.line(bold, text)
}

func (p *printer) counterexample(c *Counterexample) {
	headline := c.Run
	if c.Outcome != "" {
		headline.Reason = c.headline()
	}
	p.verdict(headline)
	p.heading("Goroutines")
	for i, g := range c.Goroutines {
		if i == maxListed {
			p.linef(plain, "  and %s more", textutil.Count(len(c.Goroutines)-maxListed))
			break
		}
		p.goroutine(g)
	}
	p.schedule(c)
	p.failure(c)
	p.outputs(c)
	p.restores(c.Steps)
	p.summary(c.Run)
	p.replay(c)
}

func (p *printer) replay(c *Counterexample) {
	if c.ReplayCommand != "" {
		p.heading("Replay")
		p.line(plain, "  "+printable(c.ReplayCommand))
	}
}

// headline is what is wrong, in a line. Of an exit, what was printed first says more
// than its status.
func (c *Counterexample) headline() string {
	line, rest, _ := strings.Cut(c.Outcome, "\n")
	next, _, _ := strings.Cut(strings.TrimLeft(rest, " \t\n"), "\n")
	if next != "" && strings.HasPrefix(line, "exit status ") {
		line += ": " + next
	}
	return line
}

func (p *printer) verdict(run Run) {
	p.line(verdictStyles[run.Verdict], fit(strings.ToUpper(string(run.Verdict))+": "+printable(run.Reason),
		width))
	p.line(plain, "  "+printable(programOf(run)))
	for _, line := range run.Details[:min(len(run.Details), maxListed)] {
		p.line(plain, "  "+printable(line))
	}
	if run.CutOff != "" && run.Verdict == Unknown {
		for line := range strings.Lines(run.CutOff) {
			p.line(plain, "  cut off by "+printable(strings.TrimSuffix(line, "\n")))
		}
	}
}

// programOf is what was checked, as a shell takes it.
func programOf(run Run) string {
	program := run.Package
	for _, arg := range run.Args {
		program += " " + quoteArg(arg)
	}
	return program
}

func (p *printer) goroutine(g Goroutine) {
	created := ""
	if g.Created != "" {
		created = "started at " + printable(g.Created)
	}
	p.line(plain, fmt.Sprintf("  %-12s %-48s %s", printable(g.Name), fit(shortFunction(g.Function), 48),
		created))
}

// failure says how the execution ended and what each goroutine that did not get to its end waits
// for.
func (p *printer) failure(c *Counterexample) {
	p.heading("Failure")
	lines := strings.Split(strings.TrimRight(c.Outcome, "\n"), "\n")
	for i, line := range lines {
		if i == maxOutcome {
			p.linef(plain, "  and %s", textutil.CountOf(len(lines)-maxOutcome, "more line"))
			break
		}
		p.line(red, "  "+strings.ReplaceAll(printable(line), `\t`, "    "))
	}
	if c.Race != nil {
		p.memoryAccess("", c.Race.Later)
		p.memoryAccess("after the ", c.Race.Earlier)
	}
	listed := 0
	for _, g := range c.Goroutines {
		if g.Blocked != "" && c.Race == nil && listed < maxListed {
			if listed == 0 && strings.Contains(c.Outcome, "\n\nprinted before:") {
				p.line(plain, "") // else it looks as if the program had printed that
			}
			p.linef(plain, "  %-12s waits: %s", printable(g.Name), printable(g.Blocked))
			listed++
		}
	}
	if t := c.PeerTimer; t != nil && c.Race == nil {
		p.linef(plain, "  %s still had a timer, due in %v (see peer_patience)", printable(t.Peer), t.Due)
	}
}

func (p *printer) memoryAccess(when string, a MemoryAccess) {
	size, created := "", ""
	if a.Size > 0 {
		size = " of " + textutil.CountOf(a.Size, "byte")
	}
	if a.Goroutine.Created != "" {
		created = ", started at " + a.Goroutine.Created
	}
	p.line(plain, "")
	p.line(plain, "  "+printable(fmt.Sprintf("%s%s%s at %#x by %s%s", when, a.Operation, size, a.Address,
		a.Goroutine.Name, created)))
	for _, f := range a.Stack[:min(len(a.Stack), maxListed)] {
		p.line(plain, "    "+pad(shortFunction(f.Function), sourceColumn-4)+printable(f.Source))
	}
	if len(a.Stack) == 0 {
		p.line(plain, "    by the runtime, for nobody in particular")
	}
}

// restores lists where the peers were taken back.
func (p *printer) restores(steps []Step) {
	listed := 0
	for i, step := range steps {
		if step.Restored == "" || listed == maxListed {
			continue
		}
		if listed == 0 {
			p.heading("Peers restored")
		}
		p.linef(yellow, "  for step %d: %s", i+1, printable(step.Restored))
		listed++
	}
}

// fit cuts text to n columns.
func fit(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-3]) + "..."
}

// pad fills text up to n columns, or cuts it.
func pad(text string, n int) string {
	text = fit(text, n)
	return text + strings.Repeat(" ", n-utf8.RuneCountInString(text))
}

// Printable replaces what a terminal would act on, but for the ends of lines and tabs, by its
// escape sequence in Go. Errors name files of the peers, and what recordings of others hold.
func Printable(text string) string {
	var b strings.Builder
	for {
		i := strings.IndexAny(text, "\n\t")
		if i < 0 {
			b.WriteString(printable(text))
			return b.String()
		}
		b.WriteString(printable(text[:i]) + text[i:i+1])
		text = text[i+1:]
	}
}

// printable replaces what a terminal would act on by its escape sequence in Go.
func printable(text string) string {
	if !strings.ContainsFunc(text, isUnprintable) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			fmt.Fprintf(&b, `\x%02x`, text[i])
		} else if isUnprintable(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isUnprintable(r rune) bool { return !unicode.IsPrint(r) }

// quoteArg quotes an argument that a shell would take apart.
func quoteArg(arg string) string {
	if arg == "" || strings.ContainsAny(arg, " \t\n\"'\\$`*?[]{}()<>|&;!#~") {
		return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return arg
}

// shortFunction leaves the last element of the package path: "ssh.(*mux).loop".
func shortFunction(function string) string { return printable(path.Base(function)) }

// bareFunction leaves the name within the package: "(*mux).loop". What the compiler makes of a deferred
// call goes by the name of the function that defers it.
func bareFunction(function string) string {
	_, name, _ := strings.Cut(shortFunction(function), ".")
	if deferring, number, ok := strings.Cut(name, ".deferwrap"); ok && strings.Trim(number, "0123456789") == "" {
		return deferring
	}
	return name
}
