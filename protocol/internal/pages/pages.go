// Package pages gets memory for what a search keeps, in pages that are as large as possible. The
// system hands out a page when it is touched first. For 2 MB that takes little longer than for a
// few times 4 KB, and on a virtual machine it may take 16 µs for 4 KB. A search of 100,000 states
// touches 6 MB, so with small pages it would wait for the system half of the time. The processor
// finds what lies in large pages faster, too.
//
// Nothing in this memory has pointers, so the collector has nothing to do with it.
package pages

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// Pool is the memory of one owner. Several goroutines may use it at a time. After Release nobody
// may look at the memory any more. The zero Pool is empty.
type Pool struct {
	mu       sync.Mutex
	fromHeap int      // so many bytes came from the collector
	ranges   []memory // that are cut into parts
	rest     []byte   // of the last range
	spare    [][]byte // parts that were given back
	lists    map[*uint64]memory
	inUse    int
}

// memory is from the system. The bytes begin where a huge page begins. They lie in all of it.
type memory struct{ bytes, all []byte }

const (
	// few is how many bytes come from the collector. For them a huge page would be a waste.
	few = 1 << 16
	// hugePage is the size of a huge page, longest that of a range that is cut.
	hugePage = 1 << 21
	longest  = 1 << 26
	// line is that of a cache. No two parts share one.
	line = 64
)

// inUse is how many bytes from the system are in use, in all pools.
var inUse atomic.Int64

// InUse says how many bytes are in use that the collector does not know of.
func InUse() int64 { return inUse.Load() }

// uses counts bytes.
func (p *Pool) uses(bytes int) {
	p.inUse += bytes
	inUse.Add(int64(bytes))
}

// Words returns a list of zeros.
func (p *Pool) Words(n int) []uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []uint64
	if size := 8 * n; size < hugePage {
		list = cast[uint64](p.part(size), n)
		clear(list) // others may have had it
	} else if m := newMemory(size); m.bytes != nil {
		// A long list has a range for itself.
		list = cast[uint64](m.bytes, n)
		if p.lists == nil {
			p.lists = map[*uint64]memory{}
		}
		p.lists[&list[0]] = m
		p.uses(size)
	}
	if list == nil {
		list = make([]uint64, n)
	}
	return list
}

// New returns a value of a type without pointers. There may be anything in it.
func New[T any](p *Pool) *T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.part(int(unsafe.Sizeof(*new(T)))); b != nil {
		return &cast[T](b, 1)[0]
	}
	return new(T)
}

// cast makes values of bytes; nil if there are none.
func cast[T any](b []byte, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n*min(len(b), 1))
}

// part cuts a part from a range. It is nil if the collector has to give it.
func (p *Pool) part(size int) []byte {
	if p.fromHeap+size <= few {
		p.fromHeap += size
		return nil
	}
	size = (size + line - 1) &^ (line - 1)
	for i, b := range p.spare {
		if len(b) >= size {
			p.spare[i] = b[size:]
			return b[:size]
		}
	}
	p.spare = nil // what is asked for next is hardly smaller
	if len(p.rest) < size {
		// What is not touched takes no memory, so later ranges may be long.
		m := newMemory(min(hugePage<<len(p.ranges), longest))
		if m.bytes == nil {
			return nil
		}
		p.ranges, p.rest = append(p.ranges, m), m.bytes
	}
	b := p.rest[:size]
	p.rest = p.rest[size:]
	p.uses(size)
	return b
}

// GiveBack takes a list that nobody looks at any more.
func (p *Pool) GiveBack(list []uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := unsafe.SliceData(list)
	if m, ok := p.lists[first]; ok {
		delete(p.lists, first)
		p.uses(-8 * len(list))
		m.release()
		return
	}
	for _, m := range p.ranges {
		at := uintptr(unsafe.Pointer(first)) - uintptr(unsafe.Pointer(unsafe.SliceData(m.bytes)))
		if at < uintptr(len(m.bytes)) {
			p.spare = append(p.spare, m.bytes[at:at+uintptr(8*len(list))])
		}
	}
}

// Release gives all memory back to the system. The pool is empty then.
func (p *Pool) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.ranges {
		m.release()
	}
	for _, m := range p.lists {
		m.release()
	}
	p.uses(-p.inUse)
	p.fromHeap, p.ranges, p.rest, p.spare, p.lists = 0, nil, nil, nil, nil
}
