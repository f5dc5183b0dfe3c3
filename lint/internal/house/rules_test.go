package house

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sound is a package that keeps all rules.
func sound(dir string) *Package {
	return &Package{
		Dir: dir, Files: 2, Lines: 2000, Comments: 400, TestLines: 2500, Functions: []int{5, 7},
		Types:   []Type{{"T", MaxSpread, MaxFields}},
		Structs: []Type{{"T", 0, MaxFields}}, Sentences: []int{10, 12},
	}
}

// TestEachRule: a package that just keeps a rule has no finding, and one that misses it by a little
// has one, with how much that is.
func TestEachRule(t *testing.T) {
	if all := (&House{Packages: []*Package{sound("peers"), sound("sut")}}).Findings(); len(all) != 0 {
		t.Fatalf("a sound house: %v", all)
	}
	files := make([]string, MaxCircle+2)
	for i := range files {
		files[i] = fmt.Sprintf("f%02d.go", i)
	}
	for _, test := range []struct {
		spoil func(*Package)
		want  Finding
	}{
		{func(p *Package) { p.Lines, p.Comments = MaxLines+3, MaxLines },
			Finding{"lines", "peers", "peers/watch has 4003", 3}},
		{func(p *Package) { p.Files = MaxFiles + 1 }, Finding{"files", "peers", "peers/watch has 26", 1}},
		{func(p *Package) { p.Types[0].Files = MaxSpread + 2 },
			Finding{"spread", "peers", "peers/watch.T: 5 files", 2}},
		{func(p *Package) { p.Structs[0].Fields = MaxFields + 4 },
			Finding{"fields", "peers", "peers/watch.T: 24 fields", 4}},
		{func(p *Package) { p.Circle = files },
			Finding{"circle", "peers", "peers/watch has 11: " + strings.Join(files, " "), 2}},
		{func(p *Package) { p.Outside = []string{"peers/other.go: Start"} },
			Finding{"face", "peers", "peers/other.go: Start", 1}},
		{func(p *Package) { p.Comments = 299 }, Finding{"share", "peers", "peers has 14.9 %", 1}},
		{func(p *Package) { p.Comments = 0 }, Finding{"share", "peers", "peers has 0.0 %", 15}},
		{func(p *Package) { p.Sentences = []int{3, 17, 18} },
			Finding{"sentences", "peers", "peers has 17 in the median", 2}},
	} {
		p := sound("peers/watch")
		test.spoil(p)
		if got := (&House{Packages: []*Package{p}}).Findings(); !slices.Equal(got, []Finding{test.want}) {
			t.Errorf("%v, want %v", got, test.want)
		}
		if Rules[test.want.Rule] == "" {
			t.Errorf("nothing says what the rule %s wants", test.want.Rule)
		}
	}
}

