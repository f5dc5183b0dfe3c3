package memory

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/ckptd/internal/objects"
	"github.com/tandem-mc/tandem/internal/testkit"
)

// TestHeldObjects: images hold objects, each of them once. What an image has saved is what it puts
// back, whatever was written since, and nothing is open once all images are gone. The twin has the
// contents of all objects as strings.
func TestHeldObjects(t *testing.T) {
	before := testkit.OpenFiles(t)
	rapid.Check(t, func(t *rapid.T) {
		var table objects.Table
		fds := make([]int, 3)
		now := map[int]string{} // by object
		write := func(n int) {
			now[n] = rapid.StringMatching(`[a-z]{1,9}`).Draw(t, "content")
			if err := unix.Ftruncate(fds[n], 0); err != nil {
				t.Fatal(err)
			}
			if _, err := unix.Pwrite(fds[n], []byte(now[n]), 0); err != nil {
				t.Fatal(err)
			}
		}
		for n := range fds {
			var err error
			if fds[n], err = unix.MemfdCreate("test", unix.MFD_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			defer unix.Close(fds[n])
			write(n)
		}
		type twin struct {
			held     *heldObjects
			contents map[int]string
		}
		var images []twin
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"write", "save", "put back", "drop"}).Draw(t, "step") {
			case "write":
				write(rapid.IntRange(0, 2).Draw(t, "object"))
			case "save":
				i := twin{&heldObjects{table: &table}, map[int]string{}}
				for range rapid.IntRange(1, 5).Draw(t, "paths") {
					n := rapid.IntRange(0, 2).Draw(t, "object")
					if _, err := i.held.hold(fmt.Sprintf("/proc/self/fd/%d", fds[n])); err != nil {
						t.Fatal(err)
					}
					i.contents[n] = now[n]
				}
				if len(i.held.all) != len(i.contents) {
					t.Errorf("%d are held, of %d", len(i.held.all), len(i.contents))
				}
				if err := i.held.save(); err != nil {
					t.Fatal(err)
				}
				images = append(images, i)
			case "put back":
				if len(images) == 0 {
					continue
				}
				i := rapid.SampledFrom(images).Draw(t, "image")
				if err := i.held.putBack(); err != nil {
					t.Fatal(err)
				}
				maps.Copy(now, i.contents)
			case "drop":
				if len(images) == 0 {
					continue
				}
				n := rapid.IntRange(0, len(images)-1).Draw(t, "image")
				images[n].held.release()
				images = slices.Delete(images, n, n+1)
			}
			for n, want := range now {
				b := make([]byte, 20)
				got, err := unix.Pread(fds[n], b, 0)
				if err != nil || string(b[:got]) != want {
					t.Fatalf("object %d holds %q, %v, want %q", n, b[:max(got, 0)], err, want)
				}
			}
		}
		for _, i := range images {
			i.held.release()
		}
	})
	if after := testkit.OpenFiles(t); after != before {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
}

// TestNothingToHold: what is not a file is an error, and leaves nothing open.
func TestNothingToHold(t *testing.T) {
	before := testkit.OpenFiles(t)
	h := &heldObjects{table: &objects.Table{}}
	for _, path := range []string{"/proc/self/fd/none", "/dev/null", t.TempDir()} {
		if _, err := h.hold(path); err == nil {
			t.Errorf("%s is held", path)
		}
	}
	if h.release(); len(h.all) != 0 || testkit.OpenFiles(t) != before {
		t.Errorf("%d are held", len(h.all))
	}
}
