package syscall

import "unsafe"

// Calls about descriptors of files.

// tandemReadFile reads at an offset, or where the description stands if that is
// negative.
func tandemReadFile(fd int, p unsafe.Pointer, size int, at int64) (int, Errno) {
	d := tandemDescribed(fd)
	moves := at < 0
	d = tandemUse(fd, d, opFileRead, d.node.number, moves)
	switch {
	case d == nil || d.flags&O_ACCMODE == O_WRONLY || d.flags&tandemPathOnly != 0:
		return 0, EBADF
	case d.node.is(S_IFDIR):
		return 0, EISDIR
	case d.node.output != 0:
		return 0, EBADF
	}
	b := unsafe.Slice((*byte)(p), size)
	if d.node.is(S_IFCHR) {
		return d.node.readDevice(b)
	}
	if moves {
		at = d.offset
	}
	n, e := d.node.readAt(b, at)
	if moves {
		d.offset += int64(n)
	}
	return n, e
}

// tandemUse is the point of an operation on a descriptor. One that moves the
// offset changes the description. It returns nil if the descriptor was closed
// or replaced while the operation waited for its turn.
func tandemUse(fd int, d *tandemDescription, op uint8, object uint64, moves bool) *tandemDescription {
	if d.node.output != 0 {
		return d // what is printed is seen by the checker alone
	}
	tandemFilePoint(op, object, nil)
	kind := uint8(accessRead)
	if moves {
		kind = accessWrite
	}
	tandemNoted(kind, d.number)
	if tandemDescribed(fd) != d {
		return nil
	}
	return d
}

func tandemWriteFile(fd int, p unsafe.Pointer, size int, at int64) (int, Errno) {
	d := tandemDescribed(fd)
	moves := at < 0
	d = tandemUse(fd, d, opFileWrite, d.node.number, moves)
	if d == nil || d.flags&O_ACCMODE == O_RDONLY || d.flags&tandemPathOnly != 0 {
		return 0, EBADF
	}
	b := unsafe.Slice((*byte)(p), size)
	switch {
	case d.node.output != 0:
		return tandemPrint(d.node.output, b)
	case d.node.is(S_IFCHR):
		if d.node.device == deviceFull {
			return 0, ENOSPC
		}
		return len(b), 0
	}
	switch {
	case d.flags&O_APPEND != 0:
		at = d.node.size
	case moves:
		at = d.offset
	}
	n, e := d.node.write(b, at, d.flags&tandemDataSync != 0)
	if moves {
		d.offset = at + int64(n)
	}
	return n, e
}

// tandemPrint writes to the checker; instead of what it would not keep it says so.
func tandemPrint(fd int, b []byte) (int, Errno) {
	tandemDisturb()
	printed := &tandemFiles.printed[fd]
	room := max(outputBytes-*printed, 0)
	if e := tandemPrintAll(fd, b[:min(int64(len(b)), room)]); e != 0 {
		return 0, e
	}
	if *printed <= outputBytes && int64(len(b)) > room {
		if e := tandemPrintAll(fd, []byte(outputNotice)); e != 0 {
			return 0, e
		}
	}
	*printed += int64(len(b))
	tandemDetailPrinted(fd, min(int64(len(b)), room))
	return len(b), 0
}

func tandemPrintAll(fd int, b []byte) Errno {
	for len(b) > 0 {
		n, _, e := RawSyscall6(SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0,
			0, 0)
		if e != 0 {
			return e
		}
		b = b[n:]
	}
	return 0
}

func (n *tandemNode) readDevice(b []byte) (int, Errno) {
	switch n.device {
	case deviceZero, deviceFull:
		clear(b)
	case deviceRandom, deviceUrandom:
		tandemFillRandom(b)
	default:
		return 0, 0
	}
	return len(b), 0
}

// tandemVectors reads or writes several pieces of memory, as one operation.
func tandemVectors(fd int, iov unsafe.Pointer, n int, at int64, writes bool) (int, Errno) {
	v := unsafe.Slice((*Iovec)(iov), n)
	total := 0
	for _, x := range v {
		total += int(x.Len)
	}
	b := make([]byte, max(total, 1))
	if !writes {
		r, e := tandemReadFile(fd, unsafe.Pointer(&b[0]), total, at)
		for b, i := b[:max(r, 0)], 0; len(b) > 0; i++ {
			b = b[copy(unsafe.Slice(v[i].Base, v[i].Len), b):]
		}
		return r, e
	}
	rest := b
	for _, x := range v {
		rest = rest[copy(rest, unsafe.Slice(x.Base, x.Len)):]
	}
	return tandemWriteFile(fd, unsafe.Pointer(&b[0]), total, at)
}

