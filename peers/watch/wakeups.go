package watch

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// Wakeups counts, in the kernel and by eBPF, how often a thread of a group was woken up or
// started. A thread belongs to a group by its network namespace. Counting costs every wake-up on
// the machine some 100 ns. Safe for concurrent use.
type Wakeups struct {
	counts *ebpf.Map // inode of a network namespace: count
	links  []link.Link
}

// maxCounted bounds the groups that one Wakeups counts for.
const maxCounted = 256

// wakeupPoints are the tracepoints that a thread passes before it can run again, or for the first
// time. The first argument of each is the task. The kernel passes sched_waking in try_to_wake_up,
// with the lock held under which /proc looks up a wait channel. It holds that lock until the task
// is on its run queue. So a thread that has a wait channel is not in the middle of a wake-up.
var wakeupPoints = [...]string{"sched_waking", "sched_wakeup_new"}

// OpenWakeups loads the programs. It needs root, and a kernel that describes itself (BTF).
func OpenWakeups() (_ *Wakeups, err error) {
	w := &Wakeups{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("count wake-ups by eBPF: %w", err), w.Close())
		}
	}()
	places, err := findPlaces()
	if err != nil {
		return nil, err
	}
	w.counts, err = ebpf.NewMap(&ebpf.MapSpec{
		Name: "tandem_wakeups", Type: ebpf.Hash, KeySize: 4, ValueSize: 8, MaxEntries: maxCounted,
	})
	if err != nil {
		return nil, err
	}
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "tandem_wakeup", Type: ebpf.RawTracepoint, License: "GPL",
		Instructions: countWakeups(places, w.counts.FD()),
	})
	if err != nil {
		return nil, err
	}
	defer program.Close() // the links keep it
	for _, name := range wakeupPoints {
		l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: name, Program: program})
		if err != nil {
			return nil, fmt.Errorf("tracepoint %s: %w", name, err)
		}
		w.links = append(w.links, l)
	}
	return w, nil
}

// places are offsets, in this kernel, on the way from a task to the inode of its network namespace.
type places struct{ namespaces, network, inode int16 }

// findPlaces asks the kernel's own description of its types. So the program fits each kernel
// without being compiled for it.
func findPlaces() (p places, err error) {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return p, fmt.Errorf("the kernel does not describe its types: %w", err)
	}
	offset := func(structure string, members ...string) int16 {
		total := btf.Bits(0)
		var s *btf.Struct
		if e := kernel.TypeByName(structure, &s); e != nil {
			err = errors.Join(err, e)
			return 0
		}
		for _, name := range members {
			m := memberOf(s, name)
			if m == nil {
				err = errors.Join(err, fmt.Errorf("the kernel's struct %s has no member %s", s.Name, name))
				return 0
			}
			total += m.Offset
			s, _ = btf.UnderlyingType(m.Type).(*btf.Struct)
		}
		return int16(total.Bytes())
	}
	p = places{offset("task_struct", "nsproxy"), offset("nsproxy", "net_ns"), offset("net", "ns", "inum")}
	return p, err
}

// memberOf finds a member of a structure by its name; nil if there is none.
func memberOf(s *btf.Struct, name string) *btf.Member {
	for i := range s.Members {
		if s.Members[i].Name == name {
			return &s.Members[i]
		}
	}
	return nil
}

// countWakeups is the program: it follows the task's pointers to the inode, and adds one to the
// count there.
func countWakeups(p places, counts int) asm.Instructions {
	const pointer, key = -8, -16 // on the stack
	follow := func(offset int16, to, size int32) asm.Instructions {
		return asm.Instructions{ // probe_read_kernel(fp + to, size, R3 + offset)
			asm.Add.Imm(asm.R3, int32(offset)),
			asm.Mov.Reg(asm.R1, asm.RFP),
			asm.Add.Imm(asm.R1, to),
			asm.Mov.Imm(asm.R2, size),
			asm.FnProbeReadKernel.Call(),
			asm.JNE.Imm(asm.R0, 0, "out"),
		}
	}
	load := asm.LoadMem(asm.R3, asm.RFP, pointer, asm.DWord)
	program := asm.Instructions{asm.LoadMem(asm.R3, asm.R1, 0, asm.DWord)}
	program = append(program, follow(p.namespaces, pointer, 8)...)
	program = append(program, load, asm.JEq.Imm(asm.R3, 0, "out")) // it is ending
	program = append(program, follow(p.network, pointer, 8)...)
	program = append(program, load)
	program = append(program, follow(p.inode, key, 4)...)
	return append(program,
		asm.LoadMapPtr(asm.R1, counts),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, key),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.Mov.Imm(asm.R1, 1),
		asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	)
}

// Close stops counting.
func (w *Wakeups) Close() error {
	var all []error
	for _, l := range w.links {
		all = append(all, l.Close())
	}
	if w.counts != nil {
		all = append(all, w.counts.Close())
	}
	return errors.Join(all...)
}

// wakeupCount is the count of one group. It ends with its Watch.
type wakeupCount struct {
	of      *Wakeups
	network uint32
}

// countFor begins to count for the group with this pid 1. A group that is counted already begins
// anew.
func (w *Wakeups) countFor(pid int) (*wakeupCount, error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/"+strconv.Itoa(pid)+"/ns/net", &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: "/proc/PID/ns/net", Err: err}
	}
	c := &wakeupCount{of: w, network: uint32(st.Ino)}
	if err := w.counts.Put(c.network, uint64(0)); err != nil {
		return nil, fmt.Errorf("count the wake-ups of the group: %w", err)
	}
	return c, nil
}

// value is how many wake-ups there were so far.
func (c *wakeupCount) value() (n uint64, err error) {
	if err := c.of.counts.Lookup(c.network, &n); err != nil {
		return 0, fmt.Errorf("wake-ups of the group: %w", err)
	}
	return n, nil
}

// close forgets the count. If that fails, the count stays until the Wakeups ends.
func (c *wakeupCount) close() { _ = c.of.counts.Delete(c.network) }