// TestRulesOfLines: lines that are too wide belong to the room of their file; tests and examples
// have some, too.
func TestRulesOfLines(t *testing.T) {
	h := &House{
		Wide: []string{"check/a_test.go:3", "examples/x/main.go:7"}, Far: []string{"tandem.go:9"},
	}
	want := []Finding{
		{"columns", "check", "check/a_test.go:3", 1}, {"columns", "examples", "examples/x/main.go:7", 1},
		{"comments", ".", "tandem.go:9", 1},
	}
	if got := h.Findings(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestRoomsAreSummedUp: the share of comments is that of a whole room, and a small room has none.
func TestRoomsAreSummedUp(t *testing.T) {
	few, many, small := sound("peers/a"), sound("peers/b"), sound("doctor")
	few.Comments, many.Comments = 200, 400 // 15 % together
	small.Lines, small.Comments = smallRoom-1, 0
	h := &House{Packages: []*Package{few, many, small}}
	if got := h.Findings(); len(got) != 0 {
		t.Errorf("%v", got)
	}
	few.Comments--
	small.Lines++
	got := h.Findings()
	slices.SortFunc(got, func(a, b Finding) int { return strings.Compare(a.Room, b.Room) })
	want := []Finding{{"share", "doctor", "doctor has 0.0 %", 15}, {"share", "peers", "peers has 15.0 %", 1}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestImportsOfCommands: a command imports the rooms that commands are made of, the room that it
// starts, and what is below its own directory.
func TestImportsOfCommands(t *testing.T) {
	for _, test := range []struct {
		dir, room string
		may       bool
	}{
		{"cmd/tandem", "check", true}, {"cmd/tandem", "check/internal/pool", true},
		{"cmd/tandem", "report/text", true}, {"cmd/tandem", "internal/textutil", true},
		{"cmd/tandem", "internal/sys", false}, {"cmd/tandem", "peers", false}, {"cmd/tandem", "sut", false},
		{"cmd/ckptd", "ckptd", true}, {"cmd/ckptd", "ckptd/internal/wire", true},
		{"cmd/ckptd", "proxy", false}, {"cmd/proxy", "proxy", true}, {"cmd/proxy", "ckptd", false},
		{"cmd/tandem", "proxy", true}, {"cmd/tandem", "ckptd", true}, {"cmd/tandem/view", "proxy", true},
		{"cmd/tandem", "cmd/tandem/view", true}, {"cmd/tandem/view", "cmd/tandem", true},
		{"cmd/tandem", "checks", false}, {"peers", "anything", true},
	} {
		if got := commandMayImport(test.dir, test.room); got != test.may {
			t.Errorf("%s may import %s: %t", test.dir, test.room, got)
		}
	}
}

// TestWithin: a directory is within itself and those above it, and not within one whose name it
// only begins with.
func TestWithin(t *testing.T) {
	for _, test := range []struct {
		dir, parent string
		want        bool
	}{
		{"a", "a", true}, {"a/b", "a", true}, {"ab", "a", false}, {"a", "a/b", false}, {"", "a", false},
	} {
		if got := within(test.dir, test.parent); got != test.want {
			t.Errorf("%q within %q: %t", test.dir, test.parent, got)
		}
	}
}

// TestFaces: a file shows a name that it is called after, whatever its case and number.
func TestFaces(t *testing.T) {
	for _, test := range []struct {
		base, name string
		want       bool
	}{
		{"options", "Options", true}, {"fault", "Faults", true}, {"world", "World", true},
		{"byname", "ByName", true}, {"by_name", "ByName", true}, {"opt", "Options", false},
		{"parsedate", "ParseDate", true}, {"configs", "Config", true}, {"", "Config", false},
	} {
		if got := isNamedAfter(test.base, test.name); got != test.want {
			t.Errorf("%s.go shows %s: %t", test.base, test.name, got)
		}
	}
}

// put writes a file.
func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// write makes the files of a module.
func write(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		put(t, name, text)
	}
	return root
}

// TestComments: a line counts as a comment if it holds nothing else; what looks like one in a text
// is none.
func TestComments(t *testing.T) {
	const text = `// Package x is for a test.
package x // not alone

/* This one
has two lines. */
const a = 1 /* begins behind something
and goes on */

/* one */ const b = 2

const c = ` + "`\n// no comment\n`" + `

//go:generate true
`
	root := write(t, map[string]string{"x.go": text})
	got, err := readText(filepath.Join(root, "x.go"))
	if err != nil {
		t.Fatal(err)
	}
	var comments []int
	for i, is := range got.isComment {
		if is {
			comments = append(comments, i+1)
		}
	}
	// Line 7 goes on with a comment alone; line 9 begins with one, and has more.
	if want := []int{1, 4, 5, 7, 9, 15}; !slices.Equal(comments, want) || got.comments() != len(want) {
		t.Errorf("comments in lines %v, want %v", comments, want)
	}
	if _, err := readText(filepath.Join(root, "none.go")); err == nil {
		t.Error("a file that is not there has no error")
	}
	put(t, filepath.Join(root, "x.go"), "packag x\n")
	if _, err := readText(filepath.Join(root, "x.go")); err == nil {
		t.Error("what is no Go has no error")
	}
}

// TestWidthTwin: the width of a line is the column that a terminal with such tabs would be in.
func TestWidthTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := string(rapid.SliceOfN(rapid.SampledFrom([]rune("ab\tä€")), 0, 30).Draw(t, "line"))
		want := 0
		for _, r := range line {
			want++
			for r == '\t' && want%TabWidth != 0 {
				want++
			}
		}
		if got := Columns(line); got != want {
			t.Fatalf("%q: %d, want %d", line, got, want)
		}
	})
}

// TestMeasureColumns: lines that are too wide are found in all Go files but those of testdata, and
// comments by a bound of their own.
func TestMeasureColumns(t *testing.T) {
	wide := "const a = `" + strings.Repeat("x", MaxColumns) + "`\n"
	far := "// " + strings.Repeat("x", MaxCommentColumn) + "\n"
	near := "// " + strings.Repeat("x", MaxCommentColumn-3) + "\n"
	root := write(t, map[string]string{
		"go.mod": "module " + Module + "\n\ngo 1.26\n",
		"a/a.go": "package a\n\n" + wide + far + near, "a/testdata/b.go": "package b\n" + wide,
		"a/a_test.go": "package a\n\n" + far, ".git/c.go": "package c\n" + wide, "a/wide.txt": wide,
	})
	h := &House{}
	if err := h.columns(root); err != nil {
		t.Fatal(err)
	}
	slices.Sort(h.Far)
	if !slices.Equal(h.Wide, []string{"a/a.go:3"}) ||
		!slices.Equal(h.Far, []string{"a/a.go:4", "a/a_test.go:3"}) {
		t.Errorf("wide: %v, far: %v", h.Wide, h.Far)
	}
}

