package sut_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/sut"
)

// The tests of the standard library run under control, one schedule each. What
// comes out is listed in testdata/std, a file for each package; a test that is
// listed as pass has to pass.
var (
	stdPackages = flag.String("std", "",
		"packages of the standard library to run the tests of, separated by commas; all: every listed one")
	stdUpdate = flag.Bool("update-std", false, "write the lists in testdata/std anew")
)

// stdAll are the packages whose tests are listed.
var stdAll = []string{
	"sync", "sync/atomic", "context", "time", "io", "bufio", "testing/synctest", "internal/synctest",
	"os", "os/signal", "path/filepath", "net", "net/http", "crypto/tls",
}

// stdQuick are those of them that every run of the tests goes through.
var stdQuick = []string{"sync", "context", "io", "bufio"}

func TestStandardLibrary(t *testing.T) {
	packages := stdQuick
	switch *stdPackages {
	case "":
	case "all":
		packages = stdAll
	default:
		packages = strings.Split(*stdPackages, ",")
	}
	for _, pkg := range packages {
		t.Run(pkg, func(t *testing.T) {
			file := filepath.Join("testdata/std", strings.ReplaceAll(pkg, "/", "_")+".txt")
			listed, err := readStdList(file)
			if err != nil {
				t.Fatal(err)
			}
			run := newStdRun(t, pkg)
			if *stdUpdate {
				listed = nil
				for _, name := range run.names {
					listed = append(listed, stdTest{name, run.result(name)})
				}
				if err := writeStdList(file, listed); err != nil {
					t.Fatal(err)
				}
				t.Log(stdCounts(listed))
				return
			}
			run.stillPass(t, listed)
			t.Log(stdCounts(listed))
		})
	}
}

// stdTest is a test of the standard library and what comes of it under control.
type stdTest struct{ name, result string }

// Results, before a colon and the reason.
const (
	stdPass       = "pass"
	stdSkips      = "skips itself"
	stdSubprocess = "needs a subprocess"
	stdRefused    = "refused"
	stdNotYet     = "not yet"
)

// stdCounts sums a list up.
func stdCounts(list []stdTest) string {
	counts := map[string]int{}
	for _, test := range list {
		kind, _, _ := strings.Cut(test.result, ":")
		counts[kind]++
	}
	text := fmt.Sprintf("%d tests", len(list))
	for _, kind := range []string{stdPass, stdSkips, stdSubprocess, stdRefused, stdNotYet} {
		text += fmt.Sprintf(", %d %s", counts[kind], kind)
	}
	return text
}

// readStdList reads lines "TestName result"; a file that is not there is empty.
func readStdList(file string) (list []stdTest, err error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, result, ok := strings.Cut(lines.Text(), " ")
		if !ok {
			return nil, fmt.Errorf("%s: %q is no name and result", file, lines.Text())
		}
		list = append(list, stdTest{name, result})
	}
	return list, lines.Err()
}

