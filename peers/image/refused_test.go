package image

import (
	"archive/tar"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/testkit/containers"
)

// TestNoImage: what cannot be described is an error that says what to do.
func TestNoImage(t *testing.T) {
	dir := t.TempDir()
	place := func(name string) string { return filepath.Join(dir, name) }
	foreign, zstd, strange := small(), small(), small()
	foreign.Architecture, zstd.MediaType = "arm64", "application/vnd.oci.image.layer.v1.tar+zstd"
	strange.MediaType = "application/x-encrypted"
	many := small()
	many.Layers = make([]containers.Layer, maxLayers+1)
	err := errors.Join(
		os.WriteFile(place("text"), []byte("no archive at all, but a text of more than one block\n"), 0o600),
		os.WriteFile(place("zstd"), append([]byte{0x28, 0xb5, 0x2f, 0xfd}, "rest"...), 0o600),
		os.WriteFile(place("empty"), nil, 0o600), os.Mkdir(place("dir"), 0o700),
		foreign.Save(place("foreign.tar")), containers.Layout(place("foreign"), foreign),
		containers.Layout(place("zstd-layers"), zstd), containers.Layout(place("strange"), strange),
		many.Save(place("many.tar")), containers.Layout(place("none")),
		containers.Layout(place("damaged"), small()))
	if err != nil {
		t.Fatal(err)
	}
	damage(t, place("damaged"), `"linux"`, `"LINUX"`)
	for name, want := range map[string]string{
		"missing": "there is no such file or directory: check the name, and write engine:NAME",
		"text":    "is no container image: it is no tar archive, or a damaged one",
		"empty":   "it is no tar archive",
		"zstd":    "it is compressed by zstd, which is not supported: write it with gzip",
		"dir": "is no container image: it has neither index.json (OCI) nor " +
			"manifest.json (docker save)",
		"none":        "is no container image: it holds none",
		"foreign.tar": "the image is for linux on arm64: give one for",
		"foreign":     "the image is for linux on arm64: give one for linux on amd64",
		"zstd-layers": "layer 1: it is compressed by zstd, which is not supported",
		"strange":     `layer 1: its media type "application/x-encrypted" is not supported`,
		"many.tar":    "the image has 129 layers, allowed are 128",
		"damaged":     "the image is damaged; write it anew",
		"/dev/null":   "is neither a regular file nor a directory",
	} {
		source := place(name)
		if filepath.IsAbs(name) {
			source = name
		}
		if d, err := Describe(t.Context(), source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %q", name, d, err, want)
		}
	}
}

// damage replaces a text in all blobs of a layout that have it.
func damage(t *testing.T, layout, from, to string) {
	t.Helper()
	blobs, err := filepath.Glob(layout + "/blobs/sha256/*")
	if err != nil {
		t.Fatal(err)
	}
	done := false
	for _, file := range blobs {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), from) {
			done = true
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), from, to)),
				0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !done {
		t.Fatalf("no blob of %s has %q", layout, from)
	}
}

// TestLayersThatAreRefused: an image that would write elsewhere, or whose layers are other ones, is
// refused, and leaves nothing in the cache.
func TestLayersThatAreRefused(t *testing.T) {
	for want, layer := range map[string]containers.Layer{
		"has .. in it":                      {{Name: "a/../../../tmp/escaped", Content: "x"}},
		"is a hard link to \"/etc/shadow\"": {{Name: "x", Type: tar.TypeLink, Link: "/etc/shadow"}},
		"is of a kind that no image has":    {{Name: "x", Type: tar.TypeCont}},
		"is no user":                        {{Name: "x", UID: 1<<32 - 1}},
		"make the directory": {{Name: "l", Type: tar.TypeSymlink, Link: "/none"},
			{Name: "l/x"}},
	} {
		i := containers.Image{Layers: []containers.Layer{layer}}
		cache := t.TempDir()
		err := extractSaved(t, i, cache)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", layer, err, want)
		}
		left, err := os.ReadDir(cache)
		if err != nil || len(left) > 0 {
			t.Errorf("%+v: in the cache is left %v, %v", layer, left, err)
		}
	}
}

