package house

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// project is a module with one package, two files of which use each other.
var project = map[string]string{
	"go.mod": "module " + Module + "\n\ngo 1.26\n",
	"peers/peers.go": `// Package peers is for a test.
package peers

// Group is shown by the file named like the package.
type Group struct{ next *peer }

func (g *Group) first() {}
`,
	"peers/peer.go": `package peers

type peer struct{ group *Group }

func (g *Group) second() {}

func (g *Group) third() { g.first() }
`,
	"peers/other.go":      "package peers\n\n// Start is declared in the wrong place.\nfunc Start() {}\n",
	"peers/peers_test.go": "package peers\n",
	"cmd/x/main.go": `// Command x is for a test.
package main

import _ "` + Module + `/peers"

func main() {}
`,
}

func TestMeasure(t *testing.T) {
	h, err := Measure(write(t, project))
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Packages) != 2 {
		t.Fatalf("%d packages, want 2", len(h.Packages))
	}
	p := h.Packages[1]
	if p.Dir != "peers" || p.Files != 3 || p.Lines != 18 || p.Comments != 3 || p.TestLines != 1 {
		t.Errorf("%s: %d files, %d lines, %d comments, %d lines of tests",
			p.Dir, p.Files, p.Lines, p.Comments, p.TestLines)
	}
	if !slices.Equal(p.Functions, []int{1, 1, 1, 1}) {
		t.Errorf("functions %v", p.Functions)
	}
	if want := []Type{{"Group", 2, 1}}; !reflect.DeepEqual(p.Types, want) {
		t.Errorf("types %v, want %v", p.Types, want)
	}
	if len(p.Circle) != 2 || !slices.Equal(p.Outside, []string{"peers/other.go: Start"}) {
		t.Errorf("circle %v, outside %v", p.Circle, p.Outside)
	}
	want := []Finding{{"imports", "cmd", "cmd/x: peers", 1}, {"face", "peers", "peers/other.go: Start", 1}}
	if got := h.Findings(); !slices.Equal(got, want) {
		t.Errorf("findings %v, want %v", got, want)
	}
	if got := h.Summary()["types with methods in >= 4 files"]; got != "0 of 1" {
		t.Errorf("spread %s", got)
	}
	if row := h.Row(p); strings.Count(row, "\t") != len(Headings)-1 {
		t.Errorf("row %q does not fit the headings", row)
	}
}

func TestComponents(t *testing.T) {
	edges := map[string]map[string]bool{
		"a": {"b": true}, "b": {"c": true}, "c": {"a": true, "d": true},
		"d": {"e": true}, "e": {"d": true, "f": true},
	}
	var got []string
	for _, component := range components(edges) {
		slices.Sort(component)
		got = append(got, strings.Join(component, ""))
	}
	slices.Sort(got)
	if want := []string{"abc", "de", "f"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestColumns(t *testing.T) {
	for line, want := range map[string]int{"": 0, "a": 1, "\ta": 5, "a\tb": 5, "abcd\tb": 9, "häuser": 6} {
		if got := Columns(line); got != want {
			t.Errorf("%q has %d columns, want %d", line, got, want)
		}
	}
}

func TestSentences(t *testing.T) {
	for text, want := range map[string][]int{
		"":                                 nil,
		"One two. Three (four five).\n":    {2, 3},
		"File a.go is one.\n\nTwo\nthree":  {4, 2},
		"Is it? \"No.\" Then: so it is!\n": {2, 1, 4},
	} {
		if got := Sentences(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		numbers       []int
		percent, want int
	}{
		{nil, 50, 0}, {[]int{7}, 90, 7}, {[]int{3, 1, 2}, 50, 2},
		{[]int{4, 3, 2, 1}, 50, 2}, {[]int{1, 2}, 100, 2},
	} {
		if got := quantile(c.numbers, c.percent); got != c.want {
			t.Errorf("%d %% of %v: %d, want %d", c.percent, c.numbers, got, c.want)
		}
	}
}

func TestDiagram(t *testing.T) {
	h := &House{Packages: []*Package{
		{Dir: ".", Imports: []string{"peers"}},
		{Dir: "check", Imports: []string{"check/internal/x", "peers", "sut"}},
		{Dir: "check/internal/x", Imports: []string{"internal/model"}},
		{Dir: "sut", Imports: []string{"peers", "scripts"}},
		{Dir: "peers", Imports: []string{"internal/model"}},
	}}
	edges := "    check --> sut\n    peers --> internal\n    sut --> peers\n"
	if want := "```mermaid\nflowchart TD\n" + edges + "```\n"; Diagram(h) != want {
		t.Errorf("%s\nwant %s", Diagram(h), want)
	}
}

// TestPutDocuments: what is between the lines is made anew, once.
func TestPutDocuments(t *testing.T) {
	h := &House{Packages: []*Package{{Dir: "peers", Synopsis: "Package peers is for a test."}}}
	root := t.TempDir()
	if _, err := PutDocuments(h, root); err == nil {
		t.Error("there was no document, and no error")
	}
	for _, d := range drawn {
		name := filepath.Join(root, d.file)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("before\n"+d.begins+"old\n"+drawingEnds+"after\n"),
			0o666); err != nil {
			t.Fatal(err)
		}
	}
	if outdated, err := Outdated(h, root); len(outdated) != len(drawn) || err != nil {
		t.Errorf("outdated: %v, error %v", outdated, err)
	}
	for _, want := range []int{len(drawn), 0} {
		if changed, err := PutDocuments(h, root); len(changed) != want || err != nil {
			t.Errorf("changed: %v, error %v; want %d", changed, err, want)
		}
	}
	if outdated, err := Outdated(h, root); len(outdated) != 0 || err != nil {
		t.Errorf("outdated: %v, error %v", outdated, err)
	}
	if want := "| `peers` | Package peers is for a test. |\n"; !strings.Contains(List(h), want) {
		t.Errorf("%s has no %s", List(h), want)
	}
}
