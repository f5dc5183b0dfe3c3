package syscall

import "unsafe"

// Calls about what is known of files: status, permissions, times, links.

// tandemTarget finds the file that a call is about: a path, or a descriptor where
// the path may be missing.
func tandemTarget(changes bool, dirfd int, path unsafe.Pointer, flags int) (*tandemNode, Errno) {
	name := ""
	if path != nil {
		name = tandemText(path)
	}
	if name == "" && (path == nil || flags&tandemEmptyPath != 0) && uintptr(dirfd) != tandemHere {
		d := tandemDescribed(dirfd)
		if d == nil {
			return nil, EBADF
		}
		tandemAboutNode(changes, d)
		return d.node, 0
	}
	p, e := tandemLocate(false, false, dirfd, name, tandemFollowing(flags&tandemNoFollow != 0))
	if p.node != nil {
		p.node.look()
	}
	switch {
	case e != 0:
		return nil, e
	case p.node == nil:
		return nil, ENOENT
	case changes:
		p.node.guard()
		tandemNoted(accessWrite, p.node.number)
	default:
		tandemNoted(accessRead, p.node.number)
	}
	return p.node, 0
}

// tandemAboutNode is the point of a call about what a descriptor leads to.
func tandemAboutNode(changes bool, d *tandemDescription) {
	op := uint8(opFileRead)
	if changes {
		d.node.guard()
		op = opFileWrite
	}
	tandemFilePoint(op, d.node.number, nil)
	tandemNoted(accessRead, d.number)
}

func tandemStat(dirfd int, path unsafe.Pointer, to *Stat_t, flags int) Errno {
	n, e := tandemTarget(false, dirfd, path, flags)
	if e != 0 {
		return e
	}
	n.status(to)
	return 0
}

func (n *tandemNode) status(to *Stat_t) {
	*to = Stat_t{
		Dev: 1, Ino: n.number, Nlink: uint64(n.links), Mode: n.mode, Uid: n.uid, Gid: n.gid, Rdev: n.device,
		Size: n.size, Blksize: tandemBlockSize, Atim: n.accessed, Mtim: n.modified, Ctim: n.changed,
	}
	if n.is(S_IFDIR) {
		to.Size = tandemBlockSize
	}
	if n.is(S_IFREG) {
		to.Blocks = (n.size + tandemBlockSize - 1) / tandemBlockSize * (tandemBlockSize / 512)
	}
}

func tandemAccess(dirfd int, path unsafe.Pointer, mode uint32, flags int) Errno {
	n, e := tandemTarget(false, dirfd, path, flags)
	if e == 0 && mode&7 != 0 && !tandemMay(n, mode&7) {
		e = EACCES
	}
	return e
}

func tandemReadlink(dirfd int, path unsafe.Pointer, to unsafe.Pointer, size int) (int, Errno) {
	n, e := tandemTarget(false, dirfd, path, tandemNoFollow|tandemEmptyPath)
	if e != 0 {
		return 0, e
	}
	if !n.is(S_IFLNK) || size <= 0 {
		return 0, EINVAL
	}
	return copy(unsafe.Slice((*byte)(to), size), n.target), 0
}

func tandemChmod(dirfd int, path unsafe.Pointer, mode uint32, flags int) Errno {
	n, e := tandemTarget(true, dirfd, path, flags)
	switch {
	case e != 0:
		return e
	case n.is(S_IFLNK):
		return EOPNOTSUPP
	case tandemFiles.uid != 0 && tandemFiles.uid != n.uid:
		return EPERM
	}
	tandemNoted(accessWrite, permissionsObject(n))
	if n.mode&0o7777 != mode&0o7777 {
		n.begin("chmod")
		defer tandemFinish()
		n.altered = true
	}
	n.mode = n.mode&S_IFMT | mode&0o7777
	n.changed = tandemNow()
	return 0
}

func tandemChown(dirfd int, path unsafe.Pointer, uid, gid uint32, flags int) Errno {
	n, e := tandemTarget(true, dirfd, path, flags)
	if e != 0 {
		return e
	}
	const same = ^uint32(0)
	if f := &tandemFiles; f.uid != 0 && (uid != same && uid != n.uid || f.uid != n.uid) {
		return EPERM
	}
	tandemNoted(accessWrite, permissionsObject(n))
	n.begin("chown")
	defer tandemFinish()
	n.altered = true
	if uid != same {
		n.uid = uid
	}
	if gid != same {
		n.gid = gid
	}
	if n.is(S_IFREG) {
		n.mode &^= S_ISUID | S_ISGID
	}
	n.changed = tandemNow()
	return 0
}

