package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSteam: the table has a line for each wanted row, with what the search of a process of its own
// has found and measured, and it is put into a file.
func TestSteam(t *testing.T) {
	dir := t.TempDir()
	program, readme := filepath.Join(dir, "protocols"), filepath.Join(dir, "README.md")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	old := "before\n" + steamBegins + "old\n" + steamEnds + "after\n"
	if err := os.WriteFile(readme, []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "-steam", "-rows", "200 philosophers: (best|A)|bakery, 3", "-update", readme)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{
		`200 philosophers \| depth-slicing .* \| best-first \| found, 240 steps \| 24,`,
		`200 philosophers \| – \| A\* \| found, 240 steps \| 24,.* \| [1-9][0-9]+ \| 0\.0 \| `,
		`bakery, 3 processes, 3 tickets \| verified, .* \| breadth-first \| holds \| 48,217 \| `} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("the table lacks %s:\n%s", want, out)
		}
	}
	data, err := os.ReadFile(readme)
	if err != nil || !strings.Contains(string(data), string(out)) || strings.Contains(string(data), "old\n") {
		t.Errorf("the file is %s, error %v", data, err)
	}
}

// TestSteamRefused: a row that is not there, and a program that is missing, are errors.
func TestSteamRefused(t *testing.T) {
	for want, args := range map[string][]string{"there is no row": {"-steam-row", "nobody"},
		"-tandem is missing": {"-steam", "-rows", "tandem check"}} {
		if err := run(args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", args, err, want)
		}
	}
}
