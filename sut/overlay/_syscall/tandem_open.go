package syscall

import "unsafe"

const (
	tandemPathOnly = 0x200000 // O_PATH
	tandemUnnamed  = 0x400000 // O_TMPFILE, without O_DIRECTORY
	tandemDataSync = 0x1000   // O_DSYNC, of which O_SYNC has the bit
	tandemModeBits = O_ACCMODE | tandemPathOnly
)

func tandemOpen(dirfd int, path unsafe.Pointer, flags int, mode uint32) (int, Errno) {
	name := tandemText(path)
	if fd, ok := tandemDescriptorOf(name); ok {
		return tandemOpenAgain(fd, flags)
	}
	if flags&tandemUnnamed != 0 {
		return 0, EOPNOTSUPP
	}
	links := tandemFollowing(flags&O_NOFOLLOW != 0 || flags&(O_CREAT|O_EXCL) == O_CREAT|O_EXCL)
	if flags&O_CREAT != 0 {
		links |= tandemCreating
	}
	p, e := tandemLocate(false, flags&O_CREAT != 0, dirfd, name, links)
	if e != 0 {
		return 0, e
	}
	if p.node == nil && flags&O_CREAT != 0 {
		if _, e := tandemMake(&p, S_IFREG|mode&0o7777&^tandemFiles.umask); e != 0 {
			return 0, e
		}
		return tandemDescribe(p.node, flags)
	}
	if e := p.openable(flags); e != 0 {
		return 0, e
	}
	if flags&O_TRUNC != 0 && p.node.is(S_IFREG) {
		tandemNoted(accessWrite, p.node.number)
		if e := p.node.truncate(0); e != 0 {
			return 0, e
		}
	}
	return tandemDescribe(p.node, flags)
}

// openable checks that what is at a place can be opened.
func (p *tandemPlace) openable(flags int) Errno {
	n := p.node
	if n == nil {
		return ENOENT
	}
	tandemNoted(accessRead, n.number)
	writes := flags&O_ACCMODE != O_RDONLY || flags&O_TRUNC != 0
	switch {
	case flags&(O_CREAT|O_EXCL) == O_CREAT|O_EXCL:
		return EEXIST
	case flags&O_DIRECTORY != 0 && !n.is(S_IFDIR):
		return ENOTDIR
	case n.is(S_IFLNK) && flags&tandemPathOnly == 0:
		return ELOOP
	case flags&tandemPathOnly != 0:
		return 0
	case n.is(S_IFDIR) && (writes || flags&O_CREAT != 0):
		return EISDIR
	case n.is(S_IFSOCK):
		return ENXIO
	case writes && !tandemMay(n, 2), flags&O_ACCMODE != O_WRONLY && !tandemMay(n, 4):
		return EACCES
	}
	return n.special(writes)
}

// special checks what is not a file on a disk.
func (n *tandemNode) special(writes bool) Errno {
	switch {
	case n.is(S_IFIFO):
		tandemRefuseCall("opening " + n.host + ", a named pipe")
	case n.is(S_IFBLK):
		tandemRefuseCall("opening " + n.host + ", a device")
	case n.is(S_IFCHR) && n.device == deviceTerminal:
		return ENXIO // there is no terminal
	case n.is(S_IFCHR) && !n.knownDevice():
		tandemRefuseCall("opening " + n.host + ", a device")
	case n.is(S_IFREG) && writes:
		n.guard()
	}
	return 0
}

// The devices that a program finds everywhere: major number 1, but for the terminal.
const (
	deviceNull     = 1<<8 | 3
	deviceZero     = 1<<8 | 5
	deviceFull     = 1<<8 | 7
	deviceRandom   = 1<<8 | 8
	deviceUrandom  = 1<<8 | 9
	deviceTerminal = 5 << 8
)

func (n *tandemNode) knownDevice() bool {
	switch n.device {
	case deviceNull, deviceZero, deviceFull, deviceRandom, deviceUrandom:
		return true
	}
	return false
}

// tandemDescriptorOf parses the paths of a process's own descriptors.
func tandemDescriptorOf(path string) (fd int, ok bool) {
	switch path {
	case "/dev/stdin":
		return 0, true
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	for _, prefix := range [...]string{"/dev/fd/", "/proc/self/fd/"} {
		if len(path) <= len(prefix) || len(path) > len(prefix)+4 || path[:len(prefix)] != prefix {
			continue
		}
		for _, c := range []byte(path[len(prefix):]) {
			if c < '0' || c > '9' {
				return 0, false
			}
			fd = 10*fd + int(c-'0')
		}
		return fd, true
	}
	return 0, false
}

// tandemOpenAgain opens what a descriptor leads to once more.
func tandemOpenAgain(fd, flags int) (int, Errno) {
	d := tandemDescribed(fd)
	if d == nil {
		return 0, ENOENT
	}
	tandemFilePoint(opFileRead, d.node.number, nil)
	if flags&O_TRUNC != 0 && d.node.is(S_IFREG) {
		tandemNoted(accessWrite, d.node.number)
		if e := d.node.truncate(0); e != 0 {
			return 0, e
		}
	}
	return tandemDescribe(d.node, flags)
}

// tandemDescribe makes an open file description of a node, and a descriptor.
func tandemDescribe(n *tandemNode, flags int) (int, Errno) {
	fd, e := tandemNumberOf(tandemFiles.null, flags&O_CLOEXEC)
	if e != 0 {
		return 0, e
	}
	const kept = tandemModeBits | O_APPEND | O_NONBLOCK | O_SYNC | O_DIRECT
	n.look()
	n.opened++
	d := &tandemDescription{node: n, number: tandemNumber(), flags: flags & kept}
	tandemAttach(fd, d)
	return fd, 0
}

// tandemNumberOf takes the lowest free number for a descriptor: a duplicate of
// another one, which the kernel makes.
func tandemNumberOf(of, closeOnExec int) (int, Errno) {
	how := uintptr(F_DUPFD)
	if closeOnExec != 0 {
		how = F_DUPFD_CLOEXEC
	}
	fd, _, e := RawSyscall6(SYS_FCNTL, uintptr(of), how, 0, 0, 0, 0)
	return int(fd), e
}

func tandemAttach(fd int, d *tandemDescription) {
	f := &tandemFiles
	for len(f.table) <= fd {
		f.table = append(f.table, nil)
	}
	f.table[fd] = d
	d.refs++
	tandemMarkFile(fd, d.node.output == 0)
}

// tandemDescribed is the description of a virtual descriptor, or nil.
//
//go:nosplit
func tandemDescribed(fd int) *tandemDescription {
	if f := &tandemFiles; fd >= 0 && fd < len(f.table) {
		return f.table[fd]
	}
	return nil
}