// tandemSetTimes sets the times of access and of the last change to the content.
func tandemSetTimes(dirfd int, path, times unsafe.Pointer, flags int) Errno {
	const now, omit = 1<<30 - 1, 1<<30 - 2
	n, e := tandemTarget(true, dirfd, path, flags)
	if e != 0 {
		return e
	}
	if f := &tandemFiles; f.uid != 0 && f.uid != n.uid {
		return EPERM
	}
	n.begin("set times of")
	defer tandemFinish()
	n.altered = true
	n.changed = tandemNow()
	if times == nil {
		n.accessed, n.modified = n.changed, n.changed
		return 0
	}
	given := (*[2]Timespec)(times)
	for i, to := range [...]*Timespec{&n.accessed, &n.modified} {
		switch t := given[i]; {
		case t.Nsec == now:
			*to = n.changed
		case t.Nsec != omit:
			*to = t
		}
	}
	return 0
}

func tandemTruncate(path unsafe.Pointer, size int64) Errno {
	n, e := tandemTarget(true, int(tandemHereSigned), path, 0)
	switch {
	case e != 0:
		return e
	case n.is(S_IFDIR):
		return EISDIR
	case !n.is(S_IFREG):
		return EINVAL
	case !tandemMay(n, 2):
		return EACCES
	}
	return n.truncate(size)
}

const tandemHereSigned = -100

// tandemStatfs describes the file system, which is that of the execution
// wherever a path leads.
func tandemStatfs(to *Statfs_t) {
	f := &tandemFiles
	tandemNoted(accessRead, diskObject())
	free := uint64(f.limit-f.used) / tandemBlockSize
	*to = Statfs_t{
		Type: 0x01021994, Bsize: tandemBlockSize, Frsize: tandemBlockSize,
		Blocks: uint64(f.limit) / tandemBlockSize,
		Bfree:  free, Bavail: free, Files: uint64(f.limit) / tandemBlockSize, Ffree: free,
		Namelen: tandemMaxName,
	}
}

func tandemChdir(n *tandemNode) Errno {
	if e := tandemSearchable(n); e != 0 {
		return e
	}
	tandemFilePoint(opFileWrite, workingObject(), nil)
	tandemFiles.cwd = n
	return 0
}

func workingObject() uint64 { return tandemNamed(1, "") }

func tandemGetcwd(to unsafe.Pointer, size int) (int, Errno) {
	tandemFilePoint(opFileRead, workingObject(), nil)
	path, ok := tandemWorking().path()
	switch {
	case !ok:
		return 0, ENOENT
	case size < len(path)+1:
		return 0, ERANGE
	}
	b := unsafe.Slice((*byte)(to), size)
	b[copy(b, path)] = 0
	return len(path) + 1, 0
}

// tandemKill sends a signal: to the program itself, since it knows no other process.
func tandemKill(pid int, signal uintptr) Errno {
	switch {
	case pid != tandemPid && pid != -tandemPid && pid != 0:
		tandemRefuseCall("sending a signal to another process")
	case signal > 64:
		return EINVAL
	case signal != 0:
		tandemSignalSend(uint32(signal))
	}
	return 0
}

//go:linkname tandemSignalSend
func tandemSignalSend(s uint32)

// tandemUname names the machine as the configuration does.
//
//go:nosplit
func tandemUname(to *Utsname) Errno {
	_, _, e := RawSyscall6(SYS_UNAME, uintptr(unsafe.Pointer(to)), 0, 0, 0, 0, 0)
	if e != 0 {
		return e
	}
	_, name := tandemSettings()
	clear(to.Nodename[:])
	for i := range name {
		to.Nodename[i] = int8(name[i])
	}
	return 0
}

// tandemUmask sets which permissions new files do not get.
func tandemUmask(mask int) int {
	tandemFilePoint(opFileWrite, tandemNamed(2, ""), nil)
	old := tandemFiles.umask
	tandemFiles.umask = uint32(mask) & 0o777
	return int(old)
}
