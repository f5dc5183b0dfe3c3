package memory

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/ckptd/internal/objects"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/testkit"
)

// heldTwin is a group of objects without names, and images that hold some of them, beside what all
// of them should hold, as strings.
type heldTwin struct {
	t      *rapid.T
	table  objects.Table
	fds    [3]int         // of the objects
	now    map[int]string // what each holds
	images []heldImage
}

type heldImage struct {
	held     *heldObjects
	contents map[int]string
}

func newHeldTwin(t *rapid.T) *heldTwin {
	w := &heldTwin{t: t, now: map[int]string{}}
	for n := range w.fds {
		var err error
		if w.fds[n], err = unix.MemfdCreate("test", unix.MFD_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		w.write(n)
	}
	return w
}

// write gives an object another content, as a peer does.
func (w *heldTwin) write(n int) {
	w.now[n] = rapid.StringMatching(`[a-z]{1,9}`).Draw(w.t, "content")
	if err := unix.Ftruncate(w.fds[n], 0); err != nil {
		w.t.Fatal(err)
	}
	if _, err := unix.Pwrite(w.fds[n], []byte(w.now[n]), 0); err != nil {
		w.t.Fatal(err)
	}
}

// save makes an image of some objects, of which there may be several paths.
func (w *heldTwin) save() {
	i := heldImage{&heldObjects{table: &w.table}, map[int]string{}}
	for range rapid.IntRange(1, 5).Draw(w.t, "paths") {
		n := rapid.IntRange(0, 2).Draw(w.t, "object")
		if _, err := i.held.hold(fmt.Sprintf("/proc/self/fd/%d", w.fds[n])); err != nil {
			w.t.Fatal(err)
		}
		i.contents[n] = w.now[n]
	}
	if len(i.held.all) != len(i.contents) {
		w.t.Errorf("%d are held, of %d", len(i.held.all), len(i.contents))
	}
	if err := i.held.save(); err != nil {
		w.t.Fatal(err)
	}
	w.images = append(w.images, i)
}

// compare reads what the objects hold.
func (w *heldTwin) compare() {
	for n, want := range w.now {
		b := make([]byte, 20)
		got, err := unix.Pread(w.fds[n], b, 0)
		if err != nil || string(b[:got]) != want {
			w.t.Fatalf("object %d holds %q, %v, want %q", n, b[:max(got, 0)], err, want)
		}
	}
}

// TestHeldObjects: images hold objects, each of them once. What an image has saved is what it puts
// back, whatever was written since, and nothing is open once all images are gone.
func TestHeldObjects(t *testing.T) {
	before := testkit.OpenFiles(t)
	rapid.Check(t, func(t *rapid.T) {
		w := newHeldTwin(t)
		defer sys.CloseAll(w.fds[:])
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			step := rapid.SampledFrom([]string{"write", "save", "put back", "drop"}).Draw(t, "step")
			n := rapid.IntRange(0, max(len(w.images)-1, 0)).Draw(t, "image")
			switch {
			case step == "write":
				w.write(rapid.IntRange(0, 2).Draw(t, "object"))
			case step == "save" || len(w.images) == 0:
				w.save()
			case step == "put back":
				if err := w.images[n].held.putBack(); err != nil {
					t.Fatal(err)
				}
				maps.Copy(w.now, w.images[n].contents)
			default:
				w.images[n].held.release()
				w.images = slices.Delete(w.images, n, n+1)
			}
			w.compare()
		}
		for _, i := range w.images {
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
