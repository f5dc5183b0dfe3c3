// Command fuzz runs all fuzz targets of the module one after the other, each for a bounded time.
// It finds them by itself, so a new one needs no entry anywhere. It runs in the root of the
// repository: make fuzz, or go run ./scripts/fuzz -targets 'iocache|Decode' -time 10m.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	bound := flag.Duration("time", time.Minute, "how long each target runs")
	wanted := flag.String("targets", ".", "`expression` that DIRECTORY Name of the targets to run matches")
	list := flag.Bool("list", false, "list the targets, and run none")
	flag.Parse()
	if err := run(*bound, *wanted, *list); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

// target is a function of a test that go test can fuzz.
type target struct{ directory, name string }

func (t target) String() string { return t.directory + " " + t.name }

func run(bound time.Duration, wanted string, list bool) error {
	matches, err := regexp.Compile(wanted)
	if err != nil {
		return fmt.Errorf("-targets: %w", err)
	}
	targets, err := find(".")
	if err != nil {
		return err
	}
	var failed []string
	for _, t := range targets {
		switch {
		case !matches.MatchString(t.String()):
		case list:
			fmt.Println(t)
		case t.fuzz(bound) != nil:
			failed = append(failed, t.String())
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("these have failed: %s", strings.Join(failed, ", "))
	}
	return nil
}

// fuzz says on the terminal what is wrong.
func (t target) fuzz(bound time.Duration) error {
	fmt.Println(t)
	test := exec.Command("go", "test", "./"+t.directory, "-run", "^$", "-fuzz", "^"+t.name+"$",
		"-fuzztime", bound.String(), "-fuzzminimizetime", "100x")
	test.Stdout, test.Stderr = os.Stdout, os.Stderr
	return test.Run()
}

// find lists the targets below a directory, by directory and place in the file.
func find(root string) (targets []target, err error) {
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(entry.Name(), ".") && name != root
		if entry.IsDir() && (hidden || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		directory, err := filepath.Rel(root, filepath.Dir(name))
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
				targets = append(targets, target{filepath.ToSlash(directory), f.Name.Name})
			}
		}
		return err
	})
	return targets, err
}
