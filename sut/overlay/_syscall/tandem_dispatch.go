package syscall

import "unsafe"

// System calls that syscall gives no name.
const (
	tandemRenameat2    = 316
	tandemSyncfs       = 306
	tandemCopyRange    = 326
	tandemPreadv2      = 327
	tandemPwritev2     = 328
	tandemFaccessat2   = 439
	tandemFchmodat2    = 452
	tandemOpenByHandle = 304
)

// tandemPathCall serves the calls that are about paths. It may not grow the stack
// before the arguments that are pointers have become some.
//
//go:nosplit
//go:nocheckptr
func tandemPathCall(trap, a1, a2, a3, a4, a5 uintptr) (r uintptr, e Errno, taken bool) {
	const here = tandemHereSigned
	switch fd := int(int32(a1)); trap {
	case SYS_OPENAT:
		return tandemReturn(tandemOpen(fd, unsafe.Pointer(a2), int(a3), uint32(a4)))
	case SYS_OPEN:
		return tandemReturn(tandemOpen(here, unsafe.Pointer(a1), int(a2), uint32(a3)))
	case SYS_CREAT:
		return tandemReturn(tandemOpen(here, unsafe.Pointer(a1), O_CREAT|O_WRONLY|O_TRUNC, uint32(a2)))
	case SYS_NEWFSTATAT:
		return tandemReturn(0, tandemStat(fd, unsafe.Pointer(a2), (*Stat_t)(unsafe.Pointer(a3)), int(a4)))
	case SYS_STAT:
		return tandemReturn(0, tandemStat(here, unsafe.Pointer(a1), (*Stat_t)(unsafe.Pointer(a2)), 0))
	case SYS_LSTAT:
		return tandemReturn(0, tandemStat(here, unsafe.Pointer(a1), (*Stat_t)(unsafe.Pointer(a2)),
			tandemNoFollow))
	case SYS_FACCESSAT, tandemFaccessat2:
		if trap == SYS_FACCESSAT {
			a4 = 0
		}
		return tandemReturn(0, tandemAccess(fd, unsafe.Pointer(a2), uint32(a3), int(a4)))
	case SYS_ACCESS:
		return tandemReturn(0, tandemAccess(here, unsafe.Pointer(a1), uint32(a2), 0))
	case SYS_READLINKAT:
		return tandemReturn(tandemReadlink(fd, unsafe.Pointer(a2), unsafe.Pointer(a3), int(a4)))
	case SYS_READLINK:
		return tandemReturn(tandemReadlink(here, unsafe.Pointer(a1), unsafe.Pointer(a2), int(a3)))
	case SYS_STATFS:
		if _, e := tandemTarget(false, here, unsafe.Pointer(a1), 0); e != 0 {
			return tandemReturn(0, e)
		}
		tandemStatfs((*Statfs_t)(unsafe.Pointer(a2)))
		return 0, 0, true
	case SYS_CHDIR:
		n, e := tandemTarget(false, here, unsafe.Pointer(a1), 0)
		if e == 0 {
			e = tandemChdir(n)
		}
		return tandemReturn(0, e)
	case SYS_GETCWD:
		return tandemReturn(tandemGetcwd(unsafe.Pointer(a1), int(a2)))
	}
	return tandemChangeCall(trap, a1, a2, a3, a4, a5)
}

