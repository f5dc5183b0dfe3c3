package server

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/userns"
)

// Numbers of system calls that the kernel gives to all architectures alike, of which package unix
// has no names.
const (
	ioUringSetup    = 425
	ioUringRegister = 427 // io_uring_enter is between them
)

// Filters is how many filters of system calls a peer has from the beginning. It touches no call of
// a restore.
const Filters = 1

// code32 is the code segment of programs for 32 bits: they have other system calls.
const code32 = 0x23

// refused is a seccomp filter that answers system calls as a kernel without them: ENOSYS. Programs
// try such calls and have another way.
//
// io_uring and asynchronous I/O (io_setup) are refused to every peer: what the kernel does for them
// meanwhile shows in no thread and no socket, so that nobody could tell when the peer is quiescent,
// and neither kind of checkpoint has the rings. getrandom is refused where random numbers are
// chosen: programs read /dev/urandom then, which is a file of chosen ones.
//
// setgroups is granted, and does nothing, where the kernel denies it in a user namespace that takes
// no privilege. Servers that are started as root give up groups by it, or else their start.
func refused(getrandom, setgroups bool) []unix.SockFilter {
	const (
		load    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		greater = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
		least   = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		result  = unix.BPF_RET | unix.BPF_K

		number, architecture = 0, 4 // of the call: offsets in struct seccomp_data
	)
	second := uint32(unix.SYS_IO_SETUP)
	if getrandom {
		second = unix.SYS_GETRANDOM
	}
	third := second
	if setgroups {
		third = unix.SYS_SETGROUPS
	}
	// A jump passes over so many instructions: Jt if its condition holds, else Jf.
	return []unix.SockFilter{
		{Code: load, K: number},
		{Code: greater, K: ioUringRegister, Jt: 7}, // allow
		{Code: least, K: ioUringSetup, Jt: 7},      // refuse
		{Code: load, K: architecture},
		{Code: equal, K: unix.AUDIT_ARCH_X86_64, Jf: 4}, // allow
		{Code: load, K: number},
		{Code: equal, K: unix.SYS_IO_SETUP, Jt: 3}, // refuse
		{Code: equal, K: second, Jt: 2},            // refuse
		{Code: equal, K: third, Jt: 2},             // grant
		{Code: result, K: unix.SECCOMP_RET_ALLOW},
		{Code: result, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: result, K: unix.SECCOMP_RET_ERRNO}, // 0: it has succeeded
	}
}

// refuse filters the system calls of the program, for good: what it executes, and what it forks,
// has the same filter. A program that is not for 64 bits is left alone, and so is one whose file
// gives it other capabilities than those of the proxy, so that it may not have a filter.
func (t *tracee) refuse(getrandom bool) {
	if t.start.Cs == code32 || t.err != nil {
		return
	}
	filter := refused(getrandom, userns.Unprivileged())
	// struct sock_fprog and the instructions, on the stack, below what is used of it.
	const below, header, instruction = 512, 16, 8
	at := (t.start.Rsp - below) &^ 15
	b := binary.NativeEndian.AppendUint64(nil, uint64(len(filter)))
	b = binary.NativeEndian.AppendUint64(b, at+header)
	for _, i := range filter {
		b = binary.NativeEndian.AppendUint16(b, i.Code)
		b = append(b, i.Jt, i.Jf)
		b = binary.NativeEndian.AppendUint32(b, i.K)
	}
	if len(b) != header+instruction*len(filter) || len(b) > below {
		panic("proxy: the filter of system calls has another size")
	}
	before := t.peek(uintptr(at), len(b))
	t.poke(uintptr(at), b)
	// Older kernels slow programs with a filter down, unless they are asked not to.
	t.call("filter its system calls", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, at)
	if errors.Is(t.err, unix.EACCES) && !getrandom {
		t.err = nil
	}
	t.poke(uintptr(at), before)
}