// TestMeasureKits: what only tests import counts as lines of tests, and examples do not count.
func TestMeasureKits(t *testing.T) {
	root := write(t, map[string]string{
		"go.mod":                  "module " + Module + "\n\ngo 1.26\n",
		"internal/testkit/kit.go": "// Package testkit is for tests.\npackage testkit\n\nfunc f() {}\n",
		"examples/x/main.go":      "package main\n\nfunc main() {}\n",
	})
	h, err := Measure(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Packages) != 1 {
		t.Fatalf("%d packages", len(h.Packages))
	}
	p := h.Packages[0]
	if p.Lines != 0 || p.Comments != 0 || p.TestLines != 4 || p.Synopsis != "Package testkit is for tests." {
		t.Errorf("%+v", p)
	}
	put(t, filepath.Join(root, "examples/x/main.go"), "package main\n\nfunc main() { x }\n")
	if _, err := Measure(root); err != nil {
		t.Errorf("an example does not compile, and nothing of it is measured: %v", err)
	}
	put(t, filepath.Join(root, "internal/testkit/kit.go"), "package testkit\n\nvar a = b\n")
	if _, err := Measure(root); err == nil || !strings.Contains(err.Error(), "undefined: b") {
		t.Errorf("a package does not compile: %v", err)
	}
}

// slowComponents finds out by walking which nodes reach each other.
func slowComponents(edges map[string]map[string]bool) [][]string {
	reach := map[string]map[string]bool{}
	var walk func(from, at string)
	walk = func(from, at string) {
		if reach[from] == nil {
			reach[from] = map[string]bool{}
		}
		if reach[from][at] {
			return
		}
		reach[from][at] = true
		for next := range edges[at] {
			walk(from, next)
		}
	}
	for node, next := range edges {
		walk(node, node)
		for n := range next {
			walk(n, n)
		}
	}
	var all [][]string
	seen := map[string]bool{}
	for node := range reach {
		if seen[node] {
			continue
		}
		var component []string
		for other := range reach {
			if reach[node][other] && reach[other][node] {
				component, seen[other] = append(component, other), true
			}
		}
		slices.Sort(component)
		all = append(all, component)
	}
	slices.SortFunc(all, slices.Compare)
	return all
}

// TestComponentsTwin: the components of any graph are the sets of nodes that reach each other.
func TestComponentsTwin(t *testing.T) {
	node := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"})
	rapid.Check(t, func(t *rapid.T) {
		edges := map[string]map[string]bool{}
		for range rapid.IntRange(0, 12).Draw(t, "edges") {
			from, to := node.Draw(t, "from"), node.Draw(t, "to")
			if edges[from] == nil {
				edges[from] = map[string]bool{}
			}
			edges[from][to] = true
		}
		got := components(edges)
		for _, component := range got {
			slices.Sort(component)
		}
		slices.SortFunc(got, slices.Compare)
		if want := slowComponents(edges); !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
			t.Fatalf("%v: %v, want %v", edges, got, want)
		}
	})
}

// TestQuantileTwin: so many percent of the numbers are at most as large, as near as can be.
func TestQuantileTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.IntRange(0, 20), 1, 30).Draw(t, "numbers")
		percent := rapid.IntRange(0, 100).Draw(t, "percent")
		q := quantile(numbers, percent)
		below, upTo := 0, 0
		for _, n := range numbers {
			if n < q {
				below++
			}
			if n <= q {
				upTo++
			}
		}
		if at := (len(numbers) - 1) * percent / 100; !slices.Contains(numbers, q) || below > at ||
			upTo <= at {
			t.Fatalf("%d %% of %v is %d: %d are below, and %d up to it", percent, numbers, q, below, upTo)
		}
	})
}

