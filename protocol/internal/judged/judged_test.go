package judged

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestTwin: a set has what was added and nothing else, whether classes are small or large.
func TestTwin(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for nodes := 1; nodes < 5; nodes++ {
		var s Set
		twin := map[string]bool{}
		for range 2000 {
			classes := make([]uint32, nodes)
			for i := range classes {
				// Many are small, and some have all their bits.
				classes[i] = random.Uint32N(4) << (random.Uint32N(2) * 30)
			}
			name := fmt.Sprint(classes)
			if s.Has(classes) != twin[name] {
				t.Fatalf("has %s: %v, want %v", name, !twin[name], twin[name])
			}
			if random.IntN(3) == 0 {
				s.Add(classes)
				twin[name] = true
			}
		}
	}
}

// TestNumber: the number of small classes is what those that have it already ask by.
func TestNumber(t *testing.T) {
	var s Set
	s.Add([]uint32{3, 5})
	if !s.HasNumber(3<<32|5) || s.HasNumber(5<<32|3) {
		t.Error("the number of two classes has the first one in its high half")
	}
}

// TestMost: a set that has very many forgets, and knows what comes then.
func TestMost(t *testing.T) {
	var s Set
	for i := range uint32(most + 10) {
		s.Add([]uint32{i, ^uint32(0) * (i % 2)})
	}
	if n := s.numbered.Len() + len(s.named); n > most {
		t.Errorf("%d combinations, want %d at most", n, most)
	}
	if !s.Has([]uint32{most + 9, ^uint32(0)}) || s.Has([]uint32{0, 0}) {
		t.Error("the last one is to be there, and the first one not any more")
	}
}
