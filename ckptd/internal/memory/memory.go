// Package memory saves groups in memory: an image is a stopped copy of each peer, made by fork,
// with notes of what a fork does not carry over. It refuses what it does not know, by name.
//
// A saver makes an image of a group (save.go): it freezes the peers, looks at them, copies them,
// and lets them go on. A Restore (restore.go) kills the peers that run and makes others, by forks
// of the copies.
package memory

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/objects"
	"github.com/tandem-mc/tandem/ckptd/internal/openfiles"
	"github.com/tandem-mc/tandem/ckptd/internal/process"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/proxy"
)

// Group keeps images of one group as processes: a checkpoint forks each peer, by calls that the
// daemon has it carry out (ptrace), and the copy stays stopped for ever. A restore forks the copy
// in the same way, with the pid of the peer that was killed, and gives it threads, open files,
// connections and timers like those that it had.
//
// A copy has one thread and no open file: the other end of a connection must see it end.
// The proxy is not copied. It goes on, in another network, with new sockets.
//
// Its methods are called with the lock of the group held; images may be dropped without.
type Group struct {
	copyNetns *os.File // network namespace of copies
	ends      tracer.Ends
	makeNext  func(inside func() error) (*incarnation.Next, error)

	tracer      *tracer.Tracer            // nil while nothing is traced
	generations map[int]int               // of peers, by their pids: see process.AddressSpace
	restarts    process.RestartSyscalls   // of their threads
	allocator   pidAllocator              // for copies
	objects     objects.Table             // that images hold
	pages       map[int][]process.OwnPage // of processes that were forked, by their pids in the group
	givenUp     bool                      // what is brought back is for CRIU to save
}

// NewGroup is for a group that was just started. Copies live in the network copyNetns; ends tells
// of the ends of processes. It traces nothing before the first checkpoint.
func NewGroup(copyNetns *os.File, ends tracer.Ends,
	makeNext func(inside func() error) (*incarnation.Next, error)) *Group {
	return &Group{copyNetns: copyNetns, ends: ends, makeNext: makeNext}
}

// GiveUp has what is brought back from now on made so that CRIU can save it.
func (g *Group) GiveUp() { g.givenUp = true }

// Traces tells whether there are copies, or were, of the incarnation.
func (g *Group) Traces() bool { return g.tracer != nil }

// AwaitKilled returns when all that was killed has ended. Images that were dropped are processes
// until then.
func (g *Group) AwaitKilled() error { return g.tracer.AwaitKilled() }

// Close ends the tracer, whose copies must be dying, and tells whether there was one. The copies
// end with the pid namespace; the tracer has to wait for each of them, or that does not end.
func (g *Group) Close() bool {
	if g.tracer == nil {
		return false
	}
	g.tracer.Close()
	g.tracer = nil
	return true
}

// trace makes the tracer of the group, whose pid 1 this is, unless there is one. It stays in the
// group's namespace for interprocess communication, where only a thread that is in it can look.
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

// Prepare begins a restore of an image. All that takes time is done while the peers die: see Stop.
func (g *Group) Prepare(_ context.Context, _ *incarnation.Incarnation, s store.Saved,
	_ string) (incarnation.Restore, error) {
	image := s.(*Image)
	return &Restore{group: g, image: image, peers: process.Revival{Files: image.files.Make()}}, nil
}

// Image is a saved group. It does not change once it is complete.
//
// Everything that a restore needs beside the copies is here: they cannot be asked any more.
type Image struct {
	tracer    *tracer.Tracer    // of the copies; the group may have none any more
	processes []*process.Saved  // the peers; what they have forked is below them
	files     *openfiles.Record // what all had open
	owned     map[proxy.ID]int  // sockets of the proxy, by their index in files
	last      int               // process ID that was given last
	clock     time.Duration     // monotonic, as the peers saw it
	held      heldObjects
	segments  segments
	fresh     int64 // bytes of pages that no earlier image holds
}

// InMemory implements store.Saved.
func (*Image) InMemory() bool { return true }

// copyOverhead is about what the kernel takes for a process with one thread, in bytes.
const copyOverhead = 48 << 10

// Bytes is the memory that the copies keep from being free. A page that was shared with an older
// image is counted there.
func (m *Image) Bytes() int64 {
	total := m.Fixed()
	for _, p := range m.processes {
		total += p.Memory.Private
	}
	return total
}

// Fixed is the part of Bytes, and of Weigh, that no other image can share.
func (m *Image) Fixed() (total int64) {
	total = m.fresh + m.held.fresh
	for _, p := range m.processes {
		total += copyOverhead + p.Tables
	}
	return total
}

// Weigh is what the copies hold now, with their shares of pages that others have, too. The kernel
// counts each page for it, so that is asked for only where Bytes does not do.
func (m *Image) Weigh() int64 {
	total := m.Fixed()
	for _, p := range m.processes {
		// Of one that has ended nothing can be read, and it holds nothing.
		text, _ := procfs.Read(fmt.Sprintf("/proc/%d/smaps_rollup", p.PID))
		total += procfs.Status(text).Bytes("Pss_Anon:")
	}
	return total
}

// Mapped are the files that peers have mapped and may write to without a trace.
func (m *Image) Mapped() store.MappedFiles { return process.MappedFilesOf(m.processes) }

// PIDs are those of the copies.
func (m *Image) PIDs() (all []int) {
	for _, p := range m.processes {
		all = append(all, p.PID)
	}
	return all
}

// Alive tells whether the copies are there, stopped. Somebody may have killed one from outside.
// What is not stopped in the tracer's hands is no copy.
func (m *Image) Alive() bool {
	for _, p := range m.processes {
		if state, _ := procfs.State(strconv.Itoa(p.PID)); state != 't' {
			return false
		}
	}
	return true
}

// End drops the image. Of the group it uses nothing that the lock guards: whoever needs room for
// another image does not hold that.
func (m *Image) End() {
	// It fails where the group has ended, and all copies with it.
	_ = m.tracer.Do(func() error { m.tracer.Kill(m.PIDs()); return nil })
	m.held.release()
}
