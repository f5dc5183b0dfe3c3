package image

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/internal/testkit/containers"
)

// small is an image of two layers; the second one removes files of the first.
func small() containers.Image {
	return containers.Image{Tag: "web:1", Layers: []containers.Layer{{
		{Name: "etc/a", Content: "a"}, {Name: "etc/b", Content: "b"},
		{Name: "srv/old/x", Content: "x"}, {Name: "srv/old/y", Content: "y"},
		{Name: "usr/lib/libc.so.6", Content: "library"}, {Name: "usr/bin/tool", Content: "#!", Mode: 0o4755},
		{Name: "lib", Type: tar.TypeSymlink, Link: "/usr/lib"},
		{Name: "var/run", Type: tar.TypeSymlink, Link: "/run"}, {Name: "run/dir/pid", Content: "1"},
		{Name: "usr/share/data/x", Content: "x"},
	}, {
		{Name: "etc/.wh.a"}, {Name: "etc/c", Content: "c"}, {Name: "lib/new", Content: "in usr"},
		{Name: "srv/old/.wh..wh..opq"}, {Name: "srv/old/z", Content: "z"},
		{Name: "etc/hard", Type: tar.TypeLink, Link: "etc/b"}, {Name: "dev/sda", Type: tar.TypeBlock},
		{Name: "var/fifo", Type: tar.TypeFifo},
	}}, Config: containers.Config{Entrypoint: []string{"tool"}, Cmd: []string{"-x"}, Env: []string{"A=b"},
		WorkingDir: "/working/", User: "web:77", Volumes: map[string]struct{}{"/data": {},
			"/usr/share/data": {}}}}
}