func tandemSeek(fd int, offset int64, whence int) (int, Errno) {
	const data, hole = 3, 4
	d := tandemDescribed(fd)
	if d.node.output != 0 {
		return 0, ESPIPE
	}
	if d = tandemUse(fd, d, opFileRead, d.node.number, true); d == nil {
		return 0, EBADF
	}
	n := d.node
	switch {
	case n.is(S_IFCHR):
		return 0, 0
	case whence == tandemFromHere:
		offset += d.offset
	case whence == tandemFromEnd:
		offset += n.size
	case whence == data && offset >= n.size, whence == hole && offset >= n.size:
		return 0, ENXIO
	case whence == hole:
		offset = n.size
	case whence > hole || whence < 0:
		return 0, EINVAL
	}
	if offset < 0 {
		return 0, EINVAL
	}
	d.offset = offset
	if offset == 0 {
		d.listing = nil
	}
	return int(offset), 0
}

const (
	tandemFromHere = 1
	tandemFromEnd  = 2
)

// tandemList fills a buffer with entries of a directory, in the order of their names.
func tandemList(fd int, p unsafe.Pointer, size int) (int, Errno) {
	const header = int(unsafe.Offsetof(Dirent{}.Name))
	d := tandemDescribed(fd)
	d = tandemUse(fd, d, opFileRead, d.node.number, true)
	switch {
	case d == nil:
		return 0, EBADF
	case !d.node.is(S_IFDIR):
		return 0, ENOTDIR
	}
	if e := d.enumerate(); e != 0 {
		return 0, e
	}
	b := unsafe.Slice((*byte)(p), size)
	for d.offset < int64(len(d.listing)) {
		entry := &d.listing[d.offset]
		length := (header + len(entry.name) + 1 + 7) &^ 7
		if length > len(b) {
			break
		}
		clear(b[:length])
		to := (*Dirent)(unsafe.Pointer(&b[0]))
		d.offset++
		to.Ino, to.Off, to.Reclen, to.Type = entry.node.number, d.offset, uint16(length),
			uint8(entry.node.mode>>12)
		copy(b[header:], entry.name)
		b = b[length:]
	}
	if len(b) == size && d.offset < int64(len(d.listing)) {
		return 0, EINVAL
	}
	return size - len(b), 0
}

// enumerate sets what a directory has, at the beginning of reading it.
func (d *tandemDescription) enumerate() Errno {
	if d.offset != 0 && d.listing != nil {
		return 0
	}
	if e := d.node.list(); e != 0 {
		return e
	}
	d.listing = append(d.listing[:0:0], tandemEntry{name: ".", node: d.node},
		tandemEntry{name: "..", node: d.node.parent})
	for _, entry := range d.node.entries {
		if entry.node != nil {
			d.listing = append(d.listing, entry)
		}
	}
	return 0
}

func tandemTruncateFile(fd int, size int64) Errno {
	d := tandemDescribed(fd)
	d = tandemUse(fd, d, opFileWrite, d.node.number, false)
	switch {
	case d == nil:
		return EBADF
	case d.flags&O_ACCMODE == O_RDONLY || !d.node.is(S_IFREG):
		return EINVAL
	}
	return d.node.truncate(size)
}

// tandemAllocate is fallocate: it makes the file at least so large, where the
// space for it can be had.
func tandemAllocate(fd int, mode int, at, length int64) Errno {
	d := tandemDescribed(fd)
	d = tandemUse(fd, d, opFileWrite, d.node.number, false)
	switch {
	case d == nil || d.flags&O_ACCMODE == O_RDONLY:
		return EBADF
	case mode != 0 || !d.node.is(S_IFREG):
		return EOPNOTSUPP
	case at < 0 || length <= 0:
		return EINVAL
	case at+length > tandemMaxFileSize:
		return EFBIG
	}
	n := d.node
	n.begin("allocate")
	defer tandemFinish()
	if e := n.change(n.size); e != 0 {
		return e
	}
	for i := at / tandemBlockSize; i*tandemBlockSize < at+length; i++ {
		if _, e := n.block(i); e != 0 {
			return e
		}
	}
	n.size = max(n.size, at+length)
	return 0
}

func tandemSync(fd int) Errno {
	d := tandemDescribed(fd)
	if d.node.output != 0 || d.node.is(S_IFCHR) {
		return EINVAL
	}
	if tandemMayCrash() {
		if d = tandemUse(fd, d, opFileSync, d.node.number, false); d == nil {
			return EBADF
		}
		d.node.sync(true)
	}
	return 0
}

// tandemSyncAll is sync and syncfs: there is one file system.
func tandemSyncAll() {
	if tandemMayCrash() {
		tandemFilePoint(opFileSync, diskObject(), nil)
		(*tandemNode)(nil).sync(true)
	}
}
