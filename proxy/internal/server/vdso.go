package server

import (
	"encoding/binary"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/proxy/internal/protocol"
)

const page = 4096

// tracee is a process that stands at its first instruction. The proxy changes it before it runs: it
// writes a system call over that instruction, has the process step over it as often as it takes,
// with other registers each time, and puts everything back. Only the thread that started the
// process may use it.
type tracee struct {
	pid   int
	start unix.PtraceRegs
	err   error // the first one: what follows does nothing
}

// letGo lets a program go that stands at its first instruction and is traced by this thread.
// Before, it maps the VDSO that the program is to find, if there is one, and has system calls
// refused to it. The first error of all steps is returned, and the process then is not let go.
func letGo(pid int, p protocol.Command) error {
	t := &tracee{pid: pid}
	t.check("read its registers", unix.PtraceGetRegs(pid, &t.start))
	pc := uintptr(t.start.Rip)
	code := t.peek(pc, 8)
	t.poke(pc, []byte{0x0f, 0x05}) // the instruction SYSCALL
	if p.VDSO != nil {
		base := t.mapVDSO(p.VDSO)
		t.replaceAuxiliary(base, p.VDSO.Key)
	}
	t.refuse(p.VDSO != nil)
	t.poke(pc, code)
	t.check("write its registers", unix.PtraceSetRegs(pid, &t.start))
	t.check("let it go", unix.PtraceDetach(pid))
	if t.err != nil {
		return fmt.Errorf("execute %s: %w", p.Args[0], t.err)
	}
	return nil
}

// check notes the first error. So a row of steps can be written down without asking after each, and
// the steps after one that has failed do nothing.
func (t *tracee) check(what string, err error) {
	if t.err == nil && err != nil {
		t.err = fmt.Errorf("prepare process %d: %s: %w", t.pid, what, err)
	}
}

// peek reads the memory of the process. After an error it returns zeros.
func (t *tracee) peek(at uintptr, n int) []byte {
	b := make([]byte, n)
	if t.err == nil {
		_, err := unix.PtracePeekData(t.pid, at, b)
		t.check("read its memory", err)
	}
	return b
}

// poke writes to the memory of the process, also where the process itself may only read, such as
// its code. After an error it does nothing.
func (t *tracee) poke(at uintptr, b []byte) {
	if t.err == nil {
		_, err := unix.PtracePokeData(t.pid, at, b)
		t.check("write its memory", err)
	}
}

// word reads 8 bytes of the memory of the process.
func (t *tracee) word(at uintptr) uint64 { return binary.NativeEndian.Uint64(t.peek(at, 8)) }

// call makes the program do a system call, and returns its result. What is for the error message.
func (t *tracee) call(what string, number uint64, a ...uint64) uint64 {
	if t.err != nil {
		return 0
	}
	// The other registers are as they were at the first instruction.
	regs := t.start
	regs.Rax, regs.Orig_rax = number, ^uint64(0)
	// In the order of the arguments of a system call: syscall(2).
	for i, to := range []*uint64{&regs.Rdi, &regs.Rsi, &regs.Rdx, &regs.R10, &regs.R8, &regs.R9} {
		if i < len(a) {
			*to = a[i]
		}
	}
	t.check("write its registers", unix.PtraceSetRegs(t.pid, &regs))
	t.check("let it step", unix.PtraceSingleStep(t.pid))
	if t.err == nil {
		_, err := sys.Retry(func() (int, error) { return unix.Wait4(t.pid, nil, 0, nil) })
		t.check("wait for its step", err)
	}
	t.check("read its registers", unix.PtraceGetRegs(t.pid, &regs))
	// Results that are negative, and small enough to be no address, are errors.
	if e := -int64(regs.Rax); t.err == nil && e > 0 && e < page {
		t.check(what, syscall.Errno(e))
	}
	return regs.Rax
}

// mapVDSO maps a library into the process, each of its segments, and returns where. First it gets
// as much memory as the library takes, so that no part of it can meet another mapping. A page
// behind that holds the name of the file as long as it is needed. At last the library gets what its
// time and its random numbers follow from.
func (t *tracee) mapVDSO(v *protocol.VDSO) uint64 {
	const private, anonymous, fixed = unix.MAP_PRIVATE, unix.MAP_ANONYMOUS, unix.MAP_FIXED
	base := t.call("map memory", unix.SYS_MMAP, 0, v.Size+page, unix.PROT_READ|unix.PROT_WRITE,
		private|anonymous, ^uint64(0), 0)
	scratch := base + v.Size
	t.poke(uintptr(scratch), append([]byte(v.File), 0))
	fd := t.call("open "+v.File, unix.SYS_OPEN, scratch, unix.O_RDONLY, 0)
	for _, s := range v.Segments {
		protection := uint64(unix.PROT_READ | unix.PROT_EXEC)
		if s.Writable {
			protection = unix.PROT_READ | unix.PROT_WRITE
		}
		t.call("map "+v.File, unix.SYS_MMAP, base+s.Address, s.Size, protection, private|fixed, fd, s.Offset)
	}
	t.call("close "+v.File, unix.SYS_CLOSE, fd)
	state := binary.NativeEndian.AppendUint64(nil, v.Key)
	t.poke(uintptr(base+v.State), binary.NativeEndian.AppendUint64(state, uint64(v.Start)))
	t.call("unmap memory", unix.SYS_MUNMAP, scratch, page)
	return base
}

// Entries of the auxiliary vector, getauxval(3).
const (
	auxiliaryEnd    = 0
	auxiliaryRandom = 25 // address of 16 random bytes
	auxiliaryVDSO   = 33
)

// replaceAuxiliary changes what the kernel has left on the stack: the number of arguments,
// the arguments, 0, the environment, 0, and the auxiliary vector. A program without the C library
// finds the VDSO there, and the random bytes that Go, for one, starts its generators with.
func (t *tracee) replaceAuxiliary(vdso, key uint64) {
	const maxWords = 1 << 20
	at := uintptr(t.start.Rsp)
	at += 8 * (2 + uintptr(t.word(at)))
	for n := 0; t.err == nil && n < maxWords && t.word(at) != 0; n++ {
		at += 8
	}
	for at += 8; t.err == nil; at += 16 { // a pair of words each: what it is, and its value
		switch t.word(at) {
		case auxiliaryEnd:
			return
		case auxiliaryVDSO:
			t.poke(at+8, binary.NativeEndian.AppendUint64(nil, vdso))
		case auxiliaryRandom:
			random := binary.NativeEndian.AppendUint64(nil, key)
			t.poke(uintptr(t.word(at+8)), binary.NativeEndian.AppendUint64(random, ^key*0x9e3779b97f4a7c15))
		}
	}
}
