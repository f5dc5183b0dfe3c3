package process

import (
	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/mappings"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
)

// All that a new process has to do by itself is planned as system calls. The order matters in many
// places: sockets come before what they are needed for, memory is unmapped before other memory
// takes its place, and numbers of descriptors are only right at the end.

// plan is the program by which a process is made again. Descriptors reach the new process through a
// pair of sockets, so there are two batches: one up to the pair, and one that receives them.
//
// A plan is complete before anything is done. It is one list of calls for each thread, loaded at
// once, so that the new process stops once for each list.
type plan struct {
	of      *Restored
	first   *tracer.Batch // the copy of a peer forks; a child, which is there, makes the pair itself
	made    int           // index of the call of first that forks
	main    *tracer.Batch // what the first thread of the new process does
	threads []newThread
}

// planPeer plans a peer that is sent so many descriptors and has this memory mapped anew. It
// inherits the pair from its copy, which is left without any descriptor.
func planPeer(r *Restored, descriptors int, remapped []mappings.Remap) *plan {
	s := tracer.NewProgram(r.calls)
	p := &plan{of: r, first: s.Batch()}
	p.first.MakePair()
	p.made = p.first.Clone("copy the copy", tracer.CloneArguments{
		Flags: unix.CLONE_PARENT | unix.CLONE_PTRACE}, r.Inner)
	p.first.Add("close all files", unix.SYS_CLOSE_RANGE, 0, 1<<32-1, 0)
	p.main = s.Batch()
	p.install(descriptors, remapped)
	p.giveAttributes()
	p.threads = makeThreads(p.main, r.threads[1:])
	return p
}

// planChild plans a child, which its parent has forked by then. What it has from its parent and had
// not goes, and it is given what a fork of the copy would have had: signal actions, umask, and what
// belongs to its first thread.
func planChild(r *Restored, descriptors int) *plan {
	s := tracer.NewProgram(r.calls)
	p := &plan{of: r, first: s.Batch(), main: s.Batch()}
	p.first.Add("close all files", unix.SYS_CLOSE_RANGE, 0, 1<<32-1, 0)
	p.first.MakePair()
	p.install(descriptors, r.saved.descent.memory.remapped)
	p.giveAttributes()
	p.replaceInherited()
	p.threads = makeThreads(p.main, r.threads[1:])
	return p
}

// checkPlan refuses a copy of which no process could be made again. A restore that fails halfway is
// the end of the group, so this is found at the checkpoint, for the largest plan there may be.
func (s *Saved) checkPlan() error {
	remapped, sent := s.Memory.mayRemap(), s.Descriptors.Descriptions()+2 // the namespaces
	for _, m := range remapped {
		if m.FromFile {
			sent++
		}
	}
	if sent > seqpacket.MaxDescriptors {
		return incarnation.Refuse(
			"process %d of the group has %d open and mapped files to be opened again, more than %d", s.Inner,
			sent-2, seqpacket.MaxDescriptors-2)
	}
	if err := planPeer(s.restored(), sent, remapped).main.Program.Fit(); err != nil {
		return incarnation.Refuse(
			"process %d of the group, with %d threads, %d descriptors and %d mappings, could not be made "+
				"again: %w",
			s.Inner, len(s.threads), len(s.Descriptors), len(s.Memory.mappings), err)
	}
	return nil
}

// install adds the calls that receive count descriptors, over descriptor 0, and give them their
// numbers: first those of the process, then those of files to be mapped, and last the namespaces.
//
// Until it has them the process has only the pair, as 0 and 1. The socket is moved above all
// numbers that are needed, so that what is received gets the lowest ones, in order.
func (p *plan) install(count int, remapped []mappings.Remap) {
	saved, b := p.of.saved, p.main
	// One above whatever is received, and above whatever the process has.
	aside := uint64(max(count+1, saved.Descriptors.Above()))
	p.enterSession()
	b.Add("put the socket aside", unix.SYS_DUP3, 0, aside, unix.O_CLOEXEC)
	b.Add("close the socket pair", unix.SYS_CLOSE_RANGE, 0, 1, 0)
	b.Receive(aside, count) // as 0, 1, 2, ...
	b.Add("close the socket", unix.SYS_CLOSE, aside)
	file := uint64(saved.Descriptors.Descriptions())
	p.freeMemory()
	for _, m := range remapped {
		mappings.MapAnew(b, m, file)
		if m.FromFile {
			b.Add("close a mapped file", unix.SYS_CLOSE, file)
			file++
		}
	}
	for kind := uint64(unix.CLONE_NEWNET); file < uint64(count); file++ {
		b.Add("enter a namespace of the group", unix.SYS_SETNS, file, kind)
		b.Add("close a namespace of the group", unix.SYS_CLOSE, file)
		kind = unix.CLONE_NEWTIME
	}
	saved.Descriptors.Place(b)
}

