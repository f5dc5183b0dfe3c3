package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/check"
)

// TestNames: each program can be asked for by its name, and has all that the table needs.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range all {
		if b.Name == "" || b.Class == "" || b.Doc == "" || b.Shows == "" || b.Buggy == nil || b.Fixed == nil {
			t.Errorf("%q is not complete", b.Name)
		}
		if seen[b.Name] {
			t.Errorf("%s is there twice", b.Name)
		}
		seen[b.Name] = true
	}
	if len(seen) < 60 {
		t.Errorf("there are %d programs, there are to be 60 at least", len(seen))
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
	b := newBench(t.Context(), t.TempDir(), limits{executions: 100, time: 20 * time.Second})
	for _, r := range ownRows(t) {
		for _, name := range searches() {
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

// searches are those that are compared: all but the enumeration of schedules.
func searches() []string {
	return slices.DeleteFunc(check.Searches(), func(name string) bool { return name == "dfs" })
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