// written writes an image in every format that can be read, and returns the sources.
func written(t *testing.T, i containers.Image) map[string]string {
	t.Helper()
	dir := t.TempDir()
	sources := map[string]string{"archive": dir + "/web.tar", "compressed": dir + "/web.tar.gz",
		"layout": dir + "/oci"}
	err := errors.Join(i.Save(sources["archive"]), i.Save(sources["compressed"]),
		containers.Layout(sources["layout"], i))
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// TestFormats: every format has the same description and the same files.
func TestFormats(t *testing.T) {
	id, err := small().ID()
	if err != nil {
		t.Fatal(err)
	}
	for format, source := range written(t, small()) {
		t.Run(format, func(t *testing.T) {
			got, err := Describe(t.Context(), source)
			if err != nil {
				t.Fatal(err)
			}
			want := Description{Reference: Reference{source, id}, Entrypoint: []string{"tool"},
				Cmd: []string{"-x"}, Env: []string{"A=b"}, Directory: "/working", User: "web", Group: "77",
				Volumes: []string{"/data", "/usr/share/data"}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the description (-want +got)\n%s", diff)
			}
			tree, err := Extract(t.Context(), got.Reference, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			checkSmall(t, tree)
		})
	}
}

// checkSmall compares a tree with what the image small holds.
func checkSmall(t *testing.T, tree Tree) {
	t.Helper()
	got := listing(t, tree.Directory)
	want := []string{
		"own/data/", "own/dev/", "own/etc/", "own/etc/b b", "own/etc/c c", "own/etc/hard b",
		"own/etc/hosts 127.0.0.1 localhost\n::1 localhost\n", "own/lib -> /usr/lib", "own/proc/", "own/run/",
		"own/srv/", "own/srv/old/", "own/srv/old/z z", "own/sys/", "own/tmp/", "own/usr/", "own/var/",
		"own/var/fifo |", "own/var/run -> /run", "own/working/", "run/", "run/dir/", "run/dir/pid 1",
		"shared/usr/", "shared/usr/bin/", "shared/usr/bin/tool #!", "shared/usr/lib/",
		"shared/usr/lib/libc.so.6 library", "shared/usr/lib/new in usr", "shared/usr/share/",
		"shared/usr/share/data/", "shared/usr/share/data/x x",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the files (-want +got)\n%s", diff)
	}
	if !slices.Equal(tree.Shared, []string{"usr"}) || !slices.Equal(tree.Volumes,
		[]string{"usr/share/data"}) ||
		tree.Library != tree.SharedAt("usr/lib/libc.so.6") {
		t.Errorf("the tree is %+v", tree)
	}
	info, err := os.Stat(tree.SharedAt("usr/bin/tool"))
	if err != nil || info.Mode() != 0o755|fs.ModeSetuid || !info.ModTime().Equal(time.Unix(1_700_000_000,
		0)) {
		t.Errorf("usr/bin/tool is %v, %v", info, err)
	}
}

// listing lists the files below the directories of a tree.
func listing(t *testing.T, directory string) (all []string) {
	t.Helper()
	for _, top := range []string{"own", "run", "shared"} {
		err := filepath.WalkDir(filepath.Join(directory, top), func(path string, d fs.DirEntry,
			err error) error {
			if err != nil {
				return err
			}
			line := strings.TrimPrefix(path, directory+"/")
			switch d.Type() {
			case fs.ModeDir:
				line += "/"
			case fs.ModeNamedPipe:
				line += " |"
			case fs.ModeSymlink:
				to, err := os.Readlink(path)
				if err != nil {
					return err
				}
				line += " -> " + to
			default:
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				line += " " + string(text)
			}
			if line != "own/" && line != "shared/" {
				all = append(all, line)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestCache: an image is extracted once, also when it has gone since. Images that nobody uses are
// removed, but not those of the last day, and half made ones with them.
func TestCache(t *testing.T) {
	source, cache := filepath.Join(t.TempDir(), "web.tar"), t.TempDir()
	if err := small().Save(source); err != nil {
		t.Fatal(err)
	}
	d, err := Describe(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	ages := map[string]time.Duration{"making-old": 8 * 24 * time.Hour, "1-unused": 8 * 24 * time.Hour}
	for n := range maxKept + 4 {
		ages[fmt.Sprintf("1-used%02d", n)] = time.Duration(n) * 2 * time.Hour
	}
	for name, age := range ages {
		dir, then := filepath.Join(cache, name), time.Now().Add(-age)
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Chtimes(dir, then, then)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Extract(t.Context(), d.Reference, cache); err != nil {
		t.Fatal(err)
	}
	for name, age := range ages {
		_, err := os.Stat(filepath.Join(cache, name))
		// From the sixteenth on, only those of the last day are kept.
		if isKept := err == nil; isKept != (age < 30*time.Hour) {
			t.Errorf("%s, used %v ago: kept %t", name, age, isKept)
		}
	}
	if err := os.Remove(source); err != nil {
		t.Fatal(err)
	}
	tree, err := Extract(t.Context(), d.Reference, cache)
	if err != nil {
		t.Fatal(err)
	}
	checkSmall(t, tree)
}

// TestOneOfSeveral: a tag or a digest behind the name chooses one image.
func TestOneOfSeveral(t *testing.T) {
	first, second := small(), small()
	second.Tag, second.Config.Cmd = "web:2", []string{"two"}
	dir := t.TempDir()
	if err := containers.Layout(dir, first, second); err != nil {
		t.Fatal(err)
	}
	for suffix, want := range map[string]string{":1": "-x", ":2": "two"} {
		if d, err := Describe(t.Context(), dir+suffix); err != nil || d.Cmd[0] != want {
			t.Errorf("%s: %v, %v", suffix, d.Cmd, err)
		}
	}
	var index struct{ Manifests []struct{ Digest string } }
	text, err := os.ReadFile(dir + "/index.json")
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	if err != nil {
		t.Fatal(err)
	}
	if d, err := Describe(t.Context(), dir+"@"+index.Manifests[1].Digest); err != nil || d.Cmd[0] != "two" {
		t.Errorf("by its digest: %v, %v", d.Cmd, err)
	}
	for suffix, want := range map[string]string{"": "it holds 2 images: put :TAG or @DIGEST behind its " +
		"name, " +
		"with one of 1, 2", ":3": `it has no image "3", or several: name one of 1, 2`} {
		if _, err := Describe(t.Context(), dir+suffix); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", suffix, err, want)
		}
	}
}

// TestUsers: names are looked up in the lists of the image.
func TestUsers(t *testing.T) {
	i := containers.Image{Layers: []containers.Layer{{
		{Name: "etc/passwd", Type: tar.TypeSymlink, Link: "/usr/passwd"},
		{Name: "usr/passwd", Content: "root:x:0:0::/root:/bin/sh\nweb:x:12:34::/home/web:/bin/sh\nbad:x:z\n"},
		{Name: "etc/group", Content: "root:x:0:\nothers:x:56:\n"},
	}}}
	source := filepath.Join(t.TempDir(), "users.tar")
	if err := i.Save(source); err != nil {
		t.Fatal(err)
	}
	d, err := Describe(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Extract(t.Context(), d.Reference, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for who, want := range map[string]string{
		"": "0 0 /root", "web": "12 34 /home/web", "12": "12 34 /home/web", "99": "99 0 /",
		"web:others": "12 56 /home/web",
		"7:8":        "7 8 /", ":others": "0 56 /root",
		"nobody": `the image has no user "nobody" (see its /etc/passwd)`,
		"web:x":  `the image has no group "x"`,
		"bad":    `the image has no user "bad"`,
	} {
		user, group, _ := strings.Cut(who, ":")
		uid, gid, home, err := tree.LookUp(user, group)
		got := fmt.Sprint(uid, " ", gid, " ", home)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", who, got, want)
		}
	}
}

// TestTextsOfACommand: arguments take the place of those of the image, and none is a list, too.
func TestTextsOfACommand(t *testing.T) {
	d := Description{Entrypoint: []string{"a"}, Cmd: []string{"b"}}
	for want, arguments := range map[string][]string{"a b": nil, "a": {}, "a c d": {"c", "d"}} {
		if got := strings.Join(d.Command(arguments), " "); got != want {
			t.Errorf("with %q: %q, want %q", arguments, got, want)
		}
	}
}
