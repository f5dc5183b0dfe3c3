//go:build amd64

package ckptd

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// cloneArguments are those of clone3(2).
type cloneArguments struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

func (c cloneArguments) encode() (b []byte) {
	for _, v := range []uint64{c.flags, c.pidfd, c.childTID, c.parentTID, c.exitSignal, c.stack, c.stackSize, c.tls, c.setTID, c.setTIDSize, c.cgroup} {
		b = binary.NativeEndian.AppendUint64(b, v)
	}
	return b
}

// clone adds a call that makes a process, or a thread, with this number in the group, or
// with any if it is 0.
func (b *batch) clone(name string, c cloneArguments, number int) {
	if number != 0 {
		c.setTID = b.put(binary.NativeEndian.AppendUint32(nil, uint32(number)))
		c.setTIDSize = 1
	}
	arguments := c.encode()
	b.add(name, unix.SYS_CLONE3, b.put(arguments), uint64(len(arguments)))
}

// fork makes the copy of a frozen process that an image is.
func (p *process) fork(limbo *os.File) (*process, error) {
	b := newBatch(p.injected)
	b.clone("copy the process", cloneArguments{flags: unix.CLONE_PARENT}, 0)
	born, err := b.run(p.pid, p.threads[0].tid)
	if err != nil || len(born) != 1 {
		return nil, fmt.Errorf("copy process %d: %d were made: %w", p.pid, len(born), err)
	}
	c := *p
	c.pid, c.generation = born[0], p.generation+1
	return &c, c.strip(limbo)
}

// strip takes from a copy what would be seen by others: its session, so that the pid of
// the original can be used again, its open files and its network.
func (p *process) strip(limbo *os.File) error {
	now, err := mappingsOf(p.pid, p.injected)
	if err != nil {
		return err
	}
	if now != p.maps {
		return refuse("the mappings of process %d are not inherited by a fork", p.pid)
	}
	if p.tables, err = pageTables(p.pid); err != nil {
		return err
	}
	link, err := p.link()
	if err != nil {
		return err
	}
	b := newBatch(p.injected)
	b.receive(link.received, 1)
	b.add("go over to another network", unix.SYS_SETNS, 2, unix.CLONE_NEWNET)
	b.add("close all files", unix.SYS_CLOSE_RANGE, 0, 1<<32-1, 0)
	return link.deliver(p, b, []int{int(limbo.Fd())})
}

// pageTables is how many bytes a process has of them.
func pageTables(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return statusBytes(string(text), "VmPTE"), nil
}

// link is a socket of a process over which descriptors reach it.
type link struct {
	ours     int
	received uint64 // number of its end
}

// link makes one, in a process that has left its session and closed all its files.
func (p *process) link() (link, error) {
	b := newBatch(p.injected)
	pair := b.put(make([]byte, 8))
	b.add("begin a session", unix.SYS_SETSID)
	b.add("close all files", unix.SYS_CLOSE_RANGE, 0, 1<<32-1, 0)
	b.add("make a socket pair", unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0, pair)
	if _, err := b.run(p.pid, p.pid); err != nil {
		return link{}, err
	}
	pidfd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return link{}, err
	}
	defer unix.Close(pidfd)
	ours, err := unix.PidfdGetfd(pidfd, 1, 0)
	return link{ours: ours, received: 0}, err
}

// deliver sends descriptors and has the process carry out a batch that receives them.
func (l link) deliver(p *process, b *batch, fds []int) error {
	defer unix.Close(l.ours)
	if err := unix.Sendmsg(l.ours, []byte{0}, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("send %d descriptors to process %d: %w", len(fds), p.pid, err)
	}
	_, err := b.run(p.pid, p.pid)
	return err
}

// receive adds a call that receives descriptors, all of them close-on-exec, in a control
// message, whose address it returns.
func (b *batch) receive(socket uint64, descriptors int) (control uint64) {
	room := make([]byte, unix.CmsgSpace(4*descriptors))
	control = b.put(room)
	buffer := b.put(make([]byte, 1))
	vector := b.put(binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, buffer), 1))
	var header []byte // struct msghdr
	for _, word := range []uint64{0, 0, vector, 1, control, uint64(len(room)), 0} {
		header = binary.NativeEndian.AppendUint64(header, word)
	}
	b.add("receive descriptors", unix.SYS_RECVMSG, socket, b.put(header), unix.MSG_CMSG_CLOEXEC)
	return control
}

