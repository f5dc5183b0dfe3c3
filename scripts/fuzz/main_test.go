package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// targets is a module with three targets, and a go command in PATH that fails for one of them.
func targets(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	t.Chdir(t.TempDir())
	if err := os.Mkdir("below", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"x_test.go":                         "package x\n\nfunc FuzzGood() {}\n\nfunc FuzzBad() {}\n",
		filepath.Join("below", "y_test.go"): "package y\n\nfunc FuzzBelow() {}\n",
		filepath.Join(bin, "go"):            "#!/bin/sh\necho \"$*\"\ncase \"$*\" in *Bad*) exit 1 ;; esac\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// output is what a function writes to standard output.
func output(t *testing.T, f func()) string {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stdout
	os.Stdout = out
	text := make(chan string)
	go func() {
		b, _ := io.ReadAll(in)
		text <- string(b)
	}()
	f()
	os.Stdout = before
	out.Close()
	return <-text
}

// TestList: the targets that match are listed, by directory and place, and none runs.
func TestList(t *testing.T) {
	targets(t)
	for wanted, want := range map[string]string{
		".": "below FuzzBelow\n. FuzzGood\n. FuzzBad\n", "Bad|below": "below FuzzBelow\n. FuzzBad\n",
		"^below ": "below FuzzBelow\n", "nothing": "",
	} {
		var err error
		got := output(t, func() { err = run(time.Hour, wanted, true) })
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", wanted, got, err, want)
		}
	}
	if err := run(0, "(", true); err == nil || !strings.HasPrefix(err.Error(), "-targets: ") {
		t.Errorf("%v", err)
	}
}

// TestFailures: the targets that have found something are named in the end, and the others run as
// well, each by itself and for the time that was asked for.
func TestFailures(t *testing.T) {
	targets(t)
	var err error
	said := output(t, func() { err = run(3*time.Second, ".", false) })
	if err == nil || err.Error() != "these have failed: . FuzzBad" {
		t.Errorf("%v", err)
	}
	want := ""
	for _, target := range []string{"below FuzzBelow", ". FuzzGood", ". FuzzBad"} {
		dir, name, _ := strings.Cut(target, " ")
		want += target + "\ntest ./" + dir + " -run ^$ -fuzz ^" + name +
			"$ -fuzztime 3s -fuzzminimizetime 100x\n"
	}
	if said != want {
		t.Errorf("it said\n%s\nwant\n%s", said, want)
	}
}
