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

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

var update = flag.Bool("update", false, "rewrite the third column of operations.md")
var release = flag.String("release", "",
	"the release of Go that TestOperations builds its program with, such as go1.25.0")

// operationRow is a row of operations.md.
type operationRow struct {
	name, treatment, logged, why string
}

// loggedBy is what is logged by a release of Go, or with early timers. Where that is
// not what the newest one logs, the row says so: "A, B; Go 1.25: B".
func (r operationRow) loggedBy(cases ...string) string {
	newest, others, _ := strings.Cut(r.logged, "; ")
	for _, c := range cases {
		for other := range strings.SplitSeq(others, "; ") {
			name, logged, _ := strings.Cut(other, ": ")
			if name != "" && strings.HasPrefix(c, strings.Replace(name, "Go ", "go", 1)+".") {
				return logged
			}
		}
	}
	return newest
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
	"chan send", "chan receive", "chan close", "chan range", "chan len", "chan cap", "select",
	"select default",
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
		if nothing := row.logged == "-"; nothing != (row.treatment == "refused") &&
			nothing == (row.treatment == "modelled") {
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
	performed := operationPrograms(t)
	program := buildOperations(t)
	text, rows := readOperations(t)
	for _, row := range rows {
		if !performed[row.name] {
			t.Errorf("%s: there is no program in testdata/operations that performs it", row.name)
			continue
		}
		got, want := perform(t, program, row, sut.Environment{}), row.loggedBy(program.Version)
		if got == want {
			continue
		}
		if !*update {
			t.Errorf("%s: the log has: %s, the table says: %s (run this test with -update, and look at "+
				"the difference)", row.name, got, want)
		}
		before := fmt.Sprintf("| %s | %s | ", row.name, row.treatment)
		text = bytes.Replace(text, []byte(before+want), []byte(before+got), 1)
	}
	if *update {
		if err := os.WriteFile(operationsFile, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOperationsWithRaces: a program in which data races are looked for performs
// the same operations. What they are made of may be hidden.
func TestOperationsWithRaces(t *testing.T) {
	program := buildOperations(t, sut.RacesMain)
	_, rows := readOperations(t)
	for _, row := range rows {
		got, want := perform(t, program, row, sut.Environment{}), row.loggedBy(program.Version)
		if withoutParts(got) != withoutParts(want) {
			t.Errorf("%s: the log has: %s, the table says: %s", row.name, got, want)
		}
	}
}

// TestOperationsWithEarlyTimers: where timers may fire early, the clock is an object,
// and what reads it or sets a timer is an operation.
func TestOperationsWithEarlyTimers(t *testing.T) {
	program := buildOperations(t)
	_, rows := readOperations(t)
	for _, row := range rows {
		got, want := perform(t, program, row, sut.Environment{EarlyTimers: 1}),
			row.loggedBy("early timers.", program.Version)
		if withoutSetting(got) != withoutSetting(want) {
			t.Errorf("%s: the log has, with early timers: %s, the table says: %s", row.name, got, want)
		}
	}
}

// withoutSetting drops the look at a setting of which the releases differ.
func withoutSetting(logged string) string { return strings.ReplaceAll(logged, "(Do), ", "") }

var parts = regexp.MustCompile(`(^|, )\([^)]*\)`)

// withoutParts drops what is in brackets.
func withoutParts(logged string) string {
	if logged = parts.ReplaceAllString(logged, ""); logged == "" {
		return "-"
	}
	return logged
}

// buildOperations builds testdata/operations, which is a module of its own since
// releases of Go build it that are too old for Tandem itself.
func buildOperations(t *testing.T, races ...string) *sut.Program {
	t.Helper()
	if *release != "" {
		t.Setenv("GOTOOLCHAIN", *release)
	}
	const dir = "testdata/operations"
	toolchain, err := sut.NewToolchain(t.Context(), dir, cache())
	if err != nil {
		t.Fatal(err)
	}
	program, err := toolchain.Build(t.Context(),
		sut.BuildOptions{Dir: dir, Package: ".", Output: filepath.Join(t.TempDir(), "program"), Races: races})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// perform runs the program of an operation and returns what the log has of it.
func perform(t *testing.T, program *sut.Program, row operationRow, world sut.Environment) string {
	t.Helper()
	log := runOperation(t, program, sut.Options{Args: []string{row.name}, Environment: world})
	if refused := log.Outcome == sut.Refused; refused != (row.treatment == "refused") ||
		!refused && log.Outcome != sut.Completed {
		t.Errorf("%s: %v, though it is %s: %s%s", row.name, log.Outcome, row.treatment, log.Message,
			log.Stderr)
		return "-"
	}
	return loggedBetweenMarks(log.Events)
}

func runOperation(t *testing.T, program *sut.Program, o sut.Options) *sut.Log {
	t.Helper()
	w, err := sut.Start(program, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	log, err := w.Run(sut.Schedule{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// TestSingleAccess: a transition of a single access is an operation and nothing else, whatever
// comes after it; and where a package does more in one call, it is not.
func TestSingleAccess(t *testing.T) {
	for _, races := range [][]string{nil, {sut.RacesMain}} {
		program := buildOperations(t, races...)
		_, rows := readOperations(t)
		single := map[string]bool{}
		for _, row := range rows {
			if row.treatment == "refused" {
				continue
			}
			log := runOperation(t, program, sut.Options{Args: []string{row.name, "after an addition"}})
			if log.Outcome != sut.Completed {
				t.Errorf("%s: %v: %s%s", row.name, log.Outcome, log.Message, log.Stderr)
			}
			single[row.name] = singleAccessAfterAddition(t, row.name, log.Events)
		}
		for name, want := range map[string]bool{
			"sync.Mutex.Lock": true, "sync.RWMutex.Lock": true, "sync.WaitGroup.Add": false,
			"sync.WaitGroup.Done": true, "sync/atomic.Int64.CompareAndSwap": true, "sync.Once.Do": true,
			"sync/atomic.Value.Load": false, "sync/atomic.Value.Store": false,
			"sync/atomic.Value.Swap": false, "sync.Map.Load": false,
			"chan send": false, "sync.Cond.Wait": false, "time.Sleep": false,
		} {
			if single[name] != want {
				t.Errorf("%s: single: %v, want %v", name, single[name], want)
			}
		}
	}
}

// singleAccessAfterAddition reports whether the first transition is single that main begins after
// the addition, which is. It has an error if one that is single goes on.
func singleAccessAfterAddition(t *testing.T, name string, events []sut.Event) (single bool) {
	t.Helper()
	step, accesses, marks := sut.Event{}, 0, 0
	after := -1 // how many transitions of main have begun since the addition
	for _, e := range events {
		switch {
		case e.Kind == sut.Stepped || e.Kind == sut.Ticked:
			if step, accesses = e, 0; e.Subject != events[0].Subject {
				continue
			}
			switch {
			case e.Operation == sut.Yield:
				marks++
			case marks == 1 && e.Operation != sut.Resume:
				if after++; after == 0 && !e.SingleAccess() {
					t.Errorf("%s: the addition before it is not single", name)
				} else if after == 1 {
					single = e.SingleAccess()
				}
			}
		case e.Kind == sut.Accessed && step.SingleAccess():
			if accesses++; accesses > 1 && e.Access != model.Commute {
				t.Errorf("%s: %v goes on with %v", name, step.Operation, e.Operation)
			}
		}
	}
	if after < 0 {
		t.Errorf("%s: there is no addition", name)
	}
	return single
}

// loggedBetweenMarks lists the operations that the main goroutine performs between
// its first two calls of Gosched. Those in brackets are a part of the one before
// them: nothing comes in between.
func loggedBetweenMarks(events []sut.Event) string {
	var names []string
	main, current := uint64(0), uint64(0)
	step, marks := sut.Operation(0), 0
	for _, e := range events {
		name := ""
		switch e.Kind {
		case sut.Stepped:
			if main == 0 {
				main = e.Subject
			}
			if current, step = e.Subject, e.Operation; current == main && step == sut.Yield {
				marks++
			} else if step != sut.Resume {
				name = step.String()
			}
		case sut.Ticked:
			current, name = main, e.Operation.String()
		case sut.Spawned:
			name = e.Operation.String()
		case sut.Accessed:
			if e.Operation != step {
				name = "(" + e.Operation.String() + ")"
			}
		}
		if marks == 1 && current == main && name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(names, ", ")
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
