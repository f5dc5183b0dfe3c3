package directed

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestStore: states are found by their bytes, with what was noted of them, however many there are.
func TestStore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, want := newStore(), map[string]uint32{}
		for range rapid.IntRange(1, 600).Draw(t, "states") {
			// Some are as long as they may be, most are short.
			state := fmt.Appendf(nil, "%d", rapid.IntRange(0, 900).Draw(t, "state"))
			if rapid.IntRange(0, 100).Draw(t, "long") == 50 {
				state = append(state, make([]byte, blockSize/2-len(state))...)
			}
			known, isKnown := want[string(state)]
			if at := s.find(state); isKnown && at != known || !isKnown && at != none {
				t.Fatalf("%.9s is at %d, want %d, %v", state, at, known, isKnown)
			} else if at == none {
				at, err := s.add(state, mini{depth: int32(len(want)), parent: uint32(len(want))})
				if err != nil {
					t.Fatal(err)
				}
				want[string(state)] = at
			}
		}
		for state, at := range want {
			if m := s.at(at); string(s.state(at)) != state || m.depth != int32(at) || m.parent != at {
				t.Fatalf("state %d is %.9q, %+v; want %.9q", at, s.state(at), m, state)
			}
		}
		if s.count != len(want) || s.size() < int64(s.count*miniSize) {
			t.Fatalf("%d states of %d bytes, want %d", s.count, s.size(), len(want))
		}
	})
	if _, err := newStore().add(make([]byte, blockSize/2+1), mini{}); err == nil {
		t.Error("a state is too long, and is no error")
	}
}

// TestQueue: the lowest key comes first, and of equal ones the state that came last, as in a list
// that is sorted anew each time.
func TestQueue(t *testing.T) {
	type entry struct {
		key   uint64
		state uint32
	}
	rapid.Check(t, func(t *rapid.T) {
		q, twin := newQueue(), []entry(nil)
		for i := range uint32(rapid.IntRange(1, 300).Draw(t, "steps")) {
			if rapid.Bool().Draw(t, "push") {
				e := entry{rapid.Uint64Range(0, 9).Draw(t, "key") << 33, i}
				q.push(e.key, e.state)
				twin = slices.Insert(twin, 0, e)
				slices.SortStableFunc(twin, func(a, b entry) int { return int(a.key>>33) - int(b.key>>33) })
				continue
			}
			key, state, ok := q.pop()
			if ok != (len(twin) > 0) || ok && (entry{key, state}) != twin[0] {
				t.Fatalf("%d, %d, %v; want the first of %v", key, state, ok, twin)
			}
			if ok {
				twin = twin[1:]
			}
			if q.length != len(twin) || len(q.bucket) != len(q.keys) {
				t.Fatalf("%d states in %d of %d buckets; want %d", q.length, len(q.keys), len(q.bucket),
					len(twin))
			}
		}
	})
}
