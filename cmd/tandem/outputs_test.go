package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writable("", there, filepath.Join(dir, "new"), os.DevNull); err != nil {
		t.Error(err)
	}
	for file, want := range map[string]string{
		dir:                                  "it is a directory",
		filepath.Join(dir, "missing", "new"): "name a file in an existing directory",
	} {
		if err := writable(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("trying has left %v", left)
	}
	if text, _ := os.ReadFile(there); string(text) != "kept" {
		t.Errorf("trying has changed the file: %q", text)
	}
}
