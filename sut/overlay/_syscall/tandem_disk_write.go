package syscall

import "unsafe"

// How the disk that a crash leaves gets to the checker: see diskVersion.

// tandemDiskWriter writes what differs from the machine.
type tandemDiskWriter struct {
	buffer  []byte
	written int64 // bytes before the buffer
	files   int   // records
}

//go:linkname tandemCutOff
func tandemCutOff(limit string)

// It walks through what the execution has looked up, since nothing else can have changed. Names
// that were looked up and never changed are compared with nothing: they are the machine's.

// tandemLeaveDisk writes the disk to where the checker looks for it.
func tandemLeaveDisk() {
	w := &tandemDiskWriter{buffer: make([]byte, 0, 1<<16)}
	w.buffer = append(w.buffer, diskVersion)
	w.directory(tandemFiles.root, "")
	w.flush()
	length := w.written
	tandemOwnFile(SYS_PWRITE64, unsafe.Slice((*byte)(unsafe.Pointer(&length)), 8), diskLeft)
}

// flush writes what is in the buffer.
func (w *tandemDiskWriter) flush() {
	if w.written+int64(len(w.buffer)) > tandemFiles.limit {
		tandemCutOff("more on the disk than it has room for (disk_mib in the configuration), after a crash " +
			"that undoes what had made room")
	}
	if !tandemOwnFile(SYS_PWRITE64, w.buffer, diskLeft+8+w.written) {
		tandemCutOff("more on the disk than the machine has memory for, after a crash")
	}
	w.written += int64(len(w.buffer))
	w.buffer = w.buffer[:0]
}

// number writes a number that is not negative, in seven bits a byte, the lowest first.
func (w *tandemDiskWriter) number(x uint64) {
	for ; x >= 0x80; x >>= 7 {
		w.buffer = append(w.buffer, byte(x)|0x80)
	}
	w.buffer = append(w.buffer, byte(x))
}

// signed is a number that may be negative.
func (w *tandemDiskWriter) signed(x int64) { w.number(uint64(x)<<1 ^ uint64(x>>63)) }

// text writes how long a text is, and the text.
func (w *tandemDiskWriter) text(s string) {
	w.number(uint64(len(s)))
	w.buffer = append(w.buffer, s...)
}

// begin begins a record.
func (w *tandemDiskWriter) begin(kind byte, path string) {
	if len(w.buffer) > 1<<15 {
		w.flush()
	}
	w.files++
	w.buffer = append(w.buffer, kind)
	w.text(path)
}

// directory writes what differs in a directory. What the program finds in a directory that nobody
// has put there is not on the disk: a part of /proc, and the like.
func (w *tandemDiskWriter) directory(dir *tandemNode, path string) {
	if path == "" && dir.altered {
		w.file(dir, "/")
	}
	for i := range dir.entries {
		e := &dir.entries[i]
		n, at := e.node, path+"/"+e.name
		switch {
		case !e.changed && (n == nil || n.host == ""):
			continue
		case n == nil:
			if dir.hostHas(e.name) {
				w.begin(diskGone, at)
			}
			continue
		case n.record > 0:
			w.begin(diskLink, at)
			w.number(uint64(n.record - 1))
		case e.changed && n.host != dir.hostPath(e.name), n.altered, n.is(S_IFREG) && !n.onHost,
			n.links != n.linksThere && !n.is(S_IFDIR):
			w.file(n, at)
		}
		if n.is(S_IFDIR) {
			w.directory(n, at)
		}
	}
}

// hostPath is where the machine would have what is in a directory of its; empty: nowhere.
func (n *tandemNode) hostPath(name string) string {
	switch n.host {
	case "", "/":
		return n.host + name
	}
	return n.host + "/" + name
}

// hostHas reports whether the machine has something under a name.
func (n *tandemNode) hostHas(name string) bool {
	if n.host == "" {
		return false
	}
	path := tandemTerminated(n.hostPath(name))
	var st Stat_t
	_, _, e := RawSyscall6(SYS_NEWFSTATAT, tandemHere, uintptr(unsafe.Pointer(&path[0])),
		uintptr(unsafe.Pointer(&st)), tandemNoFollow, 0, 0)
	return e == 0
}

// file writes what a file is like.
func (w *tandemDiskWriter) file(n *tandemNode, path string) {
	w.begin(diskFile, path)
	n.record = w.files
	links := n.links
	if n.is(S_IFDIR) {
		links = 0
	}
	for _, x := range [...]uint32{n.mode, n.uid, n.gid, links} {
		w.number(uint64(x))
	}
	w.signed(n.modified.Sec)
	w.number(uint64(n.modified.Nsec))
	w.text(n.host)
	switch {
	case n.is(S_IFLNK):
		w.text(n.target)
	case n.is(S_IFREG) && n.onHost:
		w.number(0)
	case n.is(S_IFREG):
		w.number(1)
		w.content(n)
	}
}

// content writes the runs of blocks that are not zero. Whether a block of zeros was written or left
// out cannot be told from the file, so disks that look the same are the same.
func (w *tandemDiskWriter) content(n *tandemNode) {
	w.number(uint64(n.size))
	for i := 0; i < len(n.blocks); {
		end := i
		for end < len(n.blocks) && n.blocks[end] != nil && *n.blocks[end] != [tandemBlockSize]byte{} {
			end++
		}
		if end == i {
			i++
			continue
		}
		w.number(uint64(1 + i))
		w.number(uint64(end - i))
		for ; i < end; i++ {
			if len(w.buffer) > 1<<15 {
				w.flush()
			}
			size := min(tandemBlockSize, n.size-int64(i)*tandemBlockSize)
			w.buffer = append(w.buffer, n.blocks[i][:max(0, size)]...)
		}
	}
	w.number(0)
}
