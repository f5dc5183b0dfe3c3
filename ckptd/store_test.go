package ckptd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// twin is a store beside a list of what should be in it.
type twin struct {
	t     *rapid.T
	store *store
	sizes map[string]int64 // of all images that ever were
	model []twinImage
}

type twinImage struct {
	id    string
	group uint64
	first bool
}

func newTwin(t *rapid.T, directory string) *twin {
	w := &twin{t: t, sizes: map[string]int64{}}
	w.store = &store{
		directory: directory,
		maxBytes:  int64(rapid.IntRange(1, 20).Draw(t, "bytes")),
		maxImages: rapid.IntRange(1, 6).Draw(t, "images"),
	}
	w.store.free = func() (int64, error) { return 0, nil }
	w.store.used = func() (sum int64, err error) {
		for _, i := range w.store.images {
			sum += w.sizes[i.id]
		}
		return sum, nil
	}
	return w
}

func (w *twin) total() (sum int64) {
	for _, m := range w.model {
		sum += w.sizes[m.id]
	}
	return sum
}

// makeRoom drops the oldest images from the model while it is too full; false if it stays so.
func (w *twin) makeRoom(except string, tooFull func() bool) (dropped []string, ok bool) {
	for tooFull() {
		n := slices.IndexFunc(w.model, func(m twinImage) bool { return !m.first && m.id != except })
		if n < 0 {
			return dropped, false
		}
		dropped = append(dropped, w.model[n].id)
		w.model = slices.Delete(w.model, n, n+1)
	}
	return dropped, true
}

func (w *twin) add(group uint64, size int64) {
	want, ok := w.makeRoom("", func() bool { return len(w.model) >= w.store.maxImages })
	i, dropped, err := w.store.create(group)
	if !ok {
		if !errors.Is(err, ErrNotStored) {
			w.t.Fatalf("create in a full store: %v", err)
		}
		return
	}
	if err != nil {
		w.t.Fatal(err)
	}
	first := !slices.ContainsFunc(w.model, func(m twinImage) bool { return m.group == group })
	w.sizes[i.id] = size
	w.model = append(w.model, twinImage{i.id, group, first})
	more, fits := w.makeRoom(i.id, func() bool { return w.total() > w.store.maxBytes })
	if !fits {
		w.model = w.model[:len(w.model)-1]
	}
	got, err := w.store.settle(i)
	if fits != (err == nil) || fits == errors.Is(err, ErrNotStored) {
		w.t.Fatalf("settle: %v, want success: %t", err, fits)
	}
	if got, want := append(dropped, got...), append(want, more...); !slices.Equal(got, want) {
		w.t.Fatalf("dropped %v, want %v", got, want)
	}
}

func (w *twin) drop(group uint64, id string) {
	at := slices.IndexFunc(w.model, func(m twinImage) bool { return m.id == id })
	i, err := w.store.use(group, id)
	if (at >= 0) != (err == nil) || (err != nil && !errors.Is(err, ErrImageGone)) {
		w.t.Fatalf("use of %s: %v", id, err)
	}
	if err == nil {
		if err := w.store.remove(i); err != nil {
			w.t.Fatal(err)
		}
		w.model = slices.Delete(w.model, at, at+1)
	}
}

func (w *twin) removeGroup(group uint64) {
	if err := w.store.removeGroup(group); err != nil {
		w.t.Fatal(err)
	}
	w.model = slices.DeleteFunc(w.model, func(m twinImage) bool { return m.group == group })
}

// compare requires the store and its directory to hold what the model holds.
func (w *twin) compare() {
	var have, want, directories []string
	for _, i := range w.store.images {
		have = append(have, i.id)
	}
	for _, m := range w.model {
		want = append(want, m.id)
	}
	found, _ := filepath.Glob(w.store.directory + "/*")
	for _, f := range found {
		directories = append(directories, filepath.Base(f))
	}
	if !slices.Equal(have, want) {
		w.t.Fatalf("the store holds %v, not %v", have, want)
	}
	slices.Sort(want)
	if slices.Sort(directories); !slices.Equal(directories, want) {
		w.t.Fatalf("the directory holds %v, not %v", directories, want)
	}
}

func TestStoreAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		directory, err := os.MkdirTemp("", "tandem-store-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(directory)
		w := newTwin(t, directory)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			group := uint64(rapid.IntRange(1, 3).Draw(t, "group"))
			switch rapid.SampledFrom([]string{"add", "add", "add", "drop", "remove group"}).Draw(t, "step") {
			case "add":
				w.add(group, int64(rapid.IntRange(0, 8).Draw(t, "size")))
			case "drop":
				w.drop(group, fmt.Sprintf("g%d-%d", group, rapid.IntRange(1, 10).Draw(t, "number")))
			case "remove group":
				w.removeGroup(group)
			}
			w.compare()
		}
	})
}

func TestImageInUseIsNotDropped(t *testing.T) {
	s := &store{directory: t.TempDir(), maxBytes: 100, maxImages: 3, used: func() (int64, error) { return 0, nil }, free: func() (int64, error) { return 0, nil }}
	var ids []string
	for range 3 {
		i, _, err := s.create(1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.settle(i); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, i.id)
	}
	second, err := s.use(1, ids[1])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.use(1, ids[1]); !errors.Is(err, ErrImageGone) {
		t.Errorf("an image is in use twice: %v", err)
	}
	if _, dropped, err := s.create(1); err != nil || !slices.Equal(dropped, ids[2:]) {
		t.Errorf("dropped %v, %v; the first is to stay and the second is in use", dropped, err)
	}
	s.release(second)
	if _, err := s.use(1, ids[1]); err != nil {
		t.Errorf("after its release: %v", err)
	}
}

func TestOwnBytes(t *testing.T) {
	directory, other := t.TempDir(), t.TempDir()
	write(t, filepath.Join(directory, "a"), string(make([]byte, 10000)))
	write(t, filepath.Join(other, "b"), string(make([]byte, 10000)))
	alone, err := ownBytes(directory)
	if err != nil || alone < 10000 {
		t.Errorf("%d, %v", alone, err)
	}
	if err := os.Link(filepath.Join(other, "b"), filepath.Join(directory, "b")); err != nil {
		t.Fatal(err)
	}
	if shared, err := ownBytes(directory); err != nil || shared != alone {
		t.Errorf("with a file that has another name: %d, %v; without it: %d", shared, err, alone)
	}
}
