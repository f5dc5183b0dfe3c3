package store

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/testkit"
)

// twin is a store beside a list of what should be in it.
type twin struct {
	t     *rapid.T
	store *Store
	ever  map[string]*twinImage // all images that ever were
	model []*twinImage
	base  float64
}

type twinImage struct {
	id                  string
	image               *Image
	group               uint64
	first, unrepeatable bool
	parent              *twinImage // whether it is gone or not
	steps, uses         int
	bytes               int64
	base                float64
}

func newTwin(t *rapid.T, directory string) *twin {
	w := &twin{t: t, ever: map[string]*twinImage{}}
	w.store = &Store{
		Directory: directory,
		MaxBytes:  int64(rapid.IntRange(1, 60000).Draw(t, "bytes")),
		MaxImages: rapid.IntRange(1, 6).Draw(t, "images"),
		Free:      func() (int64, error) { return 0, nil },
		Used:      func() (int64, error) { return 0, nil }, // all is outside of the directory
	}
	return w
}

func (w *twin) total() (sum int64) {
	for _, m := range w.model {
		sum += m.bytes
	}
	return sum
}

// worth tells in how far an image may be had again without, and what it is worth.
func (w *twin) worth(m *twinImage) (unrepeatable bool, worth float64) {
	steps := 0
	for at := m; at != nil && (at == m || !slices.Contains(w.model, at)); at = at.parent {
		steps += at.steps
		unrepeatable = unrepeatable || at.unrepeatable
	}
	return unrepeatable, m.base + float64(1+m.uses)*float64(steps)/max(4096, float64(m.bytes))
}

// makeRoom drops images from the model while it is too full; false if it stays so.
func (w *twin) makeRoom(except string, tooFull func() bool) (dropped []string, ok bool) {
	for tooFull() {
		candidates := slices.DeleteFunc(slices.Clone(w.model),
			func(m *twinImage) bool { return m.first || m.id == except })
		slices.SortStableFunc(candidates, func(a, b *twinImage) int {
			x, least := w.worth(a)
			y, most := w.worth(b)
			if x != y {
				return map[bool]int{true: 1, false: -1}[x]
			}
			return cmp.Compare(least, most)
		})
		if len(candidates) == 0 {
			return dropped, false
		}
		_, worth := w.worth(candidates[0])
		w.base = max(w.base, worth)
		dropped = append(dropped, candidates[0].id)
		w.model = slices.DeleteFunc(w.model, func(m *twinImage) bool { return m == candidates[0] })
	}
	return dropped, true
}

func (w *twin) add(group uint64, m *twinImage) {
	want, ok := w.makeRoom("", func() bool { return len(w.model) >= w.store.MaxImages })
	from := History{Steps: m.steps, Unrepeatable: m.unrepeatable}
	if m.parent != nil {
		from.Parent = m.parent.image
	}
	i, dropped, err := w.store.Create(group, from)
	if !ok {
		if !errors.Is(err, wire.ErrNotStored) {
			w.t.Fatalf("create in a full store: %v", err)
		}
		return
	}
	if err != nil {
		w.t.Fatal(err)
	}
	m.id, m.image, m.group, m.base = i.ID, i, group, w.base
	m.first = !slices.ContainsFunc(w.model, func(m *twinImage) bool { return m.group == group })
	i.held = m.bytes
	w.ever[m.id] = m
	w.model = append(w.model, m)
	more, fits := w.makeRoom(i.ID, func() bool { return w.total() > w.store.MaxBytes })
	if !fits {
		w.model = w.model[:len(w.model)-1]
	}
	got, err := w.store.Commit(i)
	if fits != (err == nil) || fits == errors.Is(err, wire.ErrNotStored) {
		w.t.Fatalf("settle: %v, want success: %t", err, fits)
	}
	if got, want := append(dropped, got...), append(want, more...); !slices.Equal(got, want) {
		w.t.Fatalf("dropped %v, want %v", got, want)
	}
}

// parent draws one of the images of a group that ever were.
func (w *twin) parent(group uint64) *twinImage {
	var all []*twinImage
	for _, id := range slices.Sorted(maps.Keys(w.ever)) {
		if m := w.ever[id]; m.group == group {
			all = append(all, m)
		}
	}
	if n := rapid.IntRange(0, len(all)).Draw(w.t, "parent"); n < len(all) {
		return all[n]
	}
	return nil
}

func (w *twin) restore(group uint64, id string) {
	at := slices.IndexFunc(w.model, func(m *twinImage) bool { return m.id == id })
	i, err := w.store.Use(group, id)
	if (at >= 0) != (err == nil) {
		w.t.Fatalf("use of %s: %v", id, err)
	}
	if err == nil {
		w.store.Restored(i)
		w.store.Release(i)
		w.model[at].uses++
		w.model[at].base = w.base
	}
}

