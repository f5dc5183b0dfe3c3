package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeepRecording: what cannot be saved where it should be is saved elsewhere, and that is said.
func TestKeepRecording(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	recording := &Recording{
		Program: Program{Package: "./x", Build: "abc", GoVersion: "go1.26"},
		Expect:  Expectation{Outcome: "panic", EventLog: "0123"},
	}
	var warnings bytes.Buffer
	wanted := filepath.Join(t.TempDir(), "x.counterexample")
	if file, err := (AnyRecording{One: recording}).Keep(&warnings, wanted); file != wanted || err != nil ||
		warnings.Len() > 0 {
		t.Errorf("%s, %v, %s", file, err, &warnings)
	}
	missing := filepath.Join(t.TempDir(), "missing", "x.counterexample")
	file, err := AnyRecording{One: recording}.Keep(&warnings, missing)
	if err != nil || !strings.HasPrefix(file, os.TempDir()) || filepath.Base(file) != filepath.Base(missing) {
		t.Errorf("%s, %v", file, err)
	}
	if !strings.Contains(warnings.String(), "the counterexample is in "+file) {
		t.Errorf("nobody is told: %q", &warnings)
	}
	if _, err := Load(file); err != nil {
		t.Error(err)
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	if _, err := (AnyRecording{One: recording}).Keep(&warnings, missing); err == nil ||
		!strings.Contains(err.Error(), "nor elsewhere") {
		t.Errorf("%v, want that it is nowhere", err)
	}
}

// TestCounterexampleFile: only a counterexample of the same program, run in the same way, gives
// way, and that is said.
func TestCounterexampleFile(t *testing.T) {
	t.Chdir(t.TempDir())
	recording := func(pkg string, args ...string) *Recording {
		return &Recording{
			Program: Program{Package: pkg, Args: args, Build: "abc", GoVersion: "go1.26"},
			Expect:  Expectation{Outcome: "panic", EventLog: "0123"},
		}
	}
	if err := os.WriteFile("x.3.counterexample", []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	free := func(string) bool { return false }
	changed := func(change func(p *Program)) *Recording {
		r := recording("./a/x")
		change(&r.Program)
		return r
	}
	for _, c := range []struct {
		recording *Recording
		taken     func(string) bool
		want      string
		replaces  bool
	}{
		{recording("./a/x"), free, "x.counterexample", false},
		{recording("./a/x"), free, "x.counterexample", true},
		{recording("./b/x"), free, "x.2.counterexample", false},
		{recording("./b/x"), free, "x.2.counterexample", true},
		{recording("./a/x", "-again"), free, "x.4.counterexample", false},
		{recording("./a/x"), free, "x.counterexample", true},
		{recording("./a/x"), func(file string) bool { return file == "x.counterexample" },
			"x.5.counterexample", false},
		{changed(func(p *Program) { p.Tags = []string{"t"} }), free, "x.6.counterexample", false},
		{changed(func(p *Program) { p.Tags = []string{"t"} }), free, "x.6.counterexample", true},
		{changed(func(p *Program) { p.Peers = true }), free, "x.7.counterexample", false},
		{changed(func(p *Program) { p.Env = []string{"A=1"} }), free, "x.8.counterexample", false},
		{recording("./a/x"), free, "x.counterexample", true},
	} {
		var warnings bytes.Buffer
		file := AnyRecording{One: c.recording}.File(&warnings, "x", c.taken)
		if file != c.want || (warnings.Len() > 0) != c.replaces {
			t.Errorf("%+v: %s, %q, want %s", c.recording.Program, file, &warnings, c.want)
		}
		if err := Save(file, c.recording); err != nil {
			t.Fatal(err)
		}
	}
	if text, _ := os.ReadFile("x.3.counterexample"); string(text) != "notes" {
		t.Errorf("what is no counterexample was changed: %q", text)
	}
}
