// Package lint holds the rules of the house that a machine can check. It consists
// of this test: there is nothing to import.
package lint

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/tandem-mc/tandem"

// order lists the rooms from the roof to the ground: a room imports only rooms
// further down. What stands below a room, as ROOM/internal, belongs to it.
// Directories that are not rooms are in outside.
var order = []string{
	"cmd", "doctor", "check", "report", "configs", "sut", "ckptd", "peers", "proxy",
	"explore", "strategy", "iocache", "protocol", "distribute", "internal",
}

// alone are rooms that others import as libraries: they import the standard library only.
var alone = []string{"protocol"}

// companions are packages of those rooms that join them with another library. Nobody needs them who
// does not import them.
var companions = []string{"protocol/linearizable"}

// common lists the packages that a pure room may import: they are pure themselves.
var common = []string{module + "/internal/model", module + "/internal/invariant"}

// outside lists what each directory outside the order may import of the module.
// The root, written ".", is the package that SUTs import.
var outside = map[string][]string{
	".":        {"internal"}, // what hashes a state
	"lint":     {"internal"}, // what is advice in a message
	"scripts":  {},
	"examples": {".", "examples", "protocol"},
}

// pure rooms are step functions: they import no room, and do nothing that another
// run could not repeat.
var pure = []string{"explore", "strategy", "iocache"}

// impure is what a pure room must not import, with all packages below it.
var impure = []string{
	"os", "net", "syscall", "io/ioutil", "log", "crypto/rand", "context", "sync", "runtime", "plugin",
	"golang.org/x/sys", "golang.org/x/net",
}

// clock is what a pure room must not call; time.Duration is welcome.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// restricted packages may be imported only in these rooms.
var restricted = map[string][]string{
	"github.com/spf13/viper":  {"cmd", "configs"},
	"go.yaml.in/yaml/v3":      {"configs", "scripts"},
	"go.uber.org/zap":         {"cmd", "configs"},
	"github.com/spf13/cobra":  {"cmd"},
	"charm.land/bubbletea/v2": {"cmd"},

	"github.com/nats-io/nats-server/v2/server": {"distribute", "internal"},
	"github.com/nats-io/nats.go":               {"distribute", "examples"},
	"github.com/nats-io/nats.go/jetstream":     {"distribute"},
	"github.com/nats-io/nkeys":                 {"distribute"},
}

// Sizes, in lines.
const (
	maxFunction = 70
	maxFile     = 500
	maxTestFile = 800
)

// source is a Go file of the project.
type source struct {
	path     string // from the root of the repository
	data     []byte
	fset     *token.FileSet
	file     *ast.File
	test     bool
	embedded bool // compiled as part of another program: only sizes are ours to judge
}

// room is the top-level directory; "." for the root.
func (s *source) room() string {
	first, _, below := strings.Cut(s.path, "/")
	if !below {
		return "."
	}
	return first
}

// isPure says whether a file is of a pure room, or of a package that pure rooms import.
func (s *source) isPure() bool {
	return slices.Contains(pure, s.room()) || slices.Contains(common, module+"/"+path.Dir(s.path))
}

func (s *source) position(n ast.Node) string {
	return s.path + ":" + strconv.Itoa(s.fset.Position(n.Pos()).Line)
}