// enterSession adds the calls that bring the process to its session and process group, of which it
// may have its parent's. A peer always leads its session: the proxy has started it so.
func (p *plan) enterSession() {
	d := p.of.saved.descent
	switch {
	case d == nil || d.session == p.of.Inner:
		p.main.Add("begin a session", unix.SYS_SETSID)
	case d.group == p.of.Inner:
		p.main.Add("begin a process group", unix.SYS_SETPGID, 0, 0)
	}
}

// freeMemory adds the calls that free the memory which a child has from its parent, and had not,
// before other memory is mapped.
func (p *plan) freeMemory() {
	d, b := p.of.saved.descent, p.main
	if d == nil {
		return
	}
	if d.forker.Address != 0 { // the kernel writes there
		const unregister = 1
		b.Add("forget the restartable sequences", unix.SYS_RSEQ, d.forker.Address, uint64(d.forker.Size),
			unregister, uint64(d.forker.Signature))
	}
	b.Add("set the end of the heap", unix.SYS_BRK, d.brk)
	for _, r := range d.memory.unmapped {
		b.Add("unmap memory", unix.SYS_MUNMAP, r.From, r.To-r.From)
	}
	for _, r := range d.memory.emptied {
		b.Add("empty memory", unix.SYS_MADVISE, r.From, r.To-r.From, unix.MADV_DONTNEED)
	}
}

// giveAttributes adds the calls that give the process back what a fork does not inherit. Timers run
// from then on, so this comes after all that takes long.
func (p *plan) giveAttributes() {
	first, a, b := p.of.threads[0], &p.of.saved.attributes, p.main
	directory := b.Put(append([]byte(a.directory), 0))
	b.Add("enter the directory", unix.SYS_CHDIR, directory)
	for which, t := range a.timers {
		if t != (unix.Itimerval{}) {
			b.Add("set a timer", unix.SYS_SETITIMER, uint64(which), b.Put(encodeTimer(t)), 0)
		}
	}
	b.Add("set whether it adopts orphans", unix.SYS_PRCTL, unix.PR_SET_CHILD_SUBREAPER, a.subreaper)
	b.Add("set the signal of the parent's death", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG,
		uint64(first.deathSignal))
	b.Add("set the address of the thread id", unix.SYS_SET_TID_ADDRESS, first.clearTID)
	if first.robust[0] != 0 {
		b.Add("set the list of robust mutexes", unix.SYS_SET_ROBUST_LIST, first.robust[0], first.robust[1])
	}
}

// replaceInherited adds the calls that give a child its own of what it has from its parent.
func (p *plan) replaceInherited() {
	b := p.main
	actions := b.Put(p.of.saved.descent.actions)
	for n := range uint64(signals) {
		// The kernel lets nobody set these two.
		if signal := unix.Signal(n + 1); signal != unix.SIGKILL && signal != unix.SIGSTOP {
			b.Add("set the action on a signal", unix.SYS_RT_SIGACTION, n+1, actions+n*actionBytes, 0,
				maskBytes)
		}
	}
	b.Add("set the mask of files", unix.SYS_UMASK, p.of.saved.descent.umask)
	if g := p.of.saved.descent.groups; g != nil { // threads, which come later, inherit them
		b.Add("set the groups", unix.SYS_SETGROUPS, uint64(len(g.supplementary)/4), b.Put(g.supplementary))
		b.Add("set the group IDs", unix.SYS_SETRESGID, g.real, g.effective, g.saved)
	}
	p.of.threads[0].equip(b)
}
