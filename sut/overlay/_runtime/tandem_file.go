package runtime

import (
	"internal/runtime/sys"
	"unsafe"
)

// What the file system in package syscall needs of the scheduler.

//go:linkname tandemServes syscall.tandemServes
//go:nosplit
func tandemServes() bool { return tandem.serving }

// tandemFilePoint is the point of an operation on a file. state is what an
// operation that may have to wait looks at.
//
//go:linkname tandemFilePoint syscall.tandemFilePoint
func tandemFilePoint(op uint8, object uint64, state *int32) {
	gp := getg()
	if !tandem.on || gp.tandem.id == 0 {
		return
	}
	t := &gp.tandem
	t.op, t.object, t.state, t.choices = op, uintptr(object), uintptr(unsafe.Pointer(state)), 1
	t.caller, t.frame = sys.GetCallerPC(), getcallerfp()
	tandemArrive()
}

// tandemFileAccess records an access of the running transition.
//
//go:linkname tandemFileAccess syscall.tandemFileAccess
func tandemFileAccess(op, kind uint8, object uint64, state *int32) {
	t := &getg().tandem
	if !tandem.on || t.id == 0 {
		return
	}
	ready := uint8(readyFree | readyReader)
	if state != nil {
		ready = tandemFileLockReady(uintptr(unsafe.Pointer(state)))
	}
	if raceenabled {
		tandemRaceTouch(getg(), object, kind)
	}
	tandemRecord(record{kind: recordAccess, op: op, flag: kind, ready: ready, a: object,
		pc: uint64(t.caller), open: uint64(t.open)})
}

// tandemFreshName names something after the goroutine that makes it.
//
//go:linkname tandemFreshName syscall.tandemFreshName
func tandemFreshName() uint64 {
	t := &getg().tandem
	t.children++
	return tandemMix(t.id ^ tandemMix(t.children))
}

//go:linkname tandemFileHash syscall.tandemHash
func tandemFileHash(p []byte) uint64 { return tandemHash(p) }

//go:linkname tandemTime syscall.tandemTime
func tandemTime() (sec int64, nsec int32) {
	tandemDisturb()
	sec, nsec, _ = tandemWallClock()
	return sec, nsec
}

//go:linkname tandemFillRandom syscall.tandemFillRandom
func tandemFillRandom(p []byte) { tandemRandom(p) }

//go:linkname tandemSettings syscall.tandemSettings
//go:nosplit
func tandemSettings() (disk int64, hostname string) {
	env := &tandem.sh.environment
	m := &env.machine
	return int64(env.diskBytes), unsafe.String(&m.hostname[0], int(m.hostnameLength))
}

// tandemHosts are the names that can be looked up, as lines of a hosts file.
//
//go:linkname tandemHosts syscall.tandemHosts
func tandemHosts() string {
	m := &tandem.sh.environment.machine
	return unsafe.String(&m.hosts[0], int(m.hostsLength))
}

// tandemAddressOf is the i-th IP address of the machine beside loopback; false: it has fewer.
//
//go:linkname tandemAddressOf syscall.tandemAddressOf
func tandemAddressOf(i int) (ip [16]byte, ok bool) {
	m := &tandem.sh.environment.machine
	if uint64(i) >= m.addresses {
		return ip, false
	}
	return m.address[i], true
}

// tandemOwnPorts are the ports that sockets get which ask for none: so many from the first one on.
//
//go:linkname tandemOwnPorts syscall.tandemOwnPorts
func tandemOwnPorts() (first, n int) {
	m := &tandem.sh.environment.machine
	return int(m.firstPort), int(m.ports)
}

// tandemProgramName is the last part of how the program was called.
//
//go:linkname tandemProgramName syscall.tandemProgramName
func tandemProgramName() string {
	name := gostringnocopy(argv_index(argv, 0))
	for i := len(name); i > 0; i-- {
		if name[i-1] == '/' {
			return name[i:]
		}
	}
	return name
}

//go:linkname tandemNoteMapping syscall.tandemNoteMapping
func tandemNoteMapping(at, length uintptr) { tandemMapped(unsafe.Pointer(at), length, 0) }

// tandemFileLockReady reads the lock of a file: how many share it, or -1 if
// somebody has it alone.
func tandemFileLockReady(state uintptr) uint8 {
	switch holders := *(*int32)(unsafe.Pointer(state)); {
	case holders == 0:
		return readyFree | readyReader
	case holders > 0:
		return readyReader
	}
	return 0
}

// tandemPlainFiles says which descriptors are files, but for those of standard
// output and error, which nobody but the checker reads.
var tandemPlainFiles [tandemMaxSockets]bool

//go:linkname tandemMarkFile syscall.tandemMarkFile
func tandemMarkFile(fd int, plain bool) {
	if fd >= tandemMaxSockets {
		tandemCutOff("more than 1024 descriptors")
	}
	tandemPlainFiles[fd] = plain
}

func tandemIsPlainFile(fd int) bool { return fd < tandemMaxSockets && tandemPlainFiles[fd] }

//go:linkname tandemSleep syscall.tandemSleep
func tandemSleep(ns int64) { timeSleep(ns) }

// tandemMonotonic is the reading of clocks that do not tell the time of day.
//
//go:linkname tandemMonotonic syscall.tandemMonotonic
//go:nosplit
func tandemMonotonic() int64 { return tandem.now }

// tandemNotPolled is EPERM, as the kernel says of files that never wait.
const tandemNotPolled = 1
