package server

import (
	"testing"

	"golang.org/x/sys/unix"
)

// run is what a filter says of a system call: an interpreter of the few instructions that it has.
func run(t *testing.T, filter []unix.SockFilter, number, architecture uint32) uint32 {
	t.Helper()
	var a uint32
	for at := 0; at < len(filter); at++ {
		jump := func(holds bool) {
			if holds {
				at += int(filter[at].Jt)
			} else {
				at += int(filter[at].Jf)
			}
		}
		switch i := filter[at]; i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = map[uint32]uint32{0: number, 4: architecture}[i.K]
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(a == i.K)
		case unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K:
			jump(a > i.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump(a >= i.K)
		case unix.BPF_RET | unix.BPF_K:
			return i.K
		default:
			t.Fatalf("instruction %d is %+v", at, i)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

// TestRefusedCalls: io_uring is refused to programs of all architectures, the others by their
// numbers for 64 bits, which are other calls for 32 bits.
func TestRefusedCalls(t *testing.T) {
	const refuses, allows = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS), unix.SECCOMP_RET_ALLOW
	const grants = unix.SECCOMP_RET_ERRNO // with 0, which is no error
	for _, test := range []struct {
		number, architecture uint32
		chosen               bool // random numbers are
		granted              bool // setgroups is
		want                 uint32
	}{
		{unix.SYS_READ, unix.AUDIT_ARCH_X86_64, true, false, allows},
		{unix.SYS_IO_SETUP, unix.AUDIT_ARCH_X86_64, false, false, refuses},
		{unix.SYS_IO_SETUP, unix.AUDIT_ARCH_X86_64, true, false, refuses},
		{unix.SYS_IO_SETUP, unix.AUDIT_ARCH_I386, true, false, allows},
		{unix.SYS_GETRANDOM, unix.AUDIT_ARCH_X86_64, false, false, allows},
		{unix.SYS_GETRANDOM, unix.AUDIT_ARCH_X86_64, true, false, refuses},
		{unix.SYS_GETRANDOM, unix.AUDIT_ARCH_I386, true, false, allows},
		{ioUringSetup - 1, unix.AUDIT_ARCH_X86_64, true, false, allows},
		{ioUringSetup, unix.AUDIT_ARCH_X86_64, false, false, refuses},
		{unix.SYS_IO_URING_ENTER, unix.AUDIT_ARCH_I386, false, false, refuses},
		{ioUringRegister, unix.AUDIT_ARCH_I386, true, false, refuses},
		{ioUringRegister + 1, unix.AUDIT_ARCH_X86_64, true, false, allows},
		{unix.SYS_SETGROUPS, unix.AUDIT_ARCH_X86_64, true, false, allows},
		{unix.SYS_SETGROUPS, unix.AUDIT_ARCH_X86_64, true, true, grants},
		{unix.SYS_SETGROUPS, unix.AUDIT_ARCH_I386, true, true, allows},
		{unix.SYS_GETRANDOM, unix.AUDIT_ARCH_X86_64, true, true, refuses},
	} {
		got := run(t, refused(test.chosen, test.granted), test.number, test.architecture)
		if got != test.want {
			t.Errorf("%+v: %#x", test, got)
		}
	}
}
