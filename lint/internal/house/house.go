// Package house measures the structure of the project: sizes of packages and
// functions, how far types are spread over files, circles of files inside a package,
// columns, and the share of comments and tests. The command lint/house prints the
// numbers, and the tests of lint hold them within limits.
package house

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Module is the path of the project's module.
const Module = "github.com/tandem-mc/tandem"

// Limits, each the highest value that is allowed. They are those of STYLE.md; what does not keep
// them yet is in lint/exceptions.txt.
const (
	MaxLines         = 4000 // of a package, tests left out
	MaxFiles         = 25   // of a package, tests left out
	MaxSpread        = 3    // files with methods of one type
	MaxFields        = 20   // of a struct
	MaxCircle        = 9    // files of a package that use each other in a circle
	MaxColumns       = 110  // of a line
	MaxCommentColumn = 100  // of a line that is a comment
	MaxWords         = 15   // of a sentence of the comments, in the median
	MinComments      = 15   // percent of the lines of a room; the only one that is a lowest value
	TabWidth         = 4
)

// testKits are the names of directories whose packages only tests import: their lines count as
// those of tests.
var testKits = []string{"testkit", "reporttest"}

// isForTests says whether a package is, or is below, one that only tests import.
func isForTests(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"),
		func(name string) bool { return slices.Contains(testKits, name) })
}

// House is the whole project, as it was measured. It is only read afterwards.
type House struct {
	// Packages are sorted by directory.
	Packages []*Package
	// Wide are lines with too many columns, as file:line; tests and examples too.
	Wide []string
	// Far are comments that end too far to the right, likewise.
	Far []string
}

// Package is one Go package. Lines and comments of its tests are counted apart.
type Package struct {
	// Dir is from the root of the repository, with slashes; "." for the root.
	Dir string
	// Synopsis is the first sentence of its comment.
	Synopsis string
	// Files, Lines and Comments are of the package itself. Comments are lines that hold nothing
	// but a comment.
	Files    int
	Lines    int
	Comments int
	// TestLines are those of its tests, and of a package that only tests import.
	TestLines int
	// ScriptLines are those of its scripts and programs in testdata.
	ScriptLines int
	// Functions has the lines of each.
	Functions []int
	// Types are those that have methods, Structs those that have fields.
	Types   []Type
	Structs []Type
	// Circle are the files of the largest circle; see circle.
	Circle []string
	// Outside are the exported names that are declared outside the face, as file: name.
	Outside []string
	// Sentences has the words of each sentence of the comments, tests left out.
	Sentences []int
	// Imports are the packages of the module that it imports, from the root, sorted.
	Imports []string
}

// Type is a type of a package, as far as it is measured.
type Type struct {
	Name string
	// Files is how many declare its methods, Fields how many fields it has.
	Files  int
	Fields int
}

// Room is the top-level directory of a package; "." for the root.
func (p *Package) Room() string {
	room, _, _ := strings.Cut(p.Dir, "/")
	return room
}

// Measure loads all packages of the module in the directory root and measures them. Examples are
// left out: they are programs to check, not parts of Tandem. So is what is compiled as a part of
// another program (directories that begin with "_"). The packages must compile. An error names the
// first one that does not.
func Measure(root string) (*House, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	// Types are needed to tell which file uses which: names alone may mean something else.
	config := &packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
		Dir: root, Env: append(os.Environ(), "CGO_ENABLED=0"),
	}
	loaded, err := packages.Load(config, "./...")
	if err != nil {
		return nil, err
	}
	h := &House{}
	for _, pkg := range loaded {
		dir := directory(root, pkg)
		if dir == "" || within(dir, "examples") {
			continue
		}
		// What does not compile cannot be measured: types would be missing.
		for _, problem := range pkg.Errors {
			return nil, fmt.Errorf("%s: %w", pkg.PkgPath, problem)
		}
		p, err := measure(root, dir, pkg)
		if err != nil {
			return nil, err
		}
		h.Packages = append(h.Packages, p)
	}
	slices.SortFunc(h.Packages, func(a, b *Package) int { return cmp.Compare(a.Dir, b.Dir) })
	return h, h.columns(root)
}

// scriptLines are the lines of what tests run and somebody has written: scripts, and programs that
// are checked or are peers. Recorded outputs and lists do not count. There may be no directory.
func scriptLines(testdata string) (n int, err error) {
	err = filepath.WalkDir(testdata, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && entry.IsDir() {
			return nil
		}
		if err != nil {
			return err
		}
		isScript := filepath.Base(filepath.Dir(name)) == "script" && filepath.Ext(name) == ".txt"
		if !isScript && !slices.Contains([]string{".go", ".c", ".s", ".script"}, filepath.Ext(name)) {
			return nil
		}
		// Peers in C are among them, so the files are not parsed.
		data, err := os.ReadFile(name)
		n += bytes.Count(data, []byte("\n"))
		return err
	})
	return n, err
}

// directory is that of a package below root, with slashes; empty if it has no files.
func directory(root string, pkg *packages.Package) string {
	// Only tests are in it.
	if len(pkg.GoFiles) == 0 {
		return ""
	}
	dir, err := filepath.Rel(root, filepath.Dir(pkg.GoFiles[0]))
	if err != nil {
		return ""
	}
	return filepath.ToSlash(dir)
}

// within says whether a directory is another one or below it.
func within(dir, parent string) bool {
	return dir == parent || strings.HasPrefix(dir, parent+"/")
}