// revive makes a process like the one that the copy p is of; it does not run yet.
func (r *revival) revive(p *process) (*process, error) {
	if r.clock == nil {
		if err := r.turnBackClock(p); err != nil {
			return nil, err
		}
	}
	b := newBatch(p.injected)
	b.clone("copy the copy", cloneArguments{flags: unix.CLONE_PARENT}, p.inner)
	born, err := b.run(p.pid, p.pid)
	if err != nil || len(born) != 1 {
		return nil, fmt.Errorf("%d processes were made: %w", len(born), err)
	}
	q := *p
	q.pid, q.threads = born[0], nil
	for _, t := range p.threads {
		u := *t
		q.threads = append(q.threads, &u)
	}
	q.threads[0].tid = q.pid
	link, err := q.link()
	if err != nil {
		return nil, err
	}
	fds, renewed, err := r.open(&q)
	if err != nil {
		unix.Close(link.ours)
		return nil, err
	}
	b = newBatch(q.injected)
	q.install(b, link, len(fds), renewed)
	q.resume(b)
	if err := link.deliver(&q, b, fds); err != nil {
		return nil, err
	}
	if err := q.equipThreads(); err != nil {
		return nil, err
	}
	if q.generation++; p.generation >= maxGeneration {
		q.generation = 0
	}
	for _, m := range renewed {
		if err := m.copyOwn(p.pid, q.pid); err != nil {
			return nil, err
		}
	}
	for _, w := range q.wiped {
		if err := writeMemory(q.pid, w.address, w.content); err != nil {
			return nil, err
		}
	}
	return &q, nil
}

// turnBackClock makes a time namespace for the next child of the copy.
func (r *revival) turnBackClock(p *process) error {
	b := newBatch(p.injected)
	b.add("make a time namespace", unix.SYS_UNSHARE, unix.CLONE_NEWTIME)
	if _, err := b.run(p.pid, p.pid); err != nil {
		return err
	}
	now, err := monotonic()
	if err != nil {
		return err
	}
	offset := r.image.clock - now
	s := offset / time.Second
	if offset%time.Second < 0 {
		s--
	}
	text := fmt.Sprintf("monotonic %d %d\nboottime %d %d\n", s, offset-s*time.Second, s, offset-s*time.Second)
	return os.WriteFile(filepath.Join("/proc", strconv.Itoa(p.pid), "timens_offsets"), []byte(text), 0)
}

// open opens files like those that the process had, twins left out, then those to be
// mapped again, and last the namespaces to enter: the network, and the time if it is not to
// be turned back.
func (r *revival) open(p *process) (fds []int, renewed []renewal, err error) {
	for _, d := range p.descriptors {
		if d.twin >= 0 {
			continue
		}
		fd, err := d.make(r)
		if err != nil {
			return nil, nil, fmt.Errorf("descriptor %d: %w", d.number, err)
		}
		r.keep(fd)
		fds = append(fds, fd)
	}
	renewed, files, err := r.renewals(p)
	r.keep(files...)
	if err != nil {
		return nil, nil, err
	}
	fds = append(fds, files...)
	if fds = append(fds, int(r.network.Fd())); r.clock != nil {
		fds = append(fds, int(r.clock.Fd()))
	}
	return fds, renewed, nil
}

// install adds the calls that receive count descriptors and give them their numbers.
func (p *process) install(b *batch, l link, count int, renewed []renewal) {
	aside := uint64(count + 1)
	var first []descriptor // of their descriptions, in the order of their numbers
	for _, d := range p.descriptors {
		aside = max(aside, uint64(d.number)+1)
		if d.twin < 0 {
			first = append(first, d)
		}
	}
	b.add("put the link aside", unix.SYS_DUP3, l.received, aside, unix.O_CLOEXEC)
	b.add("close the link", unix.SYS_CLOSE_RANGE, 0, 1, 0)
	b.receive(aside, count) // as 0, 1, 2, ...
	b.add("close the link", unix.SYS_CLOSE, aside)
	file := uint64(len(first))
	for _, m := range renewed {
		b.mapAnew(m, file)
		if m.fromFile {
			b.add("close a mapped file", unix.SYS_CLOSE, file)
			file++
		}
	}
	for kind := uint64(unix.CLONE_NEWNET); file < uint64(count); file++ {
		b.add("enter a namespace of the group", unix.SYS_SETNS, file, kind)
		b.add("close a namespace of the group", unix.SYS_CLOSE, file)
		kind = unix.CLONE_NEWTIME
	}
	// Each has a number that is not below its place: from the last one on, none is in the
	// way of another.
	for n := len(first) - 1; n >= 0; n-- {
		d := first[n]
		if d.number != n {
			b.add("move a descriptor", unix.SYS_DUP3, uint64(n), uint64(d.number), closeOnExecFlag(d))
			b.add("close a descriptor", unix.SYS_CLOSE, uint64(n))
		} else if !d.closeOnExec {
			b.add("keep a descriptor", unix.SYS_FCNTL, uint64(n), unix.F_SETFD, 0)
		}
	}
	for _, d := range p.descriptors {
		if d.twin >= 0 {
			b.add("duplicate a descriptor", unix.SYS_DUP3, uint64(p.descriptors[d.twin].number), uint64(d.number), closeOnExecFlag(d))
		}
	}
	for _, d := range p.descriptors {
		for _, w := range d.watched {
			event := binary.NativeEndian.AppendUint32(nil, w.events)
			event = binary.NativeEndian.AppendUint64(event, w.data)
			b.add("watch a descriptor", unix.SYS_EPOLL_CTL, uint64(d.number), unix.EPOLL_CTL_ADD, uint64(w.number), b.put(event))
		}
	}
}

