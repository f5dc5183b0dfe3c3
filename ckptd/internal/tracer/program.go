package tracer

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

// Layout of the mapping that holds code, list and data. It has room for processes of several
// hundred threads; what is not used of it takes no memory.
const (
	InjectionSize = 512 << 10
	callsAt       = 256
	MaxCalls      = 5000
	callSize      = 64 // number, six arguments, result
	dataAt        = callsAt + MaxCalls*callSize
	maxData       = InjectionSize - dataAt
)

// InjectionCode carries out R12 calls from RBX on.
var InjectionCode = []byte{
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

// SyscallInstruction is where a thread that waits in a system call has just been.
var SyscallInstruction = [2]byte{0x0f, 0x05}

// BlockAll is the signal mask during calls: everything but the trap that ends them.
const BlockAll = ^uint64(1 << (unix.SIGTRAP - 1))

// Program is what threads of one process are to carry out, a list of calls for each. The lists are
// carried out side by side, in the same memory, so data of all of them lies together.
type Program struct {
	At    uint64 // address of the mapping
	lists []*Batch
	calls []byte // of all lists, once loaded
	data  []byte
}

// Batch is a list of system calls.
type Batch struct {
	Program *Program
	first   int // of its calls among those of the program, once loaded
	calls   []byte
	names   []string
	// Optional calls may fail.
	Optional map[int]bool
}

// NewProgram is for a process that has its mapping for calls at this address.
func NewProgram(at uint64) *Program { return &Program{At: at} }

// Batch adds an empty list.
func (s *Program) Batch() *Batch {
	b := &Batch{Program: s, Optional: map[int]bool{}}
	s.lists = append(s.lists, b)
	return b
}

// Add appends a call and returns its index; name is what an error says it was for. Arguments that
// are left out are 0.
func (b *Batch) Add(name string, number uintptr, arguments ...uint64) int {
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

// Call is a system call of a batch.
type Call struct {
	Name      string // what it is for
	Number    uint64
	Arguments [6]uint64
}

// Calls are what the batch has a thread do, in this order: by these a plan can be looked at, and
// tried on something else than a process.
func (b *Batch) Calls() (all []Call) {
	for n, name := range b.names {
		word := func(k int) uint64 { return binary.NativeEndian.Uint64(b.calls[n*callSize+8*k:]) }
		c := Call{Name: name, Number: word(0)}
		for k := range c.Arguments {
			c.Arguments[k] = word(1 + k)
		}
		all = append(all, c)
	}
	return all
}

// Put places data at an address of the process, which it returns.
func (b *Batch) Put(data []byte) uint64 {
	s := b.Program
	address := s.At + dataAt + uint64(len(s.data))
	s.data = append(s.data, data...)
	// Some structures have to be at such an address.
	for len(s.data)%16 != 0 {
		s.data = append(s.data, 0)
	}
	return address
}

// Fit tells whether there is room for the program where it is to be loaded. It is asked at the
// checkpoint already, for what the restore will take.
func (s *Program) Fit() error {
	calls := 0
	for _, b := range s.lists {
		calls += len(b.names)
	}
	if calls > MaxCalls || len(s.data) > maxData {
		return fmt.Errorf("there is no room for %d system calls and %d bytes of data, but for %d and %d",
			calls, len(s.data), MaxCalls, maxData)
	}
	return nil
}

// Read returns n bytes of the data, as last fetched.
func (s *Program) Read(address uint64, n int) []byte {
	from := address - s.At - dataAt
	return s.data[from : from+uint64(n)]
}

// Result is what call n returned, as last fetched.
func (b *Batch) Result(n int) int64 {
	return int64(binary.NativeEndian.Uint64(b.Program.calls[(b.first+n)*callSize+callSize-8:]))
}

// Check returns the first error among the results.
func (b *Batch) Check() error {
	for n, name := range b.names {
		if r := b.Result(n); r < 0 && r > -4096 && !b.Optional[n] {
			return fmt.Errorf("%s: %w", name, unix.Errno(-r))
		}
	}
	return nil
}

// Load writes the program into a stopped process, and with it into those that it forks. The lists
// lie one behind the other from then on, and nothing can be added.
func (s *Program) Load(pid int) error {
	if err := s.Fit(); err != nil {
		return fmt.Errorf("have process %d carry out system calls: %w", pid, err)
	}
	for _, b := range s.lists {
		b.first = len(s.calls) / callSize
		s.calls = append(s.calls, b.calls...)
	}
	return ptrace.WriteMemory(pid, s.pieces()...)
}

// Fetch reads back what a process, or one that it has forked, has made of the program. Results and
// answers are where the calls have left them.
func (s *Program) Fetch(pid int) error { return ptrace.ReadMemory(pid, s.pieces()...) }

// pieces are the lists and the data, where they lie in the process.
func (s *Program) pieces() []ptrace.Piece {
	return []ptrace.Piece{{Address: s.At + callsAt, Content: s.calls},
		{Address: s.At + dataAt, Content: s.data}}
}

// Start lets a stopped thread carry out a loaded batch, with registers that are, but for what the
// calls need, these ones. It does not wait: several threads are started, and awaited together.
func (b *Batch) Start(tid int, r unix.PtraceRegs) error {
	r.Rip, r.Rbx, r.R12, r.Orig_rax = b.Program.At, b.Program.At+callsAt+uint64(b.first*callSize),
		uint64(len(b.names)), ^uint64(0)
	if err := ptrace.SetRegisters(tid, r); err != nil {
		return err
	}
	return ptrace.Continue(tid)
}

// NewTasks are what was made during calls, as far as it has shown.
type NewTasks struct {
	Stopped []int // which they do before they do anything
	ended   bool  // something has, perhaps one of them
}

// Note notes what has stopped or ended that nobody knows.
func (n *NewTasks) Note(tid int, status unix.WaitStatus) {
	switch {
	case status.Exited() || status.Signaled():
		n.ended = true
	case int(status)>>16 == ptrace.EventStop:
		n.Stopped = append(n.Stopped, tid)
	}
}

// ErrKilled says that somebody has killed what was to carry out calls.
var ErrKilled = errors.New("it was killed during calls")

// AwaitTraps waits until all of these threads have come to the end of their batches.
//
// What threads have made meanwhile comes to stop, too, and is noted. A thread that is killed, or
// stops for another signal, ends the wait with an error.
func AwaitTraps(tids ...int) (born NewTasks, err error) {
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
			born.Note(tid, status)
		case status.Signaled() && status.Signal() == unix.SIGKILL:
			return born, fmt.Errorf("thread %d: %w", tid, ErrKilled)
		case status.Exited() || status.Signaled():
			return born, fmt.Errorf("thread %d ended (status %#x) during calls", tid, int(status))
		case waiting[tid] && event == ptrace.EventStop: // an interruption that came late
			if err := ptrace.Continue(tid); err != nil {
				return born, err
			}
		// It has come to the int3 behind the list.
		case waiting[tid] && event == 0 && status.StopSignal() == unix.SIGTRAP:
			delete(waiting, tid)
		default:
			return born, fmt.Errorf("thread %d stopped for signal %v, event %d, during calls", tid,
				status.StopSignal(), event)
		}
	}
	return born, nil
}

