package pages

import (
	"sync"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// block is a value of a size that fits into no page evenly.
type block [1000]uint64

// TestApart: lists are zero, and lists and values of a pool have no memory in common, also where a
// list has the memory of one that was given back.
func TestApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Pool
		defer p.Release()
		known := map[uint64][]uint64{}
		for mark := uint64(1); mark <= uint64(rapid.IntRange(1, 40).Draw(t, "values")); mark++ {
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				known[mark] = New[block](&p)[:]
			case 1:
				n := rapid.SampledFrom([]int{1, 1000, 5001, 70_000, hugePage/8 - 1, hugePage / 8,
					hugePage / 4}).Draw(t, "words")
				known[mark] = p.Words(n)
				for i, word := range known[mark] {
					if word != 0 {
						t.Fatalf("word %d of %d is %d", i, n, word)
					}
				}
			default:
				for old, list := range known {
					checkFilled(t, old, list)
					if len(list) != len(block{}) {
						p.GiveBack(list)
						delete(known, old)
					}
					break
				}
				continue
			}
			for i := range known[mark] {
				known[mark][i] = mark
			}
		}
		for mark, list := range known {
			checkFilled(t, mark, list)
		}
	})
}

func checkFilled(t *rapid.T, mark uint64, list []uint64) {
	for i, word := range list {
		if word != mark {
			t.Fatalf("word %d of list %d is %d", i, mark, word)
		}
	}
}

// ofSystem says whether the system has memory here.
func ofSystem() bool {
	m := newMemory(1)
	if m.bytes != nil {
		m.release()
	}
	return m.bytes != nil
}

// TestInUse: what is not the collector's is counted, until it is given back or released. Little is
// the collector's.
func TestInUse(t *testing.T) {
	before := InUse()
	var p Pool
	p.Words(few / 8)
	if n := InUse() - before; n != 0 {
		t.Errorf("%d bytes for little", n)
	}
	part, list := p.Words(few/8), p.Words(hugePage/8)
	if n := InUse() - before; ofSystem() && n != few+hugePage {
		t.Errorf("%d bytes for a part of %d and a list of %d", n, few, hugePage)
	}
	p.GiveBack(list)
	p.GiveBack(part)
	// A part stays in use, and is given again.
	if n := InUse() - before; ofSystem() && n != few {
		t.Errorf("%d bytes, want those of the part, %d", n, few)
	}
	if again := p.Words(few / 8); ofSystem() && &again[0] != &part[0] {
		t.Error("a part that was given back is not used again")
	}
	p.Release()
	p.Release()
	if n := InUse() - before; n != 0 {
		t.Errorf("%d bytes after the release", n)
	}
}

// TestRefused: what the system does not have is asked of the collector, whose error ends the
// program. So an absurd size is only tried at the system.
func TestRefused(t *testing.T) {
	if m := newMemory(1 << 60); m.bytes != nil {
		t.Errorf("%d bytes", len(m.bytes))
	}
}

// TestAligned: parts begin at lines of the cache, and a long list at a huge page.
func TestAligned(t *testing.T) {
	var p Pool
	defer p.Release()
	p.Words(few / 8)
	for range 5 {
		if at := uintptr(unsafe.Pointer(New[[13]byte](&p))); ofSystem() && at%line != 0 {
			t.Errorf("a part at %x", at)
		}
	}
	if at := uintptr(unsafe.Pointer(&p.Words(hugePage)[0])); ofSystem() && at%hugePage != 0 {
		t.Errorf("a list at %x", at)
	}
}

// TestTogether: goroutines may use a pool at a time.
func TestTogether(t *testing.T) {
	var p Pool
	defer p.Release()
	var done sync.WaitGroup
	for mark := range uint64(4) {
		done.Go(func() {
			var all []*block
			for range 200 {
				b := New[block](&p)
				b[0], b[len(b)-1] = mark, mark
				all = append(all, b)
				list := p.Words(3000)
				list[2999] = mark
				p.GiveBack(list)
			}
			for _, b := range all {
				if b[0] != mark || b[len(b)-1] != mark {
					t.Errorf("a value of %d has %d and %d", mark, b[0], b[len(b)-1])
				}
			}
		})
	}
	done.Wait()
}
