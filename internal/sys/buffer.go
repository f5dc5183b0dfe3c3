package sys

import "sync"

// BufferSize is enough for the list of the mappings of most processes, with all that the kernel
// tells of them.
const BufferSize = 512 << 10

// Large buffers are used again: to get new memory from the kernel takes longer than what is done in
// it.
var buffers = sync.Pool{New: func() any { return new([BufferSize]byte) }}

// Borrow returns a buffer of BufferSize bytes, which may hold anything, until giveBack is called.
func Borrow() (buffer []byte, giveBack func()) {
	b := buffers.Get().(*[BufferSize]byte)
	return b[:], func() { buffers.Put(b) }
}
