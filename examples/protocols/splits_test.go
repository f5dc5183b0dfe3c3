package main

import (
	"io"
	"strings"
	"testing"
)

// TestSplits: a row of MP-Basset has each search beside the paper's, and both ratios. Each split
// leaves out states, and both together most.
func TestSplits(t *testing.T) {
	var out strings.Builder
	if err := run([]string{"-rows", `\(3,0,1,1\), quorums`}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	_, table, isFound := strings.Cut(out.String(), "\nBeside MP-Basset:\n\n")
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if !isFound || len(lines) != 3 {
		t.Fatalf("no table with a head and one row:\n%s", &out)
	}
	cells := strings.Split(lines[2], "|")
	for i, want := range []string{"", "Echo Multicast (3,0,1,1), quorums", "769 states, ", "671 states, ",
		"419 states, ", "295 states, ", "285 states, ", "2.35; paper 12.55"} {
		if i >= len(cells) || !strings.HasPrefix(strings.TrimSpace(cells[i]), want) {
			t.Errorf("cell %d does not begin with %q:\n%s", i, want, lines[2])
		}
	}
	if !strings.HasSuffix(cells[4], "; paper 9,222 ") || strings.Contains(cells[2], "paper") {
		t.Errorf("the paper's numbers are not where they belong:\n%s", lines[2])
	}
}
