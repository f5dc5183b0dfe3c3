package ckptd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
)

// memoryGroup keeps images of one group as processes: a checkpoint forks each peer, by calls that the daemon
// has it carry out (ptrace), and the copy stays stopped for ever. A restore forks the copy
// in the same way, with the pid of the peer that was killed, and gives it threads, open
// files, connections and timers like those that it had.
//
// A copy has one thread and no open file: the other end of a connection must see it end.
// The proxy is not copied. It goes on, in another network, with new sockets.
type memoryGroup struct {
	limbo    *os.File // network namespace of copies
	ends     *reaper
	makeNext func(inside func() error) (*next, error)

	tracer      *tracer           // nil while nothing is traced
	generations map[int]int       // of peers, by their pids: see process
	waits       waits             // of their threads
	numbers     numbers           // for copies
	objects     objects           // that images hold
	pages       map[int][]ownPage // of processes that were forked, by their pids in the group, as they were last
	givenUp     bool              // what is brought back is for CRIU to save
}

func newMemoryGroup(limbo *os.File, ends *reaper, makeNext func(inside func() error) (*next, error)) *memoryGroup {
	return &memoryGroup{limbo: limbo, ends: ends, makeNext: makeNext}
}

// giveUp has what is brought back from now on made so that CRIU can save it.
func (g *memoryGroup) giveUp() { g.givenUp = true }

// traces tells whether there are copies, or were, of the incarnation.
func (g *memoryGroup) traces() bool { return g.tracer != nil }

// settle returns when all that was killed has ended.
func (g *memoryGroup) settle() error { return g.tracer.settle() }

// close ends the tracer, whose copies must be dying, and tells whether there was one.
func (g *memoryGroup) close() bool {
	if g.tracer == nil {
		return false
	}
	g.tracer.close()
	g.tracer = nil
	return true
}

// memoryImage is a saved group.
type memoryImage struct {
	group     *memoryGroup
	in        *incarnation // while it is saved
	tracer    *tracer      // of the copies; the group may have none any more
	processes []*process   // pid is that of the copy
	sockets   []*socket
	owned     map[proxy.ID]int // sockets of the proxy, by index
	last      int              // process ID that was given last
	clock     time.Duration    // monotonic, as the peers saw it
	offset    time.Duration    // of that to the machine's

	makers   []maker    // of all descriptions of open files
	mu       sync.Mutex // guards held and fresh while the group is looked at from several threads
	held     []held     // what has no name, and what it held
	fresh    int64      // bytes of that which no earlier image holds
	segments []segment  // of System V shared memory
}

func (*memoryImage) inMemory() bool { return true }

