package overlay

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestUnexported(t *testing.T) {
	const text = `// Package p has A.
package p

// Shared has a Kind.
type Shared struct {
	IP, From [Size]byte
	Kind     uint8
	PC       uint64
}

const Size = OtherSize + FirstFD

const (
	OtherSize = 3
	FirstFD   = 1
)
`
	const want = `// Package p has A.
package runtime

// Shared has a Kind.
type shared struct {
	ip, from [size]byte
	kind     uint8
	pc       uint64
}

const size = otherSize + firstFD

const (
	otherSize = 3
	firstFD   = 1
)
`
	got, err := Unexported([]byte(text), "runtime")
	if err != nil || string(got) != want {
		t.Errorf("error %v, got\n%s\nwant\n%s", err, got, want)
	}
	for what, text := range map[string]string{
		"an import": "package p\n\nimport \"os\"\n", "no Go": "package",
	} {
		if _, err := Unexported([]byte(text), "runtime"); err == nil {
			t.Errorf("a file with %s is taken", what)
		}
	}
}

// TestFiles: all that is added belongs to its package, has a name that no file of Go's own has but
// for those that it is to replace, and exports nothing.
func TestFiles(t *testing.T) {
	replaced := []string{"runtime/race.go", "runtime/race_amd64.s"}
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"runtime/tandem_shared.go", "syscall/tandem_environment.go", "runtime/tandem_amd64.s",
	} {
		if files[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
	for name, text := range files {
		pkg, base := filepath.Split(name)
		if !strings.HasPrefix(base, "tandem") && !slices.Contains(replaced, name) {
			t.Errorf("%s may have the name of a file of Go's own", name)
		}
		if !strings.HasSuffix(name, ".go") || name == replaced[0] {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		if tree.Name.Name+"/" != pkg {
			t.Errorf("%s is of package %s", name, tree.Name.Name)
		}
		for _, d := range tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.IsExported() {
				t.Errorf("%s exports %s", name, f.Name.Name)
			}
		}
	}
}
