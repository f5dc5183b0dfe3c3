package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/openfiles"
	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
	"github.com/tandem-mc/tandem/ckptd/internal/process"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
)

// Peers stand still from the first freeze to the last thaw, so everything between is kept short:
// what can be looked at from outside is looked at side by side, and files are copied while
// processes fork.

// saver makes an image of a group, whose peers stand still meanwhile. What an image does not need
// any more, once it is complete, is here: the frozen processes above all.
type saver struct {
	group  *Group
	in     *incarnation.Incarnation
	image  *Image
	frozen []*process.Frozen // parents before what they have forked

	mu sync.Mutex // guards the pages of the group, and fresh of the image: see saveChild
}

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
	m := &Image{tracer: g.tracer, owned: map[proxy.ID]int{}, held: heldObjects{table: &g.objects}}
	s := &saver{group: g, in: in, image: m}
	if err := g.tracer.Do(func() error { return s.save(files) }); err != nil {
		m.held.release()
		return nil, err
	}
	return m, nil
}

// save freezes the peers, saves them, and lets them go on, also after an error. It is called on the
// tracer's thread, which stays on one processor meanwhile. A group that is let go after an error
// goes on as if nothing had happened, and copies that were made are killed.
func (s *saver) save(files func(store.MappedFiles) error) error {
	here, leave, err := osthread.Stay()
	if err != nil {
		return err
	}
	defer leave()
	s.frozen, err = freezeAll(s.in.Peers, here)
	// Also of threads that are thawed at once, after an error.
	s.group.restarts = s.group.restarts.Note(s.frozen)
	for _, p := range s.frozen {
		p.Memory.Generation = s.group.generations[p.PID]
	}
	if err == nil {
		err = s.saveFrozen(files)
	}
	if err != nil {
		s.image.tracer.Kill(s.image.PIDs())
		err = whyNot(err)
	}
	for _, p := range s.frozen {
		if e := p.Thaw(); e != nil {
			err = fmt.Errorf("let peer process %d go on after a checkpoint: %w", p.PID,
				errors.Join(e, wire.TextOf(err)))
		}
	}
	return err
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

// freezeAll stops peers and all that they have forked. After an error it returns also those that it
// has stopped, which have to be thawed.
func freezeAll(pids []int, here *unix.CPUSet) (all []*process.Frozen, err error) {
	for _, pid := range pids {
		tree, err := process.FreezeTree(pid, nil, here)
		all = append(all, tree...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// saveFrozen looks at frozen processes, and copies them. Looking is done side by side, as is
// copying: the peers stand still meanwhile. Nothing is copied before all was looked at, so that a
// refusal costs no fork.
func (s *saver) saveFrozen(files func(store.MappedFiles) error) error {
	err := sideBySide(
		s.examineAll, // on this thread
		func() error { return ofEach(s.frozen, (*process.Frozen).ExamineMemory) },
		s.describeFiles,
		s.nothingUnderWay)
	if err == nil {
		err = s.image.held.holdMapped(s.frozen)
	}
	if err == nil {
		err = s.image.segments.check(s.frozen)
	}
	if err != nil {
		return err
	}
	mapped := process.MappedFilesOf(s.peers())
	return sideBySide(s.capture, func() error { return files(mapped) }, s.image.held.save)
}

// peers are the processes that no other one of the group has forked. What these have forked hangs
// below them.
func (s *saver) peers() (all []*process.Saved) {
	for _, p := range s.frozen {
		if p.Parent == nil {
			all = append(all, p.Saved)
		}
	}
	return all
}

// examineAll looks at what takes the tracer's thread: the namespace that it is in, and the
// processes that it traces.
func (s *saver) examineAll() error {
	if err := s.image.tracer.RefuseIPC(); err != nil {
		return err
	}
	var err error
	if s.image.segments, err = listSegments(); err != nil {
		return err
	}
	for _, p := range s.frozen {
		if err := p.Examine(); err != nil {
			return err
		}
	}
	return nil
}

// nothingUnderWay returns an error if there are bytes that nobody has read yet, which an image
// would not have: the checker has looked, but before the peers were frozen, and one with a timer of
// its own may have sent something since.
func (s *saver) nothingUnderWay() error {
	busy, err := watch.InFlight(int(s.in.Network.Fd()))
	if err == nil && busy != "" {
		err = fmt.Errorf("%w: %s", wire.ErrNotQuiescent, busy)
	}
	return err
}

// describeFiles describes the files of the proxy and of frozen processes: of all of them in one
// survey, since they may share some.
func (s *saver) describeFiles() (err error) {
	files := openfiles.NewSurvey(s.in.Outputs, s.in.Network, s.image.held.hold)
	if err := s.visitProxy(files); err != nil {
		return err
	}
	for _, p := range s.frozen {
		if p.Descriptors, err = files.Describe(p.PID); err != nil {
			return err
		}
	}
	s.image.files, err = files.End()
	return err
}

// visitProxy describes the sockets of the proxy, and notes what the group's process IDs go on from.
func (s *saver) visitProxy(files *openfiles.Survey) error {
	v, err := proxy.Visit(s.in.Channel)
	if err != nil {
		return err
	}
	return errors.Join(s.describeSockets(files, v), v.End())
}

// describeSockets describes the sockets that the proxy sends, in the order of their ids, so that
// two images of the same state are the same. All of them are closed, also after an error.
func (s *saver) describeSockets(files *openfiles.Survey, v *proxy.Visitor) error {
	sockets, last, err := v.Sockets()
	if err != nil {
		return err
	}
	s.image.last = last
	for _, id := range slices.Sorted(maps.Keys(sockets)) {
		fd := sockets[id]
		if err == nil {
			s.image.owned[id], err = files.AddSocket(fd)
		}
		unix.Close(fd)
	}
	return err
}

// capture copies processes that have been examined. Children are not copied, but looked at once
// their parents have been: what differs from these is their image. A signal that has come meanwhile
// is looked for after each: the copy would not have it.
func (s *saver) capture() (err error) {
	clock := s.in.PID // where no peer lives, it goes on in any time namespace
	if len(s.frozen) > 0 {
		clock = s.frozen[0].PID
	}
	if s.image.clock, err = clockOf(clock); err != nil {
		return err
	}
	at, err := s.placeOfCalls()
	if err != nil {
		return err
	}
	var children []*process.Frozen
	for _, p := range s.frozen {
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
		copied, err := s.copy(p)
		if copied != nil { // also a copy that is of no use is to be killed
			s.image.processes = append(s.image.processes, copied)
		}
		if err != nil {
			return err
		}
		if err := p.Disturbed(); err != nil {
			return err
		}
	}
	if err := ofEach(children, s.saveChild); err != nil {
		return err
	}
	for _, p := range children {
		if err := p.Disturbed(); err != nil {
			return err
		}
	}
	return nil
}

// placeOfCalls is where the processes get their mappings for calls: a child has to have it where
// its parent has, since a fork of the restored parent becomes the child. 0: anywhere.
func (s *saver) placeOfCalls() (uint64, error) {
	if slices.ContainsFunc(s.frozen, func(p *process.Frozen) bool { return p.Parent != nil }) {
		return process.MeetingPlace(s.frozen)
	}
	return 0, nil
}

// copy forks a process. The ID that is chosen for the copy may be in use; then another one is
// tried.
func (s *saver) copy(p *process.Frozen) (*process.Saved, error) {
	const attempts = 100
	for attempt := 1; ; attempt++ {
		number, err := s.group.allocator.choose()
		if err != nil {
			return nil, err
		}
		copied, err := p.Fork(s.group.copyNetns, number)
		if copied != nil || !errors.Is(err, unix.EEXIST) || attempt == attempts {
			return copied, err
		}
	}
}

// saveChild notes how a process that another one has forked differs from that. Several may be saved
// at a time. Its pages are kept for the next image, which shares those that stay the same.
func (s *saver) saveChild(p *process.Frozen) error {
	s.mu.Lock()
	earlier := s.group.pages[p.Inner]
	s.mu.Unlock()
	pages, fresh, err := p.SaveDifference(earlier)
	if errors.Is(err, pagemap.ErrNoScan) {
		err = fmt.Errorf("%w: process %d was started by another one: %w", incarnation.ErrRefused, p.PID, err)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.group.pages == nil {
		s.group.pages = map[int][]process.OwnPage{}
	}
	s.group.pages[p.Inner] = pages
	s.image.fresh += fresh
	return nil
}
