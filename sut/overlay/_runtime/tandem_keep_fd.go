package runtime

import (
	linux "internal/runtime/syscall/linux"
	"unsafe"
)

// Descriptors do not go back with the memory. So it is noted which are opened and closed after a
// place, and that is undone. What is closed then has a spare meanwhile. All other system calls that
// change something make the places of the execution useless.

const (
	tandemClose      = 3
	tandemDup        = 32
	tandemDup2       = 33
	tandemSocketCall = 41
	tandemSocketPair = 53
	tandemOpenat     = 257
	tandemDup3       = 292
	tandemPipe2      = 293

	tandemDupFD     = 0 // of fcntl
	tandemGetFD     = 1
	tandemGetFL     = 3
	tandemDupFDExec = 1030
)

// tandemKernelCall is a call that changes descriptors, or something else.
var tandemKernelCall struct {
	trap, a1, a2, a3, a4, a5, a6 uintptr
	r1, r2, e                    uintptr
}

// tandemKernel makes a system call of the program, if it changes something that is to be undone.
//
//go:linkname tandemKernel syscall.tandemKernel
//go:nosplit
func tandemKernel(trap, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2, e uintptr, done bool) {
	if !tandem.on {
		return 0, 0, 0, false
	}
	ps := &tandem.sh.places
	changes := !tandemChangesNothing(trap, a2)
	if changes {
		ps.left = sharedLeft{output: 1, opened: 1} // or it may have
	} else if trap == tandemWrite || trap == tandemMmap {
		ps.left.output = 1
	}
	if !changes || ps.active == 0 {
		return 0, 0, 0, false
	}
	k := &tandemKernelCall
	k.trap, k.a1, k.a2, k.a3, k.a4, k.a5, k.a6 = trap, a1, a2, a3, a4, a5, a6
	systemstack(tandemChange)
	return k.r1, k.r2, k.e, true
}

// tandemChangesNothing tells of the calls that leave descriptors and the process as they are. What
// is printed, the checker takes.
//
//go:nosplit
func tandemChangesNothing(trap, what uintptr) bool {
	switch trap {
	case tandemRead, tandemWrite, 4, tandemFstat, 6, 17, tandemMmap, tandemGetpid, 55, 63, 79, 102, 104,
		107, 108, 110, 186, 204, 217, 228, 262, 267, 318:
		// read, write, stat, fstat, lstat, pread64, mmap, getpid, getsockopt, uname, getcwd,
		// getuid, getgid, geteuid, getegid, getppid, gettid, sched_getaffinity, getdents64,
		// clock_gettime, newfstatat, readlinkat, getrandom. Who maps memory says so by itself.
		return true
	case tandemFcntl:
		return what == tandemGetFD || what == tandemGetFL
	}
	return false
}

// tandemChange makes the call, and notes what is to be undone. A descriptor that dup2 or dup3 takes
// over is closed first, as far as this is concerned.
func tandemChange() {
	k := &tandemKernelCall
	switch k.trap {
	case tandemClose:
		tandemSpare(k.a1)
	case tandemDup2, tandemDup3:
		tandemSpare(k.a2)
	}
	k.r1, k.r2, k.e = linux.Syscall6(k.trap, k.a1, k.a2, k.a3, k.a4, k.a5, k.a6)
	switch k.trap {
	case tandemClose:
	case tandemPipe2:
		tandemOpenedTwo(k.a1)
	case tandemSocketPair:
		tandemOpenedTwo(k.a4)
	case tandemSocketCall, tandemOpenat, tandemDup, tandemDup2, tandemDup3:
		tandemOpened()
	case tandemFcntl:
		if k.a2 == tandemDupFD || k.a2 == tandemDupFDExec {
			tandemOpened()
		} else {
			tandemForgetPlaces()
		}
	default:
		tandemForgetPlaces()
	}
}

// tandemOpened notes the descriptor that a call has returned, unless it has failed.
func tandemOpened() {
	if k := &tandemKernelCall; k.e == 0 {
		tandemNoteChange(sharedChange{fd: int32(k.r1), spare: -1})
	}
}

// tandemOpenedTwo notes the two descriptors that a call has left at an address.
func tandemOpenedTwo(at uintptr) {
	if tandemKernelCall.e != 0 {
		return
	}
	for _, fd := range *(*[2]int32)(unsafe.Pointer(at)) {
		tandemNoteChange(sharedChange{fd: fd, spare: -1})
	}
}

// tandemSpare keeps open what a descriptor is of, which is about to be closed.
func tandemSpare(fd uintptr) {
	flags, _, e := linux.Syscall6(tandemFcntl, fd, tandemGetFD, 0, 0, 0, 0)
	if e != 0 {
		return // it is none
	}
	spare, _, e := linux.Syscall6(tandemFcntl, fd, tandemDupFDExec, spareFD, 0, 0, 0)
	if e != 0 {
		tandemForgetPlaces()
		return
	}
	tandemNoteChange(sharedChange{fd: int32(fd), spare: int32(spare), flags: uint32(flags)})
}

// tandemNoteChange notes a change, if there is room. What cannot be undone makes the places before
// it useless, and those behind it are not concerned.
func tandemNoteChange(c sharedChange) {
	ps := &tandem.sh.places
	if ps.changes == maxDescriptors {
		tandemForgetPlaces()
		return
	}
	ps.change[ps.changes] = c
	ps.changes++
}

// tandemUndoChanges goes back to where there were so many changes: the last is undone first. What
// goes back with memory knows nothing of spares, whose numbers are far above all others.
func tandemUndoChanges(n uint32) {
	const closeOnExec = 0x80000
	ps := &tandem.sh.places
	for ps.changes > n {
		ps.changes--
		c := &ps.change[ps.changes]
		if c.spare < 0 {
			linux.Syscall6(tandemClose, uintptr(c.fd), 0, 0, 0, 0, 0)
			continue
		}
		linux.Syscall6(tandemDup3, uintptr(c.spare), uintptr(c.fd), uintptr(c.flags&1*closeOnExec), 0, 0, 0)
		linux.Syscall6(tandemClose, uintptr(c.spare), 0, 0, 0, 0, 0)
	}
}