// Await waits until there are as many as were made. They come to stop as soon as they get this
// processor, and for that the caller leaves it. One may have been killed before, and nobody knows
// it by its pid yet: whenever something has ended, lost tells.
func (n NewTasks) Await(count int, lost func() bool) ([]int, error) {
	for len(n.Stopped) < count {
		if n.ended && lost() {
			return n.Stopped, fmt.Errorf("what was made: %w", ErrKilled)
		}
		n.ended = false
		tid, status, err := ptrace.AwaitAny()
		if err != nil {
			return n.Stopped, err
		}
		n.Note(tid, status)
	}
	return n.Stopped, nil
}

// Run has a stopped thread carry out a program of one batch. A program without calls is not loaded.
func (b *Batch) Run(pid, tid int) error {
	if len(b.names) == 0 {
		return nil
	}
	r, err := ptrace.Registers(tid)
	if err != nil {
		return err
	}
	if err := b.Program.Load(pid); err != nil {
		return err
	}
	if err := b.Start(tid, r); err != nil {
		return err
	}
	if _, err := AwaitTraps(tid); err != nil {
		return err
	}
	if err := b.Program.Fetch(pid); err != nil {
		return err
	}
	return b.Check()
}

// Single has a thread that waits in a system call carry out one other, by the very instruction that
// it waits in. Its registers are left changed. It is for when there is no mapping for calls yet, or
// none any more.
func Single(tid int, at unix.PtraceRegs, name string, number uintptr, arguments ...uint64) (uint64, error) {
	r := at
	r.Rip -= uint64(len(SyscallInstruction))
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
		// An interruption that was asked for before, and comes late.
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

// Withdraw removes the mapping.
func Withdraw(tid int, at unix.PtraceRegs, address uint64) error {
	_, err := Single(tid, at, "unmap memory for calls", unix.SYS_MUNMAP, address, InjectionSize)
	return err
}

// CloneArguments are those of clone3(2).
type CloneArguments struct {
	Flags, pidfd, ChildTID, parentTID, ExitSignal, Stack, StackSize, Tls, setTID, setTIDSize, cgroup uint64
}

// encode writes struct clone_args of the kernel, whose fields are in this order.
func (c CloneArguments) encode() (b []byte) {
	for _, v := range []uint64{c.Flags, c.pidfd, c.ChildTID, c.parentTID, c.ExitSignal, c.Stack, c.StackSize,
		c.Tls, c.setTID, c.setTIDSize, c.cgroup} {
		b = binary.NativeEndian.AppendUint64(b, v)
	}
	return b
}

// Clone adds a call that makes a process, or a thread, with this number in the group.
func (b *Batch) Clone(name string, c CloneArguments, number int) (index int) {
	c.setTID = b.Put(binary.NativeEndian.AppendUint32(nil, uint32(number)))
	c.setTIDSize = 1
	arguments := c.encode()
	return b.Add(name, unix.SYS_CLONE3, b.Put(arguments), uint64(len(arguments)))
}

// MakePair adds a call that makes a socket pair, over which descriptors reach a process
// that is then forked. Its ends get the lowest free numbers.
func (b *Batch) MakePair() {
	b.Add("make a socket pair", unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0,
		b.Put(make([]byte, 8)))
}

// Strip adds the calls that take from a copy what would be seen by others: its session, so
// that the pid of the original can be used again, its open files and its network.
func (b *Batch) Strip(free []int) {
	b.Add("begin a session", unix.SYS_SETSID)
	b.Receive(uint64(free[0]), 1)
	b.Add("go over to another network", unix.SYS_SETNS, uint64(free[2]), unix.CLONE_NEWNET)
	b.Add("close all files", unix.SYS_CLOSE_RANGE, 0, 1<<32-1, 0)
}

// Receive adds a call that receives descriptors, all of them close-on-exec, in a control
// message, whose address it returns.
func (b *Batch) Receive(socket uint64, descriptors int) (control uint64) {
	room := make([]byte, unix.CmsgSpace(4*descriptors))
	control = b.Put(room)
	buffer := b.Put(make([]byte, 1))
	vector := b.Put(binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, buffer), 1))
	var header []byte // struct msghdr
	for _, word := range []uint64{0, 0, vector, 1, control, uint64(len(room)), 0} {
		header = binary.NativeEndian.AppendUint64(header, word)
	}
	b.Add("receive descriptors", unix.SYS_RECVMSG, socket, b.Put(header), unix.MSG_CMSG_CLOEXEC)
	return control
}
