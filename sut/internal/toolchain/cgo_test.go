package toolchain

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCgoIsFound: a program is refused if a package has files for cgo, also where it could be built
// without them. Files for other systems do not count.
func TestCgoIsFound(t *testing.T) {
	const withC, without = "package p\n\nimport \"C\"\n", "package p\n"
	const other = "//go:build cgo\n\npackage p\n\nimport _ \"example.com/x/q\"\n"
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	toolchain := &Toolchain{Root: strings.TrimSpace(string(root))}
	type files map[string]string
	const first, second = "example.com/x/p uses cgo", "example.com/x/q uses cgo"
	for name, c := range map[string]struct {
		files files
		want  string
	}{
		"no cgo":    {files{"p/p.go": without}, ""},
		"cgo alone": {files{"p/p.go": withC}, first},
		"cgo beside the same without it": {
			files{"p/c.go": withC, "p/go.go": "//go:build !cgo\n\n" + without}, first,
		},
		"cgo in what a file for cgo imports": {
			files{"p/c.go": other, "p/go.go": without, "q/q.go": "package q\n\nimport \"C\"\n"}, second,
		},
		"a file for another system": {files{"p/p.go": without, "p/p_windows.go": without}, ""},
		"cgo for another system":    {files{"p/p.go": without, "p/p_windows.go": withC}, ""},
		"nothing":                   {files{"p/README": ""}, "no required module provides"},
	} {
		dir := t.TempDir()
		c.files["go.mod"] = "module example.com/x\n\ngo 1.25\n"
		c.files["main.go"] = "package main\n\nimport _ \"example.com/x/p\"\n\nfunc main() {}\n"
		for file, content := range c.files {
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		packages, err := toolchain.list(context.Background(), BuildOptions{Dir: dir, Package: "."})
		switch {
		case c.want == "" && (err != nil || packages[len(packages)-1].ImportPath != "example.com/x"):
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want one that says %q", name, err, c.want)
		}
	}
}
