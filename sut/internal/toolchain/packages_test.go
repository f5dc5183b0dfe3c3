package toolchain

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/internal/testkit"
)

// TestFilesThatMayUseCgo: files that are left out may be so for cgo, which their text tells; one
// that cannot be read may, too.
func TestFilesThatMayUseCgo(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tag.go": "//go:build cgo\n\npackage p\n", "import.go": "package p\n\nimport \"C\"\n",
		"other.go": "//go:build windows\n\npackage p\n",
	} {
		testkit.WriteFile(t, filepath.Join(dir, name), text)
	}
	for name, want := range map[string]bool{
		"tag.go": true, "import.go": true, "other.go": false, "none.go": true,
	} {
		p := listedPackage{Dir: dir, IgnoredGoFiles: []string{"other.go", name}}
		if got := p.mayUseCgo(); got != want {
			t.Errorf("%s: %t", name, got)
		}
		if p.Standard = true; p.mayUseCgo() {
			t.Errorf("%s: the standard library is known", name)
		}
	}
	if (listedPackage{Dir: dir}).mayUseCgo() {
		t.Error("nothing is left out")
	}
}

// TestCgoLine: the error about cgo names the line of the import, or at least the file.
func TestCgoLine(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct{ text, want string }{
		"one.go":   {"package p\n\nimport \"C\"\n", "one.go:3:8"},
		"many.go":  {"package p\n\nimport (\n\t\"fmt\"\n\t\"C\"\n)\n", "many.go:5:2"},
		"none.go":  {"package p\n", "none.go"},
		"wrong.go": {"pack\n", "wrong.go"},
	} {
		testkit.WriteFile(t, filepath.Join(dir, name), test.text)
		p := &listedPackage{Dir: dir, CgoFiles: []string{name}}
		if got := p.cgoLine(); got != filepath.Join(dir, test.want) {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}

// slowMatches is whether a path is a pattern, or below one that ends with /..., element by element.
func slowMatches(pattern, path string) bool {
	of := func(text string) []string { return strings.Split(text, "/") }
	p, q := of(pattern), of(path)
	if p[len(p)-1] == "..." && len(p) > 1 {
		p = p[:len(p)-1]
		return len(q) >= len(p) && slices.Equal(p, q[:len(p)])
	}
	return slices.Equal(p, q)
}

// TestPatternsTwin: a pattern matches whole elements of a path.
func TestPatternsTwin(t *testing.T) {
	element := rapid.SampledFrom([]string{"a", "ab", "b.c", "d"})
	rapid.Check(t, func(t *rapid.T) {
		join := func(name string) string {
			return strings.Join(rapid.SliceOfN(element, 1, 3).Draw(t, name), "/")
		}
		var patterns []string
		for range rapid.IntRange(0, 3).Draw(t, "patterns") {
			pattern := join("pattern")
			if rapid.Bool().Draw(t, "tree") {
				pattern += "/..."
			}
			patterns = append(patterns, pattern)
		}
		path := join("path")
		want := slices.ContainsFunc(patterns, func(p string) bool { return slowMatches(p, path) })
		if got := matchesAny(patterns, path); got != want {
			t.Fatalf("%q matches one of %q: %t", path, patterns, got)
		}
	})
}

// TestUnmatchedPatterns: a pattern that matches no package of the program is named, unless it is a
// special one.
func TestUnmatchedPatterns(t *testing.T) {
	packages := []listedPackage{{ImportPath: "net/http"}, {ImportPath: "example.com/a"}}
	for _, test := range []struct {
		patterns []string
		want     string // empty: all are matched
	}{
		{nil, ""}, {[]string{"net/http", "example.com/...", "main"}, ""}, {[]string{"net/..."}, ""},
		{[]string{"net"}, "net"}, {[]string{"net/http", "net/smtp", "x"}, "net/smtp"},
		{[]string{"all"}, "all"},
	} {
		got, wrong := unmatched(packages, test.patterns, "main")
		if got != test.want || wrong != (test.want != "") {
			t.Errorf("%q: %q, %t; want %q", test.patterns, got, wrong, test.want)
		}
	}
}

// TestModules: packages of other modules are known by these; those that a main module requires
// itself are told from the rest.
func TestModules(t *testing.T) {
	type module = listedModule
	list := []listedPackage{
		{ImportPath: "fmt", Standard: true},
		{ImportPath: "example.com/own", Module: &module{Path: "example.com", Main: true}},
		{ImportPath: "b.org/b/x", Module: &module{Path: "b.org/b"}},
		{ImportPath: "b.org/b/y", Module: &module{Path: "b.org/b"}},
		{ImportPath: "a.org/a", Module: &module{Path: "a.org/a"}},
		{ImportPath: "c.org/c", Module: &module{Path: "c.org/c", Indirect: true}},
		{ImportPath: annotations, Module: &module{Path: annotations}},
	}
	wantModules := map[string]string{
		"b.org/b/x": "b.org/b", "b.org/b/y": "b.org/b", "a.org/a": "a.org/a", "c.org/c": "c.org/c",
		annotations: annotations,
	}
	if got := modulesOf(list); !reflect.DeepEqual(got, wantModules) {
		t.Errorf("%v, want %v", got, wantModules)
	}
	if got := directModules(list, []string{RacesDirect}); !slices.Equal(got, []string{"a.org/a", "b.org/b"}) {
		t.Errorf("direct: %v", got)
	}
	for _, races := range [][]string{nil, {RacesMain}, {RacesAll}, {"b.org/..."}} {
		if got := directModules(list, races); got != nil {
			t.Errorf("races in %q: direct modules %v", races, got)
		}
	}
}

// own is a function whose place the next test looks up.
//
//go:noinline
func own() (pc uintptr, file string, line int) {
	pc, file, line, _ = runtime.Caller(0)
	return pc, file, line
}

// TestSymbols: the table of an executable resolves a program counter as the runtime does, here of
// this test itself.
func TestSymbols(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := readSymbols(path)
	if err != nil {
		t.Fatal(err)
	}
	const pkg = "github.com/tandem-mc/tandem/sut/internal/toolchain"
	p := &Program{symbols: s, Open: []string{"main", pkg}, modules: map[string]string{pkg: "m"}}
	pc, file, line := own()
	text := runtime.FuncForPC(pc).Entry() // where the runtime has it, and where the table says
	entry := s.table.LookupFunc(pkg + ".own").Entry
	at, ok := p.Position(uint64(pc) - uint64(text) + entry + 1)
	if !ok || at.Function != pkg+".own" || at.File != file || at.Line != line {
		t.Errorf("%+v, %t; want %s:%d", at, ok, file, line)
	}
	if !p.IsOwn(at) || p.Module(at) != "m" {
		t.Errorf("%v is own: %t, of module %q", at, p.IsOwn(at), p.Module(at))
	}
	if at, ok := p.Declared(pkg + ".own"); !ok || at.File != file || at.Line >= line || at.Line < line-5 {
		t.Errorf("it begins at %+v, %t; want a line or so before %s:%d", at, ok, file, line)
	}
	if at, ok := p.Declared(pkg + ".nobody"); ok {
		t.Errorf("a function that is not there begins at %v", at)
	}
	for _, wrong := range []uint64{0, 1, 1 << 60} {
		if at, ok := p.Position(wrong); ok {
			t.Errorf("%#x is at %v", wrong, at)
		}
	}
	if p.ReturnStub() != 0 {
		t.Error("a program that was built by an ordinary toolchain has a return stub")
	}
	literals := []func() int{ // called through a list, it is not inlined
		func() int { _, _, line, _ := runtime.Caller(0); return line },
	}
	name, ok := p.FunctionAt(file, literals[rand.IntN(len(literals))](), pkg+".TestSymbols")
	if !ok || !strings.HasPrefix(name, pkg+".TestSymbols.func") {
		t.Errorf("the literal is %q, %t", name, ok)
	}
	if name, ok := p.FunctionAt(file, line, pkg+".TestSymbols"); ok {
		t.Errorf("there is a literal in another line: %s", name)
	}
}

// TestNoSymbols: what is no executable, or none of Go, is an error that names the file.
func TestNoSymbols(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	testkit.WriteFile(t, text, "#!/bin/sh\n")
	if _, err := readSymbols(text); err == nil {
		t.Error("a script has symbols")
	}
	if _, err := readSymbols(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := readSymbols("/bin/sh"); err == nil ||
		!strings.Contains(err.Error(), "/bin/sh has no symbol table of Go") {
		t.Errorf("%v", err)
	}
}

// TestIsOwn: code is preempted in the packages of the patterns, whatever they are a beginning of.
func TestIsOwn(t *testing.T) {
	p := &Program{Open: []string{"main", "example.com/a", "example.com/b/..."}}
	for function, want := range map[string]bool{
		"main.main": true, "main.(*T).m.func1": true, "mainly.f": false, "example.com/a.f": true,
		"example.com/a/c.f": false, "example.com/ab.f": false, "example.com/b.f": true,
		"example.com/b/c/d.(*T).m": true, "example.com/bc.f": false, "runtime.main": false, "": false,
	} {
		if got := p.IsOwn(Position{Function: function}); got != want {
			t.Errorf("%q is own: %t", function, got)
		}
	}
}

// TestEnvironmentOfPrograms: the runtime is told which packages are preempted, and which are
// private.
func TestEnvironmentOfPrograms(t *testing.T) {
	env := (&Program{Open: []string{"main", "a/..."}}).Environment()
	if len(env) != 2 || env[0] != "TANDEM_OPEN=main,a/..." ||
		!strings.HasPrefix(env[1], "TANDEM_PRIVATE=runtime/...,internal/...,") {
		t.Errorf("%q", env)
	}
}
