package sut_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/sut"
)

// stdRaceFree are the packages whose tests are run with all of the standard
// library watched by every run of these tests; the flag -std names others.
var stdRaceFree = []string{"sync", "context"}

// TestStandardLibraryHasNoRaces runs the listed tests of the standard library,
// each with one schedule. None has a data race, and what passes still does.
func TestStandardLibraryHasNoRaces(t *testing.T) {
	packages := stdRaceFree
	if *stdPackages != "" && *stdPackages != "all" {
		packages = strings.Split(*stdPackages, ",")
	}
	for _, pkg := range packages {
		t.Run(pkg, func(t *testing.T) {
			listed, err := readStdList(filepath.Join("testdata/std",
				strings.ReplaceAll(pkg, "/", "_")+".txt"))
			if err != nil || len(listed) == 0 {
				t.Fatalf("%d tests are listed: %v", len(listed), err)
			}
			r := newStdRun(t, pkg, sut.RacesAll)
			for _, test := range listed {
				if test.result == stdPass {
					raceFree(t, r, test.name)
				}
			}
		})
	}
}

func raceFree(t *testing.T, r *stdRun, name string) {
	t.Helper()
	log, err := r.run("-test.v", "-test.short", "-test.timeout=0", "-test.parallel=100",
		"-test.run=^"+name+"$")
	switch {
	case err != nil:
		t.Errorf("%s: %v", name, err)
	case log.Outcome == sut.DataRace:
		t.Errorf("%s: a data race: %s", name, describe(r.program, log.Race))
	case log.Outcome != sut.Completed:
		t.Errorf("%s: %v: %s %s", name, log.Outcome, log.Message,
			lineWith(string(log.Stdout)+string(log.Stderr), ".go:"))
	}
}
