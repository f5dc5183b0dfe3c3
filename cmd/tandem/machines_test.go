package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/report"
)

// TestSourceRoot: paths are relative to the repository, else to the module, else to where we are.
func TestSourceRoot(t *testing.T) {
	top := t.TempDir()
	within := filepath.Join(top, "module", "cmd", "x")
	if err := os.MkdirAll(within, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(within)
	check := func(want string) {
		t.Helper()
		if got := sourceRoot(); got != want {
			t.Errorf("it is %s, want %s", got, want)
		}
	}
	check(within)
	testkit.WriteFile(t, filepath.Join(top, "module", "go.mod"), "module x\n")
	check(filepath.Join(top, "module"))
	testkit.WriteFile(t, filepath.Join(top, ".git"), "gitdir: elsewhere\n") // of a worktree
	check(top)
}

// TestFormatsFail: a file that cannot be written keeps no other from being written, and the summary
// of a job goes behind what is there.
func TestFormatsFail(t *testing.T) {
	dir := t.TempDir()
	summary := filepath.Join(dir, "summary.md")
	testkit.WriteFile(t, summary, "before\n")
	t.Setenv("GITHUB_ACTIONS", "true")
	t.Setenv("GITHUB_STEP_SUMMARY", summary)
	none := func(string) bool { return false }
	list := []report.TestPackage{{Name: "p", Error: "it does not build"}}
	f := formats{junit: "/dev/full", sarif: filepath.Join(dir, "x.sarif")}
	var out bytes.Buffer
	if err := f.begin(&out, none); err != nil {
		t.Fatal(err)
	}
	begun := out.String()
	if err := f.write(&out, list); err == nil || !strings.Contains(err.Error(), "/dev/full: no space left") {
		t.Errorf("the error is %v", err)
	}
	if text, err := os.ReadFile(f.sarif); err != nil || !strings.Contains(string(text), `"results":[]`) {
		t.Errorf("%v: %s", err, text)
	}
	text, err := os.ReadFile(summary)
	if err != nil || !strings.HasPrefix(string(text), "before\n### Tandem: ` p `\n") {
		t.Errorf("%v: %s", err, text)
	}
	token := strings.TrimPrefix(begun, "::stop-commands::")
	want := begun + "::" + strings.TrimSpace(token) + "::\n::error title="
	if token == begun || !strings.HasPrefix(out.String(), want) {
		t.Errorf("%q, want %q first", &out, want)
	}
	before := out.Len()
	if f.end(&out); out.Len() != before {
		t.Error("commands are allowed twice")
	}
	if err := (&formats{sarif: filepath.Join(dir, "no", "x")}).begin(&out, none); err == nil {
		t.Error("a file in a directory that is not there is accepted")
	}
}

// TestPrintError: an error has no commands for GitHub, whatever is in it.
func TestPrintError(t *testing.T) {
	err := errors.New("leave that out:\n::error::x\x1b")
	var out bytes.Buffer
	if printError(&out, err, true); out.String() != "tandem: leave that out:\n::error::x\\x1b\n" {
		t.Errorf("%q", &out)
	}
	t.Setenv("GITHUB_ACTIONS", "true")
	out.Reset()
	printError(&out, err, true)
	lines := strings.Split(out.String(), "\n")
	token, ok := strings.CutPrefix(lines[0], "::stop-commands::")
	if !ok || len(token) < 20 || lines[len(lines)-2] != "::"+token+"::" {
		t.Errorf("%q", lines)
	}
}

// TestAdviceNamesFlags: --verbose is named only by commands that have it.
func TestAdviceNamesFlags(t *testing.T) {
	failed := errors.New("the proxy died")
	for _, verbose := range []bool{false, true} {
		text := advised(failed, verbose)
		if strings.Contains(text, "--verbose") != verbose || !strings.Contains(text, "to do: ") {
			t.Errorf("verbose %t: %s", verbose, text)
		}
	}
}
