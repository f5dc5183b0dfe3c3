// Package junit writes the verdicts on tests in the XML format of JUnit.
package junit

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
	"github.com/tandem-mc/tandem/report/internal/words"
	"github.com/tandem-mc/tandem/report/text"
)

// The format that JUnit's XML reporter made common: a suite for each package, a case for each test.
// What is violated is a failure there; what is unknown, or could not be checked, an error. There is
// no schema that all readers agree on.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Time     string `xml:"time,attr"` // seconds
		// What the verdicts rest on.
		Properties *junitProperties `xml:"properties"`
		Cases      []junitCase      `xml:"testcase"`
	}
	junitProperties struct {
		List []junitProperty `xml:"property"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string       `xml:"classname,attr"`
		Name    string       `xml:"name,attr"`
		Time    string       `xml:"time,attr"`
		Failure *junitResult `xml:"failure"`
		Error   *junitResult `xml:"error"`
		Skipped *junitResult `xml:"skipped"`
		Note    string       `xml:"system-out,omitempty"`
	}
	junitResult struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"` // the ID of a rule
		Text    string `xml:",chardata"`
	}
)

// packageCase is the name of the case that stands for a package which could not be checked.
const packageCase = "[package]"

// Write writes the verdicts in the XML format of JUnit, which most systems for continuous
// integration read. The error is the writer's. Packages and tests keep their order. Control
// characters are shown as escape sequences, since XML 1.0 cannot hold them.
func Write(w io.Writer, packages []report.TestPackage) error {
	var all junitSuites
	for _, p := range packages {
		all.Suites = append(all.Suites, junitPackage(p))
	}
	// The document is put together first, so that a reader never gets half of one.
	var document bytes.Buffer
	document.WriteString(xml.Header)
	encoder := xml.NewEncoder(&document)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return fmt.Errorf("writing JUnit's format: %w", err)
	}
	document.WriteByte('\n')
	_, err := w.Write(document.Bytes())
	return err
}

// junitPackage is a package as a suite. A package that could not be checked to its end gets a case
// of its own with the reason: a reader that counts cases then sees an error.
func junitPackage(p report.TestPackage) junitSuite {
	suite := junitSuite{Name: p.Name, Tests: len(p.Tests), Time: fmt.Sprintf("%.3f", p.Elapsed.Seconds())}
	suite.Properties = junitAssumptions(p.Assumptions, p.Missed())
	for _, t := range p.Tests {
		c := junitCase{Class: p.Name, Name: t.Name, Time: fmt.Sprintf("%.3f", t.Elapsed.Seconds()),
			Note: words.Printable(t.Note)}
		switch {
		case t.Verdict == report.Violated:
			suite.Failures++
			c.Failure = junitFailure(t)
		case t.Verdict == report.Unknown:
			suite.Errors++
			c.Error = &junitResult{Message: words.Printable(t.Reason), Text: text.Missed(t.Missed)}
		case t.Verdict == report.Errored:
			suite.Errors++
			c.Error = junitError(t.Reason)
		// A violation of a test that skips itself afterwards counts all the same.
		case t.Skipped:
			suite.Skipped++
			c.Skipped = &junitResult{Message: "the test skipped itself"}
		}
		suite.Cases = append(suite.Cases, c)
	}
	if p.Error != "" {
		suite.Tests++
		suite.Errors++
		suite.Cases = append(suite.Cases, junitCase{Class: p.Name, Name: packageCase, Time: suite.Time,
			Error: junitError(p.Error)})
	}
	return suite
}

// junitError is an error with its first words as the message. The text has all of it. Bytes that
// are no UTF-8 become question marks.
func junitError(text string) *junitResult {
	return &junitResult{Message: words.OneLine(text), Text: strings.ToValidUTF8(text, "?")}
}

// junitAssumptions names what was not sealed, who was not there, and the rest; nil if nothing is
// known. Each property has one value, so a list is several properties of the same name, at most
// MaxListed.
func junitAssumptions(a report.Assumptions, missed report.Missed) *junitProperties {
	var all junitProperties
	add := func(name string, values ...string) {
		for _, v := range values[:min(len(values), printer.MaxListed)] {
			if v != "" {
				all.List = append(all.List, junitProperty{name, report.Printable(v)})
			}
		}
	}
	add("goroutines are preempted only in", a.Preemptible...)
	add("assumed", a.Other...)
	add("nobody there", strings.TrimSpace(text.Missed(missed)))
	add("checkpoint strategy", a.Strategy)
	add("backend of the checkpoints", a.Backend)
	add("scope of the I/O cache", a.Scope)
	if len(all.List) == 0 {
		return nil
	}
	return &all
}

// junitFailure is what is violated: the first violation in full, then a table of all, if there are
// several. A test that is violated by its subtests has its reason only.
func junitFailure(t report.Test) *junitResult {
	r := &junitResult{Message: words.OneLine(t.Reason)}
	if len(t.Violations) > 0 {
		r.Type = report.RuleOf(t.Violations[0]).ID
	}
	if t.Counterexample == nil {
		return r
	}
	r.Message = words.OneLine(t.Counterexample.Failure.Headline())
	var shown strings.Builder
	text.Write(&shown, t.Counterexample, report.Options{}) // a Builder has no errors
	if len(t.Violations) > 1 {
		shown.WriteString("\n")
		text.WriteViolations(&shown, t.Counterexample.Run, t.Violations, report.Options{})
	}
	r.Text = strings.ToValidUTF8(shown.String(), "?")
	return r
}
