package store

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
)

// pageSize is what a page of the shared memory of the test counts.
const pageSize = 4096

// slack is what rounding may make of all shares together: a byte for each page and image.
const slack = 500

// machine is the memory of all images in memory: which images have which page.
type machine map[int]map[*sharing]bool

// bytes is what all of it takes: the dumb twin of the sum that the store keeps.
func (m machine) bytes(fixed int64) (total int64) {
	images := map[*sharing]bool{}
	for _, users := range m {
		if len(users) > 0 {
			total += pageSize
		}
		for s := range users {
			images[s] = true
		}
	}
	return total + int64(len(images))*fixed
}

// sharing is an image in memory, whose pages others may have, too, as copies of one process do. It
// tells what the kernel would.
type sharing struct {
	Saved
	memory machine
	fixed  int64
	ended  int
	ending func() // called before it ends; nil: nobody looks
}

func (s *sharing) InMemory() bool { return true }
func (s *sharing) Fixed() int64   { return s.fixed }

// Bytes counts the pages that no other image has.
func (s *sharing) Bytes() int64 {
	total := s.fixed
	for _, users := range s.memory {
		if users[s] && len(users) == 1 {
			total += pageSize
		}
	}
	return total
}

// Weigh counts a share of each page. Shares are rounded down: see slack.
func (s *sharing) Weigh() int64 {
	total := s.fixed
	for _, users := range s.memory {
		if users[s] {
			total += pageSize / int64(len(users))
		}
	}
	return total
}

func (s *sharing) End() {
	if s.ended++; s.ending != nil {
		s.ending()
	}
	for _, users := range s.memory {
		delete(users, s)
	}
}

// TestBudgetOfSharedMemory: with images that share pages, an image has to go exactly when all of
// them together take more than there may be, each page counted once. The store only has estimates
// of that, and knows when it must make them exact.
func TestBudgetOfSharedMemory(t *testing.T) {
	directory := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		memory := machine{}
		const fixed = 100
		s := &Store{Directory: directory, MaxImages: 100,
			MaxBytes: int64(rapid.IntRange(2, 12).Draw(t, "pages that there may be"))*pageSize + 1000,
			Used:     func() (int64, error) { return 0, nil }, Free: func() (int64, error) { return 0, nil }}
		defer s.RemoveGroup(1)
		all := map[string]*sharing{}
		last := []int{}
		for range rapid.IntRange(1, 20).Draw(t, "checkpoints") {
			i, dropped, err := s.Create(1, History{Steps: rapid.IntRange(0, 3).Draw(t, "steps")})
			if err != nil || len(dropped) > 0 {
				t.Fatalf("%v, dropped %v", err, dropped)
			}
			// Pages are a process's from one image to the next, but for those that it has written.
			now := rapid.SliceOfNDistinct(rapid.IntRange(0, 15), 1, 6, rapid.ID[int]).Draw(t, "pages")
			kept := slices.DeleteFunc(slices.Clone(last),
				func(int) bool { return rapid.Bool().Draw(t, "written") })
			by := &sharing{memory: memory, fixed: fixed}
			for _, page := range append(kept, now...) {
				if memory[page] == nil || !slices.Contains(kept, page) && len(memory[page]) > 0 {
					// Another content: a page of its own.
					page = len(memory) + 100
				}
				if memory[page] == nil {
					memory[page] = map[*sharing]bool{}
				}
				memory[page][by] = true
				if !slices.Contains(kept, page) {
					kept = append(kept, page)
				}
			}
			last = kept
			all[i.ID] = by
			s.Hold(i, by)
			before := map[string]int64{} // what all take when one has to go, by the twin
			for id, other := range all {
				other.ending = func() { before[id] = memory.bytes(fixed) }
			}
			got, err := s.Commit(i)
			if err != nil && !errors.Is(err, wire.ErrNoRoom) {
				t.Fatal(err)
			}
			for id, bytes := range before {
				if bytes <= s.MaxBytes-slack {
					t.Fatalf("%s goes of %d bytes, where %d are allowed", id, bytes, s.MaxBytes)
				}
			}
			if now := memory.bytes(fixed); now > s.MaxBytes+slack {
				t.Fatalf("%d bytes are left, where %d are allowed", now, s.MaxBytes)
			}
			for _, id := range got {
				if all[id].ended != 1 {
					t.Errorf("%s was dropped, and ended %d times", id, all[id].ended)
				}
				delete(all, id)
			}
			if err != nil {
				delete(all, i.ID)
			}
		}
		if len(all) != len(s.images) {
			t.Errorf("%d images, want %d", len(s.images), len(all))
		}
	})
}