// measure counts what there is in one package. Tests are found by their names, since the package
// was loaded without them.
func measure(root, dir string, pkg *packages.Package) (*Package, error) {
	p := &Package{Dir: dir, Files: len(pkg.GoFiles)}
	for _, name := range pkg.GoFiles {
		text, err := readText(name)
		if err != nil {
			return nil, err
		}
		p.Lines += len(text.lines)
		p.Comments += text.comments()
	}
	// Tests of the package, and those of the package beside it, whose name ends in _test.
	tests, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range tests {
		text, err := readText(name)
		if err != nil {
			return nil, err
		}
		p.TestLines += len(text.lines)
	}
	if p.ScriptLines, err = scriptLines(filepath.Join(root, dir, "testdata")); err != nil {
		return nil, err
	}
	// Helpers of tests have no comments that would count, and are no code.
	if isForTests(dir) {
		p.TestLines += p.Lines
		p.Lines, p.Comments = 0, 0
	}
	for _, file := range pkg.Syntax {
		if file.Doc != nil {
			p.Synopsis = new(doc.Package).Synopsis(file.Doc.Text())
		}
		p.functions(pkg.Fset, file)
		p.Sentences = append(p.Sentences, sentences(file)...)
	}
	for name := range pkg.Imports {
		if directory, ok := strings.CutPrefix(name, Module+"/"); ok {
			p.Imports = append(p.Imports, directory)
		}
	}
	slices.Sort(p.Imports)
	p.types(pkg)
	p.Circle = circle(pkg)
	p.outside(pkg)
	return p, nil
}

// columns looks at all Go files, those of other modules and programs too. Files in testdata are
// left out: their lines are what a test wants them to be.
func (h *House) columns(root string) error {
	return filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		// Files of git are none of the project.
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() || filepath.Ext(name) != ".go" {
			return nil
		}
		t, err := readText(name)
		if err != nil {
			return err
		}
		relative, _ := filepath.Rel(root, name)
		for i, line := range t.lines {
			place := fmt.Sprintf("%s:%d", filepath.ToSlash(relative), i+1)
			switch width := Columns(line); {
			case width > MaxColumns:
				h.Wide = append(h.Wide, place)
			case width > MaxCommentColumn && t.isComment[i]:
				h.Far = append(h.Far, place)
			}
		}
		return nil
	})
}

// functions notes how many lines each function of a file has, from func to the closing brace.
// Methods count; function literals are a part of the function around them.
func (p *Package) functions(fset *token.FileSet, file *ast.File) {
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			p.Functions = append(p.Functions, fset.Position(f.End()).Line-fset.Position(f.Pos()).Line+1)
		}
	}
}

// types counts the files with methods of each type, and the fields of each struct. An alias has the
// methods of another type.
func (p *Package) types(pkg *packages.Package) {
	scope := pkg.Types.Scope()
	for _, name := range scope.Names() {
		object, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || object.IsAlias() {
			continue
		}
		named := object.Type().(*types.Named)
		// By the file, since a type may have many methods in one.
		files := map[string]bool{}
		for method := range named.Methods() {
			files[pkg.Fset.Position(method.Pos()).Filename] = true
		}
		t := Type{Name: name, Files: len(files)}
		if structure, ok := named.Underlying().(*types.Struct); ok {
			t.Fields = structure.NumFields()
			p.Structs = append(p.Structs, t)
		}
		if t.Files > 0 {
			p.Types = append(p.Types, t)
		}
	}
}

// outside lists what a room exports outside its face. The face is the file named like the room, and
// those named after an exported name that they declare. Commands have no face.
func (p *Package) outside(pkg *packages.Package) {
	if p.Dir != p.Room() || p.Dir == "." || pkg.Name == "main" {
		return // not a room
	}
	for _, file := range pkg.Syntax {
		// The name of the file, without its directory.
		base := strings.TrimSuffix(filepath.Base(pkg.Fset.Position(file.Pos()).Filename), ".go")
		// A file that declares nothing for others is a part of what is behind the face.
		names := exported(file)
		shows := slices.ContainsFunc(names, func(name string) bool { return isNamedAfter(base, name) })
		if base != p.Dir && !shows {
			for _, name := range names {
				p.Outside = append(p.Outside, p.Dir+"/"+base+".go: "+name)
			}
		}
	}
}

// isNamedAfter says whether a file shows a name: options.go shows Options, fault.go Faults. Case,
// underscores, and an s at the end do not matter.
func isNamedAfter(base, name string) bool {
	plain := func(s string) string {
		return strings.TrimSuffix(strings.ToLower(strings.ReplaceAll(s, "_", "")), "s")
	}
	return plain(base) == plain(name)
}

// exported lists the exported names that a file declares; methods belong to their types. Constants,
// variables, types and functions count, each by itself.
func exported(file *ast.File) (names []string) {
	add := func(name *ast.Ident) {
		if name.IsExported() {
			names = append(names, name.Name)
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					add(s.Name)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						add(name)
					}
				}
			}
		}
	}
	return names
}

// circle is the largest set of files of a package that use each other in a circle: each of them
// names something that another one declares. It is empty if there is none. A circle makes files
// hard to read one after the other. What tests use does not count.
func circle(pkg *packages.Package) []string {
	uses := map[string]map[string]bool{}
	for name, object := range pkg.TypesInfo.Uses {
		if object.Pkg() != pkg.Types || !object.Pos().IsValid() {
			continue
		}
		from, to := pkg.Fset.Position(name.Pos()).Filename, pkg.Fset.Position(object.Pos()).Filename
		if from == to {
			continue
		}
		if uses[from] == nil {
			uses[from] = map[string]bool{}
		}
		uses[from][filepath.Clean(to)] = true
	}
	// A component of one file is no circle.
	var largest []string
	for _, component := range components(uses) {
		if len(component) > 1 && len(component) > len(largest) {
			largest = component
		}
	}
	for i, name := range largest {
		// All of them are in one directory.
		largest[i] = filepath.Base(name)
	}
	slices.Sort(largest)
	return largest
}
