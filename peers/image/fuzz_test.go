package image

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzLayer applies arbitrary layers. Whatever they say, nothing outside of the tree changes, and
// the tree can be removed.
func FuzzLayer(f *testing.F) {
	source := filepath.Join(f.TempDir(), "web.tar")
	if err := small().Save(source); err != nil {
		f.Fatal(err)
	}
	a, _, err := openSource(source, "")
	if err != nil {
		f.Fatal(err)
	}
	defer a.Close()
	for _, name := range []string{"0/layer.tar", "1/layer.tar"} {
		text, err := readFile(a, name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		above := t.TempDir()
		victim, place := filepath.Join(above, "victim"), filepath.Join(above, "a/b/tree")
		if err := os.MkdirAll(place, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		// Links that a layer below may have left.
		for name, to := range map[string]string{"up": "../../..", "abs": above, "etc": "/a"} {
			if err := os.Symlink(to, filepath.Join(place, name)); err != nil {
				t.Fatal(err)
			}
		}
		tree, err := openTree(place)
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Close()
		x := applier{tree: tree, left: 1 << 20}
		_ = x.extract(strings.NewReader(text)) // an error is allowed
		if mine, err := os.ReadFile(victim); err != nil || string(mine) != "mine" {
			t.Errorf("the file outside holds %q, %v", mine, err)
		}
		for dir, want := range map[string]int{above: 2, above + "/a": 1, above + "/a/b": 1} {
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != want {
				t.Errorf("%s holds %v, %v", dir, entries, err)
			}
		}
	})
}

// FuzzDescribe reads arbitrary archives. An error is allowed, and a description is one that a peer
// can be made of.
func FuzzDescribe(f *testing.F) {
	dir := f.TempDir()
	for _, name := range []string{"web.tar", "web.tar.gz"} {
		if err := small().Save(filepath.Join(dir, name)); err != nil {
			f.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		source := filepath.Join(t.TempDir(), "image.tar")
		if err := os.WriteFile(source, text, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Describe(t.Context(), source)
		if err == nil && (!strings.HasPrefix(d.Digest, "sha256:") || !filepath.IsAbs(d.Directory)) {
			t.Errorf("described as %+v", d)
		}
	})
}
