package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/internal/testkit/golden"
	"github.com/tandem-mc/tandem/internal/testkit/schema"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/reporttest"
)

// writtenTests is the document of a run of tests. It must be valid by the schema.
func writtenTests(t *testing.T, run report.TestRun) string {
	t.Helper()
	var text bytes.Buffer
	if err := report.WriteTestsJSON(&text, run); err != nil {
		t.Fatal(err)
	}
	problems, err := schema.Problems("../docs/report.schema.json", text.Bytes())
	if err != nil || problems != nil {
		t.Errorf("%v\n%s", err, strings.Join(problems, "\n"))
	}
	return text.String()
}

// someTests are tests with every verdict, a package that does not build, and some that were not
// checked.
func someTests() report.TestRun {
	p := reporttest.Package()
	for i := range p.Tests {
		p.Tests[i].Missed.Undialled = []string{"127.0.0.1:9"}
	}
	p.Tests[0].Missed = report.Missed{Clients: []string{":80"}, Configure: []string{"peers:", "  - x"},
		Dialled:   []report.Dial{{Address: "127.0.0.1:1", Result: "refused\xff"}},
		Undialled: p.Tests[0].Missed.Undialled}
	return report.TestRun{
		Packages: []report.TestPackage{p,
			{Name: "example.com/broken", Error: "x_test.go:1:1: wrong\n\tand more", Elapsed: time.Second}},
		Unchecked: []report.UncheckedPackage{{Name: "example.com/none", Reason: "no test files"},
			{Name: "example.com/later", Reason: "the check was interrupted before"}},
		Interrupted: true,
	}
}

// TestTestsJSON: the document of tests is as it was, and so is that of none.
func TestTestsJSON(t *testing.T) {
	golden.Equal(t, "tests.json", writtenTests(t, someTests()))
	const none = "{\n  \"version\": 1,\n  \"verdict\": \"nothing\",\n  \"packages\": []\n}\n"
	if got := writtenTests(t, report.TestRun{}); got != none {
		t.Errorf("without packages it is %s", got)
	}
}

// TestViolationsOfTests: a violation has the same form in a test and in a check.
func TestViolationsOfTests(t *testing.T) {
	run, list := reporttest.Violations()
	list = append(list, reporttest.Located()...)
	cut := func(text string) string {
		_, after, _ := strings.Cut(text, `"violations": `)
		return strings.Join(strings.Fields(after), " ")
	}
	of := run.AsPackage("example.com/p", list)
	one := cut(writtenTests(t, report.TestRun{Packages: []report.TestPackage{of}}))
	violations, _, ok := strings.Cut(cut(written(t, run, list...)), `, "counts": `)
	if !ok || !strings.HasPrefix(one, violations) {
		t.Errorf("they are %s\nin a test, and %s\nin a check", one, violations)
	}
}

// TestWrongTestsAreNotValid: the schema takes a document with packages for one of tests, and
// refuses what is not as it says.
func TestWrongTestsAreNotValid(t *testing.T) {
	good := writtenTests(t, someTests())
	for from, to := range map[string]string{
		`"packages": [`: `"package": [`, `"version": 1`: `"version": 2`,
		`"verdict": "error"`: `"verdict": "perhaps"`, `"name": "TestA",`: "",
		`"tests": []`: `"tests": null`, `"rule": "exit",`: "", `"interrupted": true`: `"interrupted": 1`,
		`"reason": "no test files"`: `"x": ""`, `"configure": [`: `"configured": [`,
		`"preemptible": [`: `"preempted": [`,
	} {
		wrong := strings.ReplaceAll(good, from, to)
		problems, err := schema.Problems("../docs/report.schema.json", []byte(wrong))
		if err != nil || problems == nil || wrong == good {
			t.Errorf("%s instead of %s: %v", to, from, err)
		}
	}
}
