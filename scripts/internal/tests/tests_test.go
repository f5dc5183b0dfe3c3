package tests

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFind(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a_test.go":          "package a\nfunc FuzzB(f int) {}\nfunc FuzzA(f int) {}\nfunc TestA() {}\n",
		"a/a.go":               "package a\nfunc FuzzC() {}\n",
		"b/c/c_test.go":        "package c\nfunc FuzzD(f int) {}\nfunc (x T) FuzzE() {}\n",
		"b/testdata/x_test.go": "package x\nfunc FuzzF() {}\n",
		".hidden/x_test.go":    "package x\nfunc FuzzG() {}\n",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Find(root, "Fuzz")
	if want := []Function{{"a", "FuzzB"}, {"a", "FuzzA"}, {"b/c", "FuzzD"}}; err != nil ||
		!slices.Equal(found, want) {
		t.Errorf("%v, error %v; want %v", found, err, want)
	}
}
