package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMakefile: each test that a target of make runs by name is in the package that it names.
func TestMakefile(t *testing.T) {
	data, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(data), "\\\n", " ")
	call := regexp.MustCompile(`\$\(GO\) test (\./\S+) .*?-run '?\^?([A-Za-z|]+)`)
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	calls := call.FindAllStringSubmatch(text, -1)
	if len(calls) < 10 {
		t.Fatalf("only %d calls of go test found", len(calls))
	}
	for _, c := range calls {
		var declared []string
		tests, _ := filepath.Glob(filepath.Join("..", c[1], "*_test.go"))
		for _, name := range tests {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range function.FindAllSubmatch(source, -1) {
				declared = append(declared, string(match[1]))
			}
		}
		for _, name := range strings.Split(c[2], "|") {
			if !slices.ContainsFunc(declared, func(d string) bool { return strings.Contains(d, name) }) {
				t.Errorf("make runs %s of %s, and there is no such test", name, c[1])
			}
		}
	}
}
