package store

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// search is a depth-first search that takes an image at every place, and has room for some
// of them.
type search struct {
	random   *rand.Rand
	room     int
	drop     func([]*Image) *Image
	images   []*Image
	at       map[*Image]int // places
	base     float64
	last     *Image // that the peers came by
	replayed int
}

func (s *search) save(place int) {
	for len(s.images) >= s.room {
		least := s.drop(s.images)
		s.base = max(s.base, least.usefulness())
		s.images = slices.DeleteFunc(s.images, func(i *Image) bool { return i == least })
		least.gone = true
		for _, i := range s.images {
			if i.Parent == least {
				i.follow(least)
			}
		}
	}
	i := &Image{first: len(s.images) == 0, History: History{Parent: s.last, Steps: 1, base: s.base}}
	for i.Parent != nil && i.Parent.gone {
		i.follow(i.Parent)
	}
	s.images = append(s.images, i)
	s.at[i], s.last = place, i
}

// restore goes to a place from the nearest image above.
func (s *search) restore(place int, above map[int]int) {
	for ; ; place = above[place] {
		for _, i := range s.images {
			if s.at[i] == place {
				i.uses++
				i.base, s.last = s.base, i
				return
			}
		}
		s.replayed++
	}
}

// run goes through a random tree of places, of which some have to be come back to.
func (s *search) run(depth int) {
	above, depths, waiting := map[int]int{}, map[int]int{0: 0}, []int{}
	s.save(0)
	forward := func(place int) {
		for depths[place] < depth {
			for s.random.IntN(4) == 0 {
				waiting = append(waiting, place)
			}
			next := len(depths)
			above[next], depths[next] = place, depths[place]+1
			s.save(next)
			place = next
		}
	}
	forward(0)
	for n := 0; n < 500 && len(waiting) > 0; n++ {
		place := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		s.restore(place, above)
		forward(place)
	}
}

// TestLeastUsefulSavesReplay: to drop the oldest image, as one could, costs a search far more
// inputs that are given again.
func TestLeastUsefulSavesReplay(t *testing.T) {
	oldest := func(all []*Image) *Image { return all[1] } // but for the first
	for _, size := range []struct{ depth, room int }{{20, 8}, {40, 16}, {100, 30}} {
		var replayed [2]int
		for seed := range uint64(10) {
			for n, drop := range []func([]*Image) *Image{leastUseful, oldest} {
				s := &search{random: rand.New(rand.NewPCG(seed, 1)), room: size.room, drop: drop,
					at: map[*Image]int{}}
				s.run(size.depth)
				replayed[n] += s.replayed
			}
		}
		t.Logf("to depth %d with room for %d images: %d inputs are given again, with the youngest images %d",
			size.depth, size.room, replayed[0], replayed[1])
		if 3*replayed[0] > 2*replayed[1] {
			t.Error("that is too many")
		}
	}
}
