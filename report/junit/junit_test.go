package junit

import (
	"bytes"
	"encoding/xml"
	"errors"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/report"
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
