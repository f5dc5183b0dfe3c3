// Package tests finds functions of tests, for the commands that run some of them.
package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
)

// Function is a function of a test file: a test, a benchmark or a fuzz target.
type Function struct {
	Directory string // from where the search began, with slashes
	Name      string
}

func (f Function) String() string { return f.Directory + " " + f.Name }

// Find lists the functions below a directory whose names have a prefix, by directory and by place
// in the file. Other modules below it are searched, too; testdata and hidden directories are not. A
// file that cannot be parsed is an error, since a target in it would be left out. Methods do not
// count.
func Find(root, prefix string) (found []Function, err error) {
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		// The root itself may be called "." or have a dot in front.
		hidden := strings.HasPrefix(entry.Name(), ".") && name != root
		if entry.IsDir() && (hidden || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		// Only there does the go command look for them.
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		directory, err := filepath.Rel(root, filepath.Dir(name))
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, prefix) {
				found = append(found, Function{filepath.ToSlash(directory), f.Name.Name})
			}
		}
		return err
	})
	return found, err
}
