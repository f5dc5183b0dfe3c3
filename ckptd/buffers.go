package ckptd

import "sync"

// bufferSize is enough for the list of the mappings of most processes, with all that the kernel tells
// of them.
const bufferSize = 512 << 10

// Large buffers are used again: to get new memory from the kernel takes longer than what is done in it.
var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// borrow returns a buffer of bufferSize bytes, which may hold anything, until giveBack is called.
func borrow() (buffer []byte, giveBack func()) {
	b := buffers.Get().(*[bufferSize]byte)
	return b[:], func() { buffers.Put(b) }
}
