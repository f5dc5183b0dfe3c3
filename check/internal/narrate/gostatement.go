package narrate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
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
	if at.Function == "sync.(*WaitGroup).Go.func1" {
		return "what WaitGroup.Go was given"
	}
	if !strings.Contains(at.Function, ".gowrap") {
		return at.Function
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

// calledByGo finds the go statement at a place of the source. It returns what that calls, without
// the arguments ("t.run"), or the line of the function literal that it calls. Both are empty where
// there is no single go statement, or the source cannot be read.
func calledByGo(at sut.Position) (callee string, literal int) {
	text, err := os.ReadFile(at.File)
	if err != nil {
		return "", 0
	}
	files := token.NewFileSet()
	file, _ := parser.ParseFile(files, at.File, text, parser.SkipObjectResolution) // as far as it is Go
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