// tandemChangeCall serves the calls that change what is where.
//
//go:nosplit
//go:nocheckptr
func tandemChangeCall(trap, a1, a2, a3, a4, a5 uintptr) (r uintptr, e Errno, taken bool) {
	const here = tandemHereSigned
	switch fd := int(int32(a1)); trap {
	case SYS_MKDIRAT:
		e = tandemMkdir(fd, unsafe.Pointer(a2), uint32(a3))
	case SYS_MKDIR:
		e = tandemMkdir(here, unsafe.Pointer(a1), uint32(a2))
	case SYS_UNLINKAT:
		e = tandemUnlink(fd, unsafe.Pointer(a2), int(a3))
	case SYS_UNLINK:
		e = tandemUnlink(here, unsafe.Pointer(a1), 0)
	case SYS_RMDIR:
		e = tandemUnlink(here, unsafe.Pointer(a1), tandemRemoveDirectory)
	case SYS_RENAMEAT:
		e = tandemRename(fd, unsafe.Pointer(a2), int(int32(a3)), unsafe.Pointer(a4), 0)
	case tandemRenameat2:
		e = tandemRename(fd, unsafe.Pointer(a2), int(int32(a3)), unsafe.Pointer(a4), int(a5))
	case SYS_RENAME:
		e = tandemRename(here, unsafe.Pointer(a1), here, unsafe.Pointer(a2), 0)
	case SYS_LINKAT:
		e = tandemLink(fd, unsafe.Pointer(a2), int(int32(a3)), unsafe.Pointer(a4), int(a5))
	case SYS_LINK:
		e = tandemLink(here, unsafe.Pointer(a1), here, unsafe.Pointer(a2), 0)
	case SYS_SYMLINKAT:
		e = tandemSymlink(unsafe.Pointer(a1), int(int32(a2)), unsafe.Pointer(a3))
	case SYS_SYMLINK:
		e = tandemSymlink(unsafe.Pointer(a1), here, unsafe.Pointer(a2))
	case SYS_FCHMODAT:
		e = tandemChmod(fd, unsafe.Pointer(a2), uint32(a3), 0)
	case tandemFchmodat2:
		e = tandemChmod(fd, unsafe.Pointer(a2), uint32(a3), int(a4))
	case SYS_CHMOD:
		e = tandemChmod(here, unsafe.Pointer(a1), uint32(a2), 0)
	case SYS_FCHOWNAT:
		e = tandemChown(fd, unsafe.Pointer(a2), uint32(a3), uint32(a4), int(a5))
	case SYS_CHOWN:
		e = tandemChown(here, unsafe.Pointer(a1), uint32(a2), uint32(a3), 0)
	case SYS_LCHOWN:
		e = tandemChown(here, unsafe.Pointer(a1), uint32(a2), uint32(a3), tandemNoFollow)
	case SYS_UTIMENSAT:
		e = tandemSetTimes(fd, unsafe.Pointer(a2), unsafe.Pointer(a3), int(a4))
	case SYS_TRUNCATE:
		e = tandemTruncate(unsafe.Pointer(a1), int64(a2))
	case SYS_GETXATTR, SYS_LGETXATTR, SYS_LISTXATTR, SYS_LLISTXATTR, SYS_SETXATTR, SYS_LSETXATTR,
		SYS_REMOVEXATTR, SYS_LREMOVEXATTR:
		e = EOPNOTSUPP
	case SYS_MKNOD, SYS_MKNODAT, SYS_UTIME, SYS_UTIMES, SYS_FUTIMESAT, tandemOpenByHandle:
		tandemRefuseCall("a system call on a path that is not supported (mknod, utimes)")
	default:
		return 0, 0, false
	}
	return tandemReturn(0, e)
}

// tandemDescriptorCall serves the calls that are about a virtual descriptor.
//
//go:nosplit
//go:nocheckptr
func tandemDescriptorCall(trap, a1, a2, a3, a4 uintptr) (r uintptr, e Errno, taken bool) {
	switch fd := int(a1); trap {
	case SYS_READ:
		return tandemReturn(tandemReadFile(fd, unsafe.Pointer(a2), int(a3), -1))
	case SYS_PREAD64:
		if int64(a4) < 0 {
			return tandemReturn(0, EINVAL)
		}
		return tandemReturn(tandemReadFile(fd, unsafe.Pointer(a2), int(a3), int64(a4)))
	case SYS_WRITE:
		return tandemReturn(tandemWriteFile(fd, unsafe.Pointer(a2), int(a3), -1))
	case SYS_PWRITE64:
		if int64(a4) < 0 {
			return tandemReturn(0, EINVAL)
		}
		return tandemReturn(tandemWriteFile(fd, unsafe.Pointer(a2), int(a3), int64(a4)))
	case SYS_READV, SYS_WRITEV:
		return tandemReturn(tandemVectors(fd, unsafe.Pointer(a2), int(a3), -1, trap == SYS_WRITEV))
	case SYS_PREADV, SYS_PWRITEV:
		return tandemReturn(tandemVectors(fd, unsafe.Pointer(a2), int(a3), int64(a4), trap == SYS_PWRITEV))
	case SYS_LSEEK:
		return tandemReturn(tandemSeek(fd, int64(a2), int(a3)))
	case SYS_FSTAT:
		return tandemReturn(0, tandemStat(fd, nil, (*Stat_t)(unsafe.Pointer(a2)), 0))
	case SYS_FSTATFS:
		tandemStatfs((*Statfs_t)(unsafe.Pointer(a2)))
		return 0, 0, true
	case SYS_GETDENTS64:
		return tandemReturn(tandemList(fd, unsafe.Pointer(a2), int(a3)))
	case SYS_FCNTL:
		var lock *Flock_t
		if a2 >= tandemGetPosixLock && a2 <= tandemPosixWait {
			lock = (*Flock_t)(unsafe.Pointer(a3))
		}
		return tandemReturn(tandemControl(fd, a2, tandemUnless(lock != nil, a3), lock))
	case SYS_DUP:
		return tandemReturn(tandemDuplicate(fd, F_DUPFD, 0))
	case SYS_DUP2, SYS_DUP3:
		return tandemReturn(tandemReplace(fd, int(a2), tandemUnless(trap == SYS_DUP2, a3)))
	case SYS_CLOSE:
		return tandemReturn(0, tandemCloseFile(fd))
	}
	return tandemOtherDescriptorCall(trap, a1, a2, a3, a4)
}

