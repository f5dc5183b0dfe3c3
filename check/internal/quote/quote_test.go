package quote

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/report"
)

const selecting = `package x

func f() {
	select {
	case <-a:
	case b <- 1:
	default:
	case v,
		ok := <-c():
		select {
		}
	case d <- func() int {
		return 2
	}():
	}
	select {}
	for {
		select { case <-a: }; select { case <-b: }
	}
	select {
	case <-a:
	default:
	}
}
`

// sourceOf writes a file, and returns it as it is read.
func sourceOf(t *testing.T, text string) (path string, file *File) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "x.go")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, Sources{}.File(path)
}

// TestCases: the arms of a select are those that send, and then those that receive, from the last
// to the first, as the compiler numbers them.
func TestCases(t *testing.T) {
	_, file := sourceOf(t, selecting)
	for line, want := range map[int]string{
		4: "6: case b <- 1; 12: case d <- func() int { return 2 }(); 8: case v, ok := <-c(); 5: case <-a; " +
			"else 7: default",
		10: "", 16: "", 18: "none", 3: "none",
		20: "none", 21: "21: case <-a; else 22: default", // which is compiled to an if
	} {
		arms, other, ok := file.Cases(line)
		var said []string
		for _, c := range arms {
			said = append(said, fmt.Sprintf("%d: %s", c.Line, c.Text))
		}
		if other.Text != "" {
			said = append(said, fmt.Sprintf("else %d: %s", other.Line, other.Text))
		}
		if !ok {
			said = []string{"none"}
		}
		if diff := cmp.Diff(want, strings.Join(said, "; ")); diff != "" {
			t.Errorf("line %d (-want +got):\n%s", line, diff)
		}
	}
	missing := Sources{}.File("/nowhere/x.go")
	if _, _, ok := missing.Cases(1); ok || missing.Line(1) != "" || missing.EndOfFunction(1) != 0 {
		t.Error("a file that cannot be read has something in it")
	}
}

// TestQuotes: lines are quoted without blanks, few of them, and up to where something happens.
func TestQuotes(t *testing.T) {
	_, file := sourceOf(t,
		"package x\n\nfunc f() {\n\tlock()\n\tdefer unlock()\n\tg(func() {\n\t\th()\n\t})\n}\n")
	for line, want := range map[int]int{1: 0, 3: 9, 5: 9, 7: 8} {
		if got := file.EndOfFunction(line); got != want {
			t.Errorf("line %d: the function ends at %d, want %d", line, got, want)
		}
	}
	want := []report.SourceLine{{Number: 4, Text: "lock()"}, {Number: 5, Text: "defer unlock()"},
		{Number: 6, Text: "g(func() {"}, {Number: 7, Text: "h()"}}
	if diff := cmp.Diff(want, file.Between(4, 9)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
