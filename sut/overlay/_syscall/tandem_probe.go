package syscall

import "unsafe"

// System calls that a kernel need not have. Libraries try whether they are there, often as they are
// initialised, and have another way: so they are not refused, but answered as by a kernel that is
// older or was built without them.

const (
	tandemSetPdeathsig  = 1
	tandemSetDumpable   = 4
	tandemSetName       = 15
	tandemNoNewPrivs    = 38
	tandemGetrandom     = 318
	tandemRandomFlags   = 7 // GRND_NONBLOCK, GRND_RANDOM, GRND_INSECURE
	tandemSysinfoUptime = 3600
)

// tandemProbe answers such calls, and others that are about the process or the machine and may be
// made at any time.
//
//go:nosplit
//go:nocheckptr
func tandemProbe(trap, a1, a2, a3 uintptr) (r uintptr, e Errno, taken bool) {
	switch trap {
	case 237, 238, 239, 256, 279, // mbind, set_mempolicy, get_mempolicy, migrate_pages, move_pages
		206,           // io_setup
		248, 249, 250, // add_key, request_key, keyctl
		298, 300, 310, 311, // perf_event_open, fanotify_init, process_vm_readv, process_vm_writev
		312, 317, 319, 321, 323, // kcmp, seccomp, memfd_create, bpf, userfaultfd
		332,           // statx
		425, 426, 427, // io_uring_setup, io_uring_enter, io_uring_register
		436, 437, 438, // close_range, openat2, pidfd_getfd
		444, 445, 446, // landlock_create_ruleset, landlock_add_rule, landlock_restrict_self
		447, 451: // memfd_secret, cachestat
		return ^uintptr(0), ENOSYS, true
	case SYS_PRCTL:
		switch a1 {
		case tandemSetPdeathsig, tandemSetDumpable, tandemSetName, tandemNoNewPrivs:
			return 0, 0, true // which nobody notices
		}
		return ^uintptr(0), EINVAL, true
	case SYS_SYSINFO:
		return tandemReturn(0, tandemSysinfo((*Sysinfo_t)(unsafe.Pointer(a1))))
	case tandemGetrandom:
		return tandemReturn(tandemGetRandom(unsafe.Pointer(a1), int(a2), a3))
	}
	return 0, 0, false
}

// tandemSysinfo describes a machine that is the same everywhere.
func tandemSysinfo(info *Sysinfo_t) Errno {
	if info == nil {
		return EFAULT
	}
	*info = Sysinfo_t{Uptime: tandemSysinfoUptime, Totalram: 4 << 30, Freeram: 2 << 30, Procs: 1, Unit: 1}
	return 0
}

func tandemGetRandom(p unsafe.Pointer, n int, flags uintptr) (int, Errno) {
	switch {
	case flags&^tandemRandomFlags != 0:
		return 0, EINVAL
	case n < 0 || p == nil && n > 0:
		return 0, EFAULT
	case n > 0:
		tandemFillRandom(unsafe.Slice((*byte)(p), n))
	}
	return n, 0
}
