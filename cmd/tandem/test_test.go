package main

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/report"
)

// TestLikeGoTest: flags are taken with one dash, those of go test as far as they mean something
// here.
func TestLikeGoTest(t *testing.T) {
	for args, want := range map[string]string{
		"":                               "",
		"check -run x":                   "check -run x",
		"test ./... -run X -short":       "test ./... --run X --short",
		"test -run=X -- -run Y -count=5": "test --run=X -- -run Y -count=5",
		"test --run X -v -c F":           "test --run X -v -c F",
		"test -run -short x":             "test --run -short x",
		"test ./... -short -running far": "test ./... --short -running far",
		"test -race -count=1 -count 1 .": "test .",
		"test -timeout 30s ./x":          "test --timeout 30s ./x",
		"test -tags a,b -skip=S -leaks":  "test --tags a,b --skip=S --leaks",
		"test -vet=off -shuffle off":     "test",
		"test -cover=false -x=false":     "test",
		"test ./... -count=2":            "-count=2 of go test is not a flag of tandem test: a schedule",
		"test --count 2":                 "-count=2 of go test is not a flag",
		"test -bench . ./x":              "-bench=. of go test is not a flag of tandem test: benchmarks",
		"test -json -list x":             "-list=x of go test is not a flag of tandem test: go test lists",
		"test . -json":                   "test . --json",
		"test -fuzz":                     "-fuzz of go test is not a flag",
		"test -ldflags=-w":               "GOFLAGS",
	} {
		before := strings.Fields(args)
		kept := slices.Clone(before)
		list, err := likeGoTest(before)
		got := strings.Join(list, " ")
		if err != nil && strings.Contains(err.Error(), want) && !strings.HasPrefix(want, "test") {
			got = want
		}
		if got != want {
			t.Errorf("%s: %q, %v, want %q", args, got, err, want)
		}
		if !slices.Equal(before, kept) {
			t.Errorf("%q: the arguments were changed to %q", kept, before)
		}
	}
}

// TestFlagsOfGoTest: each flag that the go command has for tests is taken, or refused by name, and
// none of those refused is one that tandem test has.
func TestFlagsOfGoTest(t *testing.T) {
	own := testCommand().Flags()
	for name := range goFlags {
		if own.Lookup(name) != nil || len(name) == 1 && own.ShorthandLookup(name) != nil {
			t.Errorf("-%s is a flag of tandem test, too", name)
		}
	}
	// These two have a shorthand's name, and mean something else here.
	said := map[string]bool{"v": true, "c": true}
	for topic, least := range map[string]int{"testflag": 25, "build": 25, "test": 5} {
		out, err := exec.Command("go", "help", topic).Output()
		if err != nil {
			t.Fatal(err)
		}
		listed := regexp.MustCompile(`(?m)^\t-([A-Za-z]+)\b`).FindAllStringSubmatch(string(out), -1)
		if len(listed) < least {
			t.Fatalf("go help %s lists %d flags", topic, len(listed))
		}
		for _, match := range listed {
			name := match[1]
			if _, ok := goFlags[name]; !ok && own.Lookup(name) == nil && !said[name] {
				t.Errorf("nothing is said of -%s", name)
			}
		}
	}
}

// TestGoFlagsAreBooleans: a flag without a value is on, and each spelling of one is understood.
func TestGoFlagsAreBooleans(t *testing.T) {
	for args, want := range map[string]string{
		"-race=1 .": "", "-race=T .": "", "-race .": "", "-x=0 .": "", "-work=false .": "",
		"-race=0 .": "", "-work=1 .": "-work of", "-work=t .": "-work of", "-C dir .": "-C=dir of",
		"-test.v .": "-test.v of", "-test.run=X .": "-test.run of", "-test.v=0 .": "-test.v of",
	} {
		got, err := likeGoTest(append([]string{"test"}, strings.Fields(args)...))
		switch {
		case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)):
			t.Errorf("%s: %v, want %s", args, err, want)
		case want == "" && (err != nil || !slices.Equal(got, []string{"test", "."})):
			t.Errorf("%s: %q, %v", args, got, err)
		}
	}
}

// TestTimeout: -timeout bounds the time and lifts nothing; zero is no bound.
func TestTimeout(t *testing.T) {
	standard := configs.Default().Bounds
	for args, want := range map[string]struct {
		time time.Duration
		most int
		err  string
	}{
		"":                               {standard.Time, standard.Executions, ""},
		"--timeout=1m":                   {time.Minute, standard.Executions, ""},
		"--timeout=0":                    {standard.Time, standard.Executions, ""},
		"--timeout=2m --time=1m":         {time.Minute, configs.MaxExecutions, ""},
		"--timeout=1m --time=2m":         {time.Minute, configs.MaxExecutions, ""},
		"--timeout=1m --executions=7000": {time.Minute, 7000, ""},
		"--timeout=-1s":                  {err: "-timeout -1s is not allowed"},
		"--timeout=9999h":                {err: "-timeout 9999h0m0s is not allowed"},
	} {
		var f testFlags
		c := testCommandOf(&f)
		if err := c.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		got, err := f.config("", c.Flags().Changed)
		switch {
		case want.err != "":
			if err == nil || !strings.HasPrefix(err.Error(), want.err) {
				t.Errorf("%s: %v, want %s", args, err, want.err)
			}
		case err != nil || got.Bounds.Time != want.time || got.Bounds.Executions != want.most:
			t.Errorf("%s: %v, %d, %v", args, got.Bounds.Time, got.Bounds.Executions, err)
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
			"could not be checked: p Testerror, q; see the reasons above"},
		{slices.Repeat([]report.TestPackage{broken}, 7), false,
			"could not be checked: q, q, q, q, q and 2 more; see the reasons above"},
	} {
		got := ""
		if err := exitOf(report.TestRun{Packages: c.packages, Interrupted: c.interrupted}); err != nil {
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
		v.All = []check.TestViolation{{Counterexample: v.Counterexample, Recording: v.Recording}}
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
