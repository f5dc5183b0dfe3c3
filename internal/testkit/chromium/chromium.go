// Package chromium finds the browser in which tests look at pages.
package chromium

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// names are those of Chromium and its kin, the one that scripts/setup.sh installs first.
var names = []string{"chromium", "chromium-browser", "google-chrome"}

// Path returns the path of a browser. Debian has Chromium as a package, so there its absence is a
// failure. Ubuntu has it only as a snap, which scripts/setup.sh does not install. There the test is
// skipped, and says what it leaves out.
func Path(t *testing.T) string {
	t.Helper()
	release, err := os.ReadFile("/etc/os-release")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	path, problem, skip := find(exec.LookPath, string(release))
	switch {
	case skip:
		t.Skip(problem)
	case problem != "":
		t.Fatal(problem)
	}
	return path
}

// find looks for a browser with look. Release is the text of /etc/os-release.
func find(look func(string) (string, error), release string) (path, problem string, skip bool) {
	for _, name := range names {
		path, err := look(name)
		// The package of Ubuntu has a script that asks for the snap.
		if err == nil && !(ubuntu(release) && strings.HasPrefix(path, "/usr/bin/chromium")) {
			return path, "", false
		}
	}
	if ubuntu(release) {
		return "", "LEFT OUT: how a page looks in a browser; Ubuntu has Chromium only as a snap: " +
			"put a browser called " + strings.Join(names, ", ") + " into the path", true
	}
	return "", "a page is shown in Chromium, which scripts/setup.sh all installs: " +
		"none is in the path", false
}

func ubuntu(release string) bool {
	for line := range strings.Lines(release) {
		if strings.TrimSpace(line) == "ID=ubuntu" {
			return true
		}
	}
	return false
}