// files calls visit with all files of the repository but for what is built or
// belongs to git.
func files(t *testing.T, visit func(path string, data []byte)) {
	t.Helper()
	err := filepath.WalkDir("..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path, _ := filepath.Rel("..", name)
		if entry.IsDir() && (path == ".git" || path == "bin") {
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(name)
		if err == nil {
			visit(path, data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// sources parses all Go files outside testdata.
func sources(t *testing.T) []*source {
	t.Helper()
	var all []*source
	files(t, func(path string, data []byte) {
		if !strings.HasSuffix(path, ".go") || strings.Contains(path, "testdata/") {
			return
		}
		s := &source{path: path, data: data, fset: token.NewFileSet()}
		s.test = strings.HasSuffix(path, "_test.go")
		s.embedded = strings.Contains(path, "/_")
		var err error
		if s.file, err = parser.ParseFile(s.fset, path, data, parser.ParseComments); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	})
	if len(all) < 50 {
		t.Fatalf("only %d Go files found: the walk is broken", len(all))
	}
	return all
}

// own is sources without what is embedded.
func own(t *testing.T) []*source {
	return slices.DeleteFunc(sources(t), func(s *source) bool { return s.embedded })
}

func TestImports(t *testing.T) {
	for _, s := range own(t) {
		_, isOutside := outside[s.room()]
		if !isOutside && !slices.Contains(order, s.room()) {
			t.Errorf("%s: the directory %s has no place in the order of rooms: give it one in lint_test.go",
				s.path, s.room())
			continue
		}
		for _, spec := range s.file.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if why := forbidden(s, name); why != "" {
				t.Errorf("%s: %s must not import %s: %s", s.position(spec), s.room(), name, why)
			}
		}
	}
}

// forbidden says why a file must not import a package; empty if it may.
func forbidden(s *source, name string) string {
	if rooms, ok := restricted[name]; ok && !slices.Contains(rooms, s.room()) {
		return "only " + strings.Join(rooms, ", ") + " may"
	}
	isOwn := within(name, module+"/"+s.room())
	isAlone := slices.Contains(alone, s.room()) && !slices.Contains(companions, path.Dir(s.path))
	if isAlone && !s.test && !isOwn && !isStandard(name) {
		return "it is a library that needs nothing but the standard library"
	}
	if !within(name, module) {
		isImpure := slices.ContainsFunc(impure, func(i string) bool { return within(name, i) })
		if s.isPure() && !s.test && isImpure {
			return "a pure room does no I/O and starts nothing"
		}
		return ""
	}
	target := (&source{path: strings.TrimPrefix(strings.TrimPrefix(name, module), "/") + "/"}).room()
	if name == module {
		target = "."
	}
	switch allowed, isOutside := outside[s.room()]; {
	case isOutside && slices.Contains(allowed, target), target == s.room():
		return ""
	case s.room() == "examples" && s.test:
		return "" // examples are tried out with all that Tandem has; only SUTs must stand alone
	case isOutside:
		return "it is outside the rooms"
	case s.room() == "doctor" && target == "scripts":
		return "" // embedded for tandem doctor
	case slices.Contains(pure, s.room()):
		if slices.Contains(common, name) {
			return ""
		}
		return "a pure room imports only " + strings.Join(common, ", ")
	case slices.Index(order, target) <= slices.Index(order, s.room()):
		return "rooms import only rooms further down: " + strings.Join(order, " > ")
	}
	return ""
}

// isStandard says whether a package is of the standard library: others have the name of a host.
func isStandard(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return !strings.Contains(first, ".")
}

// within says whether a package is root or below it.
func within(name, root string) bool {
	return name == root || strings.HasPrefix(name, root+"/")
}

func TestPureRooms(t *testing.T) {
	for _, s := range own(t) {
		if s.test || !s.isPure() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a pure room starts no goroutine", s.position(n))
			case *ast.SelectorExpr:
				pkg, ok := n.X.(*ast.Ident)
				if ok && pkg.Name == "time" && slices.Contains(clock, n.Sel.Name) {
					t.Errorf("%s: a pure room reads no clock: time.%s", s.position(n), n.Sel.Name)
				}
			}
			return true
		})
	}
}

func TestSizes(t *testing.T) {
	for _, s := range sources(t) {
		limit := maxFile
		if s.test {
			limit = maxTestFile
		}
		if lines := bytes.Count(s.data, []byte("\n")); lines >= limit {
			t.Errorf("%s: %d lines, a file has fewer than %d: split it by what it does", s.path, lines, limit)
		}
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
			if lines > maxFunction {
				t.Errorf("%s: %s has %d lines, a function has at most %d",
					s.position(f), f.Name.Name, lines, maxFunction)
			}
		}
	}
}

func TestFormatted(t *testing.T) {
	for _, s := range own(t) {
		formatted, err := format.Source(s.data)
		if err != nil {
			t.Errorf("%s: %v", s.path, err)
		} else if !bytes.Equal(formatted, s.data) {
			t.Errorf("%s is not formatted: run gofmt -w %s", s.path, s.path)
		}
	}
}

func TestDocumented(t *testing.T) {
	documented := map[string]bool{} // directories whose package has a comment
	for _, s := range own(t) {
		dir := filepath.Dir(s.path)
		documented[dir] = documented[dir] || s.file.Doc != nil
		if s.test {
			continue
		}
		for _, decl := range s.file.Decls {
			for _, name := range undocumented(decl) {
				t.Errorf("%s: %s is exported and has no doc comment", s.position(decl), name)
			}
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s: the package has no comment", dir)
		}
	}
}

// undocumented lists what a declaration exports without a comment. One comment is
// enough for a group; the values of an enumeration have that of their type, and the
// methods that fmt, errors and sort call need none.
func undocumented(decl ast.Decl) []string {
	selfExplaining := []string{"String", "Error", "Unwrap", "Len", "Less", "Swap"}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		explained := d.Doc != nil || slices.Contains(selfExplaining, d.Name.Name)
		if !explained && d.Name.IsExported() && exportedReceiver(d) {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		if d.Doc != nil || isEnumeration(d) {
			return nil
		}
		var names []string
		for _, spec := range d.Specs {
			names = append(names, undocumentedSpec(spec)...)
		}
		return names
	}
	return nil
}

