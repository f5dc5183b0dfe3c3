// Package memory saves groups in memory: an image is a stopped copy of each peer, made by fork,
// with notes of what a fork does not carry over. It refuses what it does not know, by name.
package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/objects"
	"github.com/tandem-mc/tandem/ckptd/internal/openfiles"
	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
	"github.com/tandem-mc/tandem/ckptd/internal/process"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
)

// Group keeps images of one group as processes: a checkpoint forks each peer, by calls that the
// daemon has it carry out (ptrace), and the copy stays stopped for ever. A restore forks the copy
// in the same way, with the pid of the peer that was killed, and gives it threads, open files,
// connections and timers like those that it had.
//
// A copy has one thread and no open file: the other end of a connection must see it end.
// The proxy is not copied. It goes on, in another network, with new sockets.
type Group struct {
	copyNetns *os.File // network namespace of copies
	ends      tracer.Ends
	makeNext  func(inside func() error) (*incarnation.Next, error)

	tracer      *tracer.Tracer          // nil while nothing is traced
	generations map[int]int             // of peers, by their pids: see process
	restarts    process.RestartSyscalls // of their threads
	allocator   pidAllocator            // for copies
	objects     objects.Table           // that images hold
	// of processes that were forked, by their pids in the group, as they were last
	pages   map[int][]process.OwnPage
	givenUp bool // what is brought back is for CRIU to save
}

// NewGroup is for a group that was just started. Copies live in the network copyNetns; ends tells
// of the ends of processes.
func NewGroup(copyNetns *os.File, ends tracer.Ends,
	makeNext func(inside func() error) (*incarnation.Next, error)) *Group {
	return &Group{copyNetns: copyNetns, ends: ends, makeNext: makeNext}
}

// GiveUp has what is brought back from now on made so that CRIU can save it.
func (g *Group) GiveUp() { g.givenUp = true }

// Traces tells whether there are copies, or were, of the incarnation.
func (g *Group) Traces() bool { return g.tracer != nil }

// Settle returns when all that was killed has ended.
func (g *Group) Settle() error { return g.tracer.Settle() }

// Close ends the tracer, whose copies must be dying, and tells whether there was one.
func (g *Group) Close() bool {
	if g.tracer == nil {
		return false
	}
	g.tracer.Close()
	g.tracer = nil
	return true
}

// Image is a saved group.
type Image struct {
	group     *Group
	in        *incarnation.Incarnation // while it is saved
	tracer    *tracer.Tracer           // of the copies; the group may have none any more
	processes []*process.Process       // pid is that of the copy
	files     *openfiles.Record
	owned     map[proxy.ID]int // sockets of the proxy, by index
	last      int              // process ID that was given last
	clock     time.Duration    // monotonic, as the peers saw it
	offset    time.Duration    // of that to the machine's

	mu       sync.Mutex // guards held and fresh while the group is looked at from several threads
	held     []held     // what has no name, and what it held
	fresh    int64      // bytes of that which no earlier image holds
	segments []segment  // of System V shared memory
}

// InMemory implements store.Saved.
func (*Image) InMemory() bool { return true }

