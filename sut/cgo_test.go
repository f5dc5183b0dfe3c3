package sut

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCgoIsFound: a program is refused if a package has files for cgo, although it could be built without them, and not
// because of files for other systems.
func TestCgoIsFound(t *testing.T) {
	const withC, without = "package p\n\nimport \"C\"\n", "package p\n"
	const other = "//go:build cgo\n\npackage p\n\nimport _ \"example.com/x/q\"\n"
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	toolchain := &Toolchain{Root: strings.TrimSpace(string(root))}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no cgo":                             {map[string]string{"p/p.go": without}, ""},
		"cgo alone":                          {map[string]string{"p/p.go": withC}, "example.com/x/p uses cgo"},
		"cgo beside the same without it":     {map[string]string{"p/c.go": withC, "p/go.go": "//go:build !cgo\n\n" + without}, "example.com/x/p uses cgo"},
		"cgo in what a file for cgo imports": {map[string]string{"p/c.go": other, "p/go.go": without, "q/q.go": "package q\n\nimport \"C\"\n"}, "example.com/x/q uses cgo"},
		"a file for another system":          {map[string]string{"p/p.go": without, "p/p_windows.go": without}, ""},
		"cgo for another system":             {map[string]string{"p/p.go": without, "p/p_windows.go": withC}, ""},
		"nothing":                            {map[string]string{"p/README": ""}, "no required module provides"},
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