// TestSummary: the whole house is what its packages are together, and what is too large is named.
func TestSummary(t *testing.T) {
	large, plain := sound("check"), sound("peers")
	large.Lines, large.Files, large.Circle = MaxLines+1, 30, make([]string, MaxCircle+1)
	large.Structs = []Type{{"T", 0, MaxFields + 1}}
	large.Types = []Type{{"T", MaxSpread + 1, 0}, {"U", 1, 0}}
	large.Outside, large.ScriptLines = []string{"x"}, 1001
	h := &House{Packages: []*Package{large, plain}, Wide: []string{"check/a.go:1"}, Far: []string{"b", "c"}}
	for name, want := range map[string]string{
		"packages; median / largest, lines": "2; 2000 / 4001", "packages above 4000 lines": "1 (check)",
		"functions: median / p90 / longest": "5 / 7 / 7", "comment lines": "13 %",
		"words of a sentence, median": "10", "tests : code": "0.83",
		"tests with their scripts : code":  "1.00",
		"types with methods in >= 4 files": "1 of 3", "circles of 10 files or more": "1 (check 10/30)",
		"lines over 110 columns": "1", "comments over 100 columns": "2",
		"structs with more than 20 fields": "1", "most files in a package": "30 (check)",
		"exported outside a face": "1",
	} {
		if got := h.Summary()[name]; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if want := "check\t30\t4001\t5 / 5 / 7\t10 %\t0.62\t1\t10/30\t1\t1\t1"; h.Row(large) != want {
		t.Errorf("%q, want %q", h.Row(large), want)
	}
	if row := h.Row(&Package{Dir: "."}); !strings.HasPrefix(row, ".\t0\t0\t-\t0 %\t0.00\t0") {
		t.Errorf("a package without functions: %q", row)
	}
}

// TestScriptLines: scripts and programs count, recorded outputs and lists do not.
func TestScriptLines(t *testing.T) {
	root := write(t, map[string]string{
		"testdata/script/a.txt": "1\n2\n", "testdata/b.script": "3\n", "testdata/c/main.go": "4\n5\n6\n",
		"testdata/peer.c": "7\n", "testdata/list.txt": "no\n", "testdata/d.golden": "no\n",
	})
	if n, err := scriptLines(filepath.Join(root, "testdata")); n != 7 || err != nil {
		t.Errorf("%d lines, %v, want 7", n, err)
	}
	if n, err := scriptLines(filepath.Join(root, "nowhere")); n != 0 || err != nil {
		t.Errorf("without a directory: %d lines, %v, want 0", n, err)
	}
}

// TestDocumentsWithoutALine: a document that has lost one of its two lines is an error, and stays.
func TestDocumentsWithoutALine(t *testing.T) {
	h := &House{Packages: []*Package{{Dir: "peers", Synopsis: "A | b."}}}
	for _, text := range []string{"nothing", drawn[0].begins, drawingEnds + drawn[0].begins} {
		root := write(t, map[string]string{drawn[0].file: text, drawn[1].file: text})
		if changed, err := PutDocuments(h, root); err == nil || len(changed) > 0 ||
			!strings.Contains(err.Error(), "there is no") {
			t.Errorf("%q: changed %v, %v", text, changed, err)
		}
		if outdated, err := Outdated(h, root); err != nil || len(outdated) != len(drawn) {
			t.Errorf("%q: outdated %v, %v", text, outdated, err)
		}
	}
	if want := "| `peers` | A \\| b. |\n"; !strings.Contains(List(h), want) {
		t.Errorf("%s has no %s", List(h), want)
	}
}

// slowReaches is whether a room is reached by two imports or more.
func slowReaches(imports map[string]map[string]bool, room, target string) bool {
	var walk func(at string, steps int) bool
	walk = func(at string, steps int) bool {
		if at == target {
			return steps > 1
		}
		for next := range imports[at] {
			if walk(next, steps+1) {
				return true
			}
		}
		return false
	}
	return walk(room, 0)
}

// TestDiagramTwin: an arrow is left out if and only if there is a longer way.
func TestDiagramTwin(t *testing.T) {
	rooms := []string{"a", "b", "c", "d", "e"}
	rapid.Check(t, func(t *rapid.T) {
		h, imports := &House{}, map[string]map[string]bool{}
		for i, room := range rooms {
			p := &Package{Dir: room}
			imports[room] = map[string]bool{}
			for _, below := range rooms[i+1:] {
				if rapid.Bool().Draw(t, room+below) {
					p.Imports = append(p.Imports, below)
					imports[room][below] = true
				}
			}
			h.Packages = append(h.Packages, p)
		}
		drawing := Diagram(h)
		for _, room := range rooms {
			for below := range imports[room] {
				drawn := strings.Contains(drawing, "    "+room+" --> "+below+"\n")
				if drawn == slowReaches(imports, room, below) {
					t.Fatalf("%s --> %s is drawn: %t, in\n%s", room, below, drawn, drawing)
				}
			}
		}
	})
}
