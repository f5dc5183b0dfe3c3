// Package quote reads lines of source files, for reports: those that something happens at, and the
// cases of select statements.
package quote

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"

	"github.com/tandem-mc/tandem/report"
)

// Sources are source files that a report quotes, each read and parsed once. Files that cannot
// be read have no lines, and nothing is quoted of them.
type Sources map[string]*File

// File is a source file. It is only read, but not by several goroutines at once.
type File struct {
	lines []string
	files *token.FileSet
	tree  *ast.File // as far as it is Go; nil: it is not
}

// File is the file at a path.
func (s Sources) File(path string) *File {
	if f, ok := s[path]; ok {
		return f
	}
	f := &File{files: token.NewFileSet()}
	if text, err := os.ReadFile(path); err == nil {
		f.lines = strings.Split(string(text), "\n")
		f.tree, _ = parser.ParseFile(f.files, path, text, parser.SkipObjectResolution)
	}
	s[path] = f
	return f
}

// Line is a line of the source, without blanks around it; "" if there is no such line.
func (f *File) Line(number int) string {
	if number < 1 || number > len(f.lines) {
		return ""
	}
	return strings.TrimSpace(f.lines[number-1])
}

// Between quotes some lines, at most maxQuoted. Empty lines and those that only end a block are
// left out at the end.
func (f *File) Between(first, last int) (lines []report.SourceLine) {
	const maxQuoted = 6
	for number := first; number <= last && len(lines) < maxQuoted; number++ {
		lines = append(lines, report.SourceLine{Number: number, Text: f.Line(number)})
	}
	for n := len(lines); n > 0 && strings.Trim(lines[n-1].Text, "})") == ""; n-- {
		lines = lines[:n-1]
	}
	return lines
}

// EndOfFunction is the last line of the innermost function around a line; 0 if there is none.
func (f *File) EndOfFunction(line int) (last int) {
	if f.tree == nil {
		return 0
	}
	ast.Inspect(f.tree, func(node ast.Node) bool {
		var body *ast.BlockStmt
		switch node := node.(type) {
		case *ast.FuncDecl:
			body = node.Body
		case *ast.FuncLit:
			body = node.Body
		}
		if body != nil && f.lineOf(body.Pos()) <= line && line <= f.lineOf(body.End()) {
			last = f.lineOf(body.End()) // those inside come later
		}
		return true
	})
	return last
}

func (f *File) lineOf(at token.Pos) int { return f.files.PositionFor(at, false).Line }

// Case is a case of a select statement.
type Case struct {
	Text string // "case <-ctx.Done()"
	Line int
}

// Cases are the arms of the select statement at a line, in the order in which the compiler numbers
// them: those that send as in the source, and then those that receive in the opposite order. The
// default, if there is one, comes last. ok is false where there is no single statement. Of a
// statement with one case and a default the compiler makes an if, at the line of the case.
func (f *File) Cases(line int) (arms []Case, other Case, ok bool) {
	if f.tree == nil {
		return nil, other, false
	}
	found := 0
	ast.Inspect(f.tree, func(node ast.Node) bool {
		statement, isSelect := node.(*ast.SelectStmt)
		if !isSelect {
			return true
		}
		list, last := f.casesOf(statement)
		// The place of the statement is then that of its case.
		isIf := len(list) == 1 && last.Text != ""
		if !isIf && f.lineOf(statement.Pos()) == line || isIf && list[0].Line == line {
			arms, other = list, last
			found++
		}
		return true
	})
	return arms, other, found == 1
}

// casesOf are the arms of a statement and its default, as Cases has them.
func (f *File) casesOf(statement *ast.SelectStmt) (arms []Case, other Case) {
	var sends, receives []Case
	for _, clause := range statement.Body.List {
		clause := clause.(*ast.CommClause)
		c := Case{f.textOf(clause.Case, clause.Colon), f.lineOf(clause.Case)}
		switch clause.Comm.(type) {
		case nil:
			other = c
		case *ast.SendStmt:
			sends = append(sends, c)
		default:
			receives = append([]Case{c}, receives...)
		}
	}
	return append(sends, receives...), other
}

// textOf is the source between two positions, in one line.
func (f *File) textOf(from, to token.Pos) string {
	first, last := f.files.PositionFor(from, false), f.files.PositionFor(to, false)
	if last.Line > len(f.lines) {
		return ""
	}
	text := strings.Join(f.lines[first.Line-1:last.Line], "\n")
	// What follows the last position in its line is none of the text.
	cut := len(f.lines[last.Line-1]) - (last.Column - 1)
	return strings.Join(strings.Fields(text[first.Column-1:len(text)-cut]), " ")
}
