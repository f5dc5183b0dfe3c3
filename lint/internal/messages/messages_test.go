package messages

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRead: each way to make an error is known, and what is no message is left out.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/a.go": `package a
const why = "it is " + "wrong"
var errGone = errors.New("it is gone: look elsewhere")
func f() error {
	wrong.add("key", "%d is not allowed: give %d", 1, 2)
	r.report("key", nil, "there is no %s", x)
	_ = Problem{Key: "k", What: "it has no effect:\n\tleave it out"}
	_ = errors.New(why)
	_ = errors.New(prefix() + " more")
	list.add("no", "message")
	_ = fmt.Errorf("%s: %w", file, err)
	return fmt.Errorf("reading %s: %w", file, err)
}
func (e *E) Error() string {
	if e.a { return "an a" }
	return fmt.Sprintf("b %d", e.b)
}
`,
		"a/b/b.go":          "package b\nvar err = errors.New(\"below\")\nvar same = errors.New(\"below\")\n",
		"a/a_test.go":       "package a\nvar err = errors.New(\"a test\")\n",
		"a/testdata/x/x.go": "package x\nvar err = errors.New(\"data\")\n",
		"other/o.go":        "package o\nvar err = errors.New(\"another room\")\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(dir, "a")
	if err != nil {
		t.Fatal(err)
	}
	want := []Message{
		{File: "a/a.go", Text: "%d is not allowed: give %d", Advice: "give %d"},
		{File: "a/a.go", Text: "an a"},
		{File: "a/a.go", Text: "b %d"},
		{File: "a/a.go", Text: "it has no effect: leave it out", Advice: "leave it out"},
		{File: "a/a.go", Text: "it is gone: look elsewhere", Advice: "look elsewhere"},
		{File: "a/a.go", Text: "it is wrong"},
		{File: "a/a.go", Text: "reading %s: %w", Wraps: true},
		{File: "a/a.go", Text: "there is no %s"},
		{File: "a/a.go", Text: "… more"},
		{File: "a/b/b.go", Text: "below"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
