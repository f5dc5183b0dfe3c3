package narrate

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFailingLine: a line that a test has logged is not the one that says why it fails.
func TestFailingLine(t *testing.T) {
	dir := t.TempDir()
	source := "package x\n\nt.Log(seed)\nt.Errorf(wrong)\nt.Skip()\n"
	if err := os.WriteFile(filepath.Join(dir, "x_test.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want  string
		lines []string
	}{
		{"", nil},
		{"said", []string{"said", "more"}},
		{"    x_test.go:4: wrong", []string{"said", "    x_test.go:3: seed 1", "    x_test.go:4: wrong"}},
		{"    x_test.go:3: seed 1", []string{"    x_test.go:3: seed 1", "    x_test.go:5: skipped"}},
		{"    y_test.go:3: unknown", []string{"    x_test.go:3: seed 1", "    y_test.go:3: unknown"}},
		{"    x_test.go:99: beyond", []string{"    x_test.go:99: beyond"}},
	} {
		if got := failingLine(dir, c.lines); got != c.want {
			t.Errorf("%q: %q, want %q", c.lines, got, c.want)
		}
	}
}
