package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// The format that JUnit's XML reporter made common: a suite for each package, a
// case for each test. What is violated is a failure there; what is unknown, or could not be checked, an error.
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
	}
	junitResult struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// packageCase is the name of the case that stands for a package which could not be checked.
const packageCase = "[package]"

// WriteJUnit writes the verdicts in the XML format of JUnit, which most systems
// for continuous integration read. The error is the writer's.
func WriteJUnit(w io.Writer, packages []TestPackage) error {
	var all junitSuites
	for _, p := range packages {
		all.Suites = append(all.Suites, junitPackage(p))
	}
	var text bytes.Buffer
	text.WriteString(xml.Header)
	encoder := xml.NewEncoder(&text)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return fmt.Errorf("writing JUnit's format: %w", err)
	}
	text.WriteByte('\n')
	_, err := w.Write(text.Bytes())
	return err
}

func junitPackage(p TestPackage) junitSuite {
	suite := junitSuite{Name: p.Name, Tests: len(p.Tests), Time: fmt.Sprintf("%.3f", p.Elapsed.Seconds())}
	suite.Properties = junitAssumptions(p.Assumptions)
	for _, t := range p.Tests {
		c := junitCase{Class: p.Name, Name: t.Name, Time: fmt.Sprintf("%.3f", t.Elapsed.Seconds())}
		switch {
		case t.Verdict == Violated:
			suite.Failures++
			c.Failure = &junitResult{Message: printable(t.Reason), Text: failureText(t.Counterexample)}
			if t.Counterexample != nil {
				c.Failure.Message = printable(t.Counterexample.headline())
			}
		case t.Verdict == Unknown:
			suite.Errors++
			c.Error = &junitResult{Message: printable(t.Reason)}
		case t.Verdict == Errored:
			suite.Errors++
			c.Error = junitError(t.Reason)
		case t.Skipped:
			suite.Skipped++
			c.Skipped = &junitResult{Message: "the test skipped itself"}
		}
		suite.Cases = append(suite.Cases, c)
	}
	if p.Error != "" {
		suite.Tests++
		suite.Errors++
		suite.Cases = append(suite.Cases, junitCase{Class: p.Name, Name: packageCase, Time: suite.Time, Error: junitError(p.Error)})
	}
	return suite
}

func junitError(text string) *junitResult {
	return &junitResult{Message: oneLine(text), Text: strings.ToValidUTF8(text, "?")}
}

// junitAssumptions names what was not sealed, and the rest; nil if nothing is known.
func junitAssumptions(a Assumptions) *junitProperties {
	var all junitProperties
	add := func(name string, values ...string) {
		for _, v := range values[:min(len(values), maxListed)] {
			if v != "" {
				all.List = append(all.List, junitProperty{name, printable(v)})
			}
		}
	}
	add("goroutines are preempted only in", a.Preemptible...)
	add("assumed", a.Other...)
	add("checkpoint strategy", a.Strategy)
	add("backend of the checkpoints", a.Backend)
	add("scope of the I/O cache", a.Scope)
	if len(all.List) == 0 {
		return nil
	}
	return &all
}

// failureText is the counterexample as text, which XML can hold.
func failureText(c *Counterexample) string {
	if c == nil {
		return ""
	}
	p := &printer{}
	p.counterexample(c)
	return strings.ToValidUTF8(p.text.String(), "?")
}
