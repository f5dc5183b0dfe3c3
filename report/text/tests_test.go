package text

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/reporttest"
)

func TestWriteTest(t *testing.T) {
	var b bytes.Buffer
	for _, test := range reporttest.Package().Tests {
		if err := WriteTest(&b, test, report.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	want := `--- holds: TestA (1 execution, 0.01s)
--- violated: TestB/x (1,234 executions, 1.00s)
--- violated: TestB (2 executions, 0.00s)
--- unknown: TestC\x1b (3 executions, 0.00s): the limit of 3 executions was reached
--- skipped: TestD (1 execution, 0.00s)
    searched whole\x1b
--- error: TestE (0 executions, 0.00s): q cannot be checked: starting a subprocess
    at q_test.go:9
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWriteTestPackage(t *testing.T) {
	var b bytes.Buffer
	p := reporttest.Package()
	if err := WriteTestPackage(&b, p, report.Options{}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		"\n=== TestB/x\nVIOLATED: exit status 1: \\x1b[31m q_test.go:7: <wrong> ]]> \\xff\n  " +
			"example.com/q TestB/x\n",
		"\n  tandem replay q.TestB_x.counterexample\n\nexample.com/q: 6 tests: 2 hold, 2 violated, 1 " +
			"unknown, 1 error, in 1.50s\n",
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
	if err := WriteTestPackage(&b, p, report.Options{}); err != nil {
		t.Fatal(err)
	}
	const want = "example.com/q: 1 test: 1 holds, 0 violated, 0 unknown, in 1.50s\n\nAssumed\n"
	if !strings.HasPrefix(b.String(), want) {
		t.Errorf("%q, want %q in front", b.String(), want)
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestTestWritersReturnTheWritersError(t *testing.T) {
	p := reporttest.Package()
	for i, err := range []error{
		WriteTest(brokenWriter{}, p.Tests[0], report.Options{}),
		WriteTestPackage(brokenWriter{}, p, report.Options{}),
	} {
		if !errors.Is(err, errBroken) {
			t.Errorf("%d: %v", i, err)
		}
	}
}
