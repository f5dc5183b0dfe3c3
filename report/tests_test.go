package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func somePackage() TestPackage {
	c := &Counterexample{
		Run:           Run{Package: "example.com/q", Args: []string{"TestB/x"}, Verdict: Violated, Reason: "the search stopped at the first violation"},
		Outcome:       "exit status 1\n\x1b[31m q_test.go:7: <wrong> ]]> \xff",
		Goroutines:    []Goroutine{{Name: "main", Function: "main.main"}},
		ReplayCommand: "tandem replay q.TestB_x.counterexample",
	}
	return TestPackage{
		Name: "example.com/q", Elapsed: 1500 * time.Millisecond, Assumptions: Assumptions{Preemptible: []string{"example.com/q"}},
		Tests: []Test{
			{Name: "TestA", Verdict: Holds, Executions: 1, Elapsed: 10 * time.Millisecond},
			{Name: "TestB/x", Verdict: Violated, Reason: "the search stopped at the first violation", Executions: 1234, Elapsed: time.Second, Counterexample: c},
			{Name: "TestB", Verdict: Violated, Reason: "a subtest is violated", Executions: 2},
			{Name: "TestC\x1b", Verdict: Unknown, Reason: "the limit of 3 executions was reached", Executions: 3},
			{Name: "TestD", Verdict: Holds, Skipped: true, Executions: 1},
			{Name: "TestE", Verdict: Errored, Reason: "q cannot be checked: starting a subprocess\n\tat q_test.go:9"},
		},
	}
}

func TestWriteTest(t *testing.T) {
	var b bytes.Buffer
	for _, test := range somePackage().Tests {
		if err := WriteTest(&b, test, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	want := `--- holds: TestA (1 execution, 0.01s)
--- violated: TestB/x (1,234 executions, 1.00s)
--- violated: TestB (2 executions, 0.00s)
--- unknown: TestC\x1b (3 executions, 0.00s): the limit of 3 executions was reached
--- skipped: TestD (1 execution, 0.00s)
--- error: TestE (0 executions, 0.00s): q cannot be checked: starting a subprocess
    at q_test.go:9
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWriteTestPackage(t *testing.T) {
	var b bytes.Buffer
	p := somePackage()
	if err := WriteTestPackage(&b, p, Options{}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		"\n=== TestB/x\nVIOLATED: exit status 1: \\x1b[31m q_test.go:7: <wrong> ]]> \\xff\n  example.com/q TestB/x\n",
		"\n  tandem replay q.TestB_x.counterexample\n\nexample.com/q: 6 tests: 2 hold, 2 violated, 1 unknown, 1 error, in 1.50s\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "Assumed") {
		t.Error("what the others rest on is said beside violations, which have their own")
	}
	b.Reset()
	p.Tests = p.Tests[:1]
	if err := WriteTestPackage(&b, p, Options{}); err != nil {
		t.Fatal(err)
	}
	if want := "example.com/q: 1 test: 1 holds, 0 violated, 0 unknown, in 1.50s\n\nAssumed\n"; !strings.HasPrefix(b.String(), want) {
		t.Errorf("%q, want %q in front", b.String(), want)
	}
}

func TestWriteJUnit(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJUnit(&b, []TestPackage{somePackage()}); err != nil {
		t.Fatal(err)
	}
	var read junitSuites
	if err := xml.Unmarshal(b.Bytes(), &read); err != nil {
		t.Fatalf("%v in\n%s", err, &b)
	}
	suite := read.Suites[0]
	if suite.Tests != 6 || suite.Failures != 2 || suite.Errors != 2 || suite.Skipped != 1 || suite.Time != "1.500" {
		t.Errorf("the counts are wrong: %+v", suite)
	}
	if p := somePackage().Assumptions; len(p.Preemptible) == 0 || suite.Properties == nil ||
		suite.Properties.List[0] != (junitProperty{"goroutines are preempted only in", p.Preemptible[0]}) {
		t.Errorf("what the verdicts rest on is not there: %+v", suite.Properties)
	}
	failed := suite.Cases[1]
	if failed.Name != "TestB/x" || failed.Class != "example.com/q" || !strings.Contains(failed.Failure.Text, `<wrong> ]]> \xff`) {
		t.Errorf("the failure is not what was written: %+v", failed)
	}
	if suite.Cases[0].Failure != nil || suite.Cases[3].Error == nil || suite.Cases[4].Skipped == nil || suite.Cases[5].Error == nil {
		t.Errorf("the results are wrong: %+v", suite.Cases)
	}
}

// TestWriteJUnitOfABrokenPackage: a package that could not be checked is an error, beside the tests that were.
func TestWriteJUnitOfABrokenPackage(t *testing.T) {
	p := somePackage()
	p.Error = "q_test.go:5:31: undefined: nonsense\nq_test.go:6:1: <more>"
	var b bytes.Buffer
	if err := WriteJUnit(&b, []TestPackage{p}); err != nil {
		t.Fatal(err)
	}
	var read junitSuites
	if err := xml.Unmarshal(b.Bytes(), &read); err != nil {
		t.Fatalf("%v in\n%s", err, &b)
	}
	suite := read.Suites[0]
	last := suite.Cases[len(suite.Cases)-1]
	if suite.Tests != 7 || suite.Errors != 3 || last.Name != packageCase || last.Error == nil || last.Error.Text != p.Error {
		t.Errorf("the error is not what was written: %+v, %+v", suite, last)
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestTestWritersReturnTheWritersError(t *testing.T) {
	p := somePackage()
	for i, err := range []error{
		WriteTest(brokenWriter{}, p.Tests[0], Options{}), WriteTestPackage(brokenWriter{}, p, Options{}), WriteJUnit(brokenWriter{}, []TestPackage{p}),
	} {
		if !errors.Is(err, errBroken) {
			t.Errorf("%d: %v", i, err)
		}
	}
}
