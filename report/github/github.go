// Package github tells verdicts to GitHub Actions: as annotations, which are lines of a log, and as
// a summary of a step, which is Markdown.
package github

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/words"
	"github.com/tandem-mc/tandem/report/text"
)

// Bounds. GitHub shows 10 annotations of a kind for a step, 4 KiB of a message, and takes summaries
// of 1 MiB.
const (
	maxAnnotations = 50
	maxTitle       = 200
	maxMessage     = 4000
	maxReport      = 60 << 10
	maxSummary     = 900 << 10
	maxNames       = 300
)

// WriteAnnotations writes an error for each violation, at its first place, and for each test that
// could not be checked. What is unknown is a warning. The error is the writer's. The paths are
// those that RelativeTo has left. GitHub acts on these lines in standard output and standard error.
func WriteAnnotations(w io.Writer, packages []report.TestPackage) error {
	var lines bytes.Buffer
	left := maxAnnotations
	add := func(kind, properties, title, message string) {
		left--
		fmt.Fprintf(&lines, "::%s %stitle=%s::%s\n", kind, properties,
			property(words.Fit(words.OneLine(title), maxTitle)),
			data(words.Fit(words.PrintableText(message), maxMessage)))
	}
	// The bound counts lines of all kinds, in the order of the packages.
	for _, p := range packages {
		for _, t := range p.Tests {
			for _, v := range t.Violations[:min(len(t.Violations), left)] {
				add("error", placeOf(v), "tandem: "+report.RuleOf(v).Title+" in "+t.Name, messageOf(v))
			}
			switch {
			case left == 0:
			case t.Verdict == report.Unknown:
				add("warning", "", "tandem: unknown: "+t.Name, t.Reason)
			case t.Verdict == report.Errored:
				add("error", "", "tandem: "+t.Name+" could not be checked", t.Reason)
			}
		}
		if p.Error != "" && left > 0 {
			add("error", "", "tandem: "+p.Name+" could not be checked", p.Error)
		}
	}
	_, err := w.Write(lines.Bytes())
	return err
}

// placeOf is where an annotation is shown; empty: nobody knows.
func placeOf(v report.Violation) string {
	list := v.Where()
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("file=%s,line=%d,", property(words.OneLine(list[0].File)), list[0].Line)
}

// messageOf says what is wrong, where, and how to see it again.
func messageOf(v report.Violation) string {
	lines := []string{v.Outcome}
	if v.Message != "" {
		lines[0] += ": " + words.OneLine(v.Message)
	}
	for i, place := range v.Places {
		if i == maxNames {
			break
		}
		lines = append(lines, words.OneLine(place))
	}
	if v.File != "" {
		lines = append(lines, "tandem replay "+textutil.QuoteArg(v.File))
	}
	return strings.Join(lines, "\n")
}

// data escapes the message of a command, as @actions/core does.
func data(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

// property escapes a property of a command.
func property(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(text)
}

// Mute returns two lines between which GitHub takes nothing for a command: what the program and its
// peers have printed is shown there, and must not speak in the name of the job. The token is to be
// one that nobody can guess.
func Mute(token string) (begin, end string) {
	return "::stop-commands::" + token + "\n", "::" + token + "::\n"
}

// WriteSummary writes the verdicts as Markdown, with the counterexample of each violation in a
// part that can be opened. What does not fit is counted. The error is the writer's.
func WriteSummary(w io.Writer, packages []report.TestPackage) error {
	var out bytes.Buffer
	for _, p := range packages {
		counts := map[report.Verdict]int{}
		for _, t := range p.Tests {
			counts[t.Verdict]++
		}
		fmt.Fprintf(&out, "### Tandem: %s\n\n%s\n\n", code(p.Name), countsOf(counts))
		if p.Error != "" {
			fmt.Fprintf(&out, "could not be checked:\n\n%s\n", preformatted(p.Error))
		}
		for _, t := range p.Tests {
			if out.Len() <= maxSummary { // else it is cut anyway
				writeTest(&out, t)
			}
		}
	}
	_, err := w.Write(cut(out.Bytes(), len(packages)))
	return err
}

// cut cuts a summary that GitHub would refuse, at the end of a test.
func cut(text []byte, packages int) []byte {
	if len(text) <= maxSummary {
		return text
	}
	end := bytes.LastIndex(text[:maxSummary], []byte(endOfTest))
	if end < 0 {
		return []byte(fmt.Sprintf("### Tandem: %s\n\nThe results are too long for a summary.\n",
			textutil.CountOf(packages, "package")))
	}
	return append(text[:end+len(endOfTest):end+len(endOfTest)], "The rest is too long for a summary.\n"...)
}

// endOfTest comes after each test. No text of others has a line end, or all of its angle brackets
// are escaped.
const endOfTest = "\n<!-- end of test -->\n\n"

// countsOf is "1 violated, 2 unknown, 3 hold".
func countsOf(counts map[report.Verdict]int) string {
	var parts []string
	// The worst comes first.
	for _, verdict := range []report.Verdict{report.Errored, report.Violated, report.Unknown, report.Holds} {
		if n := counts[verdict]; n > 0 {
			parts = append(parts, textutil.Count(n)+" "+string(verdict))
		}
	}
	if parts == nil {
		return "nothing was checked"
	}
	return strings.Join(parts, ", ")
}

// writeTest writes what is not well with a test. One that holds is counted only.
func writeTest(out *bytes.Buffer, t report.Test) {
	// A summary of a thousand tests is read only if it has what is wrong.
	if t.Verdict == report.Holds {
		return
	}
	fmt.Fprintf(out, "- **%s** %s: %s\n\n", t.Verdict, code(t.Name), code(firstLine(t.Reason)))
	for _, v := range t.Violations {
		title := report.RuleOf(v).Title
		if at := v.Where(); len(at) > 0 {
			title += fmt.Sprintf(" at %s:%d", at[0].File, at[0].Line)
		}
		fmt.Fprintf(out, "<details><summary>%s</summary>\n\n%s\n</details>\n\n",
			html.EscapeString(words.Fit(words.OneLine(title), maxNames)), preformatted(reportOf(v)))
	}
	out.WriteString(endOfTest)
}

// firstLine is a text up to its first line end.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// reportOf is the counterexample of a violation as text, or the violation in short.
func reportOf(v report.Violation) string {
	if v.Counterexample == nil {
		return messageOf(v)
	}
	var shown strings.Builder
	text.Write(&shown, v.Counterexample, report.Options{}) // a Builder has no errors
	return shown.String()
}

// preformatted is a text as it is. Markdown ends such a block at its closing tag only, which no
// escaped text has.
func preformatted(text string) string {
	if len(text) > maxReport {
		// A character is not cut in two.
		end := maxReport
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "\n..."
	}
	return "<pre>\n" + html.EscapeString(words.PrintableText(text)) + "\n</pre>\n"
}

// code is a text in a line, in which Markdown has no meaning: between more backticks than it has in
// a row. So a tag in it is none, either.
func code(text string) string {
	text = words.Fit(words.OneLine(text), maxNames)
	// One that is longer than all in the text ends the span, as CommonMark has it.
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + " " + text + " " + fence
}
