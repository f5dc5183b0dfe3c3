package check

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/check/internal/scratch"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// ErrNoTests is the error of checking the tests of a package that has none.
var ErrNoTests = sut.ErrNoTests

// Package is a Go package that the user has named.
type Package struct {
	ImportPath string
	Dir        string
	ShortName  string // the last elements of the path: as many as it takes to tell it from the others
}

// Packages returns the packages that patterns, such as ./..., match in the working directory. There
// is at least one. Tags are build tags; without any, those of GOFLAGS hold.
func Packages(ctx context.Context, tags []string, patterns ...string) ([]Package, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	toolchain, err := sut.UserToolchain(ctx, dir)
	if err != nil {
		return nil, err
	}
	found, err := toolchain.Packages(ctx, dir, tags, patterns...)
	if err != nil {
		return nil, err
	}
	var list []Package
	for _, p := range found {
		list = append(list, Package{p.ImportPath, p.Dir, shortName(p.ImportPath, found)})
	}
	return list, nil
}

// shortName is the end of a path by which no other package is called, from an element on. It is the
// whole path if nothing shorter is unique.
func shortName(path string, among []sut.Package) (name string) {
	elements := strings.Split(path, "/")
	for n := 1; n <= len(elements); n++ {
		name = strings.Join(elements[len(elements)-n:], "/")
		alike := func(other sut.Package) bool {
			return other.ImportPath != path && strings.HasSuffix("/"+other.ImportPath, "/"+name)
		}
		if !slices.ContainsFunc(among, alike) {
			break
		}
	}
	return name
}

// TestSelection says which tests of a package are run, and how.
type TestSelection struct {
	Run   string // as go test -run takes it; empty: all
	Skip  string // as go test -skip takes it; empty: none
	Short bool   // go test -short
	// Together: parallel subtests are explored together, and not each by itself.
	Together bool
}

// Tests builds the tests of a package, which the request names by its import path, and checks each
// test by itself; see the function Tests. The arguments of the configuration are for the program,
// and not for its tests. Assumptions are what the verdicts rest on. tell is called for each test
// when its verdict is known. An error of it ends the check.
func (j *Job) Tests(
	ctx context.Context, p Package, which TestSelection, listener Listener, tell func(TestVerdict) error,
) (assumptions report.Assumptions, err error) {
	built := j.buildOptions()
	built.Tests = true
	program, clean, err := scratch.BuildTold(ctx, built, listener.Say, "building the tests of "+p.ImportPath)
	if err != nil {
		return report.Assumptions{}, err
	}
	defer clean()
	o := j.telling(listener)
	o.Dir = p.Dir // where tests run
	o.Args = j.request.Args
	o.Program = program
	executions, early := 0, 0 // of all searches
	err = j.withDaemon(ctx, listener, &o, func() error {
		tests := TestOptions{Options: o, NewSearch: o.Again,
			Run: which.Run, Skip: which.Skip, Short: which.Short, Together: which.Together}
		return Tests(ctx, tests, func(v TestVerdict) error {
			executions, early = executions+v.Executions, early+v.Early
			return tell(v)
		})
	})
	assumptions = Assumptions(o)
	assumptions.Other = append(sealed(o), assumptions.Other...)
	assumptions.Other = append(assumptions.Other, assumedOfTime(o, executions, early, 0))
	return assumptions, err
}
