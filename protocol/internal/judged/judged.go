// Package judged remembers which combinations of the classes of local states a worker has judged,
// and has found to be right. Few steps lead to a combination that is new, so most look-ups end
// here. What is forgotten is judged again, which is slower and not wrong.
package judged

import (
	"encoding/binary"

	"github.com/tandem-mc/tandem/protocol/internal/space"
)

// most bounds how many combinations are remembered.
const most = 1 << 18

// Set is for one goroutine. The zero value has nothing.
type Set struct {
	// A combination is known by its number, if classes are small, or by name.
	numbered space.Index[[1]uint64, struct{}]
	named    map[string]bool
	name     []byte
}

// Has says whether a combination was added.
func (s *Set) Has(classes []uint32) bool {
	if number, ok := numberOf(classes); ok {
		return s.HasNumber(number)
	}
	// The conversion of a key takes no memory in a look-up.
	return s.named[string(s.nameOf(classes))]
}

// HasNumber is Has of a combination of small classes. Each has as many bits of the number, the
// first class the highest ones.
func (s *Set) HasNumber(number uint64) bool { return s.numbered.Find(&[1]uint64{number}) != nil }

// Add adds a combination.
func (s *Set) Add(classes []uint32) {
	if s.numbered.Len()+len(s.named) >= most {
		s.numbered = space.Index[[1]uint64, struct{}]{}
		clear(s.named)
	}
	if number, ok := numberOf(classes); ok {
		s.numbered.Put(&[1]uint64{number}, struct{}{})
		return
	}
	if s.named == nil {
		s.named = map[string]bool{}
	}
	s.named[string(s.nameOf(classes))] = true
}

// nameOf tells combinations apart whatever their classes are. It is right until the next call.
func (s *Set) nameOf(classes []uint32) []byte {
	s.name = s.name[:0]
	for _, c := range classes {
		s.name = binary.AppendUvarint(s.name, uint64(c))
	}
	return s.name
}

// numberOf makes one number of classes, if each is small enough.
func numberOf(classes []uint32) (number uint64, ok bool) {
	width := 64 / len(classes)
	for _, c := range classes {
		if uint64(c)>>width != 0 {
			return 0, false
		}
		number = number<<width | uint64(c)
	}
	return number, true
}
