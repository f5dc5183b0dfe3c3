// Package overlay holds the part of the checker that is compiled into the program under test: the
// files that a patched Go distribution has in packages runtime and syscall beside its own.
//
// The go command does not look into the directories _runtime and _syscall, since no other package
// has what these files refer to. Their binary interface to the checker is package abi.
package overlay

import (
	"bytes"
	"embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"

	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// inside has a directory for each package, named like it after an underscore.
//
//go:embed all:_runtime all:_syscall
var inside embed.FS

// packages are those that files are added to.
var packages = []string{"runtime", "syscall"}

// Files returns the files that are added to the standard library, by path below GOROOT/src.
func Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, pkg := range packages {
		if err := addPackage(files, pkg, inside, "_"+pkg); err != nil {
			return nil, err
		}
		if err := addInterface(files, pkg); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// addPackage adds the files of a directory to a package.
func addPackage(files map[string][]byte, pkg string, from fs.ReadDirFS, dir string) error {
	entries, err := from.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := fs.ReadFile(from, path.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		files[path.Join(pkg, e.Name())] = text
	}
	return nil
}

// addInterface adds the binary interface to a package, in which its files begin with tandem_.
func addInterface(files map[string][]byte, pkg string) error {
	entries, err := abi.Files.ReadDir(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := abi.Files.ReadFile(e.Name())
		if err != nil {
			return err
		}
		if text, err = Unexported(text, pkg); err != nil {
			return fmt.Errorf("%s of the binary interface: %w", e.Name(), err)
		}
		name := path.Join(pkg, "tandem_"+e.Name())
		if _, taken := files[name]; taken {
			return fmt.Errorf("%s of the binary interface has the name of another file: rename it", e.Name())
		}
		files[name] = text
	}
	return nil
}

// Unexported returns a source file with another package clause, in which all exported names begin
// with a small letter. Packages runtime and syscall are to export nothing that the program under
// test could come to depend on. A name of capitals becomes one of small letters. The file may
// import nothing, so that all exported names are its own.
func Unexported(text []byte, pkg string) ([]byte, error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if len(tree.Imports) > 0 {
		return nil, fmt.Errorf("it imports %s", tree.Imports[0].Path.Value)
	}
	out := bytes.Clone(text)
	ast.Inspect(tree, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.IsExported() {
			copy(out[files.Position(id.Pos()).Offset:], small(id.Name))
		}
		return true
	})
	from, to := files.Position(tree.Name.Pos()).Offset, files.Position(tree.Name.End()).Offset
	return append(append(bytes.Clone(out[:from]), pkg...), out[to:]...), nil
}

// small is a name that is not exported, of the same length.
func small(name string) string {
	if strings.ToUpper(name) == name {
		return strings.ToLower(name)
	}
	return strings.ToLower(name[:1]) + name[1:]
}
