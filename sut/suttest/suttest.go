// Package suttest builds programs for tests.
package suttest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tandem-mc/tandem/sut"
)

// Build builds a program with the toolchain that checks use, whose releases are kept in the cache
// of the user. Without Output it is in a directory that goes with the test. A program that cannot
// be built ends the test.
func Build(t testing.TB, o sut.BuildOptions) *sut.Program {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	toolchain, err := sut.NewToolchain(t.Context(), ".", filepath.Join(cache, "tandem"))
	if err != nil {
		t.Fatal(err)
	}
	if o.Output == "" {
		o.Output = filepath.Join(t.TempDir(), "program")
	}
	program, err := toolchain.Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return program
}
