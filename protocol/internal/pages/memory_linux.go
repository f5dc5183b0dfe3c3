//go:build linux && !race

package pages

import (
	"syscall"
	"unsafe"
)

// newMemory asks the system for so many bytes at least. They are zero. If there are none, it
// returns no bytes.
func newMemory(size int) (m memory) {
	size = (size + hugePage - 1) &^ (hugePage - 1)
	all, err := syscall.Mmap(-1, 0, size+hugePage, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return memory{}
	}
	// A huge page begins at a multiple of its size.
	from := -uintptr(unsafe.Pointer(&all[0])) & (hugePage - 1)
	m = memory{all[from:][:size:size], all}
	// A system without huge pages has small ones.
	_ = syscall.Madvise(m.bytes, syscall.MADV_HUGEPAGE)
	return m
}

// release gives memory back.
func (m memory) release() { _ = syscall.Munmap(m.all) }