// isEnumeration recognises constants of a type of the project that is named first.
func isEnumeration(d *ast.GenDecl) bool {
	if d.Tok != token.CONST || len(d.Specs) < 2 {
		return false
	}
	name, ok := d.Specs[0].(*ast.ValueSpec).Type.(*ast.Ident)
	return ok && name.IsExported()
}

func undocumentedSpec(spec ast.Spec) []string {
	var names []string
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Doc == nil && spec.Name.IsExported() {
			names = append(names, spec.Name.Name)
		}
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if spec.Doc == nil && spec.Comment == nil && name.IsExported() {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// exportedReceiver is true for functions and for methods of exported types.
func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	exported := false
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			exported = exported || name.IsExported()
		}
		return true
	})
	return exported
}

// TestNoGlobalState: variables of packages are tables and errors, never changed
// after the program has started.
func TestNoGlobalState(t *testing.T) {
	byPackage := map[string][]*source{}
	for _, s := range own(t) {
		if !s.test {
			byPackage[filepath.Dir(s.path)] = append(byPackage[filepath.Dir(s.path)], s)
		}
	}
	for _, pkg := range byPackage {
		variables := map[string]*ast.ValueSpec{}
		for _, s := range pkg {
			collectVariables(s, variables)
		}
		for _, s := range pkg {
			ast.Inspect(s.file, func(n ast.Node) bool {
				for _, name := range changed(n) {
					if spec, ok := variables[name.Name]; ok && (name.Obj == nil || name.Obj.Decl == spec) {
						t.Errorf("%s: %s is changed, and it is a variable of the package: pass state along",
							s.position(n), name.Name)
					}
				}
				return true
			})
		}
	}
}

func collectVariables(s *source, variables map[string]*ast.ValueSpec) {
	for _, decl := range s.file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.VAR {
			continue
		}
		for _, spec := range group.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				if name.Name != "_" { // a check of the compiler's
					variables[name.Name] = spec.(*ast.ValueSpec)
				}
			}
		}
	}
}

// changed lists the variables that a statement assigns to or takes the address of.
func changed(n ast.Node) []*ast.Ident {
	var targets []ast.Expr
	switch n := n.(type) {
	case *ast.AssignStmt:
		targets = n.Lhs
	case *ast.IncDecStmt:
		targets = []ast.Expr{n.X}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			targets = []ast.Expr{n.X}
		}
	}
	var names []*ast.Ident
	for _, target := range targets {
		if name := rootVariable(target); name != nil {
			names = append(names, name)
		}
	}
	return names
}

// rootVariable is x of x, x[i], x.f, *x and their combinations.
func rootVariable(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// TestPortable: nothing names a directory of the machine that it was written on,
// nor the hosts from which that machine happens to get its packages.
func TestPortable(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	words := append(packageHosts(t), root+"/")
	standard := []string{"/", "/home", "/root", "/tmp", "/var/tmp", "/srv", "/opt", "/usr/src", "/mnt"}
	if parent := filepath.Dir(root); !slices.Contains(standard, parent) {
		words = append(words, parent+"/")
	}
	files(t, func(path string, data []byte) {
		for _, word := range words {
			if i := bytes.Index(data, []byte(word)); i >= 0 && bytes.IndexByte(data, 0) < 0 {
				line := bytes.Count(data[:i], []byte("\n")) + 1
				t.Errorf("%s:%d names %s, which only this machine knows", path, line, word)
			}
		}
	})
}

// packageHosts asks the machine's own package managers whom they ask.
func packageHosts(t *testing.T) []string {
	t.Helper()
	settings, err := exec.Command("go", "env", "GOPROXY", "GOSUMDB").Output()
	if err != nil {
		t.Fatalf("go env: %v", err)
	}
	lists, _ := filepath.Glob("/etc/apt/sources.list.d/*")
	for _, list := range append(lists, "/etc/apt/sources.list") {
		data, _ := os.ReadFile(list) // the machine may have none
		settings = append(settings, data...)
	}
	host := regexp.MustCompile(`\b([a-z0-9-]+\.)+[a-z]{2,}\b`)
	address := regexp.MustCompile(`(?m)https?://[^/\s,|]+|^sum\.[^ ]+$`)
	var hosts []string
	for _, match := range address.FindAllString(string(settings), -1) {
		hosts = append(hosts, host.FindString(match))
	}
	return slices.DeleteFunc(slices.Compact(hosts), func(h string) bool { return h == "" })
}
