package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocuments follows each document that shows commands with what they print, to the letter, as
// a reader would do: in an empty directory, with the tools in the path.
func TestDocuments(t *testing.T) {
	follow := filepath.Join(t.TempDir(), "follow")
	build := exec.Command("go", "build", "-o", follow, "../../scripts/follow")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	modules, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	followed := 0
	err = filepath.WalkDir("../..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		if filepath.Ext(name) != ".md" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(text), "\n```console\n") {
			return err
		}
		followed++
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel() // each has a directory of its own, and mostly waits
			home := t.TempDir()
			cmd := exec.Command(follow, name)
			// Programs that a document installs go to the user's directory of Go, so that is
			// another one. The modules and what has been built stay where they are.
			cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
				"GOPATH="+filepath.Join(home, "go"), "GOMODCACHE="+strings.TrimSpace(string(modules)),
				"XDG_STATE_HOME="+filepath.Join(home, "state"), "TMPDIR="+home)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
		return nil
	})
	if err != nil || followed == 0 {
		t.Errorf("%d documents show commands, error %v", followed, err)
	}
}