func writeStdList(file string, list []stdTest) error {
	var b strings.Builder
	for _, test := range list {
		fmt.Fprintln(&b, test.name, test.result)
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

// stdRun runs the tests of one package of the standard library.
type stdRun struct {
	program *sut.Program
	names   []string
}

func newStdRun(t *testing.T, pkg string, races ...string) *stdRun {
	t.Helper()
	ctx := context.Background()
	toolchain, err := sut.NewToolchain(ctx, ".", cache())
	if err != nil {
		t.Fatal(err)
	}
	p, err := toolchain.Build(ctx, sut.BuildOptions{Dir: ".", Package: pkg, Tests: true, Races: races,
		Output: filepath.Join(t.TempDir(), "tests")})
	if err != nil {
		t.Fatal(err)
	}
	r := &stdRun{program: p}
	log, err := r.run("-test.list=.*")
	if err != nil || log.Outcome != sut.Completed {
		t.Fatalf("listing the tests: %v, %+v", err, log)
	}
	r.names = slices.DeleteFunc(strings.Fields(string(log.Stdout)),
		func(name string) bool { return !strings.HasPrefix(name, "Test") })
	return r
}

// run runs one execution in a worker of its own.
func (r *stdRun) run(args ...string) (*sut.Log, error) {
	log, err := r.runWith(sut.Schedule{OnlyEnd: true}, args)
	if err != nil || log.Race == nil {
		return log, err
	}
	return r.runWith(sut.Schedule{OnlyEnd: true, Show: &sut.Show{Watch: log.Race.First()}}, args)
}

func (r *stdRun) runWith(s sut.Schedule, args []string) (*sut.Log, error) {
	patience := 2 * time.Minute
	if *stdUpdate {
		patience = 30 * time.Second // what is listed has time to spare
	}
	w, err := sut.Start(r.program, sut.Options{Args: args, Dir: r.program.Dir, HangTimeout: patience})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return w.Run(s, nil)
}

// result runs a test and says in one line what comes of it.
func (r *stdRun) result(name string) string {
	log, err := r.runTests(name)
	if err != nil && strings.Contains(err.Error(), "without a visible operation") {
		return stdNotYet + ": takes too long"
	}
	if err != nil {
		return stdNotYet + ": " + firstLine(err.Error())
	}
	out := string(log.Stdout)
	switch {
	case log.Outcome == sut.Completed && strings.Contains(out, "'go build' unavailable"):
		return stdSubprocess
	case log.Outcome == sut.Completed && strings.Contains(out, "--- SKIP: "+name+" "):
		return stdSkips + ": " + lineWith(out, ".go:")
	case log.Outcome == sut.Completed && strings.Contains(out, "--- PASS: "+name+" "):
		return stdPass
	case log.Outcome == sut.Refused && r.startsProcess(log):
		return stdSubprocess
	case log.Outcome == sut.Refused:
		return stdRefused + ": " + firstLine(log.Message)
	case log.Outcome == sut.Exited:
		return stdNotYet + ": fails: " + lineWith(out, ".go:")
	}
	return strings.TrimSpace(fmt.Sprintf("%s: %v %s", stdNotYet, log.Outcome,
		lineWith(string(log.Stderr), ": ")))
}

// stillPass requires that what is listed as passing passes. Tests are run in groups, and those that
// do not pass there alone.
func (r *stdRun) stillPass(t *testing.T, listed []stdTest) {
	t.Helper()
	var names []string
	for _, test := range listed {
		if test.result == stdPass {
			names = append(names, test.name)
		}
	}
	for group := range slices.Chunk(names, 12) {
		out := ""
		if log, err := r.runTests(strings.Join(group, "|")); err == nil && log.Outcome == sut.Completed {
			out = string(log.Stdout)
		}
		for _, name := range group {
			if strings.Contains(out, "--- PASS: "+name+" ") {
				continue
			}
			if got := r.result(name); got != stdPass {
				t.Errorf("%s passed when it was listed; now: %s", name, got)
			}
		}
	}
}

// runTests runs the tests that a pattern matches in one execution.
func (r *stdRun) runTests(pattern string) (*sut.Log, error) {
	return r.run("-test.v", "-test.short", "-test.timeout=0", "-test.parallel=100",
		"-test.run=^("+pattern+")$")
}

// startsProcess reports whether a test was refused on its way to a subprocess.
func (r *stdRun) startsProcess(log *sut.Log) bool {
	return strings.Contains(log.Message, "subprocess") ||
		slices.ContainsFunc(log.Stack, func(pc uint64) bool {
			at, _ := r.program.Position(pc)
			return strings.HasPrefix(at.Function, "os/exec.") ||
				strings.HasPrefix(at.Function, "os.StartProcess")
		})
}

// lineWith is the first line of a text that contains part.
func lineWith(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return firstLine(line)
		}
	}
	return ""
}

// firstLine is the beginning of a text as it can stand in a list.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return fmt.Sprintf("%.150s", strings.ToValidUTF8(line, "?"))
}
