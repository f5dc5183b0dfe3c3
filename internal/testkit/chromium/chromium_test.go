package chromium

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	onDebian = "PRETTY_NAME=\"Debian\"\nID=debian\n"
	onUbuntu = "PRETTY_NAME=\"Ubuntu\"\nID_LIKE=debian\nID=ubuntu\n"
)

// TestFind: without a browser a test fails, but for Ubuntu, where it is skipped. The script that
// Ubuntu installs in the place of Chromium is no browser.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		name, release string
		there         []string
		path          string
		skip          bool
	}{
		{"Debian", onDebian, []string{"/usr/bin/chromium"}, "/usr/bin/chromium", false},
		{"Debian without", onDebian, nil, "", false},
		{"unknown system without", "", nil, "", false},
		{"Ubuntu without", onUbuntu, nil, "", true},
		{"Ubuntu's script", onUbuntu, []string{"/usr/bin/chromium-browser"}, "", true},
		{"Ubuntu with a package of the maker", onUbuntu, []string{"/usr/bin/google-chrome"},
			"/usr/bin/google-chrome", false},
		{"Ubuntu with one's own", onUbuntu, []string{"/usr/local/bin/chromium"},
			"/usr/local/bin/chromium", false},
	} {
		look := func(name string) (string, error) {
			i := slices.IndexFunc(c.there, func(path string) bool { return filepath.Base(path) == name })
			if i < 0 {
				return "", exec.ErrNotFound
			}
			return c.there[i], nil
		}
		path, problem, skip := find(look, c.release)
		if path != c.path || skip != c.skip || (problem == "") != (path != "") {
			t.Errorf("%s: %q, problem %q, skipped %v", c.name, path, problem, skip)
		}
		if skip && !strings.HasPrefix(problem, "LEFT OUT: ") {
			t.Errorf("%s: %q does not say what is left out", c.name, problem)
		}
	}
}
