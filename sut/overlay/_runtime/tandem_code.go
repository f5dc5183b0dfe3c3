package runtime

import (
	linux "internal/runtime/syscall/linux"
	"unsafe"
)

// tandemOwnCode gives the worker code and constants of its own, where those of the file are.
// Workers that execute the same memory, each on its processor, are slower: it seems that what one
// has in its caches another is given from there, which takes longer than from the cache that both
// have. It is a matter of speed only: where it cannot be done, nothing happens.
func tandemOwnCode() {
	const read, execute = 1, 4
	m := &firstmoduledata
	tandemOwn(m.text, m.etext, read|execute)
	tandemOwn(min(m.types, m.rodata), tandemConstantsEnd(), read)
}

// tandemOwn replaces the pages from one address to another by pages of the process with the same
// contents.
func tandemOwn(from, to uintptr, protection uintptr) {
	const (
		anonymous       = 0x22 // MAP_PRIVATE, MAP_ANONYMOUS
		maymoveAndFixed = 3    // MREMAP_MAYMOVE, MREMAP_FIXED
	)
	from, to = from&^4095, (to+4095)&^4095
	n := to - from
	p, _, e := linux.Syscall6(tandemMmap, 0, n, 3, anonymous, ^uintptr(0), 0)
	if e != 0 {
		return
	}
	memmove(unsafe.Pointer(p), unsafe.Pointer(from), n)
	if _, _, e = linux.Syscall6(tandemMprotect, p, n, protection, 0, 0, 0); e == 0 {
		_, _, e = linux.Syscall6(tandemMremap, p, n, n, maymoveAndFixed, from, 0)
	}
	if e != 0 {
		linux.Syscall6(tandemMunmap, p, n, 0, 0, 0, 0)
	}
}
