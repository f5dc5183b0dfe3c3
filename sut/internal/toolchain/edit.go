package toolchain

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"sort"
	"strings"
)

// source is a file of the standard library under edit. Every edit names an anchor that has to occur
// exactly once; otherwise this release of Go is one whose internals are not known, and the error
// says so. Edits refer to the text as it was, and are made at the end, all at once.
type source struct {
	path  string // below GOROOT/src
	text  []byte
	files *token.FileSet
	tree  *ast.File // nil for assembly
	edits []replacement
}

// replacement puts a text in the place of some bytes of a file.
type replacement struct {
	from, to int
	text     string
}

// anchorError says which anchor of which file was not found as expected. The release of Go is then
// not supported.
type anchorError struct {
	path, anchor string
	found        int
}

func (e *anchorError) Error() string {
	return fmt.Sprintf("%s: anchor %q found %d times instead of once", e.path, e.anchor, e.found)
}

// parseSource begins the edit of a file. Assembly is not parsed.
func parseSource(path string, text []byte) (*source, error) {
	s := &source{path: path, text: text, files: token.NewFileSet()}
	if !strings.HasSuffix(path, ".go") {
		return s, nil
	}
	tree, err := parser.ParseFile(s.files, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s.tree = tree
	return s, nil
}

// offset is where a position is in the text.
func (s *source) offset(p token.Pos) int { return s.files.Position(p).Offset }

// function finds a function by name, or a method by Type.Name. There may be several of that name in
// files for other systems, but not in this one.
func (s *source) function(name string) (*ast.FuncDecl, error) {
	var found []*ast.FuncDecl
	for _, d := range s.tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && functionName(f) == name {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		return nil, &anchorError{s.path, "func " + name, len(found)}
	}
	return found[0], nil
}

// functionName is the name of a function, or Type.Name of a method.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + f.Name.Name
	}
	return ""
}

// replace notes an edit: the bytes from one offset to another become a text. Edits must not
// overlap, but several may insert something at the same place.
func (s *source) replace(from, to int, text string) {
	s.edits = append(s.edits, replacement{from, to, text})
}

// enter inserts a statement at the start of a function. It stays on the line of the function, so
// that the numbers of lines, which positions in messages rest on, do not change. Later calls come
// after.
func (s *source) enter(function, statement string) error {
	f, err := s.function(function)
	if err != nil {
		return err
	}
	at := s.offset(f.Body.Lbrace) + 1
	s.replace(at, at, " "+statement+"; ")
	return nil
}

// before inserts a statement before the one whose first line contains anchor. Blocks inside of
// blocks are searched, too.
func (s *source) before(function, anchor, statement string) error {
	f, err := s.function(function)
	if err != nil {
		return err
	}
	var found []int
	ast.Inspect(f.Body, func(n ast.Node) bool {
		block, ok := n.(*ast.BlockStmt)
		if !ok {
			return true
		}
		for _, statement := range block.List {
			from := s.offset(statement.Pos())
			line, _, _ := bytes.Cut(s.text[from:s.offset(statement.End())], []byte("\n"))
			if bytes.Contains(line, []byte(anchor)) {
				found = append(found, from)
			}
		}
		return true
	})
	if len(found) != 1 {
		return &anchorError{s.path, function + ": " + anchor, len(found)}
	}
	s.replace(found[0], found[0], statement+"\n\t")
	return nil
}

// swap replaces the only occurrence of old in a function, or in the file where the function is "".
// Without a function it works for assembly, too.
func (s *source) swap(function, old, text string) error {
	from, to := 0, len(s.text)
	if function != "" {
		f, err := s.function(function)
		if err != nil {
			return err
		}
		from, to = s.offset(f.Pos()), s.offset(f.End())
	}
	if n := bytes.Count(s.text[from:to], []byte(old)); n != 1 {
		return &anchorError{s.path, old, n}
	}
	at := from + bytes.Index(s.text[from:to], []byte(old))
	s.replace(at, at+len(old), text)
	return nil
}

// field adds a field to a struct type.
func (s *source) field(structure, text string) error {
	var found []*ast.StructType
	ast.Inspect(s.tree, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == structure {
			if t, ok := spec.Type.(*ast.StructType); ok {
				found = append(found, t)
			}
		}
		return true
	})
	if len(found) != 1 {
		return &anchorError{s.path, "type " + structure + " struct", len(found)}
	}
	at := s.offset(found[0].Fields.Closing)
	s.replace(at, at, "\t"+text+"\n")
	return nil
}

// add appends declarations.
func (s *source) add(text string) error {
	s.replace(len(s.text), len(s.text), "\n"+text+"\n")
	return nil
}

// result is the text with all edits made. Those at the same place stay in the order in which they
// were noted.
func (s *source) result() []byte {
	sort.SliceStable(s.edits, func(i, j int) bool { return s.edits[i].from < s.edits[j].from })
	var b bytes.Buffer
	at := 0
	for _, e := range s.edits {
		b.Write(s.text[at:e.from])
		b.WriteString(e.text)
		at = e.to
	}
	b.Write(s.text[at:])
	return b.Bytes()
}
