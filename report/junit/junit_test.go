package junit

import (
	"bytes"
	"encoding/xml"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
	"github.com/tandem-mc/tandem/report/internal/reporttest"
)

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, []report.TestPackage{reporttest.Package()}); err != nil {
		t.Fatal(err)
	}
	var read junitSuites
	if err := xml.Unmarshal(b.Bytes(), &read); err != nil {
		t.Fatalf("%v in\n%s", err, &b)
	}
	suite := read.Suites[0]
	if suite.Tests != 6 || suite.Failures != 2 || suite.Errors != 2 || suite.Skipped != 1 ||
		suite.Time != "1.500" {
		t.Errorf("the counts are wrong: %+v", suite)
	}
	if p := reporttest.Package().Assumptions; len(p.Preemptible) == 0 || suite.Properties == nil ||
		suite.Properties.List[0] != (junitProperty{"goroutines are preempted only in", p.Preemptible[0]}) {
		t.Errorf("what the verdicts rest on is not there: %+v", suite.Properties)
	}
	failed := suite.Cases[1]
	if failed.Name != "TestB/x" || failed.Class != "example.com/q" ||
		!strings.Contains(failed.Failure.Text, `<wrong> ]]> \xff`) {
		t.Errorf("the failure is not what was written: %+v", failed)
	}
	if suite.Cases[0].Failure != nil || suite.Cases[3].Error == nil || suite.Cases[4].Skipped == nil ||
		suite.Cases[5].Error == nil {
		t.Errorf("the results are wrong: %+v", suite.Cases)
	}
}

// TestWriteOfABrokenPackage: a package that could not be checked is an error, beside the tests
// that were.
func TestWriteOfABrokenPackage(t *testing.T) {
	p := reporttest.Package()
	p.Error = "q_test.go:5:31: undefined: nonsense\nq_test.go:6:1: <more>"
	var b bytes.Buffer
	if err := Write(&b, []report.TestPackage{p}); err != nil {
		t.Fatal(err)
	}
	var read junitSuites
	if err := xml.Unmarshal(b.Bytes(), &read); err != nil {
		t.Fatalf("%v in\n%s", err, &b)
	}
	suite := read.Suites[0]
	last := suite.Cases[len(suite.Cases)-1]
	if suite.Tests != 7 || suite.Errors != 3 || last.Name != packageCase || last.Error == nil ||
		last.Error.Text != p.Error {
		t.Errorf("the error is not what was written: %+v, %+v", suite, last)
	}
}

