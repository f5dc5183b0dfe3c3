package syscall

import "unsafe"

// What the file system takes from the machine.

// tandemLoad looks a name up in a directory of the machine.
func tandemLoad(dir *tandemNode, name string) (*tandemNode, Errno) {
	if tandemIsOn() {
		switch {
		case dir.host == "/proc":
			return tandemProcess(name), 0
		case dir.host == "/etc" && tandemIsResolver(name):
			return tandemResolver(name), 0
		case dir.host == "/run" && name == "tandem" && tandemHasPeers():
			return tandemScratch(), 0
		case dir.host == "/" && name == tandemPrograms:
			return tandemProgram(dir), 0
		}
	}
	path := dir.host + "/" + name
	if dir.host == "/" {
		path = "/" + name
	}
	n, e := tandemFromHost(path, false)
	if e == ENOENT || e == ENOTDIR {
		return nil, 0
	}
	return n, e
}

// tandemFromHost makes the node of a file of the machine.
func tandemFromHost(path string, follow bool) (*tandemNode, Errno) {
	const noFollow = 0x100
	flags := uintptr(noFollow)
	if follow {
		flags = 0
	}
	name := tandemTerminated(path)
	var st Stat_t
	_, _, e := RawSyscall6(SYS_NEWFSTATAT, tandemHere, uintptr(unsafe.Pointer(&name[0])),
		uintptr(unsafe.Pointer(&st)), flags, 0, 0)
	if e != 0 {
		return nil, e
	}
	identity := [2]uint64{st.Dev, st.Ino}
	several := st.Nlink > 1 && st.Mode&S_IFMT != S_IFDIR
	if several {
		for _, n := range tandemFiles.linked {
			if n.hostFile == identity {
				return n, 0
			}
		}
	}
	n := &tandemNode{
		number: tandemNamed(0, path), mode: st.Mode, links: uint32(st.Nlink), uid: st.Uid, gid: st.Gid,
		device: st.Rdev,
		size:   st.Size, accessed: st.Mtim, modified: st.Mtim, changed: st.Ctim, host: path,
		hostFile: identity, reader: -1, linksThere: uint32(st.Nlink),
	}
	n.onHost = n.is(S_IFREG)
	if several {
		tandemFiles.linked = append(tandemFiles.linked, n)
	}
	if n.is(S_IFLNK) {
		buffer := make([]byte, tandemMaxPath)
		size, _, e := RawSyscall6(SYS_READLINKAT, tandemHere, uintptr(unsafe.Pointer(&name[0])),
			uintptr(unsafe.Pointer(&buffer[0])), tandemMaxPath, 0, 0)
		if e != 0 {
			return nil, e
		}
		n.target = string(buffer[:size])
	}
	return n, 0
}

func tandemTerminated(s string) []byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return b
}

// tandemPrograms is a directory in the root that the machine does not have: the
// program is there, since where it really is differs from run to run.
const tandemPrograms = "tandem-program"

func tandemProgram(root *tandemNode) *tandemNode {
	f := &tandemFiles
	if f.programs == nil {
		exe, e := tandemFromHost("/proc/self/exe", true)
		if e != 0 {
			return nil
		}
		exe.stamp()
		name := tandemProgramName()
		f.programs = &tandemNode{number: tandemNamed(0, tandemPrograms), mode: S_IFDIR | 0o555, links: 2,
			parent: root, name: tandemPrograms, reader: -1}
		f.programs.stamp()
		f.programs.insert(0, name, exe)
	}
	return f.programs
}

// tandemScratch is a directory where that of the peers is, empty, and the program's own: so that it
// can have Unix sockets at the paths at which peers look for them.
func tandemScratch() *tandemNode {
	n := &tandemNode{number: tandemNamed(0, "/run/tandem"), mode: S_IFDIR | 0o755, links: 2, reader: -1,
		listed: true}
	n.stamp()
	return n
}

//go:linkname tandemProgramName
func tandemProgramName() string