// save implements backend.
func (g *memoryGroup) save(
	_ context.Context, in *incarnation, _ string, files func(mappedFiles) error,
) (saved, error) {
	if err := g.trace(in.pid); err != nil {
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	m := &memoryImage{group: g, in: in, tracer: g.tracer, owned: map[proxy.ID]int{}}
	err := g.tracer.do(func() error {
		here, leave, err := osthread.Stay()
		if err != nil {
			return err
		}
		defer leave()
		frozen, err := freezeAll(in.peers, here)
		g.waits = g.waits.note(frozen)
		for _, p := range frozen {
			p.generation = g.generations[p.pid]
		}
		if err == nil {
			err = m.saveFrozen(frozen, files)
		}
		if err != nil {
			g.tracer.kill(m.pids())
			if !errors.Is(err, ErrNotQuiescent) && !errors.Is(err, errRefused) {
				err = fmt.Errorf("%w: %w", errRefused, err) // whatever it is, the group goes on
			}
		}
		for _, p := range frozen {
			if e := p.thaw(); e != nil {
				err = fmt.Errorf("let peer process %d go on after a checkpoint: %w", p.pid, errors.Join(e, textOf(err)))
			}
		}
		return err
	})
	m.in = nil
	if err != nil {
		m.releaseObjects()
		return nil, err
	}
	return m, nil
}

// saveFrozen looks at frozen processes, and copies them.
func (m *memoryImage) saveFrozen(frozen []*process, files func(mappedFiles) error) error {
	err := sideBySide(
		func() error { return m.examineAll(frozen) }, // on this thread
		func() error { return ofEach(frozen, (*process).examineMemory) },
		func() error { return m.describeAll(frozen) },
		m.nothingUnderWay)
	if err == nil {
		err = m.keepMapped(frozen)
	}
	if err == nil {
		err = m.checkSegments(frozen)
	}
	if err != nil {
		return err
	}
	mapped := mappedFilesOf(frozen)
	return sideBySide(func() error { return m.capture(frozen) }, func() error { return files(mapped) }, m.saveObjects)
}

// trace makes the tracer of the group, whose pid 1 this is, unless there is one.
func (g *memoryGroup) trace(pid int) error {
	if g.tracer != nil {
		return nil
	}
	t := newTracer(g.ends)
	err := t.do(func() (err error) {
		t.queues, err = enterIPC(pid)
		return err
	})
	if err != nil {
		t.close()
		return err
	}
	g.tracer = t
	return nil
}

func freezeAll(pids []int, here *unix.CPUSet) (all []*process, err error) {
	for _, pid := range pids {
		tree, err := freezeTree(pid, nil, here)
		all = append(all, tree...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// visit describes the sockets of the proxy, and notes what the group's process IDs go on from.
func (m *memoryImage) visit() error {
	v, err := proxy.Visit(m.in.channel)
	if err != nil {
		return err
	}
	return errors.Join(m.addSockets(v), v.End())
}

func (m *memoryImage) addSockets(v *proxy.Visitor) error {
	sockets, last, err := v.Sockets()
	if err != nil {
		return err
	}
	m.last = last
	for _, id := range slices.Sorted(maps.Keys(sockets)) {
		fd := sockets[id]
		if err == nil {
			m.owned[id], err = m.addSocket(fd)
		}
		unix.Close(fd)
	}
	return err
}

// addSocket describes a socket and returns its index.
func (m *memoryImage) addSocket(fd int) (int, error) {
	s, err := describeTCP(fd)
	if err != nil {
		return -1, err
	}
	for n, known := range m.sockets {
		if known.inode == s.inode {
			return n, nil
		}
	}
	m.sockets = append(m.sockets, s)
	return len(m.sockets) - 1, nil
}

func (m *memoryImage) describeSocket(d *descriptor, f openFile) error {
	fd, err := f.duplicate()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return err
	}
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	switch {
	case err != nil:
		return err
	case domain == unix.AF_UNIX:
		return m.describeUnix(d, f, fd)
	case domain == unix.AF_NETLINK:
		return describeNetlink(d, f, fd, kind)
	case kind == unix.SOCK_DGRAM:
		return describeUDP(d, f, fd, domain)
	}
	n, err := m.addSocket(fd)
	d.make = func(of *revival) (int, error) { return unix.FcntlInt(uintptr(of.sockets[n]), unix.F_DUPFD_CLOEXEC, 0) }
	return err
}

// examineAll is called on the tracer's thread.
func (m *memoryImage) examineAll(frozen []*process) error {
	if err := m.tracer.refuseIPC(); err != nil {
		return err
	}
	var err error
	if m.segments, err = listSegments(); err != nil {
		return err
	}
	for _, p := range frozen {
		if err := p.examine(); err != nil {
			return err
		}
	}
	return nil
}

// nothingUnderWay returns an error if there are bytes that nobody has read yet, which an image would not have: the checker has looked,
// but before the peers were frozen, and one with a timer of its own may have sent something since.
func (m *memoryImage) nothingUnderWay() error {
	busy, err := watch.InFlight(int(m.in.network.Fd()))
	if err == nil && busy != "" {
		err = fmt.Errorf("%w: %s", ErrNotQuiescent, busy)
	}
	return err
}

// describeAll describes the files of the proxy and of frozen processes.
func (m *memoryImage) describeAll(frozen []*process) error {
	if err := m.visit(); err != nil {
		return err
	}
	var all []openFile
	for _, p := range frozen {
		files, err := m.describeFiles(p, all)
		if err != nil {
			return err
		}
		all = append(all, files...)
	}
	if err := errors.Join(checkPairs(frozen), checkPipes(frozen)); err != nil {
		return err
	}
	return connectEnds(m.sockets)
}

// sideBySide runs functions, the first one on this goroutine, and returns the first error in
// their order.
func sideBySide(first func() error, others ...func() error) error {
	results := make([]error, 1+len(others))
	var running sync.WaitGroup
	for n, f := range others {
		running.Go(func() { results[1+n] = f() })
	}
	results[0] = first()
	running.Wait()
	for _, err := range results {
		if err != nil {
			return err
		}
	}
	return nil
}

// ofEach calls f for each process, for some at a time, and returns the first error in their order.
func ofEach(all []*process, f func(*process) error) error {
	results := make([]error, len(all))
	var next atomic.Int64
	work := func() error {
		for n := next.Add(1) - 1; n < int64(len(all)); n = next.Add(1) - 1 {
			results[n] = f(all[n])
		}
		return nil
	}
	workers := min(len(all), runtime.GOMAXPROCS(0))
	_ = sideBySide(work, slices.Repeat([]func() error{work}, max(workers-1, 0))...)
	for _, err := range results {
		if err != nil {
			return err
		}
	}
	return nil
}

// capture copies processes that have been examined.
func (m *memoryImage) capture(frozen []*process) error {
	clock := m.in.pid // where no peer lives, it goes on in any time namespace
	if len(frozen) > 0 {
		clock = frozen[0].pid
	}
	if err := m.readClock(clock); err != nil {
		return err
	}
	at := uint64(0)
	if slices.ContainsFunc(frozen, func(p *process) bool { return p.parent != nil }) {
		var err error
		if at, err = meetingPlace(frozen); err != nil {
			return err
		}
	}
	var children []*process
	for _, p := range frozen {
		if err := p.inject(at); err != nil {
			return err
		}
		if p.parent != nil {
			if err := p.interrogate(); err != nil {
				return err
			}
			children = append(children, p)
			continue
		}
		copied, err := m.copy(p)
		if copied != nil {
			m.processes = append(m.processes, copied)
		}
		if err != nil {
			return err
		}
		if err := p.disturbed(); err != nil {
			return err
		}
	}
	if err := ofEach(children, m.saveChild); err != nil {
		return err
	}
	for _, p := range children {
		if err := p.disturbed(); err != nil {
			return err
		}
	}
	return nil
}

// saveChild notes how a process that another one has forked differs from that. Several may be saved at a time.
func (m *memoryImage) saveChild(p *process) error {
	common, err := p.compareMappings()
	if err != nil {
		return err
	}
	m.mu.Lock()
	earlier := m.group.pages[p.inner]
	m.mu.Unlock()
	fresh, err := p.savePages(common, earlier)
	if errors.Is(err, errNoScan) {
		err = fmt.Errorf("%w: process %d was started by another one: %w", errRefused, p.pid, err)
	}
	if err != nil {
		return err
	}
	m.mu.Lock()
	if m.group.pages == nil {
		m.group.pages = map[int][]ownPage{}
	}
	m.group.pages[p.inner] = p.descent.memory.pages
	m.fresh += fresh
	m.mu.Unlock()
	return nil
}

// copy forks a process. The ID that is chosen for the copy may be in use.
func (m *memoryImage) copy(p *process) (*process, error) {
	const attempts = 100
	for attempt := 1; ; attempt++ {
		number, err := m.group.numbers.choose()
		if err != nil {
			return nil, err
		}
		copied, err := p.fork(m.group.limbo, number)
		if copied != nil || !errors.Is(err, unix.EEXIST) || attempt == attempts {
			return copied, err
		}
	}
}

// readClock notes the monotonic time, which is to go on from there after a restore.
func (m *memoryImage) readClock(pid int) error {
	text, err := procfs.Read(fmt.Sprintf("/proc/%d/timens_offsets", pid))
	if errors.Is(err, os.ErrNotExist) {
		return refuse("this Linux has no time namespaces")
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		var clock string
		var s, ns int64
		if _, err := fmt.Sscan(line, &clock, &s, &ns); err != nil {
			return fmt.Errorf("the time namespace of process %d has %q", pid, line)
		}
		if clock == "monotonic" {
			m.offset = time.Duration(s)*time.Second + time.Duration(ns)
		}
	}
	now, err := monotonic()
	m.clock = now + m.offset
	return err
}

// monotonic is the machine's monotonic time.
func monotonic() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return time.Duration(t.Nano()), err
}

// copyOverhead is about what the kernel takes for a process with one thread, in bytes.
const copyOverhead = 48 << 10

// bytes is the memory that the copies keep from being free.
func (m *memoryImage) bytes() int64 {
	total := m.fixed()
	for _, p := range m.processes {
		total += p.private
	}
	return total
}

// fixed is the part of bytes, and of weigh, that no other image can share.
func (m *memoryImage) fixed() (total int64) {
	total = m.fresh
	for _, p := range m.processes {
		total += copyOverhead + p.tables
	}
	return total
}

// weigh is what the copies hold now, with their shares of pages that others have, too.
func (m *memoryImage) weigh() int64 {
	total := m.fixed()
	for _, p := range m.processes {
		// Of one that has ended nothing can be read, and it holds nothing.
		text, _ := procfs.Read(fmt.Sprintf("/proc/%d/smaps_rollup", p.pid))
		total += procfs.Status(text).Bytes("Pss_Anon:")
	}
	return total
}

// pids are those of the copies.
func (m *memoryImage) pids() (all []int) {
	for _, p := range m.processes {
		all = append(all, p.pid)
	}
	return all
}

// alive tells whether the copies are there, stopped.
func (m *memoryImage) alive() bool {
	for _, p := range m.processes {
		if state, _ := procfs.State(strconv.Itoa(p.pid)); state != 't' {
			return false
		}
	}
	return true
}

// end drops the image. Of the group it uses nothing: whoever needs room for another one does not hold its lock.
func (m *memoryImage) end() {
	// It fails where the group has ended, and all copies with it.
	_ = m.tracer.do(func() error { m.tracer.kill(m.pids()); return nil })
	m.releaseObjects()
}
