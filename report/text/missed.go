package text

import (
	"fmt"
	"strings"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// maxMissed bounds how many addresses are named.
const maxMissed = 6

// printMissed says where no peer was, how to add one, and how to say that none is to be there.
// Nothing is said where all were there, and nothing that the reason of the verdict has said.
func printMissed(p *printer.Printer, m report.Missed, reason string) {
	for i, d := range m.Dialled {
		if i == maxMissed {
			p.Printf("  and %s more", textutil.PluralOf(len(m.Dialled)-maxMissed, "address", "addresses"))
			break
		}
		p.Print("  " + words.Printable(dialled(d)))
	}
	if text := nobodyConnects(m); len(m.Clients) > 0 && !strings.HasPrefix(reason, text) {
		p.Print("  " + words.Printable(text))
	}
	if len(m.Configure) == 0 {
		return
	}
	p.Print("  to add " + added(m) + ", in tandem.yaml beside the package, or in a file that -c names:")
	// The lines keep their indentation, so that they can be copied.
	for _, line := range m.Configure[:min(len(m.Configure), printer.MaxListed)] {
		p.Print("    " + words.Printable(line))
	}
	if len(m.Dialled) > 0 {
		p.Print("  or, if no peer is to be there:")
		p.Print("    " + words.Printable(absent(m.Dialled)))
	}
}

// absent is the line of the configuration that says that nobody is there on purpose, where the
// program dialled. It has the addresses that are named, and is YAML.
func absent(dialled []report.Dial) string {
	var entries []string
	for _, d := range dialled[:min(len(dialled), maxMissed)] {
		entry := d.Address
		// A colon with a blank after it is the only one that YAML minds, and no address has one.
		if strings.Trim(entry[:min(len(entry), 1)], "@\"'!&*%#|>`") == "" ||
			strings.ContainsAny(entry, "[]{},'\"\\# ") {
			entry = "'" + strings.ReplaceAll(entry, "'", "''") + "'"
		}
		entries = append(entries, entry)
	}
	return "absent: [" + strings.Join(entries, ", ") + "]"
}

// Missed says who was not there in the executions, and how to add them; empty if all were there.
func Missed(m report.Missed) string {
	p := printer.New(report.Options{})
	printMissed(p, m, "")
	return p.String()
}

// printMissing is printMissed beside a violation. It comes late there: it is a violation in any
// case, but a missing peer may be its cause.
func printMissing(p *printer.Printer, run report.Run) {
	if len(run.Missed.Configure) > 0 && run.Verdict == report.Violated {
		p.Heading("Missing peers")
		printMissed(p, run.Missed, run.Reason)
	}
}

// dialled says what the program got, and why.
func dialled(d report.Dial) string {
	if d.IsName {
		return fmt.Sprintf("%s was looked up: %s, since no peer has that name", d.Address, d.Result)
	}
	return fmt.Sprintf("%s was dialled: %s, since no peer is configured there", d.Address, d.Result)
}

// nobodyConnects is what the reason of a verdict that rests on it begins with, too: then it is not
// said twice.
func nobodyConnects(m report.Missed) string {
	return "nobody connects to " + strings.Join(m.Clients, ", ")
}

// added is what the lines of configuration add.
func added(m report.Missed) string {
	switch n := len(m.Dialled) + len(m.Clients); {
	case n > 1:
		return "them"
	case len(m.Clients) > 0:
		return "a client"
	}
	return "a peer"
}
