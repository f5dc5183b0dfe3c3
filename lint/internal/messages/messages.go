// Package messages reads the error messages from the source of the house, with the advice that each
// gives. It knows the ways in which errors are made here: errors.New, fmt.Errorf, the methods Error
// of types, and problems of a configuration.
package messages

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-mc/tandem/internal/advice"
)

// Message is an error message as the source has it. Verbs of fmt stand for what is filled in, and
// three dots for what the source does not show.
type Message struct {
	// File is relative to the root, with slashes.
	File string
	// Text is in one line: messages of several are joined by blanks.
	Text string
	// Advice is what of the text is advice; "" if nothing is.
	Advice string
	// Wraps says that another error is a part of it, which has advice of its own.
	Wraps bool
}

// anything stands for a part that is no constant.
const anything = "…"

// Read reads the messages of the rooms with these names below root. Tests, and what is in testdata,
// is left out. They are in the order of their files, and then of their texts; each is there once.
func Read(root string, rooms ...string) (all []Message, err error) {
	for _, room := range rooms {
		err := filepath.WalkDir(filepath.Join(root, room), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			// What is embedded into programs prints nothing by itself.
			case d.IsDir() && slices.Contains([]string{"testdata", "overlay", "testkit"}, d.Name()):
				return fs.SkipDir
			case d.IsDir():
				list, err := readPackage(path, root)
				all = append(all, list...)
				return err
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	// Files of a package come from a map.
	slices.SortFunc(all, func(a, b Message) int {
		return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.Text, b.Text))
	})
	return slices.Compact(all), nil
}

// readPackage reads the messages of the package in a directory, whose constants may be parts of
// them.
func readPackage(dir, root string) (list []Message, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	// A constant may be declared in a later file, so all are parsed first.
	files, constants := map[string]*ast.File{}, map[string]ast.Expr{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files[name] = file
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
				for i, name := range spec.Names {
					constants[name.Name] = spec.Values[i]
				}
			}
			return true
		})
	}
	for name, file := range files {
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, e := range texts(n) {
				lines := textOf(e, constants, 0)
				text := strings.Join(strings.Fields(lines), " ") // one line, as in a table
				if !says(text) {
					continue
				}
				list = append(list, Message{
					File: filepath.ToSlash(relative), Text: text, Advice: advice.In(lines),
					Wraps: strings.Contains(text, "%w"),
				})
			}
			return true
		})
	}
	return list, nil
}

// says reports whether a text has words: what only puts others together is no message.
func says(text string) bool {
	// Widths of verbs are not known here: such a text has words beside them.
	for _, verb := range []string{"%w", "%v", "%s", "%d", "%q", anything} {
		text = strings.ReplaceAll(text, verb, "")
	}
	return strings.Trim(text, " :;,.()\n") != ""
}

// texts are the expressions of messages that a node makes. What is inside of the node is visited by
// itself.
func texts(n ast.Node) (list []ast.Expr) {
	switch n := n.(type) {
	case *ast.CallExpr:
		// One with too few arguments does not compile.
		if i, ok := argument(n); ok && i < len(n.Args) {
			list = append(list, n.Args[i])
		}
	case *ast.KeyValueExpr: // Problem{What: ...}
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "What" {
			list = append(list, n.Value)
		}
	case *ast.FuncDecl:
		if n.Recv == nil || n.Name.Name != "Error" || n.Body == nil {
			return nil
		}
		// Of a method with several ways out, each is a message.
		ast.Inspect(n.Body, func(n ast.Node) bool {
			if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 {
				list = append(list, r.Results[0])
			}
			return true
		})
	}
	return list
}

// argument is the index of the argument of a call that is a message.
func argument(call *ast.CallExpr) (index int, ok bool) {
	// Functions of the same package make no errors by themselves.
	s, isSelector := call.Fun.(*ast.SelectorExpr)
	if !isSelector {
		return 0, false
	}
	on, _ := s.X.(*ast.Ident)
	switch {
	case on == nil: // a call of what a call has returned
	case on.Name == "errors" && s.Sel.Name == "New", on.Name == "fmt" && s.Sel.Name == "Errorf":
		return 0, true
	case (on.Name == "wrong" || on.Name == "problems") && s.Sel.Name == "add": // of package configs
		return 1, true
	case on.Name == "r" && s.Sel.Name == "report": // of package configs
		return 2, true
	}
	return 0, false
}

// textOf is the text of an expression, with constants in their place. Depth bounds how far these
// are followed.
func textOf(e ast.Expr, constants map[string]ast.Expr, depth int) string {
	const deep = 4
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return text
		}
	case *ast.BinaryExpr: // a sum
		return textOf(e.X, constants, depth) + textOf(e.Y, constants, depth)
	case *ast.ParenExpr:
		return textOf(e.X, constants, depth)
	case *ast.Ident:
		if value, ok := constants[e.Name]; ok && depth < deep {
			return textOf(value, constants, depth+1)
		}
	case *ast.CallExpr:
		// fmt.Sprintf, in a method Error.
		if s, ok := e.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Sprintf" && len(e.Args) > 0 {
			return textOf(e.Args[0], constants, depth)
		}
	}
	return anything
}