// extractSaved writes an archive and extracts it.
func extractSaved(t *testing.T, i containers.Image, cache string) error {
	t.Helper()
	source := filepath.Join(t.TempDir(), "image.tar")
	if err := i.Save(source); err != nil {
		t.Fatal(err)
	}
	d, err := Describe(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Extract(t.Context(), d.Reference, cache)
	return err
}

// TestLinksStayInside: links that lead out of the tree, absolute or not, lead to places in the
// tree, and what is removed through them is removed there.
func TestLinksStayInside(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(outside+"/victim", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	i := containers.Image{Layers: []containers.Layer{{
		{Name: outside[1:] + "/"}, {Name: "abs", Type: tar.TypeSymlink, Link: outside},
		{Name: "up", Type: tar.TypeSymlink, Link: strings.Repeat("../", 30) + outside[1:]},
		{Name: "abs/one", Content: "1"}, {Name: "up/two", Content: "2"},
		{Name: "hard", Type: tar.TypeLink, Link: "abs/one"},
	}, {{Name: "abs/.wh.victim"}, {Name: "up/.wh..wh..opq"}, {Name: "abs/three", Content: "3"}}}}
	cache := t.TempDir()
	if err := extractSaved(t, i, cache); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(outside + "/victim"); err != nil || string(text) != "mine" {
		t.Errorf("the file outside holds %q, %v", text, err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 1 {
		t.Errorf("outside there are %v, %v", left, err)
	}
	for name, want := range map[string]bool{"/three": true, "/one": false, "/two": false} {
		found, err := filepath.Glob(cache + "/1-*/own" + outside + name)
		if err != nil || (len(found) == 1) != want {
			t.Errorf("inside, %s is at %v, %v; want %t", name, found, err, want)
		}
	}
}

// TestChangedImages: another image at the same place, and contents without their digests, are
// refused when the image is extracted.
func TestChangedImages(t *testing.T) {
	changed, source := small(), filepath.Join(t.TempDir(), "web.tar")
	changed.Config.Cmd = []string{"other"}
	if err := small().Save(source); err != nil {
		t.Fatal(err)
	}
	d, err := Describe(t.Context(), source)
	if err == nil {
		err = changed.Save(source)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = Extract(t.Context(), d.Reference, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "it is another image by now") {
		t.Errorf("after a change: %v", err)
	}
	for format, source := range written(t, small()) {
		if format == "compressed" {
			continue
		}
		d, err := Describe(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		garbleLayer(t, source)
		_, err = Extract(t.Context(), d.Reference, t.TempDir())
		if !errors.Is(err, errDamaged) {
			t.Errorf("%s, damaged: %v", format, err)
		}
	}
}

// garbleLayer changes a byte of a layer, which can still be read.
func garbleLayer(t *testing.T, source string) {
	t.Helper()
	if info, err := os.Stat(source); err == nil && info.IsDir() {
		// The header of gzip has a time, which is no part of the content.
		blobs, err := filepath.Glob(source + "/blobs/sha256/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range blobs {
			text, err := os.ReadFile(file)
			if err == nil && text[0] == 0x1f {
				text[4]++
				err = os.WriteFile(file, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	text, err := os.ReadFile(source)
	if err == nil {
		err = os.WriteFile(source, []byte(strings.Replace(string(text), "#!", "!#", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestTooLarge: an image that holds more than is allowed is refused while it is extracted.
func TestTooLarge(t *testing.T) {
	tree, err := openTree(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	source := filepath.Join(t.TempDir(), "web.tar")
	if err := small().Save(source); err != nil {
		t.Fatal(err)
	}
	a, _, err := openSource(source, "")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	i, err := find(a, "")
	if err != nil {
		t.Fatal(err)
	}
	x := applier{tree: tree, left: 4 << 10}
	if err := x.apply(a, i.layers[0]); !errors.Is(err, errTooLarge) {
		t.Errorf("too many bytes: %v", err)
	}
	x = applier{tree: tree, left: maxBytes, entries: maxEntries}
	if err := x.apply(a, i.layers[0]); err == nil || !strings.Contains(err.Error(),
		"more than 524288 files") {
		t.Errorf("too many files: %v", err)
	}
	_, err = cleanName(strings.Repeat("x", maxName+1))
	if err == nil {
		t.Error("a long name is allowed")
	}
}