// tandemProcess is the little of /proc that is the same in every run.
func tandemProcess(name string) *tandemNode {
	switch name {
	case "sys":
		n, _ := tandemFromHost("/proc/sys", false)
		return n
	case "self":
		exe := &tandemNode{number: tandemNamed(0, "/proc/self/exe"), mode: S_IFLNK | 0o777, links: 1,
			reader: -1}
		exe.target = "/" + tandemPrograms + "/" + tandemProgramName()
		exe.stamp()
		self := &tandemNode{number: tandemNamed(0, "/proc/self"), mode: S_IFDIR | 0o555, links: 2,
			reader: -1, listed: true}
		self.stamp()
		self.insert(0, "exe", exe)
		return self
	}
	tandemRefuseCall("/proc/" + name + ", which differs from run to run")
	return nil
}

// hold opens the content of a file of the machine for reading.
func (n *tandemNode) hold() Errno {
	if n.reader >= 0 || !n.onHost {
		return 0
	}
	name := tandemTerminated(n.host)
	fd, _, e := RawSyscall6(SYS_OPENAT, tandemHere, uintptr(unsafe.Pointer(&name[0])), O_RDONLY|O_CLOEXEC,
		0, 0, 0)
	if e != 0 {
		return e
	}
	n.reader = int(fd)
	return 0
}

// drop closes what hold opened.
func (n *tandemNode) drop() {
	if n.reader > 2 {
		RawSyscall6(SYS_CLOSE, uintptr(n.reader), 0, 0, 0, 0, 0)
		n.reader = -1
	}
}

// readHost reads the content that the machine has.
func (n *tandemNode) readHost(b []byte, at int64) (int, Errno) {
	if e := n.hold(); e != 0 || len(b) == 0 {
		return 0, e
	}
	r, _, e := RawSyscall6(SYS_PREAD64, uintptr(n.reader), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
		uintptr(at), 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(r), 0
}

// own takes the first size bytes of what the machine has into the execution's
// own memory, before something changes.
func (n *tandemNode) own(size int64) Errno {
	if !n.onHost {
		return 0
	}
	size = min(size, n.size)
	for at := int64(0); at < size; {
		block, e := n.block(at / tandemBlockSize)
		if e != 0 {
			n.discard(0)
			return e
		}
		read, e := n.readHost(block[at%tandemBlockSize:], at)
		if e != 0 {
			n.discard(0)
			return e
		}
		if read == 0 {
			break
		}
		at += int64(read)
	}
	if rest := size % tandemBlockSize; rest != 0 && len(n.blocks) > 0 {
		clear(n.blocks[len(n.blocks)-1][rest:])
	}
	n.onHost = false
	n.drop()
	return 0
}

// list completes the entries of a directory with those of the machine.
func (n *tandemNode) list() Errno {
	if n.host == "" || n.listed {
		return 0
	}
	if n.host == "/proc" && tandemIsOn() {
		tandemRefuseCall("listing /proc, which differs from run to run")
	}
	name := tandemTerminated(n.host)
	fd, _, e := RawSyscall6(SYS_OPENAT, tandemHere, uintptr(unsafe.Pointer(&name[0])),
		O_RDONLY|O_CLOEXEC|O_DIRECTORY, 0, 0, 0)
	if e != 0 {
		return e
	}
	buffer := make([]byte, 1<<15)
	for e == 0 {
		var size uintptr
		size, _, e = RawSyscall6(SYS_GETDENTS64, fd, uintptr(unsafe.Pointer(&buffer[0])),
			uintptr(len(buffer)), 0, 0, 0)
		if e != 0 || size == 0 {
			break
		}
		for b := buffer[:size]; len(b) > 0 && e == 0; {
			entry := (*Dirent)(unsafe.Pointer(&b[0]))
			if name := tandemText(unsafe.Pointer(&entry.Name)); name != "." && name != ".." {
				_, e = n.lookup(name)
			}
			b = b[entry.Reclen:]
		}
	}
	RawSyscall6(SYS_CLOSE, fd, 0, 0, 0, 0, 0)
	n.listed = e == 0
	return e
}
