package ckptd

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/ptrace"
)

// A process under checkpoint carries out system calls for the daemon. Those come as a
// list in a page of its own, with a little machine code that goes through them and traps:
// a stop of the process for each list, not for each call.

// Layout of the mapping that holds code, list and data. It has room for processes of several hundred threads; what is not
// used of it takes no memory.
const (
	injectionSize = 512 << 10
	callsAt       = 256
	maxCalls      = 5000
	callSize      = 64 // number, six arguments, result
	dataAt        = callsAt + maxCalls*callSize
	maxData       = injectionSize - dataAt
)

// injectionCode carries out R12 calls from RBX on.
var injectionCode = []byte{
	0x4d, 0x85, 0xe4, // next: test r12, r12
	0x74, 0x2a, // jz done
	0x48, 0x8b, 0x03, // mov rax, [rbx]
	0x48, 0x8b, 0x7b, 0x08, // mov rdi, [rbx+8]
	0x48, 0x8b, 0x73, 0x10, // mov rsi, [rbx+16]
	0x48, 0x8b, 0x53, 0x18, // mov rdx, [rbx+24]
	0x4c, 0x8b, 0x53, 0x20, // mov r10, [rbx+32]
	0x4c, 0x8b, 0x43, 0x28, // mov r8, [rbx+40]
	0x4c, 0x8b, 0x4b, 0x30, // mov r9, [rbx+48]
	0x0f, 0x05, // syscall
	0x48, 0x89, 0x43, 0x38, // mov [rbx+56], rax
	0x48, 0x83, 0xc3, 0x40, // add rbx, 64
	0x49, 0xff, 0xcc, // dec r12
	0xeb, 0xd1, // jmp next
	0xcc, // done: int3
}

// syscallInstruction is where a thread that waits in a system call has just been.
var syscallInstruction = [2]byte{0x0f, 0x05}

// blockAll is the signal mask during calls: everything but the trap that ends them.
const blockAll = ^uint64(1 << (unix.SIGTRAP - 1))

// program is what threads of one process are to carry out, a list of calls for each.
type program struct {
	at    uint64 // address of the mapping
	lists []*batch
	calls []byte // of all lists, once loaded
	data  []byte
}

// batch is a list of system calls.
type batch struct {
	program *program
	first   int // of its calls among those of the program, once loaded
	calls   []byte
	names   []string
	// optional calls may fail.
	optional map[int]bool
}

func newProgram(at uint64) *program { return &program{at: at} }

// batch adds an empty list.
func (s *program) batch() *batch {
	b := &batch{program: s, optional: map[int]bool{}}
	s.lists = append(s.lists, b)
	return b
}

// add appends a call and returns its index; name is what an error says it was for.
func (b *batch) add(name string, number uintptr, arguments ...uint64) int {
	b.calls = binary.NativeEndian.AppendUint64(b.calls, uint64(number))
	for n := range 6 {
		a := uint64(0)
		if n < len(arguments) {
			a = arguments[n]
		}
		b.calls = binary.NativeEndian.AppendUint64(b.calls, a)
	}
	b.calls = binary.NativeEndian.AppendUint64(b.calls, 0)
	b.names = append(b.names, name)
	return len(b.names) - 1
}

// put places data at an address of the process, which it returns.
func (b *batch) put(data []byte) uint64 {
	s := b.program
	address := s.at + dataAt + uint64(len(s.data))
	s.data = append(s.data, data...)
	for len(s.data)%16 != 0 {
		s.data = append(s.data, 0)
	}
	return address
}

// fit tells whether there is room for the program where it is to be loaded.
func (s *program) fit() error {
	calls := 0
	for _, b := range s.lists {
		calls += len(b.names)
	}
	if calls > maxCalls || len(s.data) > maxData {
		return fmt.Errorf("there is no room for %d system calls and %d bytes of data, but for %d and %d", calls, len(s.data), maxCalls, maxData)
	}
	return nil
}

// read returns n bytes of the data, as last fetched.
func (s *program) read(address uint64, n int) []byte {
	from := address - s.at - dataAt
	return s.data[from : from+uint64(n)]
}

// result is what call n returned, as last fetched.
func (b *batch) result(n int) int64 {
	return int64(binary.NativeEndian.Uint64(b.program.calls[(b.first+n)*callSize+callSize-8:]))
}

// check returns the first error among the results.
func (b *batch) check() error {
	for n, name := range b.names {
		if r := b.result(n); r < 0 && r > -4096 && !b.optional[n] {
			return fmt.Errorf("%s: %w", name, unix.Errno(-r))
		}
	}
	return nil
}

// load writes the program into a stopped process, and with it into those that it forks.
func (s *program) load(pid int) error {
	if err := s.fit(); err != nil {
		return fmt.Errorf("have process %d carry out system calls: %w", pid, err)
	}
	for _, b := range s.lists {
		b.first = len(s.calls) / callSize
		s.calls = append(s.calls, b.calls...)
	}
	return ptrace.WriteMemory(pid, s.pieces()...)
}

// fetch reads back what a process, or one that it has forked, has made of the program.
func (s *program) fetch(pid int) error { return ptrace.ReadMemory(pid, s.pieces()...) }

func (s *program) pieces() []ptrace.Piece {
	return []ptrace.Piece{{Address: s.at + callsAt, Content: s.calls}, {Address: s.at + dataAt, Content: s.data}}
}

