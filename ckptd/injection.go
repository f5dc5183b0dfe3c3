//go:build amd64

package ckptd

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// A process under checkpoint carries out system calls for the daemon. Those come as a
// list in a page of its own, with a little machine code that goes through them and traps:
// a stop of the process for each list, not for each call.

// Layout of the mapping that holds code, list and data.
const (
	injectionSize = 128 << 10
	callsAt       = 256
	maxCalls      = 1000
	callSize      = 64 // number, six arguments, result
	dataAt        = callsAt + maxCalls*callSize
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

// batch is a list of system calls with their data.
type batch struct {
	at    uint64 // address of the mapping
	calls []byte
	names []string
	data  []byte
	// optional calls may fail.
	optional map[int]bool
}

func newBatch(at uint64) *batch { return &batch{at: at, optional: map[int]bool{}} }

// add appends a call and returns its index; name is what an error says it was for.
func (b *batch) add(name string, number uintptr, arguments ...uint64) int {
	if len(b.names) == maxCalls {
		panic("ckptd: too many system calls in a batch")
	}
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
	address := b.at + dataAt + uint64(len(b.data))
	b.data = append(b.data, data...)
	for len(b.data)%16 != 0 {
		b.data = append(b.data, 0)
	}
	if dataAt+len(b.data) > injectionSize {
		panic("ckptd: too much data for a batch of system calls")
	}
	return address
}

// read returns n bytes of the data, after the batch has run.
func (b *batch) read(address uint64, n int) []byte {
	from := address - b.at - dataAt
	return b.data[from : from+uint64(n)]
}

// result is what call n returned.
func (b *batch) result(n int) int64 {
	return int64(binary.NativeEndian.Uint64(b.calls[n*callSize+56:]))
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

// run has a stopped thread carry out the batch. Of the threads and processes that its
// calls make, which stop before they have done anything, born are the ids.
func (b *batch) run(pid, tid int) (born []int, err error) {
	if len(b.names) == 0 {
		return nil, nil
	}
	if err := writeMemory(pid, b.at+callsAt, b.calls); err != nil {
		return nil, err
	}
	if len(b.data) > 0 {
		if err := writeMemory(pid, b.at+dataAt, b.data); err != nil {
			return nil, err
		}
	}
	r, err := getRegisters(tid)
	if err != nil {
		return nil, err
	}
	r.Rip, r.Rbx, r.R12, r.Orig_rax = b.at, b.at+callsAt, uint64(len(b.names)), ^uint64(0)
	if err := setRegisters(tid, r); err != nil {
		return nil, err
	}
	if born, err = resume(tid); err != nil {
		return born, err
	}
	if err := readMemory(pid, b.at+callsAt, b.calls); err != nil {
		return born, err
	}
	if len(b.data) > 0 {
		if err := readMemory(pid, b.at+dataAt, b.data); err != nil {
			return born, err
		}
	}
	return born, b.check()
}

// resume lets a thread run up to the trap at the end of a batch.
func resume(tid int) (born []int, err error) {
	for {
		if _, err := ptrace(unix.PTRACE_CONT, tid, 0, 0); err != nil {
			return born, fmt.Errorf("let thread %d carry out calls: %w", tid, err)
		}
		status, err := awaitStop(tid)
		if err != nil {
			return born, err
		}
		switch event := int(status) >> 16; {
		case event == unix.PTRACE_EVENT_CLONE:
			child, err := eventMessage(tid)
			if err != nil {
				return born, err
			}
			if _, err := awaitStop(child); err != nil {
				return born, err
			}
			born = append(born, child)
		case event == 0 && status.StopSignal() == unix.SIGTRAP:
			return born, nil
		case event == eventStop: // an interruption that came late
		default:
			return born, fmt.Errorf("thread %d stopped for signal %v, event %d, during calls", tid, status.StopSignal(), event)
		}
	}
}

func eventMessage(tid int) (int, error) {
	child, err := unix.PtraceGetEventMsg(tid)
	if err != nil {
		return 0, fmt.Errorf("learn who thread %d has made: %w", tid, err)
	}
	return int(child), nil
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
	if err := setRegisters(tid, r); err != nil {
		return 0, err
	}
	for {
		if _, err := ptrace(unix.PTRACE_SINGLESTEP, tid, 0, 0); err != nil {
			return 0, fmt.Errorf("%s: let thread %d step: %w", name, tid, err)
		}
		status, err := awaitStop(tid)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		if int(status)>>16 == eventStop {
			continue
		}
		if status.StopSignal() != unix.SIGTRAP {
			return 0, fmt.Errorf("%s: thread %d stopped for signal %v", name, tid, status.StopSignal())
		}
		break
	}
	after, err := getRegisters(tid)
	if err != nil {
		return 0, err
	}
	if result := int64(after.Rax); result < 0 && result > -4096 {
		return 0, fmt.Errorf("%s: %w", name, unix.Errno(-result))
	}
	return after.Rax, nil
}

// inject maps the code and the list into a process.
func inject(pid, tid int, at unix.PtraceRegs) (uint64, error) {
	address, err := single(tid, at, "map memory for calls", unix.SYS_MMAP, 0, injectionSize,
		unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0)
	if err != nil {
		return 0, err
	}
	return address, writeMemory(pid, address, injectionCode)
}

// withdraw removes the mapping.
func withdraw(tid int, at unix.PtraceRegs, address uint64) error {
	_, err := single(tid, at, "unmap memory for calls", unix.SYS_MUNMAP, address, injectionSize)
	return err
}
