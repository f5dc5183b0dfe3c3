package sut_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/sut"
)

var update = flag.Bool("update", false, "rewrite the third column of operations.md")

// operationRow is a row of operations.md.
type operationRow struct {
	name, treatment, logged, why string
}

var rowForm = regexp.MustCompile(`(?m)^\| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|\n`)

const operationsFile = "operations.md"

// readOperations returns the rows of the table, without its head.
func readOperations(t *testing.T) (text []byte, rows []operationRow) {
	t.Helper()
	text, err := os.ReadFile(operationsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range rowForm.FindAllStringSubmatch(string(text), -1)[1:] {
		rows = append(rows, operationRow{m[1], m[2], m[3], m[4]})
	}
	return text, rows
}

// inLanguage are the operations that no package exports.
var inLanguage = []string{
	"chan send", "chan receive", "chan close", "chan range", "chan len", "chan cap", "select", "select default",
}

// exportedOperations lists the functions, the methods and the function types that
// the packages export, in the release of Go that runs the test.
func exportedOperations(t *testing.T) []string {
	t.Helper()
	var names []string
	standard := importer.Default()
	for _, path := range []string{"sync", "sync/atomic", "context", "time"} {
		pkg, err := standard.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range pkg.Scope().Names() {
			if o := pkg.Scope().Lookup(name); o.Exported() {
				names = append(names, operationsOf(path+"."+name, o)...)
			}
		}
	}
	return names
}

func operationsOf(name string, o types.Object) (names []string) {
	switch o := o.(type) {
	case *types.Func:
		return []string{name}
	case *types.TypeName:
		t := o.Type()
		if _, ok := t.Underlying().(*types.Signature); ok {
			return []string{name}
		}
		if !types.IsInterface(t) {
			t = types.NewPointer(t)
		}
		methods := types.NewMethodSet(t)
		for i := range methods.Len() {
			if m := methods.At(i).Obj(); m.Exported() {
				names = append(names, name+"."+m.Name())
			}
		}
	}
	return names
}

// TestOperationsAreComplete: operations.md has a row for each operation, and no
// other, and says how it is treated and why.
func TestOperationsAreComplete(t *testing.T) {
	want := append(slices.Clone(inLanguage), exportedOperations(t)...)
	_, rows := readOperations(t)
	var got []string
	for _, row := range rows {
		got = append(got, row.name)
		if !slices.Contains([]string{"modelled", "transparent", "refused"}, row.treatment) || row.why == "" {
			t.Errorf("%s: it has to be modelled, transparent or refused, with a reason", row.name)
		}
		if nothing := row.logged == "-"; nothing != (row.treatment == "refused") && nothing == (row.treatment == "modelled") {
			t.Errorf("%s: %s, and in the log: %s", row.name, row.treatment, row.logged)
		}
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("%s is missing", name)
		}
	}
	for i, name := range got {
		if !slices.Contains(want, name) || slices.Index(got, name) < i {
			t.Errorf("%s is no operation, or is there twice", name)
		}
	}
}

// TestOperations performs each operation and compares what the log then holds
// with the table.
func TestOperations(t *testing.T) {
	program, err := build(t.TempDir(), "./testdata/operations")
	if err != nil {
		t.Fatal(err)
	}
	performed := operationPrograms(t)
	text, rows := readOperations(t)
	for _, row := range rows {
		if !performed[row.name] {
			t.Errorf("%s: there is no program in testdata/operations that performs it", row.name)
			continue
		}
		got := perform(t, program, row)
		if got == row.logged {
			continue
		}
		if !*update {
			t.Errorf("%s: the log has: %s, the table says: %s (run this test with -update, and look at the difference)", row.name, got, row.logged)
		}
		old := fmt.Sprintf("| %s | %s | %s | %s |\n", row.name, row.treatment, row.logged, row.why)
		text = bytes.Replace(text, []byte(old), fmt.Appendf(nil, "| %s | %s | %s | %s |\n", row.name, row.treatment, got, row.why), 1)
	}
	if *update {
		if err := os.WriteFile(operationsFile, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// perform runs the program of an operation and returns what the log has of it.
func perform(t *testing.T, program *sut.Program, row operationRow) string {
	t.Helper()
	w, err := sut.Start(program, sut.Options{Args: []string{row.name}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	log, err := w.Run(sut.Schedule{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if refused := log.Outcome == sut.Refused; refused != (row.treatment == "refused") || !refused && log.Outcome != sut.Completed {
		t.Errorf("%s: %v, though it is %s: %s%s", row.name, log.Outcome, row.treatment, log.Message, log.Stderr)
		return "-"
	}
	return loggedBetweenMarks(log.Events)
}

// loggedBetweenMarks lists the operations that the main goroutine performs between
// its first two calls of Gosched. In brackets are those at which it cannot be
// preempted, but whose accesses are known.
func loggedBetweenMarks(events []sut.Event) string {
	var names []string
	main, marks, running := uint64(0), 0, false
	for _, e := range events {
		switch e.Kind {
		case sut.Stepped:
			if main == 0 {
				main = e.Subject
			}
			if running = e.Subject == main; running && e.Operation == sut.Yield {
				marks++
			}
		case sut.Ticked:
			running = false
		}
		name := loggedName(e)
		if marks == 1 && name != "" && (running || e.Kind == sut.Ticked) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(slices.Compact(names), ", ")
}

func loggedName(e sut.Event) string {
	switch e.Kind {
	case sut.Stepped:
		if e.Operation != sut.Yield && e.Operation != sut.Resume {
			return e.Operation.String()
		}
	case sut.Spawned, sut.Ticked:
		return e.Operation.String()
	}
	return ""
}

// operationPrograms says which operations have a program in testdata/operations
// that does use what it is said to.
func operationPrograms(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("testdata/operations/*.go")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range files {
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.Default()}
	if _, err := config.Check("main", set, parsed, info); err != nil {
		t.Fatal(err)
	}
	performed := map[string]bool{}
	for _, f := range parsed {
		ast.Inspect(f, func(n ast.Node) bool {
			if entry, ok := n.(*ast.KeyValueExpr); ok {
				if key, ok := entry.Key.(*ast.BasicLit); ok {
					name, _ := strconv.Unquote(key.Value)
					performed[name] = uses(entry.Value, info, name)
				}
			}
			return true
		})
	}
	return performed
}

// uses says whether an operation occurs in a piece of a program.
func uses(program ast.Node, info *types.Info, name string) (found bool) {
	ast.Inspect(program, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if o := info.Uses[n]; o != nil {
				found = found || operationName(o) == name
			}
		case *ast.SendStmt:
			found = found || name == "chan send"
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW && name == "chan receive"
		case *ast.RangeStmt:
			found = found || name == "chan range"
		case *ast.SelectStmt:
			found = found || name == "select"
		case *ast.CommClause:
			found = found || n.Comm == nil && name == "select default"
		}
		return true
	})
	return found
}

// operationName is what operations.md calls a function, a method, a function type
// or a function of the language.
func operationName(o types.Object) string {
	switch o := o.(type) {
	case *types.Builtin:
		return "chan " + o.Name()
	case *types.TypeName:
		if o.Pkg() != nil {
			return o.Pkg().Path() + "." + o.Name()
		}
	case *types.Func:
		receiver := o.Signature().Recv()
		if receiver == nil {
			return o.Pkg().Path() + "." + o.Name()
		}
		t := receiver.Type()
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		if named, ok := t.(*types.Named); ok {
			return o.Pkg().Path() + "." + named.Obj().Name() + "." + o.Name()
		}
	}
	return ""
}