func TestTheWritersErrorIsReturned(t *testing.T) {
	if err := Write(brokenWriter{}, []report.TestPackage{reporttest.Package()}); !errors.Is(err, errBroken) {
		t.Errorf("%v, want %v", err, errBroken)
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

// TestAssumptionsInJUnit: each thing that is assumed is a property of its own, lists are bounded,
// and where nothing is assumed there is no element for it.
func TestAssumptionsInJUnit(t *testing.T) {
	if p := junitAssumptions(report.Assumptions{}, report.Missed{}); p != nil {
		t.Errorf("nothing is assumed: %+v", p)
	}
	p := junitAssumptions(report.Assumptions{
		Preemptible: []string{"a", "b\x1b"}, Other: []string{"", "no faults"}, Strategy: "after-io",
		Scope: "group",
	}, report.Missed{Clients: []string{":80"}})
	want := []junitProperty{
		{"goroutines are preempted only in", "a"}, {"goroutines are preempted only in", `b\x1b`},
		{"assumed", "no faults"}, {"nobody there", "nobody connects to :80"},
		{"checkpoint strategy", "after-io"}, {"scope of the I/O cache", "group"},
	}
	if p == nil || !slices.Equal(p.List, want) {
		t.Errorf("%+v, want %+v", p, want)
	}
	thousand := report.Assumptions{Preemptible: slices.Repeat([]string{"x"}, 1000)}
	many := junitAssumptions(thousand, report.Missed{})
	if n := len(many.List); n != printer.MaxListed {
		t.Errorf("%d properties of a thousand packages", n)
	}
}

// TestResultsInJUnit: each verdict has its element and its count, with the message that says most.
func TestResultsInJUnit(t *testing.T) {
	violated := &report.Counterexample{Failure: report.Failure{Message: "deadlock: all wait\nmore"}}
	for name, test := range map[string]struct {
		test report.Test
		want string // kind: message
	}{
		"holds":   {report.Test{Verdict: report.Holds}, ""},
		"skipped": {report.Test{Verdict: report.Holds, Skipped: true}, "skipped: the test skipped itself"},
		"violated": {report.Test{Verdict: report.Violated, Reason: "it stopped", Counterexample: violated},
			"failure: deadlock: all wait"},
		"violated by a subtest": {report.Test{Verdict: report.Violated, Reason: "a subtest is violated"},
			"failure: a subtest is violated"},
		"violated and skipped": {report.Test{Verdict: report.Violated, Skipped: true, Reason: "x"},
			"failure: x"},
		"unknown": {report.Test{Verdict: report.Unknown, Reason: "the time\x1b is over"},
			`error: the time\x1b is over`},
		"error": {report.Test{Verdict: report.Errored, Reason: "broken\n\tat a.go:3"},
			"error: broken at a.go:3"},
	} {
		suite := junitPackage(report.TestPackage{Name: "p", Tests: []report.Test{test.test}})
		got := ""
		for kind, result := range map[string]*junitResult{
			"failure": suite.Cases[0].Failure, "error": suite.Cases[0].Error,
			"skipped": suite.Cases[0].Skipped,
		} {
			if result != nil {
				got += kind + ": " + result.Message
			}
		}
		if got != test.want || suite.Tests != 1 ||
			suite.Failures+suite.Errors+suite.Skipped != min(len(test.want), 1) {
			t.Errorf("%s: %q, want %q; %+v", name, got, test.want, suite)
		}
	}
}

// TestWriteOfACheck: a check is a suite with one case, which has the table of several violations.
func TestWriteOfACheck(t *testing.T) {
	list := reporttest.Located()
	run := report.Run{Package: "./bank", Args: []string{"a b"}, Verdict: report.Violated,
		Counts: report.Counts{Elapsed: 1500 * time.Millisecond}}
	var b bytes.Buffer
	if err := Write(&b, []report.TestPackage{run.AsPackage("example.com/bank", list)}); err != nil {
		t.Fatal(err)
	}
	var read junitSuites
	if err := xml.Unmarshal(b.Bytes(), &read); err != nil {
		t.Fatalf("%v in\n%s", err, &b)
	}
	suite := read.Suites[0]
	if suite.Name != "example.com/bank" || suite.Tests != 1 || suite.Failures != 1 || suite.Time != "1.500" {
		t.Fatalf("%+v", suite)
	}
	c := suite.Cases[0]
	if c.Name != "./bank 'a b'" || c.Failure.Type != "deadlock" ||
		c.Failure.Message != "deadlock: all goroutines wait" ||
		!strings.Contains(c.Failure.Text, "\n2 distinct violations\n") ||
		!strings.Contains(c.Failure.Text, "waits: lock mutex 2, bank.go:31") {
		t.Errorf("%+v", c.Failure)
	}
	for verdict, want := range map[report.Verdict][3]int{report.Holds: {1, 0, 0}, report.Unknown: {1, 0, 1}} {
		run.Verdict, run.Reason = verdict, "why"
		b.Reset()
		if err := Write(&b, []report.TestPackage{run.AsPackage("example.com/bank", nil)}); err != nil {
			t.Fatal(err)
		}
		read = junitSuites{}
		if err := xml.Unmarshal(b.Bytes(), &read); err != nil {
			t.Fatal(err)
		}
		if s := read.Suites[0]; want != [3]int{s.Tests, s.Failures, s.Errors} {
			t.Errorf("%s: %+v", verdict, s)
		}
	}
}

// TestWriteOfAnyText: whatever texts are, the document can be read, by a parser that is strict.
func TestWriteOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		any := rapid.OneOf(rapid.String(), rapid.StringMatching(`[\]>&<'"\x00-\x1f]*`),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		draw := func(name string) string { return any.Draw(t, name) }
		c := &report.Counterexample{
			Failure: report.Failure{Message: draw("failure"), Printed: draw("printed")},
			Steps:   []report.Step{{Operation: draw("operation"), Source: draw("source")}}}
		v := report.Violation{Outcome: draw("outcome"), Message: draw("message"), Counterexample: c}
		p := report.TestPackage{Name: draw("package"), Error: draw("error"), Tests: []report.Test{
			{Name: draw("name"), Verdict: report.Violated, Note: draw("note"), Counterexample: c,
				Violations: []report.Violation{v, v}},
			{Name: draw("unknown"), Verdict: report.Unknown, Reason: draw("reason")}}}
		var b bytes.Buffer
		if err := Write(&b, []report.TestPackage{p}); err != nil {
			t.Fatal(err)
		}
		var read junitSuites
		if err := xml.Unmarshal(b.Bytes(), &read); err != nil || read.Suites[0].Failures != 1 {
			t.Fatalf("%v in\n%s", err, &b)
		}
	})
}
