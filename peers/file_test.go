package peers

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestFilesStayBelow: a path either is refused, or leads to a place below the scratch directory.
func TestFilesStayBelow(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "..", ".", "", "b c", "\x00", "\xff", Scratch, "/"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 5).Draw(t, "parts"), "/")
		f := File{Path: text}
		below, err := f.Below(Scratch)
		if err != nil {
			return
		}
		whole := path.Join("/scratch", below)
		if !strings.HasPrefix(whole, "/scratch/") || path.Clean(below) != below ||
			strings.ContainsRune(below, 0) {
			t.Fatalf("%q is below, as %q", text, below)
		}
		for _, other := range []string{Scratch + "/" + below, "./" + below} {
			if (File{Path: other}).place() != f.place() {
				t.Fatalf("%q and %q are two places", text, other)
			}
		}
	})
}

func TestTargetsOfBinds(t *testing.T) {
	for target, allowed := range map[string]bool{
		"/etc/passwd": true, "/root": true, "/processes": true, // the last only begins like /proc
		"/": false, "etc": false, "/etc/": false, "/etc/../etc": false, "": false,
		"/proc": false, "/proc/1": false, "/dev/null": false, "/run": false, "/run/tandem": false,
	} {
		if err := ValidateTarget(target); (err == nil) != allowed {
			t.Errorf("%q: %v", target, err)
		}
	}
}

func TestDirectoriesAreToldByTheirPath(t *testing.T) {
	if !(File{Path: "a/"}).IsDirectory() || (File{Path: "a"}).IsDirectory() {
		t.Error("a directory is a path that ends with a slash")
	}
	g := Group{Files: []File{{Path: "a/"}, {Path: "b"}, {Path: "c", Mode: 0o600}}}.In("/s")
	for i, want := range []string{"drwxr-xr-x", "-rw-r--r--", "-rw-------"} {
		if got := g.Files[i].Mode.String(); got[1:] != want[1:] {
			t.Errorf("%s has mode %s, want %s", g.Files[i].Path, got, want)
		}
	}
}
