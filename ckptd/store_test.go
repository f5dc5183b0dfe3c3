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

// TestStoreAgainstTwin compares the store with a list of what should be in it.
func TestStoreAgainstTwin(t *testing.T) {
	type twin struct {
		id    string
		group uint64
		first bool
		size  int64
	}
	rapid.Check(t, func(t *rapid.T) {
		directory, err := os.MkdirTemp("", "tandem-store-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(directory)
		var model []twin
		total := func() (sum int64) {
			for _, m := range model {
				sum += m.size
			}
			return sum
		}
		sizes := map[string]int64{}
		s := &store{directory: directory, maxBytes: int64(rapid.IntRange(1, 20).Draw(t, "bytes")), maxImages: rapid.IntRange(1, 6).Draw(t, "images")}
		s.used = func() (sum int64, err error) {
			for _, i := range s.images {
				sum += sizes[i.id]
			}
			return sum, nil
		}
		dropOldest := func(except string) (string, bool) {
			for n, m := range model {
				if !m.first && m.id != except {
					model = slices.Delete(model, n, n+1)
					return m.id, true
				}
			}
			return "", false
		}
		add := func(group uint64, size int64) {
			var want []string
			full := false
			for len(model) >= s.maxImages && !full {
				id, ok := dropOldest("")
				if full = !ok; ok {
					want = append(want, id)
				}
			}
			i, dropped, err := s.create(group)
			if full {
				if !errors.Is(err, ErrStoreFull) {
					t.Fatalf("create in a full store: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			sizes[i.id] = size
			first := !slices.ContainsFunc(model, func(m twin) bool { return m.group == group })
			model = append(model, twin{i.id, group, first, size})
			for total() > s.maxBytes && !full {
				id, ok := dropOldest(i.id)
				if full = !ok; ok {
					want = append(want, id)
				}
			}
			more, err := s.settle(i)
			if full {
				model = model[:len(model)-1]
			}
			if full != errors.Is(err, ErrStoreFull) || full != (err != nil) {
				t.Fatalf("settle: %v, want full: %t", err, full)
			}
			if got := append(dropped, more...); !slices.Equal(got, want) {
				t.Fatalf("dropped %v, want %v", got, want)
			}
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			group := uint64(rapid.IntRange(1, 3).Draw(t, "group"))
			switch rapid.SampledFrom([]string{"add", "add", "add", "drop", "remove group"}).Draw(t, "step") {
			case "add":
				add(group, int64(rapid.IntRange(0, 8).Draw(t, "size")))
			case "drop":
				id := fmt.Sprintf("g%d-%d", group, rapid.IntRange(1, 10).Draw(t, "number"))
				at := slices.IndexFunc(model, func(m twin) bool { return m.id == id })
				i, err := s.use(group, id)
				if (at >= 0) != (err == nil) || (err != nil && !errors.Is(err, ErrImageGone)) {
					t.Fatalf("use of %s: %v", id, err)
				}
				if err == nil {
					if err := s.remove(i); err != nil {
						t.Fatal(err)
					}
					model = slices.Delete(model, at, at+1)
				}
			case "remove group":
				if err := s.removeGroup(group); err != nil {
					t.Fatal(err)
				}
				model = slices.DeleteFunc(model, func(m twin) bool { return m.group == group })
			}
			var have, want, directories []string
			for _, i := range s.images {
				have = append(have, i.id)
			}
			for _, m := range model {
				want = append(want, m.id)
			}
			found, _ := filepath.Glob(directory + "/*")
			for _, f := range found {
				directories = append(directories, filepath.Base(f))
			}
			if !slices.Equal(have, want) {
				t.Fatalf("the store holds %v, not %v", have, want)
			}
			slices.Sort(want)
			if slices.Sort(directories); !slices.Equal(directories, want) {
				t.Fatalf("the directory holds %v, not %v", directories, want)
			}
		}
	})
}

func TestImageInUseIsNotDropped(t *testing.T) {
	s := &store{directory: t.TempDir(), maxBytes: 100, maxImages: 3, used: func() (int64, error) { return 0, nil }}
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