// start lets a stopped thread carry out a loaded batch, with registers that are, but for
// what the calls need, these ones.
func (b *batch) start(tid int, r unix.PtraceRegs) error {
	r.Rip, r.Rbx, r.R12, r.Orig_rax = b.program.at, b.program.at+callsAt+uint64(b.first*callSize), uint64(len(b.names)), ^uint64(0)
	if err := ptrace.SetRegisters(tid, r); err != nil {
		return err
	}
	return ptrace.Continue(tid)
}

// newcomers are what was made during calls, as far as it has shown.
type newcomers struct {
	stopped []int // which they do before they do anything
	ended   bool  // something has, perhaps one of them
}

// note notes what has stopped or ended that nobody knows.
func (n *newcomers) note(tid int, status unix.WaitStatus) {
	switch {
	case status.Exited() || status.Signaled():
		n.ended = true
	case int(status)>>16 == ptrace.EventStop:
		n.stopped = append(n.stopped, tid)
	}
}

// awaitTraps waits until all of these threads have come to the end of their batches.
func awaitTraps(tids ...int) (born newcomers, err error) {
	waiting := map[int]bool{}
	for _, tid := range tids {
		waiting[tid] = true
	}
	for len(waiting) > 0 {
		tid, status, err := ptrace.AwaitAny()
		if err != nil {
			return born, err
		}
		switch event := int(status) >> 16; {
		case !waiting[tid] && (!status.Stopped() || event == ptrace.EventStop):
			born.note(tid, status)
		case status.Exited() || status.Signaled():
			return born, fmt.Errorf("thread %d ended (status %#x) during calls", tid, int(status))
		case waiting[tid] && event == ptrace.EventStop: // an interruption that came late
			if err := ptrace.Continue(tid); err != nil {
				return born, err
			}
		case waiting[tid] && event == 0 && status.StopSignal() == unix.SIGTRAP:
			delete(waiting, tid)
		default:
			return born, fmt.Errorf("thread %d stopped for signal %v, event %d, during calls", tid, status.StopSignal(), event)
		}
	}
	return born, nil
}

// await waits until there are as many as were made. They come to stop as soon as they get this processor, and for that the caller
// leaves it. One may have been killed before, and nobody knows it by its pid yet: whenever something has ended, lost tells.
func (n newcomers) await(count int, lost func() bool) ([]int, error) {
	for len(n.stopped) < count {
		if n.ended && lost() {
			return n.stopped, errors.New("what was made was killed at once")
		}
		n.ended = false
		tid, status, err := ptrace.AwaitAny()
		if err != nil {
			return n.stopped, err
		}
		n.note(tid, status)
	}
	return n.stopped, nil
}

// run has a stopped thread carry out a program of one batch.
func (b *batch) run(pid, tid int) error {
	if len(b.names) == 0 {
		return nil
	}
	r, err := ptrace.Registers(tid)
	if err != nil {
		return err
	}
	if err := b.program.load(pid); err != nil {
		return err
	}
	if err := b.start(tid, r); err != nil {
		return err
	}
	if _, err := awaitTraps(tid); err != nil {
		return err
	}
	if err := b.program.fetch(pid); err != nil {
		return err
	}
	return b.check()
}

// single has a thread that waits in a system call carry out one other, by the very
// instruction that it waits in. Its registers are left changed.
func single(tid int, at unix.PtraceRegs, name string, number uintptr, arguments ...uint64) (uint64, error) {
	r := at
	r.Rip -= uint64(len(syscallInstruction))
	r.Rax, r.Orig_rax = uint64(number), ^uint64(0)
	for n, a := range arguments {
		*[]*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.R10, &r.R8, &r.R9}[n] = a
	}
	if err := ptrace.SetRegisters(tid, r); err != nil {
		return 0, err
	}
	for {
		if _, err := ptrace.Request(unix.PTRACE_SINGLESTEP, tid, 0, 0); err != nil {
			return 0, fmt.Errorf("%s: let thread %d step: %w", name, tid, err)
		}
		status, err := ptrace.AwaitStop(tid)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		if int(status)>>16 == ptrace.EventStop {
			continue
		}
		if status.StopSignal() != unix.SIGTRAP {
			return 0, fmt.Errorf("%s: thread %d stopped for signal %v", name, tid, status.StopSignal())
		}
		break
	}
	after, err := ptrace.Registers(tid)
	if err != nil {
		return 0, err
	}
	if result := int64(after.Rax); result < 0 && result > -4096 {
		return 0, fmt.Errorf("%s: %w", name, unix.Errno(-result))
	}
	return after.Rax, nil
}

// inject maps the code and room for lists into a frozen process, at an address that is free; 0: where the kernel likes it.
func (p *process) inject(at uint64) error {
	first := p.threads[0]
	flags := uint64(unix.MAP_PRIVATE | unix.MAP_ANONYMOUS)
	if at != 0 {
		flags |= unix.MAP_FIXED_NOREPLACE
	}
	address, err := single(first.tid, first.registers, "map memory for calls", unix.SYS_MMAP, at, injectionSize,
		unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, flags, ^uint64(0), 0)
	if err != nil {
		return err
	}
	p.injected = address
	return ptrace.WriteMemory(p.pid, ptrace.Piece{Address: address, Content: injectionCode})
}

// withdraw removes the mapping.
func withdraw(tid int, at unix.PtraceRegs, address uint64) error {
	_, err := single(tid, at, "unmap memory for calls", unix.SYS_MUNMAP, address, injectionSize)
	return err
}
