package check

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/sut"
)

var releases = flag.String("releases", "",
	"releases of Go that TestReleasesAgree builds its programs with, such as go1.25.0,go1.27.0; `make "+
		"versions` has them")

// TestReleasesAgree builds the same programs with several releases of Go, and expects the same
// verdicts after as many executions.
func TestReleasesAgree(t *testing.T) {
	if *releases == "" {
		t.Skip("other releases of Go may have to be downloaded: make versions does it")
	}
	dir := oldModule(t)
	var first map[string]string
	for release := range strings.SplitSeq(*releases, ",") {
		t.Setenv("GOTOOLCHAIN", release)
		got := verdictsOf(t, dir, release)
		t.Logf("%s: %d verdicts", release, len(got))
		if first == nil {
			first = got
		}
		if diff := cmp.Diff(first, got); diff != "" {
			t.Errorf("%s differs from the first of %s:\n%s", release, *releases, diff)
		}
	}
}

// oldModule is a module that the oldest release can build, with test programs.
func oldModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"races", "endings"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join("testdata", name))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/programs\n\ngo 1.25\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// verdictsOf checks the programs, built with one release. What is left out are those that use what
// is built differently: since Go 1.26 the error of a context is an atomic.
func verdictsOf(t *testing.T, dir, release string) map[string]string {
	t.Helper()
	ctx := context.Background()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	toolchain, err := sut.NewToolchain(ctx, dir, filepath.Join(cache, "tandem"))
	if err != nil {
		t.Fatal(err)
	}
	if toolchain.Version != release {
		t.Fatalf("the program is built with %s, want %s", toolchain.Version, release)
	}
	verdicts := map[string]string{}
	for name, scenarios := range map[string][]string{
		"races": {"select", "select over channels", "atomic.Value", "init", "timer", "signal", "sync.Map",
			"once", "cond", "exit", "rwmutex"},
		"endings": {"send", "lock", "cond", "wait group go", "abandoned", "buffered", "may be woken",
			"of a library", "spin on an atomic", "gives up"},
	} {
		p, err := toolchain.Build(ctx,
			sut.BuildOptions{Dir: dir, Package: "./" + name, Output: filepath.Join(dir, name+"-"+release)})
		if err != nil {
			t.Fatal(err)
		}
		for _, scenario := range scenarios {
			o := Options{Program: p, Package: name, Args: []string{scenario}, Search: dporSearch(),
				Leaks: true, SelfCheck: 1}
			v := check(t, o).Verdict
			verdicts[name+" "+scenario] = fmt.Sprintf("%v after %d executions", v.Kind, v.Executions)
		}
	}
	return verdicts
}
