package check

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/sut"
)

// counting is a package in which two goroutines lose an update, if they can be preempted there.
const counting = `package counting

import (
	"sync"
	"sync/atomic"
)

func Count() {
	var n atomic.Int64
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { n.Store(n.Load() + 1) })
	}
	both.Wait()
	if n.Load() != 2 {
		panic("an update is lost")
	}
}
`

// dotted are the packages whose Count can be called, by the argument of the program.
var dotted = map[string]string{
	"own": "example.com/own.go", "own, below a dot": "example.com/own.go/inner.d/deep",
	"library": "example.com/library.v2", "below it": "example.com/library.v2/inner",
	"below it, dotted": "example.com/library.v2/of.d",
}

// buildDotted builds a program that calls Count of one of the packages.
func buildDotted(t *testing.T, preemptIn ...string) *sut.Program {
	t.Helper()
	main := "package main\n\nimport (\n\t\"os\"\n"
	calls := ""
	for i, argument := range slices.Sorted(maps.Keys(dotted)) {
		main += fmt.Sprintf("\tp%d %q\n", i, dotted[argument])
		calls += fmt.Sprintf("\tcase %q:\n\t\tp%d.Count()\n", argument, i)
	}
	main += ")\n\nfunc main() {\n\tswitch os.Args[1] {\n" + calls + "\t}\n}\n"
	return buildFiles(t, "./cmd", sut.BuildOptions{PreemptIn: preemptIn}, map[string]string{
		"go.mod": "module example.com/own.go\n\ngo 1.25\n\nrequire example.com/library.v2 " +
			"v0.0.0\n\nreplace example.com/library.v2 => ./library\n",
		"counting.go":               counting,
		"inner.d/deep/counting.go":  counting,
		"library/go.mod":            "module example.com/library.v2\n\ngo 1.25\n",
		"library/counting.go":       counting,
		"library/inner/counting.go": counting,
		"library/of.d/counting.go":  counting,
		"cmd/main.go":               main,
	})
}

// buildFiles builds the program of a package that files have, with these options.
func buildFiles(t *testing.T, pkg string, o sut.BuildOptions, files map[string]string) *sut.Program {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	toolchain, err := newToolchain()
	if err != nil {
		t.Fatal(err)
	}
	o.Dir, o.Package, o.Output = dir, pkg, filepath.Join(dir, "sut")
	p, err := toolchain.Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The linker writes "%2e" for a dot in the last element of an import path, as in gopkg.in/yaml.v3.
// Packages with such a path are preempted as others are, and their functions have their names.
func TestDottedPackages(t *testing.T) {
	always := []string{"own", "own, below a dot"}
	for pattern, more := range map[string][]string{
		"":                         nil,
		dotted["library"]:          {"library"},
		dotted["library"] + "/...": {"library", "below it", "below it, dotted"},
		dotted["below it"]:         {"below it"},
		dotted["below it, dotted"]: {"below it, dotted"},
	} {
		t.Run(pattern, func(t *testing.T) {
			var patterns []string
			if pattern != "" {
				patterns = []string{pattern}
			}
			p := buildDotted(t, patterns...)
			for argument, called := range dotted {
				result := check(t, Options{Program: p, Args: []string{argument}, Search: dporSearch(),
					Depth: 1000})
				want := explore.Holds
				if slices.Contains(append(more, always...), argument) {
					want = explore.Violated
				}
				if result.Verdict.Kind != want {
					t.Errorf("%s: %v, want %v", argument, result.Verdict.Kind, want)
				}
				if result.Counterexample == nil {
					continue
				}
				stack := result.Counterexample.Failure.Stack
				if len(stack) == 0 || !stack[0].Own ||
					textutil.FunctionName(stack[0].Function) != called+".Count" {
					t.Errorf("%s: the failure is in %+v", argument, stack)
				}
			}
		})
	}
}

// What is added to the runtime is in files whose names begin with tandem_. Files of other packages
// may be called so, too, and what they do is the program's.
func TestFilesNamedLikeOurs(t *testing.T) {
	p := buildFiles(t, ".", sut.BuildOptions{Races: []string{sut.RacesDirect}}, map[string]string{
		"go.mod": "module example.com/own\n\ngo 1.25\n\nrequire example.com/library v0.0.0\n\n" +
			"replace example.com/library => ./library\n",
		"main.go": "package main\n\nimport \"example.com/library\"\n\n" +
			"func main() { library.Fill() }\n",
		"library/go.mod": "module example.com/library\n\ngo 1.25\n",
		"library/tandem_maps.go": `package library

import "sync"

func Fill() {
	m := map[int]int{}
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() { m[i] = i })
	}
	both.Wait()
}
`,
	})
	result := check(t, Options{Program: p, Search: dporSearch(), Depth: 1000})
	if c := result.Counterexample; c == nil || c.Race == nil {
		t.Errorf("%v, want a data race of map writes", result.Verdict.Kind)
	}
}
