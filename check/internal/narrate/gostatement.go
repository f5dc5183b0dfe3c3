package narrate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/sut"
)

// started is what a goroutine runs: the function, or what the go statement calls where the compiler
// made a function of it. The spawn event has the entry of the function and the place of the go
// statement.
func started(p *sut.Program, spawn sut.Event) string {
	at, ok := p.Position(spawn.Object + 1)
	if !ok {
		return ""
	}
	if strings.HasSuffix(at.Function, ".Go.func1") {
		return givenToGo(p, spawn, at.Function)
	}
	if !strings.Contains(at.Function, ".gowrap") {
		return at.Function
	}
	// What the compiler makes of a go statement with arguments calls the function itself, so its
	// code says more than the source, where it may be a variable.
	if name := p.CalledBy(spawn.Object); name != "" {
		return name
	}
	where, _ := p.Position(spawn.PC)
	callee, literal := calledByGo(where)
	switch {
	case literal > 0: // the compiler numbers those of a function; its line tells which it is
		if name, ok := p.FunctionAt(at.File, literal, outerFunction(at.Function)); ok {
			return name
		}
		// Without a name for the literal, the outer function is shown with the suffix of literals.
		return outerFunction(at.Function) + ".func"
	case callee != "":
		return callee
	}
	return at.Function
}

// Names in reports are those of the linker, which tracebacks of Go have, too. The log has the entry
// of what was started: that is the function, or one that the compiler or a library has put before.

// functionLike is the function that an expression in a go statement stands for, of those that the
// goroutine has been in: the only one of its name, or, of a variable, the only one. It is the
// expression if there is none, or are several.
func functionLike(expression string, ran []string) string {
	_, method, isMethod := cutLast(expression, ".")
	found := expression
	for _, function := range ran {
		if isMethod && !strings.HasSuffix(function, "."+method) {
			continue
		}
		if found != expression {
			return expression
		}
		found = function
	}
	return found
}

// functionsOf lists the functions in the program's own code that each goroutine has been in, as far
// as its operations tell.
func functionsOf(p *sut.Program, log *sut.Log) map[uint64][]string {
	list := map[uint64][]string{}
	note := func(goroutine, pc uint64) {
		at, ok := p.Position(pc)
		if ok && at.File != generated && p.IsOwn(at) && !slices.Contains(list[goroutine], at.Function) {
			list[goroutine] = append(list[goroutine], at.Function)
		}
	}
	for i := range log.Events {
		// Where a goroutine begins is the place of its go statement.
		if e := &log.Events[i]; e.Kind == sut.Stepped && e.Operation != sut.Begin {
			note(e.Subject, e.Open)
		}
	}
	if log.Details != nil {
		for goroutine, stack := range log.Details.Stacks {
			for _, pc := range stack {
				note(goroutine, pc)
			}
		}
	}
	return list
}

// givenToGo is the function that a method Go was given, such as that of a sync.WaitGroup, which
// starts a goroutine that calls it. Where the source does not tell, it is the given function,
// which is the one of that method.
func givenToGo(p *sut.Program, spawn sut.Event, function string) string {
	where, ok := p.Position(spawn.Open)
	if !ok || !p.IsOwn(where) {
		return function
	}
	file, files := parseFile(where.File)
	if file == nil {
		return function
	}
	var given ast.Expr
	found := 0
	ast.Inspect(file, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 || files.Position(call.Pos()).Line > where.Line ||
			files.Position(call.End()).Line < where.Line {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		// The call is at the line of its name, or, of one over several lines, of its end.
		if ok && method.Sel.Name == "Go" && (files.Position(method.Sel.Pos()).Line == where.Line ||
			files.Position(call.Rparen).Line == where.Line) {
			given = call.Args[0]
			found++
		}
		return true
	})
	if found != 1 {
		return function
	}
	if literal, ok := given.(*ast.FuncLit); ok {
		name, ok := p.FunctionAt(where.File, files.Position(literal.Pos()).Line, where.Function)
		if !ok {
			return where.Function + ".func"
		}
		return name
	}
	// A method value, such as the Go of a group is given: the compiler makes a function of it that
	// has no name in the source.
	if method, ok := given.(*ast.SelectorExpr); ok {
		if name, ok := p.Method(where.Package(), method.Sel.Name); ok {
			return name
		}
	}
	return types.ExprString(given)
}

// parseFile parses a file of source, as far as it is Go; nil where it cannot be read.
func parseFile(path string) (*ast.File, *token.FileSet) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil
	}
	files := token.NewFileSet()
	file, _ := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	return file, files
}

// calledByGo finds the go statement at a place of the source. It returns what that calls, without
// the arguments ("t.run"), or the line of the function literal that it calls. Both are empty where
// there is no single go statement, or the source cannot be read.
func calledByGo(at sut.Position) (callee string, literal int) {
	file, files := parseFile(at.File)
	if file == nil {
		return "", 0
	}
	found := 0
	ast.Inspect(file, func(node ast.Node) bool {
		statement, ok := node.(*ast.GoStmt)
		if !ok || !spans(files, statement, at.Line) {
			return true
		}
		found++
		if f, ok := statement.Call.Fun.(*ast.FuncLit); ok {
			callee, literal = "", files.Position(f.Pos()).Line
			return files.Position(statement.Pos()).Line != at.Line // what it does has statements of its own
		}
		callee, literal = types.ExprString(statement.Call.Fun), 0
		return false
	})
	if found != 1 {
		return "", 0
	}
	return callee, literal
}

// spans reports whether a go statement is at a line: its first one, or one of those of the call's
// arguments, where the program counter may be.
func spans(files *token.FileSet, s *ast.GoStmt, line int) bool {
	first, last := files.Position(s.Pos()).Line, files.Position(s.End()).Line
	if f, ok := s.Call.Fun.(*ast.FuncLit); ok && line != first {
		return line > files.Position(f.End()).Line-1 && line <= last
	}
	return first <= line && line <= last
}

// outerFunction is the function that a function of the compiler's making is in: "p.F" of
// "p.F.gowrap1". Other names are returned unchanged.
func outerFunction(name string) string {
	outer, _, _ := strings.Cut(name, ".gowrap")
	return outer
}
