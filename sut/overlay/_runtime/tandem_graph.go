package runtime

import "unsafe"

// A loop may make new objects in each round, such as timers, and forget the old ones. The state is
// then the same but for where they are: what the goroutines, the variables and the timers lead to
// has the same shape and the same contents. tandemSameGraph goes through both states side by side,
// from these roots, and pairs each object of the noted state with the one that is in its place now.
// A program cannot tell addresses otherwise than by comparing them, and by maps whose keys they
// are; these have a seed of their own and draw random numbers, which are a part of the state.

// tandemPairing is in memory that is not put back after an execution, nor part of a state. Entries
// of its tables count if they are of the present epoch.
type tandemPairing struct {
	epoch uint32
	n     uint32 // pairs, in the order in which they were found
	pair  [tandemMaxPairs]struct{ was, is uintptr }
	forth [2 * tandemMaxPairs]uint64        // epoch and 1 + index of a pair, by the object of then
	back  [2 * tandemMaxPairs]uint64        // by that of now
	piece [tandemMaxPieces]tandemNotedPiece // noted ones, by their addresses
}

// tandemNotedPiece is where a piece of the noted state is in that.
type tandemNotedPiece struct {
	address, noted uintptr
	epoch          uint32
}

const (
	tandemMaxPairs  = 1 << 18
	tandemMaxPieces = 1 << 17
)

var tandemPairs *tandemPairing

// tandemSameGraph reports whether the state is the noted one but for the addresses of objects, and
// if not, whether that was seen by the goroutines alone, which takes little time.
func tandemSameGraph() (same, soon bool) {
	q := tandemPairs
	q.epoch++
	q.n = 0
	if !tandemIndexPieces() {
		return false, false
	}
	at := unsafe.Sizeof(tandemStateHead{})
	for at < tandemState.goroutines {
		piece := (*tandemPiece)(add(unsafe.Pointer(tandemState), at))
		at += unsafe.Sizeof(*piece)
		if !tandemSameRoots(at, piece.address, piece.length, false) {
			return false, true
		}
		at += piece.length
	}
	return tandemPairTimers() && tandemSameVariables(at) && tandemSamePairs(), false
}

// tandemIndexPieces makes the table of the noted pieces. It reports whether there was enough room.
func tandemIndexPieces() bool {
	q, n := tandemPairs, 0
	for at := tandemState.goroutines; at < tandemState.used; n++ {
		piece := (*tandemPiece)(add(unsafe.Pointer(tandemState), at))
		at += unsafe.Sizeof(*piece)
		if n == tandemMaxPieces/2 {
			return false
		}
		i := tandemMix(uint64(piece.address)) % tandemMaxPieces
		for q.piece[i].epoch == q.epoch {
			i = (i + 1) % tandemMaxPieces
		}
		q.piece[i] = tandemNotedPiece{piece.address, at, q.epoch}
		at += piece.length
	}
	return true
}

// tandemNotedAt is where memory at an address is in the noted state, if a piece begins there; else
// 0.
func tandemNotedAt(address uintptr) uintptr {
	q := tandemPairs
	for i := tandemMix(uint64(address)) % tandemMaxPieces; q.piece[i].epoch == q.epoch; i = (i + 1) %
		tandemMaxPieces {
		if q.piece[i].address == address {
			return q.piece[i].noted
		}
	}
	return 0
}

// tandemNotedObject is where an object of a span is in the noted state; 0: it was not allocated.
func tandemNotedObject(s *mspan, base uintptr) uintptr {
	if noted := tandemNotedAt(base); noted != 0 {
		return noted
	}
	noted := tandemNotedAt(s.base())
	if noted == 0 {
		return 0
	}
	piece := (*tandemPiece)(add(unsafe.Pointer(tandemState), noted-unsafe.Sizeof(tandemPiece{})))
	if base+s.elemsize > piece.address+piece.length {
		return 0
	}
	return noted + base - piece.address
}

// tandemSameRoots compares n bytes of the noted state with what is there now. If some of them are
// not the program's, they need not be the same.
func tandemSameRoots(noted, address, n uintptr, unseen bool) bool {
	for i := uintptr(0); i < n; i += 8 {
		was := *(*uint64)(add(unsafe.Pointer(tandemState), noted+i))
		is := *(*uint64)(unsafe.Pointer(address + i))
		if was == is && spanOfHeap(uintptr(was)) == nil || unseen && tandemUnseen(address+i) {
			continue
		}
		if !tandemSamePointer(uintptr(was), uintptr(is)) &&
			(was == is || !tandemSameTime(address+i, was, is)) {
			return false
		}
	}
	return true
}