func (w *twin) drop(group uint64, id string) {
	at := slices.IndexFunc(w.model, func(m *twinImage) bool { return m.id == id })
	i, err := w.store.Use(group, id)
	if (at >= 0) != (err == nil) || (err != nil && !errors.Is(err, wire.ErrImageGone)) {
		w.t.Fatalf("use of %s: %v", id, err)
	}
	if err == nil {
		if err := w.store.Remove(i); err != nil {
			w.t.Fatal(err)
		}
		w.model = slices.Delete(w.model, at, at+1)
	}
}

func (w *twin) removeGroup(group uint64) {
	if err := w.store.RemoveGroup(group); err != nil {
		w.t.Fatal(err)
	}
	w.model = slices.DeleteFunc(w.model, func(m *twinImage) bool { return m.group == group })
}

// compare requires the store and its directory to hold what the model holds.
func (w *twin) compare() {
	var have, want, directories []string
	for _, i := range w.store.images {
		have = append(have, i.ID)
	}
	for _, m := range w.model {
		want = append(want, m.id)
	}
	found, _ := filepath.Glob(w.store.Directory + "/*")
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
			number := fmt.Sprintf("g%d-%d", group, rapid.IntRange(1, 10).Draw(t, "number"))
			switch rapid.SampledFrom([]string{"add", "add", "add", "restore", "drop", "remove group"}).Draw(t,
				"step") {
			case "add":
				w.add(group, &twinImage{
					parent: w.parent(group), steps: rapid.IntRange(0, 5).Draw(t, "steps"),
					unrepeatable: rapid.Bool().Draw(t, "unrepeatable"),
					bytes:        int64(rapid.IntRange(0, 20000).Draw(t, "size")),
				})
			case "restore":
				w.restore(group, number)
			case "drop":
				w.drop(group, number)
			case "remove group":
				w.removeGroup(group)
			}
			w.compare()
		}
	})
}

func TestImageInUseIsNotDropped(t *testing.T) {
	s := &Store{Directory: t.TempDir(), MaxBytes: 100, MaxImages: 3,
		Used: func() (int64, error) { return 0, nil }, Free: func() (int64, error) { return 0, nil }}
	var ids []string
	for range 3 {
		i, _, err := s.Create(1, History{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(i); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, i.ID)
	}
	second, err := s.Use(1, ids[1])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Use(1, ids[1]); !errors.Is(err, wire.ErrImageGone) {
		t.Errorf("an image is in use twice: %v", err)
	}
	if _, dropped, err := s.Create(1, History{}); err != nil || !slices.Equal(dropped, ids[2:]) {
		t.Errorf("dropped %v, %v; the first is to stay and the second is in use", dropped, err)
	}
	s.Release(second)
	if _, err := s.Use(1, ids[1]); err != nil {
		t.Errorf("after its release: %v", err)
	}
}

// TestPeakOfTheStore: what an image took that then made room for itself counts, too.
func TestPeakOfTheStore(t *testing.T) {
	s := &Store{Directory: t.TempDir(), MaxBytes: 100, MaxImages: 9,
		Free: func() (int64, error) { return 0, nil }}
	s.Used = func() (int64, error) { return int64(40 * len(s.images)), nil }
	for n, want := range []int64{40, 80, 120, 120} {
		i, _, err := s.Create(1, History{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(i); err != nil {
			t.Fatal(err)
		}
		if s.peak != want {
			t.Errorf("after %d images the peak is %d, want %d", n+1, s.peak, want)
		}
	}
	if err := s.RemoveGroup(1); err != nil {
		t.Fatal(err)
	}
	var status wire.Status
	if s.Status(&status); status.PeakBytes != 120 || status.Bytes != 0 {
		t.Errorf("without images: %d bytes, and a peak of %d", status.Bytes, status.PeakBytes)
	}
}

func TestOwnBytes(t *testing.T) {
	directory, other := t.TempDir(), t.TempDir()
	testkit.WriteFile(t, filepath.Join(directory, "a"), string(make([]byte, 10000)))
	testkit.WriteFile(t, filepath.Join(other, "b"), string(make([]byte, 10000)))
	alone, err := OwnBytes(directory)
	if err != nil || alone < 10000 {
		t.Errorf("%d, %v", alone, err)
	}
	if err := os.Link(filepath.Join(other, "b"), filepath.Join(directory, "b")); err != nil {
		t.Fatal(err)
	}
	if shared, err := OwnBytes(directory); err != nil || shared != alone {
		t.Errorf("with a file that has another name: %d, %v; without it: %d", shared, err, alone)
	}
}
