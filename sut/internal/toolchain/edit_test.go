package toolchain

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestResultTwin: edits at any places that do not overlap give the same text as putting it together
// piece by piece; those at one place stay in their order.
func TestResultTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching("[a-z ]{0,30}").Draw(t, "text")
		s, err := parseSource("p.s", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var edits []replacement
		want, at := "", 0
		for i := range rapid.IntRange(0, 6).Draw(t, "edits") {
			from := rapid.IntRange(at, len(text)).Draw(t, "from")
			to := rapid.IntRange(from, len(text)).Draw(t, "to")
			insert := fmt.Sprintf("<%d>", i)
			want += text[at:from] + insert
			edits, at = append(edits, replacement{from, to, insert}), to
		}
		want += text[at:]
		// Only edits at different places may be noted in any order.
		for i := len(edits) - 1; i > 0; i-- {
			j := rapid.IntRange(0, i).Draw(t, "swap")
			apart := true
			for k := j; k < i; k++ {
				apart = apart && edits[k].from != edits[k+1].from
			}
			if apart && j < i {
				edits[i], edits[j] = edits[j], edits[i]
			}
		}
		if !orderedAtEqualPlaces(edits) {
			t.Skip("two at one place have changed their order")
		}
		for _, e := range edits {
			s.replace(e.from, e.to, e.text)
		}
		if got := string(s.result()); got != want {
			t.Fatalf("%q with %v is %q, want %q", text, edits, got, want)
		}
	})
}

// orderedAtEqualPlaces says whether edits that begin at one place are in the order of their texts.
func orderedAtEqualPlaces(edits []replacement) bool {
	last := map[int]string{}
	for _, e := range edits {
		if before, ok := last[e.from]; ok && before > e.text {
			return false
		}
		last[e.from] = e.text
	}
	return true
}

// TestLinesStay: an inserted statement does not move the lines of the source, which messages name,
// at the beginning of a function.
func TestLinesStay(t *testing.T) {
	const text = "package p\n\nfunc f() {\n\tg()\n}\n\nfunc g() {}\n"
	s, err := parseSource("p.go", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e := &editor{source: s}
	e.enter("f", "first()")
	e.enter("f", "second()")
	got := string(e.result())
	if e.err != nil || strings.Count(got, "\n") != strings.Count(text, "\n") ||
		!strings.Contains(got, "{ first();  second(); \n\tg()") {
		t.Errorf("%v, %q", e.err, got)
	}
}

// TestFirstErrorOfEdits: after an edit that is not possible the others do not hide it.
func TestFirstErrorOfEdits(t *testing.T) {
	s, err := parseSource("p.go", []byte("package p\n"))
	if err != nil {
		t.Fatal(err)
	}
	e := &editor{source: s}
	e.add("func ok() {}")
	e.enter("first", "x()")
	e.swap("", "second", "y")
	e.field("third", "z int")
	if want := `p.go: anchor "func first" found 0 times instead of once`; e.err == nil ||
		e.err.Error() != want {
		t.Errorf("%v, want %s", e.err, want)
	}
}

// TestAssemblyIsText: assembly is not parsed, and is edited as a text; Go that is none is an error.
func TestAssemblyIsText(t *testing.T) {
	s, err := parseSource("runtime/asm.s", []byte("TEXT ·f(SB)\nTEXT ·g(SB)\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.swap("", "·f(SB)", "·f0(SB)"); err != nil {
		t.Fatal(err)
	}
	if got := string(s.result()); got != "TEXT ·f0(SB)\nTEXT ·g(SB)\n" {
		t.Errorf("%q", got)
	}
	if _, err := parseSource("p.go", []byte("TEXT ·f(SB)\n")); err == nil {
		t.Error("assembly is taken for Go")
	}
}

// TestFunctionNames: a method is called by its type, with or without a pointer; one of a generic
// type has no name here.
func TestFunctionNames(t *testing.T) {
	const text = `package p
func f() {}
func (t T) m() {}
func (t *T) n() {}
func (T) o() {}
func (t *G[X]) p() {}
`
	tree, err := parser.ParseFile(token.NewFileSet(), "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range tree.Decls {
		got = append(got, functionName(d.(*ast.FuncDecl)))
	}
	if want := "f T.m T.n T.o "; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// patched are the files of the distribution in use as they are patched.
func patchedDistribution(t *testing.T) map[string][]byte {
	t.Helper()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := patchedFiles(strings.TrimSpace(string(goroot)))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestPatchedFilesAreGo: what the patch makes of a Go file can be parsed, and no file is empty.
func TestPatchedFilesAreGo(t *testing.T) {
	for path, text := range patchedDistribution(t) {
		if len(bytes.TrimSpace(text)) == 0 {
			t.Errorf("%s is empty", path)
		}
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), path, text,
			parser.SkipObjectResolution); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestEveryAtomicHasItsPoint: each function of sync/atomic, and each method of its types but for
// those of Pointer that call functions, passes one point before it does something. The race
// detector is told of it afterwards.
func TestEveryAtomicHasItsPoint(t *testing.T) {
	files := patchedDistribution(t)
	functions := 0
	for _, path := range []string{"sync/atomic/doc.go", "sync/atomic/doc_64.go", "sync/atomic/type.go"} {
		text, ok := files[path]
		if !ok && path == "sync/atomic/doc_64.go" {
			continue // of some releases only
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			body := string(text[fset.Position(f.Body.Pos()).Offset:fset.Position(f.Body.End()).Offset])
			points := strings.Count(body, "tandemPoint(") + strings.Count(body, "tandemPointToSwap(")
			notes := strings.Count(body, "tandemAtomic(")
			if points == 0 {
				continue // it calls one that has a point, or is no operation
			}
			functions++
			if points != 1 || notes != 1 || strings.Index(body, "tandemPoint") > strings.Index(body, "ia.") ||
				strings.Index(body, "tandemAtomic(") < strings.Index(body, "ia.") {
				t.Errorf("%s: %s has %d points and %d notes, or in another order: %s", path,
					functionName(f), points, notes, body)
			}
		}
	}
	// Five types; load, store, swap, compare and swap, add, and, or: as functions and as methods.
	if want := 2 * 5 * 7; functions < want {
		t.Errorf("%d functions have points, want %d at least", functions, want)
	}
}

// TestNoTwoPatchesOfAFile: each file is in the list of patches once, since the second patch would
// undo the first.
func TestNoTwoPatchesOfAFile(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range append(append([]patch(nil), patches...), preinit...) {
		for path := range strings.SplitSeq(p.path, "|") {
			if seen[path] {
				t.Errorf("%s is patched twice", path)
			}
			seen[path] = true
		}
	}
}