// tandemSamePointer reports whether two words are pointers into a pair of objects, or the same and
// no pointers. It notes the pair.
func tandemSamePointer(was, is uintptr) bool {
	s := spanOfHeap(was)
	if s == nil {
		return was == is
	}
	old := s.base() + s.objIndex(was)*s.elemsize
	if tandemNotedObject(s, old) == 0 {
		return was == is // an integer, or it is not used any more
	}
	t := spanOfHeap(is)
	if t == nil || t.elemsize != s.elemsize || t.spanclass != s.spanclass {
		return false
	}
	now := t.base() + t.objIndex(is)*t.elemsize
	return was-old == is-now && tandemPair(old, now)
}

// tandemPair notes that an object of the noted state is one of the present state. It reports
// whether neither has been paired with another one.
func tandemPair(was, is uintptr) bool {
	q := tandemPairs
	forth, found := q.find(&q.forth, was, func(i uint32) uintptr { return q.pair[i].was })
	back, taken := q.find(&q.back, is, func(i uint32) uintptr { return q.pair[i].is })
	if found || taken {
		return found && taken && uint32(q.forth[forth]) == uint32(q.back[back])
	}
	if q.n == tandemMaxPairs {
		return false
	}
	q.pair[q.n].was, q.pair[q.n].is = was, is
	q.n++
	q.forth[forth] = uint64(q.epoch)<<32 | uint64(q.n)
	q.back[back] = q.forth[forth]
	return true
}

// find is where a pair is in a table, or has its place.
func (q *tandemPairing) find(
	table *[2 * tandemMaxPairs]uint64, object uintptr, of func(i uint32) uintptr,
) (place uint64, found bool) {
	place = tandemMix(uint64(object)) % uint64(len(table))
	for table[place]>>32 == uint64(q.epoch) {
		if of(uint32(table[place])-1) == object {
			return place, true
		}
		place = (place + 1) % uint64(len(table))
	}
	return place, false
}

// tandemPairTimers pairs the timers that are set.
func tandemPairTimers() bool {
	heap := getg().m.p.ptr().timers.heap
	if len(heap) != tandemState.heapLength {
		return false
	}
	if len(heap) == 0 {
		return true
	}
	s := spanOfHeap(tandemState.heap)
	noted := add(unsafe.Pointer(tandemState), tandemNotedObject(s, tandemState.heap))
	for i := range heap {
		was := (*timerWhen)(add(noted, uintptr(i)*unsafe.Sizeof(timerWhen{}))).timer
		if !tandemSamePointer(uintptr(unsafe.Pointer(was)), uintptr(unsafe.Pointer(heap[i].timer))) {
			return false
		}
	}
	return true
}

// tandemSameVariables compares the variables of the program, which are the first pieces from a
// place in the noted state on.
func tandemSameVariables(at uintptr) bool {
	for m := &firstmoduledata; m != nil; m = m.next {
		for _, from := range [...]uintptr{m.noptrdata, m.data, m.bss, m.noptrbss} {
			noted := tandemNotedAt(from)
			if noted == 0 {
				continue // it is empty
			}
			piece := (*tandemPiece)(add(unsafe.Pointer(tandemState), noted-unsafe.Sizeof(tandemPiece{})))
			if !tandemSameRoots(noted, piece.address, piece.length, true) {
				return false
			}
		}
	}
	return true
}

// tandemSamePairs compares the objects of all pairs, and of those that these lead to.
func tandemSamePairs() bool {
	q := tandemPairs
	for i := uint32(0); i < q.n; i++ {
		was, is := q.pair[i].was, q.pair[i].is
		if was == is && tandemUnseen(was+mallocHeaderSize) {
			continue // the first word may be the allocator's
		}
		s := spanOfHeap(was)
		noted := tandemNotedObject(s, was)
		if s.spanclass.noscan() {
			if !memequal(add(unsafe.Pointer(tandemState), noted), unsafe.Pointer(is), s.elemsize) {
				return false
			}
		} else if !tandemSameRoots(noted, is, s.elemsize, false) {
			return false
		}
	}
	return true
}
