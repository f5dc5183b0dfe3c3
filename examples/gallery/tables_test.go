package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the tables in README.md, and in docs/guide/examples.md")

// finding is what the searches of one exhibit found.
type finding struct {
	buggy, fixed int // executions
}

// compareTables compares the tables of two documents with what was found. Another
// release of Go than that of the tables may need other numbers of executions.
func compareTables(t *testing.T, version string, findings map[string]finding) {
	t.Helper()
	compareTable(t, version, "README.md", "bug", exhibitTable(version, findings))
	compareTable(t, version, "../../docs/guide/examples.md", "part of the gallery",
		roomTable(version, findings))
}

// exhibitTable has a row for each bug.
func exhibitTable(version string, findings map[string]finding) string {
	var s strings.Builder
	fmt.Fprintf(&s, "| bug | class | violation | executions to find it (%s) | executions of the fixed "+
		"twin |\n|---|---|---|---|---|\n", version)
	for _, b := range bugs() {
		f := findings[b.Name]
		fmt.Fprintf(&s, "| `%s`: %s | %s | %s | %d | %d |\n", b.Name, b.Doc, b.Class, b.Shows, f.buggy,
			f.fixed)
	}
	return s.String()
}

// roomTable has a row for each room, with the greatest numbers.
func roomTable(version string, findings map[string]finding) string {
	var s strings.Builder
	fmt.Fprintf(&s, "| part of the gallery | bugs | found as | most executions to find one (%s) | of a "+
		"fixed twin |\n|---|---|---|---|---|\n", version)
	for _, r := range rooms() {
		var most finding
		var shows []string
		for _, b := range r.bugs {
			most.buggy, most.fixed = max(most.buggy, findings[b.Name].buggy),
				max(most.fixed, findings[b.Name].fixed)
			if !slices.Contains(shows, string(b.Shows)) {
				shows = append(shows, string(b.Shows))
			}
		}
		fmt.Fprintf(&s, "| [%s](../../examples/gallery/%s): %s | %d | %s | %d | %d |\n",
			r.name, r.name, r.about, len(r.bugs), strings.Join(shows, ", "), most.buggy, most.fixed)
	}
	return s.String()
}

var executions = regexp.MustCompile(`(\| [0-9]+ ){2}\|\n|\([^)]*\) \|`)

// compareTable compares the table of a file whose first column has a certain head.
func compareTable(t *testing.T, version, file, head, want string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	table := regexp.MustCompile(`(?m)^\| ` + head + ` \|.*\n(\|.*\n)*`).FindString(text)
	if table == "" {
		t.Fatalf("%s has no table with the head %q", file, head)
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Replace(text, table, want, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !strings.Contains(table, "("+version+")") {
		table, want = executions.ReplaceAllString(table, ""), executions.ReplaceAllString(want, "")
	}
	if table != want {
		t.Errorf("the table of %s is not what was found: run this test with -update, and look at the "+
			"difference", file)
	}
}