func closeOnExecFlag(d descriptor) uint64 {
	if d.closeOnExec {
		return unix.O_CLOEXEC
	}
	return 0
}

// resume adds the calls that give the process back what a fork does not inherit.
func (p *process) resume(b *batch) {
	first := p.threads[0]
	directory := b.put(append([]byte(p.directory), 0))
	b.add("enter the directory", unix.SYS_CHDIR, directory)
	for which, t := range p.timers {
		if t != (unix.Itimerval{}) {
			b.add("set a timer", unix.SYS_SETITIMER, uint64(which), b.put(encodeTimer(t)), 0)
		}
	}
	b.add("set whether it adopts orphans", unix.SYS_PRCTL, unix.PR_SET_CHILD_SUBREAPER, p.subreaper)
	b.add("set the signal of the parent's death", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uint64(first.deathSignal))
	b.add("set the address of the thread id", unix.SYS_SET_TID_ADDRESS, first.clearTID)
	if first.robust[0] != 0 {
		b.add("set the list of robust mutexes", unix.SYS_SET_ROBUST_LIST, first.robust[0], first.robust[1])
	}
}

// makeThreads makes the other threads, with the numbers that they had. Those of the
// threads that were killed may be in use a moment longer than the process.
func (p *process) makeThreads() error {
	const flags = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD |
		unix.CLONE_SYSVSEM | unix.CLONE_SETTLS | unix.CLONE_CHILD_CLEARTID
	const attempts, pause = 2000, 50 * time.Microsecond
	missing := p.threads[1:]
	for attempt := 1; len(missing) > 0; attempt++ {
		b := newBatch(p.injected)
		for n, t := range missing {
			b.optional[n] = attempt < attempts
			b.clone(fmt.Sprintf("make thread %d", t.inner), cloneArguments{flags: flags, childTID: t.clearTID, tls: t.registers.Fs_base}, t.inner)
		}
		born, err := b.run(p.pid, p.pid)
		if err != nil {
			return err
		}
		var left []*thread
		for n, t := range missing {
			switch r := b.result(n); {
			case r == -int64(unix.EEXIST):
				left = append(left, t)
			case r != int64(t.inner) || len(born) == 0:
				return fmt.Errorf("make thread %d: the result is %d", t.inner, r)
			default:
				t.tid, born = born[0], born[1:]
			}
		}
		if missing = left; len(missing) > 0 {
			time.Sleep(pause)
		}
	}
	return nil
}

// equipThreads makes the other threads and gives them what is each one's own.
func (p *process) equipThreads() error {
	if err := p.makeThreads(); err != nil {
		return err
	}
	for _, t := range p.threads[1:] {
		b := newBatch(p.injected)
		b.add("set the name of a thread", unix.SYS_PRCTL, unix.PR_SET_NAME, b.put(append([]byte(t.name), 0)))
		b.add("set the signal stack of a thread", unix.SYS_SIGALTSTACK, b.put(t.stack[:]), 0)
		b.add("set the signal of the parent's death", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uint64(t.deathSignal))
		if t.rseq.address != 0 {
			b.add("set the restartable sequences of a thread", unix.SYS_RSEQ, t.rseq.address, uint64(t.rseq.size), 0, uint64(t.rseq.signature))
		}
		if t.robust[0] != 0 {
			b.add("set the list of robust mutexes", unix.SYS_SET_ROBUST_LIST, t.robust[0], t.robust[1])
		}
		if _, err := b.run(p.pid, t.tid); err != nil {
			return err
		}
	}
	return nil
}

// release removes the mapping for calls and lets all threads go on, in the calls that they
// waited in.
func (p *process) release() error {
	first := p.threads[0]
	if err := withdraw(first.tid, first.registers, p.injected); err != nil {
		return err
	}
	now, err := mappingsOf(p.pid, 0)
	if err != nil {
		return err
	}
	if withoutRenewed(now) != withoutRenewed(p.maps) {
		return fmt.Errorf("its mappings are\n%sand not\n%s", now, p.maps)
	}
	for _, t := range p.threads {
		if err := setRegisters(t.tid, t.repeat()); err != nil {
			return err
		}
		if err := setRegisterSet(t.tid, ntX86Xstate, t.vector); err != nil {
			return err
		}
		if err := setSignalMask(t.tid, t.mask); err != nil {
			return err
		}
	}
	for _, t := range p.threads {
		if err := detach(t.tid); err != nil {
			return err
		}
	}
	return nil
}
