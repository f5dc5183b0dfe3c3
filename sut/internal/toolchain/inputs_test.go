package toolchain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// madeOf are the files of a program with one of everything that it can be made of.
var madeOf = map[string]string{
	"go.mod": "module own\n\ngo 1.25\n\nrequire dep v0.0.0\n\nreplace dep => ./dep\n",
	"main.go": "package main\n\nimport (\n\t_ \"embed\"\n\t\"dep\"\n\t\"own/part\"\n)\n\n" +
		"//go:embed text\nvar text string\n\nfunc main() { println(text, part.Number(), dep.Name, other) }\n",
	"text":         "one",
	"other.go":     "package main\n\nconst other = 1\n",
	"tagged.go":    "//go:build some\n\npackage main\n\nfunc init() { println(3) }\n",
	"part/part.go": "package part\n\nfunc Number() int\n",
	"part/part.h":  "#define NUMBER 5\n",
	"part/part.s": "#include \"textflag.h\"\n#include \"part.h\"\n\n" +
		"TEXT ·Number(SB), NOSPLIT, $0-8\n\tMOVQ $NUMBER, ret+0(FP)\n\tRET\n",
	"dep/go.mod":   "module dep\n\ngo 1.24\n",
	"dep/dep.go":   "package dep\n\nconst Name = \"x\"\n",
	"main_test.go": "package main\n\nimport \"testing\"\n\nfunc TestMain2(t *testing.T) {}\n",
	"outside_test.go": "package main_test\n\nimport (\n\t\"embed\"\n\t\"testing\"\n)\n\n" +
		"//go:embed data\nvar data embed.FS\n\nfunc TestOutside(t *testing.T) { t.Log(data) }\n",
	"data/a": "a",
}

// changing is a program whose files change.
type changing struct {
	*testing.T
	toolchain *Toolchain
	options   BuildOptions
}

func (c *changing) write(name, text string) {
	c.Helper()
	path := filepath.Join(c.options.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.Fatal(err)
	}
}

// build builds the program as it is now, as if all of it had been written long ago.
func (c *changing) build() (hash string) {
	c.Helper()
	old := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(c.options.Dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		c.Fatal(err)
	}
	p, err := c.toolchain.Build(c.Context(), c.options)
	if err != nil {
		c.Fatal(err)
	}
	return p.Hash
}

// entries is where programs are kept.
func (c *changing) entries() string {
	return filepath.Join(filepath.Dir(c.toolchain.Root), entriesDir)
}

// alone builds the program while no entry can be used.
func (c *changing) alone() (hash string) {
	c.Helper()
	kept := c.entries() + ".kept"
	if err := os.Rename(c.entries(), kept); err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(c.entries(), nil, 0o600); err != nil {
		c.Fatal(err)
	}
	hash = c.build()
	if err := os.Remove(c.entries()); err != nil {
		c.Fatal(err)
	}
	if err := os.Rename(kept, c.entries()); err != nil {
		c.Fatal(err)
	}
	return hash
}

// TestInputs changes a program in every way, one after the other. Each time the program that is
// kept is the one that is built without an entry.
func TestInputs(t *testing.T) {
	toolchain, dir := toolchainOfItsOwn(t)
	p := &changing{t, toolchain, BuildOptions{Dir: filepath.Join(dir, "own"), Package: ".",
		Output: filepath.Join(dir, "out")}}
	for name, text := range madeOf {
		p.write(name, text)
	}
	last := p.build()
	for _, c := range []struct {
		what, file, text string
		same             bool
	}{
		{"nothing", "", "", true},
		{"source", "other.go", "package main\n\nconst other = 2\n", false},
		{"an embedded file", "text", "two", false},
		{"a header", "part/part.h", "#define NUMBER 6\n", false},
		{"assembly", "part/part.s", strings.Replace(madeOf["part/part.s"], "$NUMBER", "$7", 1), false},
		{"another module", "dep/dep.go", "package dep\n\nconst Name = \"y\"\n", false},
		{"a new file", "new.go", "package main\n\nfunc init() { println(8) }\n", false},
		{"a file that is left out", "left.go", "//go:build none\n\npackage main\n", true},
		{"the language", "go.mod", strings.Replace(madeOf["go.mod"], "1.25", "1.24", 1), false},
		{"a setting", "go.mod", madeOf["go.mod"] + "\ngodebug panicnil=1\n", false},
		{"a test of it", "main_test.go", madeOf["main_test.go"] + "\nvar _ = 1\n", true},
		{"a profile", "default.pgo", "", false},
	} {
		p.compare(c.what, c.file, c.text, &last, c.same)
	}
	if err := os.Remove(filepath.Join(p.options.Dir, "new.go")); err != nil {
		t.Fatal(err)
	}
	p.compare("a file that is gone", "", "", &last, false)
	notes, err := filepath.Glob(filepath.Join(p.entries(), "*", entryInputs))
	if err != nil || len(notes) != 1 {
		t.Errorf("the notes are %v, %v", notes, err)
	}
}

