// Package printer collects the lines of a report, in colour or not.
package printer

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// Bounds of what is printed.
const (
	Width     = 100  // columns
	MaxListed = 100  // elements of a list
	maxLine   = 2000 // characters of a line, of commands for instance
)

// OfVerdict is the colour of each verdict.
var OfVerdict = map[report.Verdict]Style{
	report.Holds: Green, report.Violated: Red, report.Unknown: Yellow, report.Errored: Red,
}

// Printer collects the text of a report. Nothing is written before the end, so that the only error
// is that of one write.
type Printer struct {
	Options report.Options
	text    bytes.Buffer
}

// Style is an ANSI colour sequence.
type Style string

// The styles.
const (
	Plain  Style = ""
	Bold   Style = "\x1b[1m"
	Dim    Style = "\x1b[2m"
	Red    Style = "\x1b[1;31m"
	Green  Style = "\x1b[1;32m"
	Yellow Style = "\x1b[33m"
	Cyan   Style = "\x1b[36m"
)

// Line writes one line, without blanks at its end.
func (p *Printer) Line(s Style, text string) {
	text = strings.TrimRight(words.Fit(text, maxLine), " ")
	if s != Plain && p.Options.Color && text != "" {
		text = string(s) + text + "\x1b[0m"
	}
	p.text.WriteString(text + "\n")
}

// Linef writes one line, formatted as by fmt.Printf.
func (p *Printer) Linef(s Style, format string, args ...any) {
	p.Line(s, fmt.Sprintf(format, args...))
}

// Print writes one line without a style.
func (p *Printer) Print(text string) { p.Line(Plain, text) }

// Printf writes one line without a style, formatted as by fmt.Printf.
func (p *Printer) Printf(format string, args ...any) { p.Linef(Plain, format, args...) }

// Heading begins a section.
func (p *Printer) Heading(text string) {
	p.Line(Plain, "")
	p.Line(Bold, text)
}

// New returns a printer of nothing yet.
func New(options report.Options) *Printer { return &Printer{Options: options} }

// Bytes is what was printed so far.
func (p *Printer) Bytes() []byte { return p.text.Bytes() }

// String is what was printed so far.
func (p *Printer) String() string { return p.text.String() }
