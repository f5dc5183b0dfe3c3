package syscall

import "unsafe"

// What calls tell of the time: virtual time, and that no processor time was used.

//go:linkname tandemSleep
func tandemSleep(ns int64)

//go:linkname tandemMonotonic
func tandemMonotonic() int64

// tandemClockCall serves the calls about time.
//
//go:nosplit
//go:nocheckptr
func tandemClockCall(trap, a1, a2 uintptr) (e Errno, taken bool) {
	switch trap {
	case SYS_CLOCK_GETTIME:
		return tandemReadClock(a1, (*Timespec)(unsafe.Pointer(a2))), true
	case SYS_GETTIMEOFDAY:
		*(*Timeval)(unsafe.Pointer(a1)) = NsecToTimeval(tandemWallTime())
	case SYS_GETRUSAGE:
		*(*Rusage)(unsafe.Pointer(a2)) = Rusage{}
	case SYS_TIMES:
		*(*Tms)(unsafe.Pointer(a1)) = Tms{}
	case SYS_NANOSLEEP:
		tandemSleep(TimespecToNsec(*(*Timespec)(unsafe.Pointer(a1))))
	default:
		return 0, false
	}
	return 0, true
}

func tandemReadClock(clock uintptr, to *Timespec) Errno {
	const realtime, monotonic, raw, coarse, monotonicCoarse, boot = 0, 1, 4, 5, 6, 7
	switch clock {
	case realtime, coarse:
		*to = NsecToTimespec(tandemWallTime())
	case monotonic, raw, monotonicCoarse, boot:
		*to = NsecToTimespec(tandemMonotonic())
	default: // of processors
		*to = Timespec{}
	}
	return 0
}

func tandemWallTime() int64 {
	sec, nsec := tandemTime()
	return sec*1e9 + int64(nsec)
}
