package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

// TestNames: each program can be asked for by its name, and has all that the table needs.
func TestNames(t *testing.T) {
	for _, b := range all {
		if b.Name == "" || b.Class == "" || b.Doc == "" || b.Shows == "" || b.Buggy == nil || b.Fixed == nil {
			t.Errorf("%q is not complete", b.Name)
		}
	}
	list, err := rows()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range list {
		if seen[r.name] {
			t.Errorf("%s is there twice", r.name)
		}
		seen[r.name] = true
	}
	for _, args := range [][]string{nil, {"-fixed"}, {"no-such-bug"}, {"account", "stack"},
		{"stack", "-unknown"}} {
		if err := run(args); err == nil || !strings.Contains(err.Error(), "name") {
			t.Errorf("arguments %q: error %v, want one that says how a name is given", args, err)
		}
	}
}

// TestTwins: in the fixed programs no search finds anything, leaks included where the bug is one.
func TestTwins(t *testing.T) {
	b := newBench(t.Context(), t.TempDir(), limits{executions: 20, time: 20 * time.Second})
	for i, r := range ownRows(t) {
		for j, name := range searches() {
			if (i+j)%3 != 0 { // each program has some, and each search has many
				continue
			}
			a, err := b.search(r, true, name, 1)
			if err != nil {
				t.Fatal(err)
			}
			if a.Violation != "" {
				t.Errorf("%s: %s finds a %s after %d executions, and the program is right", r.name, name,
					a.Violation, a.Executions)
			}
		}
	}
}

// TestFound: the search that is documented to find a bug with the fewest executions still finds it.
// It may take somewhat more of them, with each of three seeds.
func TestFound(t *testing.T) {
	numbers := documented(t)
	b := newBench(t.Context(), t.TempDir(), limits{time: time.Minute})
	searched := 0
	for _, r := range ownRows(t) {
		name, n := numbers.best(r.name)
		if n == 0 || n > 300 {
			continue // none finds it, or it would take too long here
		}
		searched++
		b.limits.executions = 200 + 20*n
		found := false
		for seed := uint64(1); seed <= 3 && !found; seed++ {
			a, err := b.search(r, false, name, seed)
			if err != nil {
				t.Fatal(err)
			}
			found = a.Violation == r.shows
		}
		if !found {
			t.Errorf("%s: %s needs %d executions according to README.md, and has found no %s in %d: run "+
				"make finders UPDATE=1 and look at the difference", r.name, name, n, r.shows,
				b.limits.executions)
		}
	}
	if searched < 20 {
		t.Errorf("only %d programs were searched", searched)
	}
}

// TestCells: a cell is the median of its seeds, if most have found something, and the portfolio is
// compared with the best of the others.
func TestCells(t *testing.T) {
	made := func(executions ...int) (c cell) {
		for _, n := range executions { // 0: it found nothing
			a := attempt{Violation: bug.Deadlock, Executions: n, Verdict: "violated: ..."}
			if n == 0 {
				a = attempt{Executions: *executionFlag, Verdict: "unknown: ..."}
			}
			c = append(c, a)
		}
		return c
	}
	late := cell{{Executions: 1234, Verdict: "unknown: the time is over"}}
	for _, c := range []struct {
		cell cell
		want string
	}{
		{made(7), "7"}, {made(0), "–"}, {made(5, 1, 9, 1000, 2), "5"}, {made(0, 3, 0, 4000, 2), "4,000"},
		{made(3, 0, 0, 0), "–"}, {made(3, 4, 0, 0, 0), "–"}, {late, "– (1,234)"},
		{cell{{Executions: 3, Verdict: "holds: every execution is covered"}}, "holds"},
	} {
		if got := c.cell.String(); got != c.want {
			t.Errorf("%v is written %q, want %q", c.cell, got, c.want)
		}
	}
	for want, l := range map[string]line{
		"1.50":   {cells: []cell{made(0), made(2), made(3)}},
		"0.50":   {cells: []cell{made(20), made(1000000), made(10)}},
		"alone":  {cells: []cell{made(0), made(0), made(10)}},
		"missed": {cells: []cell{made(0), made(2), made(0)}},
		"–":      {cells: []cell{made(0), made(0), made(0)}},
	} {
		if got := l.ratio(2); got != want {
			t.Errorf("the ratio of the last of %v is %s, want %s", l.cells, got, want)
		}
	}
	lines := []line{{cells: []cell{made(9)}}, {cells: []cell{made(0)}}, {cells: []cell{made(4)}}}
	if got := median(lines, 0); got != "9" {
		t.Errorf("the median of 9, nothing and 4 is %s, want 9", got)
	}
	if got := median(append(lines, lines[1], lines[1]), 0); got != "–" {
		t.Errorf("the median with most missed is %s", got)
	}
}

// numbers are those of the table in README.md: executions by program and search.
type numbers map[string]map[string]int

// best is the search that needs the fewest executions for a program, and how many. A program that
// is not in the table is found by all at once.
func (n numbers) best(program string) (search string, executions int) {
	if n[program] == nil {
		return searches()[0], 1
	}
	for _, name := range searches() {
		if m := n[program][name]; m > 0 && (executions == 0 || m < executions) {
			search, executions = name, m
		}
	}
	return search, executions
}

// documented reads the table of programs in README.md.
func documented(t *testing.T) numbers {
	t.Helper()
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var head []string
	list := numbers{}
	for _, text := range strings.Split(string(data), "\n") {
		cells := strings.Split(text, " | ")
		switch {
		case strings.HasPrefix(text, "| program |"):
			head = cells
		case strings.HasPrefix(text, "| `") && head != nil:
			name := strings.Trim(cells[0], "| `")
			list[name] = map[string]int{}
			for i := 2; i < len(cells); i++ {
				search := strings.Trim(head[i], " |")
				if strings.HasPrefix(search, portfolio+" :") {
					continue // that is a ratio
				}
				list[name][search] = documentedNumber(t, name, strings.Trim(cells[i], " |"))
			}
		}
	}
	if len(list) < 20 {
		t.Fatalf("README.md has a table with %d programs only: run make finders UPDATE=1", len(list))
	}
	return list
}

// documentedNumber reads a cell. It is 0 where nothing was found: a dash, or "holds".
func documentedNumber(t *testing.T, program, cell string) int {
	t.Helper()
	if cell == "holds" || cell == "–" || strings.HasPrefix(cell, "– (") {
		return 0
	}
	n, err := strconv.Atoi(strings.ReplaceAll(cell, ",", ""))
	if err != nil {
		t.Fatalf("README.md has %q for %s: want a number, a dash or holds", cell, program)
	}
	return n
}

// ownRows are the rows without those that have a test of their own elsewhere.
func ownRows(t *testing.T) []row {
	t.Helper()
	list, err := rows()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list, func(r row) bool {
		return r.family == "gallery" || r.family == "libraries"
	})
}