//go:nosplit
//go:nocheckptr
func tandemOtherDescriptorCall(trap, a1, a2, a3, a4 uintptr) (r uintptr, e Errno, taken bool) {
	switch fd := int(a1); trap {
	case SYS_FTRUNCATE:
		e = tandemTruncateFile(fd, int64(a2))
	case SYS_FALLOCATE:
		e = tandemAllocate(fd, int(a2), int64(a3), int64(a4))
	case SYS_FSYNC, SYS_FDATASYNC:
		e = tandemSync(fd)
	case SYS_SYNC_FILE_RANGE: // which makes nothing durable
		if d := tandemDescribed(fd); d.node.output != 0 || d.node.is(S_IFCHR) {
			e = EINVAL
		}
	case tandemSyncfs:
		tandemSyncAll()
	case SYS_FADVISE64, SYS_READAHEAD:
	case SYS_FCHMOD:
		e = tandemChmod(fd, nil, uint32(a2), 0)
	case SYS_FCHOWN:
		e = tandemChown(fd, nil, uint32(a2), uint32(a3), 0)
	case SYS_FCHDIR:
		e = tandemChdir(tandemDescribed(fd).node)
	case SYS_FLOCK:
		e = tandemLock(fd, int(a2))
	case SYS_IOCTL:
		e = ENOTTY
	case SYS_SENDFILE, SYS_SPLICE, SYS_TEE, tandemCopyRange:
		e = EINVAL // the caller copies by itself then
	case SYS_FGETXATTR, SYS_FLISTXATTR, SYS_FSETXATTR, SYS_FREMOVEXATTR:
		e = EOPNOTSUPP
	case SYS_CONNECT, SYS_BIND, SYS_LISTEN, SYS_ACCEPT4, SYS_GETSOCKOPT, SYS_SETSOCKOPT, SYS_GETSOCKNAME,
		SYS_GETPEERNAME, SYS_SHUTDOWN, SYS_RECVFROM, SYS_SENDTO, SYS_RECVMSG, SYS_SENDMSG:
		e = ENOTSOCK
	case tandemPreadv2, tandemPwritev2:
		e = ENOSYS
	default:
		return 0, 0, false
	}
	return tandemReturn(0, e)
}

//go:nosplit
func tandemUnless(not bool, value uintptr) uintptr {
	if not {
		return 0
	}
	return value
}

// tandemFileCall serves the calls that concern files; the rest is for others.
//
//go:nosplit
//go:nocheckptr
func tandemFileCall(trap, a1, a2, a3, a4, a5, a6 uintptr) (r uintptr, e Errno, taken bool) {
	if tandemTakesDescriptor(trap) {
		if tandemDescribed(int(a1)) != nil {
			return tandemDescriptorCall(trap, a1, a2, a3, a4)
		}
		if a1 <= 2 || tandemReserved(int(a1)) {
			return ^uintptr(0), EBADF, true
		}
	}
	switch trap {
	case SYS_SENDFILE, SYS_SPLICE, SYS_TEE, tandemCopyRange: // from a file into something else
		if from := a2; trap == SYS_SENDFILE && tandemDescribed(int(from)) != nil {
			return ^uintptr(0), EINVAL, true
		}
	case SYS_MMAP:
		return tandemReturn(tandemMapFile(a2, int(a3), int(a4), int(int32(a5)), int64(a6)))
	case SYS_MUNMAP:
		tandemUnmap(a1, a2)
	case SYS_MADVISE:
		if int(a3) == MADV_DONTNEED && tandemIsMapped(a1, a2) {
			return 0, 0, true // the file is there again at once
		}
	case SYS_SYNC:
		tandemSyncAll()
		return 0, 0, true
	case SYS_UNAME:
		return tandemReturn(0, tandemUname((*Utsname)(unsafe.Pointer(a1))))
	}
	return tandemPathCall(trap, a1, a2, a3, a4, a5)
}

// tandemTakesDescriptor reports whether the first argument of a call is a descriptor.
//
//go:nosplit
func tandemTakesDescriptor(trap uintptr) bool {
	switch trap {
	case SYS_READ, SYS_PREAD64, SYS_WRITE, SYS_PWRITE64, SYS_READV, SYS_WRITEV, SYS_PREADV, SYS_PWRITEV,
		SYS_LSEEK,
		SYS_FSTAT, SYS_FSTATFS, SYS_GETDENTS64, SYS_FCNTL, SYS_DUP, SYS_DUP2, SYS_DUP3, SYS_CLOSE,
		SYS_FTRUNCATE,
		SYS_FALLOCATE, SYS_FSYNC, SYS_FDATASYNC, SYS_SYNC_FILE_RANGE, tandemSyncfs,
		SYS_FADVISE64, SYS_READAHEAD,
		SYS_FCHMOD,
		SYS_FCHOWN, SYS_FCHDIR, SYS_FLOCK, SYS_IOCTL, SYS_SENDFILE, SYS_SPLICE, SYS_TEE, tandemCopyRange,
		SYS_FGETXATTR, SYS_FLISTXATTR, SYS_FSETXATTR, SYS_FREMOVEXATTR, tandemPreadv2, tandemPwritev2,
		SYS_CONNECT, SYS_BIND, SYS_LISTEN, SYS_ACCEPT4, SYS_GETSOCKOPT, SYS_SETSOCKOPT, SYS_GETSOCKNAME,
		SYS_GETPEERNAME, SYS_SHUTDOWN, SYS_RECVFROM, SYS_SENDTO, SYS_RECVMSG, SYS_SENDMSG:
		return true
	}
	return false
}
