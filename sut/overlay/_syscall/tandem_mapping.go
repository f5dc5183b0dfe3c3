package syscall

import "unsafe"

// Files that are mapped into memory. The memory is anonymous, and has a copy of the file.

// tandemView is where a part of a file is mapped, shared and for reading: what is written to the
// file later shows there.
type tandemView struct {
	at, length uintptr
	offset     int64
	protection uintptr
}

// tandemMapFile maps memory. A file is copied to where it is mapped.
func tandemMapFile(length uintptr, prot, flags, fd int, offset int64) (int, Errno) {
	if flags&MAP_FIXED != 0 {
		tandemRefuseCall("mapping memory at a fixed address")
	}
	var d *tandemDescription
	if flags&MAP_ANON == 0 {
		if d = tandemDescribed(fd); d == nil {
			return 0, EBADF
		}
		if !d.node.is(S_IFREG) {
			return 0, ENODEV
		}
		if flags&MAP_SHARED != 0 && prot&PROT_WRITE != 0 {
			tandemRefuseCall("mapping a file into memory to change it there")
		}
		tandemAboutNode(false, d)
	}
	at, _, e := RawSyscall6(SYS_MMAP, 0, length, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANON, ^uintptr(0), 0)
	if e != 0 {
		return 0, e
	}
	tandemNoteMapping(at, length)
	if from := offset; d != nil {
		b := unsafe.Slice((*byte)(unsafe.Pointer(at)), length)
		for len(b) > 0 {
			n, e := d.node.readAt(b, offset)
			if e != 0 || n == 0 {
				break
			}
			b, offset = b[n:], offset+int64(n)
		}
		if flags&MAP_SHARED != 0 {
			d.node.mapped = d.node.mapped || !tandemIsOn()
			tandemFiles.viewed = append(tandemFiles.viewed, d.node)
			d.node.views = append(d.node.views, tandemView{at, length, from, uintptr(prot)})
		}
	}
	RawSyscall6(SYS_MPROTECT, at, length, uintptr(prot), 0, 0, 0)
	return int(at), 0
}

//go:linkname tandemNoteMapping
func tandemNoteMapping(at, length uintptr)

// The memory may be protected against being written, so it is not for that moment. Nothing else of
// the program runs meanwhile.

// show has what a file has between two offsets show where it is mapped.
func (n *tandemNode) show(from, to int64) {
	for i := range n.views {
		v := &n.views[i]
		from, to := max(from, v.offset), min(to, v.offset+int64(v.length))
		if from >= to {
			continue
		}
		RawSyscall6(SYS_MPROTECT, v.at, v.length, PROT_READ|PROT_WRITE, 0, 0, 0)
		b := unsafe.Slice((*byte)(unsafe.Pointer(v.at)), v.length)[from-v.offset : to-v.offset]
		read, _ := n.readAt(b, from)
		clear(b[read:]) // natively there is nothing
		RawSyscall6(SYS_MPROTECT, v.at, v.length, v.protection, 0, 0, 0)
	}
}

// tandemUnmap is called before memory is unmapped: files do not show there any more.
func tandemUnmap(at, length uintptr) {
	f := &tandemFiles
	left := f.viewed[:0]
	for _, n := range f.viewed {
		views := n.views[:0]
		for _, v := range n.views {
			switch {
			case !v.overlaps(at, length):
				views = append(views, v)
			case at > v.at || at+length < v.at+v.length:
				tandemRefuseCall("unmapping a part of where a file is mapped")
			}
		}
		if n.views = views; len(views) > 0 {
			left = append(left, n)
		}
	}
	f.viewed = left
}

// tandemIsMapped reports whether a file that is shared is mapped somewhere in a piece of memory.
func tandemIsMapped(at, length uintptr) bool {
	for _, n := range tandemFiles.viewed {
		for i := range n.views {
			if n.views[i].overlaps(at, length) {
				return true
			}
		}
	}
	return false
}

// overlaps reports whether a view has a byte in a piece of memory.
func (v *tandemView) overlaps(at, length uintptr) bool {
	return at < v.at+v.length && v.at < at+length
}
