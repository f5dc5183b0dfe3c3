package main

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/report"
)

func TestLikeGoTest(t *testing.T) {
	for args, want := range map[string]string{
		"":                               "",
		"check -run x":                   "check -run x",
		"test ./... -run X -short":       "test ./... --run X --short",
		"test -run=X -- -run Y -short":   "test --run=X -- -run Y -short",
		"test --run X -v":                "test --run X -v",
		"test ./... -short -running far": "test ./... --short -running far",
	} {
		before := strings.Fields(args)
		kept := slices.Clone(before)
		if got := strings.Join(likeGoTest(before), " "); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
		if !slices.Equal(before, kept) {
			t.Errorf("%q: the arguments were changed to %q", kept, before)
		}
	}
}

func TestExitOf(t *testing.T) {
	tests := func(verdicts ...report.Verdict) report.TestPackage {
		p := report.TestPackage{Name: "p"}
		for _, v := range verdicts {
			p.Tests = append(p.Tests, report.Test{Name: "Test" + string(v), Verdict: v})
		}
		return p
	}
	broken := report.TestPackage{Name: "q", Error: "does not build"}
	for _, c := range []struct {
		packages    []report.TestPackage
		interrupted bool
		want        string // of the error; empty: none
	}{
		{nil, false, ""},
		{nil, true, "exit code 2"},
		{[]report.TestPackage{tests(report.Holds, report.Holds)}, false, ""},
		{[]report.TestPackage{tests(report.Holds, report.Unknown)}, false, "exit code 2"},
		{[]report.TestPackage{tests(report.Violated, report.Unknown)}, false, "exit code 1"},
		{[]report.TestPackage{tests(report.Unknown, report.Violated)}, true, "exit code 1"},
		{[]report.TestPackage{tests(report.Violated, report.Errored), broken}, false,
			"could not be checked: p Testerror, q"},
		{slices.Repeat([]report.TestPackage{broken}, 7), false,
			"could not be checked: q, q, q, q, q and 2 more"},
	} {
		got := ""
		if err := exitOf(c.packages, c.interrupted); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v, interrupted %v: %q, want %q", c.packages, c.interrupted, got, c.want)
		}
	}
}

// TestNotReached: an interrupted run names the packages that it has left out.
func TestNotReached(t *testing.T) {
	var out bytes.Buffer
	notReached(&out, []check.Package{{ImportPath: "a/b"}, {ImportPath: "a/c"}})
	if n := strings.Count(out.String(), "was not reached: the check was interrupted before\n"); n != 2 {
		t.Errorf("%d lines: %s", n, &out)
	}
}

// TestFilesOfTests: each violated test has a file of its own, whatever it is called.
func TestFilesOfTests(t *testing.T) {
	t.Chdir(t.TempDir())
	f := testFlags{files: map[string]bool{}}
	var files []string
	for _, name := range []string{"TestA/x y", "TestA/x_y", "TestA/x_y", strings.Repeat("T", 500)} {
		v := check.TestVerdict{Recording: &report.Recording{
			Program: report.Program{Package: "./x", Build: "abc", GoVersion: "go1.26"},
			Expect:  report.Expectation{Outcome: "panic", EventLog: "0123"},
		}}
		v.Name, v.Counterexample = name, &report.Counterexample{}
		if err := f.keep(io.Discard, check.Package{ImportPath: "a/q", ShortName: "q"}, &v); err != nil {
			t.Fatal(err)
		}
		file, ok := strings.CutPrefix(v.Counterexample.ReplayCommand, "tandem replay ")
		if _, err := report.Load(file); !ok || err != nil || len(file) > 220 {
			t.Errorf("%s: %q, %v", name, v.Counterexample.ReplayCommand, err)
		}
		files = append(files, file)
	}
	want := []string{"q.TestA_x_y.counterexample", "q.TestA_x_y.2.counterexample",
		"q.TestA_x_y.3.counterexample"}
	if !slices.Equal(files[:3], want) {
		t.Errorf("%q, want %q", files[:3], want)
	}
	holds := check.TestVerdict{}
	if err := f.keep(io.Discard, check.Package{}, &holds); err != nil || holds.Counterexample != nil {
		t.Errorf("a test that holds: %+v, %v", holds, err)
	}
}

func TestOutputErrors(t *testing.T) {
	if output(nil) != nil {
		t.Error("no error is one")
	}
	if err := output(io.ErrClosedPipe); !errors.Is(err, errOutput) || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v is not both", err)
	}
}