// Save makes an image of a group, whose files are saved by the function at the same time. The peers
// stand still until it returns. Errors are ErrRefused where another backend may do, ErrNotQuiescent
// where the group is busy, and ErrCopyKilled where a copy was killed; the group goes on after
// these.
func (g *Group) Save(
	_ context.Context, in *incarnation.Incarnation, _ string, files func(store.MappedFiles) error,
) (store.Saved, error) {
	if err := g.trace(in.PID); err != nil {
		return nil, fmt.Errorf("%w: %w", incarnation.ErrRefused, err)
	}
	m := &Image{group: g, in: in, tracer: g.tracer, owned: map[proxy.ID]int{}}
	err := g.tracer.Do(func() error {
		here, leave, err := osthread.Stay()
		if err != nil {
			return err
		}
		defer leave()
		frozen, err := freezeAll(in.Peers, here)
		g.restarts = g.restarts.Note(frozen)
		for _, p := range frozen {
			p.Generation = g.generations[p.PID]
		}
		if err == nil {
			err = m.saveFrozen(frozen, files)
		}
		if err != nil {
			g.tracer.Kill(m.PIDs())
			err = whyNot(err)
		}
		for _, p := range frozen {
			if e := p.Thaw(); e != nil {
				err = fmt.Errorf("let peer process %d go on after a checkpoint: %w", p.PID,
					errors.Join(e, wire.TextOf(err)))
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

// whyNot says of an error of saveFrozen that the group goes on, whatever it is. If a process of the
// group was killed, and not a copy, it cannot be thawed.
func whyNot(err error) error {
	switch {
	case errors.Is(err, tracer.ErrKilled):
		return fmt.Errorf("%w: %w", incarnation.ErrCopyKilled, err)
	case errors.Is(err, wire.ErrNotQuiescent), errors.Is(err, incarnation.ErrRefused):
		return err
	}
	return fmt.Errorf("%w: %w", incarnation.ErrRefused, err)
}

// saveFrozen looks at frozen processes, and copies them. Looking is done side by side, as is
// copying: the peers stand still meanwhile. Nothing is copied before all was looked at, so that a
// refusal costs no fork.
func (m *Image) saveFrozen(frozen []*process.Process, files func(store.MappedFiles) error) error {
	err := sideBySide(
		func() error { return m.examineAll(frozen) }, // on this thread
		func() error { return ofEach(frozen, (*process.Process).ExamineMemory) },
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
	mapped := process.MappedFilesOf(frozen)
	return sideBySide(func() error { return m.capture(frozen) }, func() error { return files(mapped) },
		m.saveObjects)
}

// trace makes the tracer of the group, whose pid 1 this is, unless there is one.
func (g *Group) trace(pid int) error {
	if g.tracer != nil {
		return nil
	}
	t := tracer.New(g.ends)
	err := t.Do(func() (err error) {
		t.Queues, err = tracer.EnterIPC(pid)
		return err
	})
	if err != nil {
		t.Close()
		return err
	}
	g.tracer = t
	return nil
}

// freezeAll stops peers and all that they have forked. After an error it returns also those that it
// has stopped, which have to be thawed.
func freezeAll(pids []int, here *unix.CPUSet) (all []*process.Process, err error) {
	for _, pid := range pids {
		tree, err := process.FreezeTree(pid, nil, here)
		all = append(all, tree...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// visit describes the sockets of the proxy, and notes what the group's process IDs go on from.
func (m *Image) visit(files *openfiles.Survey) error {
	v, err := proxy.Visit(m.in.Channel)
	if err != nil {
		return err
	}
	return errors.Join(m.addSockets(files, v), v.End())
}

// addSockets describes the sockets of the proxy.
func (m *Image) addSockets(files *openfiles.Survey, v *proxy.Visitor) error {
	sockets, last, err := v.Sockets()
	if err != nil {
		return err
	}
	m.last = last
	for _, id := range slices.Sorted(maps.Keys(sockets)) {
		fd := sockets[id]
		if err == nil {
			m.owned[id], err = files.AddSocket(fd)
		}
		unix.Close(fd)
	}
	return err
}

// examineAll is called on the tracer's thread.
func (m *Image) examineAll(frozen []*process.Process) error {
	if err := m.tracer.RefuseIPC(); err != nil {
		return err
	}
	var err error
	if m.segments, err = listSegments(); err != nil {
		return err
	}
	for _, p := range frozen {
		if err := p.Examine(); err != nil {
			return err
		}
	}
	return nil
}

// nothingUnderWay returns an error if there are bytes that nobody has read yet, which an image
// would not have: the checker has looked, but before the peers were frozen, and one with a timer of
// its own may have sent something since.
func (m *Image) nothingUnderWay() error {
	busy, err := watch.InFlight(int(m.in.Network.Fd()))
	if err == nil && busy != "" {
		err = fmt.Errorf("%w: %s", wire.ErrNotQuiescent, busy)
	}
	return err
}

// describeAll describes the files of the proxy and of frozen processes.
func (m *Image) describeAll(frozen []*process.Process) (err error) {
	files := openfiles.NewSurvey(m.in.Outputs, m.in.Network, m.keep)
	if err := m.visit(files); err != nil {
		return err
	}
	for _, p := range frozen {
		if p.Descriptors, err = files.Describe(p.PID); err != nil {
			return err
		}
	}
	m.files, err = files.End()
	return err
}

// capture copies processes that have been examined.
func (m *Image) capture(frozen []*process.Process) error {
	clock := m.in.PID // where no peer lives, it goes on in any time namespace
	if len(frozen) > 0 {
		clock = frozen[0].PID
	}
	if err := m.readClock(clock); err != nil {
		return err
	}
	at := uint64(0)
	if slices.ContainsFunc(frozen, func(p *process.Process) bool { return p.Parent != nil }) {
		var err error
		if at, err = process.MeetingPlace(frozen); err != nil {
			return err
		}
	}
	var children []*process.Process
	for _, p := range frozen {
		if err := p.Inject(at); err != nil {
			return err
		}
		if p.Parent != nil {
			if err := p.Interrogate(); err != nil {
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
		if err := p.Disturbed(); err != nil {
			return err
		}
	}
	if err := ofEach(children, m.saveChild); err != nil {
		return err
	}
	for _, p := range children {
		if err := p.Disturbed(); err != nil {
			return err
		}
	}
	return nil
}

// saveChild notes how a process that another one has forked differs from that. Several may be saved
// at a time.
func (m *Image) saveChild(p *process.Process) error {
	common, err := p.CompareMappings()
	if err != nil {
		return err
	}
	m.mu.Lock()
	earlier := m.group.pages[p.Inner]
	m.mu.Unlock()
	fresh, err := p.SavePages(common, earlier)
	if errors.Is(err, pagemap.ErrNoScan) {
		err = fmt.Errorf("%w: process %d was started by another one: %w", incarnation.ErrRefused, p.PID, err)
	}
	if err != nil {
		return err
	}
	m.mu.Lock()
	if m.group.pages == nil {
		m.group.pages = map[int][]process.OwnPage{}
	}
	m.group.pages[p.Inner] = p.OwnPages()
	m.fresh += fresh
	m.mu.Unlock()
	return nil
}

// copy forks a process. The ID that is chosen for the copy may be in use; then another one is
// tried.
func (m *Image) copy(p *process.Process) (*process.Process, error) {
	const attempts = 100
	for attempt := 1; ; attempt++ {
		number, err := m.group.allocator.choose()
		if err != nil {
			return nil, err
		}
		copied, err := p.Fork(m.group.copyNetns, number)
		if copied != nil || !errors.Is(err, unix.EEXIST) || attempt == attempts {
			return copied, err
		}
	}
}

// copyOverhead is about what the kernel takes for a process with one thread, in bytes.
const copyOverhead = 48 << 10

// Bytes is the memory that the copies keep from being free.
func (m *Image) Bytes() int64 {
	total := m.Fixed()
	for _, p := range m.processes {
		total += p.Private
	}
	return total
}

// Fixed is the part of Bytes, and of Weigh, that no other image can share.
func (m *Image) Fixed() (total int64) {
	total = m.fresh
	for _, p := range m.processes {
		total += copyOverhead + p.Tables
	}
	return total
}

// Weigh is what the copies hold now, with their shares of pages that others have, too.
func (m *Image) Weigh() int64 {
	total := m.Fixed()
	for _, p := range m.processes {
		// Of one that has ended nothing can be read, and it holds nothing.
		text, _ := procfs.Read(fmt.Sprintf("/proc/%d/smaps_rollup", p.PID))
		total += procfs.Status(text).Bytes("Pss_Anon:")
	}
	return total
}

// Mapped implements saved.
func (m *Image) Mapped() store.MappedFiles { return process.MappedFilesOf(m.processes) }

// PIDs are those of the copies.
func (m *Image) PIDs() (all []int) {
	for _, p := range m.processes {
		all = append(all, p.PID)
	}
	return all
}

// Alive tells whether the copies are there, stopped.
func (m *Image) Alive() bool {
	for _, p := range m.processes {
		if state, _ := procfs.State(strconv.Itoa(p.PID)); state != 't' {
			return false
		}
	}
	return true
}

// End drops the image. Of the group it uses nothing: whoever needs room for another one does not
// hold its lock.
func (m *Image) End() {
	// It fails where the group has ended, and all copies with it.
	_ = m.tracer.Do(func() error { m.tracer.Kill(m.PIDs()); return nil })
	m.releaseObjects()
}
