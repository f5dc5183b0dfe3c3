package sut

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tandem-mc/tandem/sut/internal/toolchain"
)

type (
	// Toolchain is a copy of a Go distribution whose runtime lets itself be controlled.
	Toolchain = toolchain.Toolchain
	// BuildOptions say what to build.
	BuildOptions = toolchain.BuildOptions
	// UnmatchedError is the error of a pattern that matches no package of the program.
	UnmatchedError = toolchain.UnmatchedError
	// Program is a program that was built to be run by workers.
	Program = toolchain.Program
	// Package is where a package is.
	Package = toolchain.Package
	// Position is a place in the source of a program.
	Position = toolchain.Position
)

// Patterns of packages in BuildOptions.Races.
const (
	// RacesMain are the packages of the main module, and those of the standard library that keep
	// data for it: lists, buffers, encoders.
	RacesMain = toolchain.RacesMain
	// RacesDirect are these, and the packages of modules that a main module requires directly.
	RacesDirect = toolchain.RacesDirect
	// RacesAll are all packages of the standard library and of other modules.
	RacesAll = toolchain.RacesAll
)

// ErrNoTests is the error of building the tests of a package that has none.
var ErrNoTests = toolchain.ErrNoTests

// NewToolchain returns the patched twin of the Go distribution that the go command uses in dir. It
// makes it below cache if it is not there yet. Several processes may call it at the same time.
func NewToolchain(ctx context.Context, dir, cache string) (*Toolchain, error) {
	return toolchain.New(ctx, dir, cache)
}

// UserToolchain is NewToolchain with the copy in the user's cache directory, where all commands of
// Tandem look for it.
func UserToolchain(ctx context.Context, dir string) (*Toolchain, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("where to keep the patched Go distribution: %w", err)
	}
	return NewToolchain(ctx, dir, filepath.Join(cache, "tandem"))
}

// HashFile returns what the content of a file is known by: Program.Hash, and what else a check
// rests on.
func HashFile(path string) (string, error) { return toolchain.HashFile(path) }

// Moved is a program in another file, on another machine perhaps. What it was built from need not
// be there. An error says that the file has another program.
func Moved(p *Program, path string) (*Program, error) { return p.Moved(path) }