// TestInputsOfTests is TestInputs for what only tests are made of.
func TestInputsOfTests(t *testing.T) {
	toolchain, dir := toolchainOfItsOwn(t)
	p := &changing{t, toolchain, BuildOptions{Dir: filepath.Join(dir, "own"), Package: ".", Tests: true,
		Output: filepath.Join(dir, "out")}}
	for name, text := range madeOf {
		p.write(name, text)
	}
	last := p.build()
	p.compare("nothing", "", "", &last, true)
	p.compare("a test", "main_test.go", strings.Replace(madeOf["main_test.go"], "{}", "{ t.Log(9) }", 1),
		&last, false)
	p.compare("a file of a test", "data/b", "b", &last, false)
	notes, err := filepath.Glob(filepath.Join(p.entries(), "*", entryInputs))
	if err != nil || len(notes) != 1 {
		t.Errorf("the notes are %v, %v", notes, err)
	}
}

// compare changes a file, or none, and builds the program with and without an entry.
func (c *changing) compare(what, file, text string, last *string, same bool) {
	c.Helper()
	if file != "" {
		c.write(file, text)
	}
	now := c.build()
	if want := c.alone(); now != want {
		c.Errorf("%s: the program that is kept is another one", what)
	}
	if (now == *last) != same {
		c.Errorf("%s: it is the same program as before: %v, want %v", what, !same, same)
	}
	*last = now
}

// TestUnchangedIsOnlyCopied: the go command is not asked for a program that is made of the same. It
// is asked again whenever something has changed, or may have while the program was built.
func TestUnchangedIsOnlyCopied(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	k := &linkEntry{dir: t.TempDir()}
	out := filepath.Join(t.TempDir(), "out")
	in := inputs{listed: time.Now(), args: []string{"-x"},
		packages: []listedPackage{{ImportPath: "own", Dir: dir, GoFiles: []string{"main.go"}}}}
	old := time.Now().Add(-time.Hour)
	set := func(text string) {
		t.Helper()
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	asked := 0
	link := func(during func()) {
		t.Helper()
		_, err := k.link(in, func(file string) error {
			asked++
			during()
			return os.WriteFile(file, []byte("program"), 0o700)
		}, out)
		if err != nil {
			t.Fatal(err)
		}
	}
	nothing := func() {}
	for i, c := range []struct {
		change, during func()
		asked          bool
	}{
		{func() { set("a") }, nothing, true},
		{nothing, nothing, false},
		{nothing, nothing, false},
		{func() { set("b") }, nothing, true},
		{func() { set("b") }, nothing, false},
		{func() { set("c") }, func() { set("d") }, true}, // d may be in it, or c
		{nothing, nothing, true},
		{nothing, nothing, false},
		{func() { in.args = []string{"-y"} }, nothing, true},
		{nothing, nothing, false},
		{func() { in.args, in.listed = nil, old }, nothing, true}, // files may have come meanwhile
		{nothing, nothing, true},
		{func() { in.listed = time.Now() }, nothing, true},
		{nothing, nothing, false},
		{func() { in.goFlags = "-overlay=x" }, nothing, true}, // who knows
		{nothing, nothing, true},
		{func() { in.goFlags = "-mod=mod" }, nothing, true},
		{nothing, nothing, false},
		{func() { in.packages[0].SysoFiles = []string{"a.syso"} }, nothing, true},
		{nothing, nothing, true},
		{func() { in.packages[0].SysoFiles = nil }, nothing, true},
		{nothing, nothing, false},
		{func() { os.Remove(filepath.Join(k.dir, entryProgram)) }, nothing, true},
		{nothing, nothing, false},
		{func() { t.Setenv("GOENV", filepath.Join(dir, "goenv")) }, nothing, true},
		{nothing, nothing, false},
	} {
		c.change()
		before := asked
		link(c.during)
		if (asked > before) != c.asked {
			t.Errorf("step %d: the go command is asked: %v, want %v", i, asked > before, c.asked)
		}
	}
}
