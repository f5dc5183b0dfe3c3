package toolchain

import (
	"slices"
	"strings"
	"testing"
)

// FuzzList reads what go list never prints.
func FuzzList(f *testing.F) {
	f.Add(`{"ImportPath":"example.com/p [p.test]","Standard":true}{"ImportPath":"q"}`)
	f.Add(`{"Error":{"Err":"no such package"}}`)
	f.Add(`{"Module":null,"GoFiles":["a.go"]`)
	f.Fuzz(func(t *testing.T, text string) {
		packages, err := decodeList([]byte(text))
		for _, p := range packages {
			if err == nil && (p.Error != nil || strings.Contains(p.ImportPath, " ")) {
				t.Errorf("%q has package %+v", text, p)
			}
		}
	})
}

func TestDecodeList(t *testing.T) {
	packages, err := decodeList([]byte(`{"ImportPath":"p [p.test]","Name":"p"} ` +
		`{"ImportPath":"q","Module":{"Path":"m","Main":true}}`))
	if err != nil || len(packages) != 2 || packages[0].ImportPath != "p" || !packages[1].isOwn() {
		t.Errorf("%+v, %v", packages, err)
	}
	if _, err := decodeList([]byte(`{"Error":{"Err":"broken"}}`)); err == nil || err.Error() != "broken" {
		t.Errorf("error %v, want that of the package", err)
	}
}

func TestPatterns(t *testing.T) {
	for path, want := range map[string]bool{
		"a": true, "a/b": false, "b": true, "b/c": true, "b/c/d": true, "bc": false, "": false,
	} {
		if got := matchesAny([]string{"a", "b/..."}, path); got != want {
			t.Errorf("matchesAny(%q) = %v", path, got)
		}
	}
	packages := []listedPackage{{ImportPath: "m/x"}, {ImportPath: "main"}}
	if pattern, ok := unmatched(packages, []string{"m/...", "direct", "n"}, "direct"); !ok || pattern != "n" {
		t.Errorf("%q, %v is no package, want n", pattern, ok)
	}
	if _, ok := unmatched(packages, []string{"m/x"}); ok {
		t.Error("a package of the program is none")
	}
}

// program is made of a main package, one of its module, one that its module requires directly and
// one that it does not, and some of the standard library.
func program() []listedPackage {
	type module = listedModule
	return []listedPackage{
		{ImportPath: "runtime", Standard: true},
		{ImportPath: "sync/atomic", Standard: true},
		{ImportPath: "sync", Standard: true, Imports: []string{"sync/atomic"}},
		{ImportPath: "bytes", Standard: true},
		{ImportPath: "net/http", Standard: true, Imports: []string{"sync/atomic"}},
		{ImportPath: "far/p", Module: &module{Path: "far", Indirect: true}},
		{ImportPath: "near/p", Module: &module{Path: "near"}, Imports: []string{"sync/atomic"}},
		{ImportPath: "own/p", Module: &module{Path: "own", Main: true}},
		{ImportPath: "own/cmd", Name: "main", Module: &module{Path: "own", Main: true}},
	}
}

func TestWatched(t *testing.T) {
	for races, want := range map[string][]string{
		"":          nil,
		RacesMain:   {"bytes", "own/p", "own/cmd"},
		RacesDirect: {"bytes", "near/p", "own/p", "own/cmd"},
		"far/...":   {"far/p"},
		RacesAll:    {"sync", "bytes", "net/http", "far/p", "near/p", "own/p", "own/cmd"},
	} {
		var got []string
		for _, p := range program() {
			if p.watched([]string{races}) {
				got = append(got, p.ImportPath)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("with %q %v are watched, want %v", races, got, want)
		}
	}
}

func TestOpenPatterns(t *testing.T) {
	got := openPatterns(program(), []string{"near/...", "own/p"})
	if want := []string{"main", "own/p", "own/cmd", "near/..."}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := directModules(program(), []string{RacesDirect}); !slices.Equal(got, []string{"near"}) {
		t.Errorf("direct modules: %v", got)
	}
	modules := modulesOf(program())
	if len(modules) != 2 || modules["near/p"] != "near" || modules["far/p"] != "far" {
		t.Errorf("modules: %v", modules)
	}
}

// TestCompilerFlags: atomics are visible where goroutines are preempted and where they are no part
// of another operation; accesses are marked where they are watched.
func TestCompilerFlags(t *testing.T) {
	const visible = "-d=ssa/intrinsics/off"
	got := compilerFlags(program(), map[string]bool{"far/p": true}, []string{"own/..."}, nil)
	want := []string{
		"-gcflags=sync/atomic=" + visible, "-gcflags=net/http=" + visible + " -l",
		"-gcflags=far/p=" + visible + " -l",
		"-gcflags=near/p=" + visible + " -l", "-gcflags=own/p=" + visible + " -l",
		"-gcflags=own/cmd=" + visible + " -l",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	got = compilerFlags(program(), nil, nil, []string{RacesMain})
	if !slices.Contains(got, "-gcflags=own/p= -race -d=checkptr=0") ||
		!slices.Contains(got, "-gcflags=sync="+visible+" -l") {
		t.Errorf("with races: %q", got)
	}
}

// TestDigest: a patched distribution has another name when any of its files has changed.
func TestDigest(t *testing.T) {
	names := map[string]string{}
	for what, files := range map[string]map[string][]byte{
		"nothing": {}, "a file": {"a": []byte("x")}, "another content": {"a": []byte("y")},
		"another name": {"b": []byte("x")}, "two files": {"a": []byte("x"), "b": nil},
	} {
		name := digest("/go", files)
		if before, ok := names[name]; ok || len(name) != 16 {
			t.Errorf("%s is called %s, as is %s", what, name, before)
		}
		names[name] = what
	}
	if digest("/go", nil) == digest("/other", nil) {
		t.Error("distributions at two places have one name")
	}
}
