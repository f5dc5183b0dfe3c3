package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/reaper"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/proxy"
)

// handOver returns the descriptors that the checker gets: a pidfd of the incarnation, its
// channel, which is taken over, and copies of others.
func (h *groupHost) handOver(channel int, others ...int) ([]int, error) {
	pidfd, err := unix.PidfdOpen(h.process.PID, 0)
	if err != nil {
		return nil, fmt.Errorf("the group did not live to be handed over: %w", err)
	}
	descriptors := []int{pidfd, channel}
	for _, fd := range others {
		duplicate, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			descriptors[1] = pidfd // the caller closes the channel
			sys.CloseAll(descriptors[1:])
			return nil, err
		}
		descriptors = append(descriptors, duplicate)
	}
	return descriptors, nil
}

// withPeers adds pidfds of the peers, where they are known, to descriptors for the checker.
func (h *groupHost) withPeers(descriptors []int) []int {
	all := descriptors
	if len(h.peers) != len(h.innerPeers) {
		return all
	}
	for _, pid := range h.peers {
		pidfd, err := unix.PidfdOpen(pid, 0)
		if err != nil { // then the checker looks for them, and finds out more
			sys.CloseAll(all[len(descriptors):])
			return descriptors
		}
		all = append(all, pidfd)
	}
	return all
}

// restored is what the checker gets of a group that was brought back.
type restored struct {
	descriptors []int      // a pidfd, the channel, pidfds of the peers where they are known, and sockets
	sockets     []proxy.ID // whose descriptors these are, in this order
}

// maxAhead is how many sockets are sent with the reply to a restore. The checker asks the proxy for
// others when it needs them, so that none of both runs out of descriptors for what nobody uses.
const maxAhead = 1000

// restore ends the running incarnation, if any, and starts one from the image.
func (h *groupHost) restore(ctx context.Context, id string) (r restored, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, err := h.daemon.store.Use(h.id, id)
	if err != nil {
		return r, err
	}
	defer h.daemon.store.Release(i)
	if home := h.home(); i.Saved.InMemory() && (home == nil || home.Ended() || !i.Saved.Alive()) {
		return r, fmt.Errorf("%w: group %d, image %s ended with the processes that held it",
			wire.ErrImageGone, h.id, i.ID)
	}
	s, err := h.bringBack(ctx, i)
	if damage := (damaged{}); errors.As(err, &damage) { // and nothing has changed
		err = fmt.Errorf("%w: group %d, image %s is damaged: %w", wire.ErrImageGone, h.id, i.ID,
			wire.TextOf(damage))
		return r, errors.Join(err, h.daemon.store.Remove(i))
	}
	if err == nil {
		if err = h.takeOver(s); err == nil {
			r.descriptors, err = h.handOver(s.Next.Checker)
		}
		if err != nil {
			unix.Close(s.Next.Checker)
			sys.CloseAll(slices.Collect(maps.Values(s.Sockets)))
		}
	}
	if err != nil {
		h.fail(fmt.Errorf("restore of image %s: %w", id, err))
		return r, h.orGone(i, h.down)
	}
	if h.daemon.verify {
		if err := h.verify(ctx, i); err != nil {
			sys.CloseAll(r.descriptors)
			sys.CloseAll(slices.Collect(maps.Values(s.Sockets)))
			h.fail(err)
			return restored{}, h.down
		}
	}
	h.down, h.from = nil, i
	h.daemon.store.Restored(i)
	r.descriptors = h.withPeers(r.descriptors)
	for n, id := range slices.Sorted(maps.Keys(s.Sockets)) {
		if n >= maxAhead {
			unix.Close(s.Sockets[id])
			continue
		}
		r.descriptors, r.sockets = append(r.descriptors, s.Sockets[id]), append(r.sockets, id)
	}
	return r, nil
}

// damaged says what of an image is not as it was written.
type damaged struct{ error }

// bringBack ends what runs, puts back the files, and starts the image. Where that is damaged,
// nothing has changed. While files are looked at and put back CRIU reads its part of the image.
func (h *groupHost) bringBack(ctx context.Context, i *store.Image) (*incarnation.Started, error) {
	by := backend(h.criu)
	if i.Saved.InMemory() {
		by = h.memory
	}
	r, err := by.Prepare(ctx, h.incarnation(), i.Saved, i.Pages())
	if err != nil {
		return nil, errors.Join(err, h.damage(i))
	}
	if err := h.damage(i); err != nil {
		r.Abort()
		return nil, err
	}
	if err := h.stop(i, r); err != nil {
		h.abort(r)
		return nil, fmt.Errorf("end the peers: %w", err)
	}
	h.down = fmt.Errorf("%w: a restore of %s was not completed", wire.ErrGroupDown, i.ID)
	if err := h.putBackFiles(i); err != nil {
		h.abort(r)
		return nil, fmt.Errorf("put back the files: %w", err)
	}
	h.base = i.Tree
	return r.Start()
}

// stop ends the incarnation that runs. When CRIU brings back another one, that with the copies is
// parked; when they are wanted, it goes on.
func (h *groupHost) stop(i *store.Image, r incarnation.Restore) error {
	if !i.Saved.InMemory() {
		if err := h.park(); err != nil { // then nothing of it is kept
			h.kill()
		}
		return r.Stop(nil, true)
	}
	ended := h.parked != nil
	h.unpark()
	in := h.incarnation()
	if !ended {
		var err error
		if in.Peers, err = h.livePeers(); err != nil {
			return err
		}
	}
	h.peers = nil
	return r.Stop(in, ended)
}

// abort gives up a restore that is under way. Whoever waits for the proxy does not once that is
// killed.
func (h *groupHost) abort(r incarnation.Restore) {
	if h.process != nil {
		h.process.Signal()
	}
	r.Abort()
}

// takeOver makes what was started the incarnation that runs.
func (h *groupHost) takeOver(s *incarnation.Started) error {
	if s.PID != 0 {
		h.process = h.daemon.reaper.Adopt(s.PID)
	}
	h.peers = s.Peers
	return h.enter(s.Next)
}

// incarnation is the one that runs, or has run last.
func (h *groupHost) incarnation() *incarnation.Incarnation {
	in := &incarnation.Incarnation{
		Network: h.network, Channel: h.channel, ChannelInode: h.channelInode, Outputs: h.outputs,
		Mounts: h.mounts,
	}
	if h.process != nil {
		in.PID = h.process.PID
	}
	return in
}

// enter makes the next incarnation the group's. Its channel remains the caller's.
func (h *groupHost) enter(n *incarnation.Next) error {
	if h.network != nil {
		h.network.Close()
	}
	h.network, h.channelInode = n.Network, n.ChannelInode
	return h.keepChannel(n.Checker)
}

// keepChannel keeps a copy of the checker's end of the channel, for visits.
func (h *groupHost) keepChannel(checker int) (err error) {
	if h.channel >= 0 {
		unix.Close(h.channel)
	}
	h.channel, err = unix.FcntlInt(uintptr(checker), unix.F_DUPFD_CLOEXEC, 0)
	return err
}

// A group that the memory backend could not hold any more has images of both kinds. Those
// in memory are processes of the incarnation that they were made in. When CRIU saves that
// one, it must not see them; when CRIU brings back another, that one is parked, without
// peers, to go on when an image in memory is wanted.

// parked is an incarnation whose peers have ended, and whose copies are kept.
type parked struct {
	process *reaper.Child // its proxy
	channel int           // the checker's end of its command channel, which no checker has
}

// hideCopies has the daemon, and what it starts, not see the copies among the children of
// the proxy, until the returned function is called.
func (h *groupHost) hideCopies() (show func() error, err error) {
	copies := h.daemon.store.Copies(h.id)
	var places []string
	show = func() (err error) {
		for _, place := range places {
			err = errors.Join(err, unix.Unmount(place, unix.MNT_DETACH))
		}
		return err
	}
	if h.parked != nil || h.memory == nil || !h.memory.Traces() {
		return show, nil
	}
	if err := h.memory.Settle(); err != nil || len(copies) == 0 {
		return show, err
	}
	threads, err := procfs.Threads(h.process.PID)
	if err != nil {
		return show, err
	}
	for n, tid := range threads {
		children, err := procfs.Children(h.process.PID, tid)
		if err != nil {
			return show, err
		}
		others := ""
		for _, pid := range children {
			if !slices.Contains(copies, pid) {
				others += strconv.Itoa(pid) + " "
			}
		}
		if len(strings.Fields(others)) == len(children) {
			continue
		}
		file := fmt.Sprintf("%s.children%d", h.directory, n)
		if err := os.WriteFile(file, []byte(others), 0o600); err != nil {
			return show, err
		}
		place := fmt.Sprintf("/proc/%d/task/%d/children", h.process.PID, tid)
		err = unix.Mount(file, place, "", unix.MS_BIND, "")
		if err := errors.Join(err, os.Remove(file)); err != nil {
			return show, fmt.Errorf("hide copies of the peers in %s: %w", place, err)
		}
		places = append(places, place)
	}
	return show, nil
}

// park ends the peers of the running incarnation and keeps the rest of it. Without copies
// in it there is nothing to keep.
func (h *groupHost) park() error {
	if h.parked != nil || h.memory == nil || !h.memory.Traces() || h.process == nil || h.process.Ended() {
		return errNothingToPark
	}
	v, err := proxy.Visit(h.channel)
	if err != nil {
		return err
	}
	defer v.Close()
	number, err := sys.Inode(int(h.network.Fd()))
	if err == nil {
		err = netns.KillAll(number, h.process.PID)
	}
	if err == nil {
		err = v.Reap(0)
	}
	if err != nil {
		return err
	}
	pair, err := seqpacket.Pair()
	if err != nil {
		return err
	}
	defer unix.Close(pair[1])
	if err := v.Enter(int(h.daemon.copyNetns.Fd()), pair[1], nil); err != nil {
		unix.Close(pair[0])
		return err
	}
	h.parked = &parked{process: h.process, channel: pair[0]}
	h.process, h.peers = nil, nil
	return nil
}

var errNothingToPark = errors.New("there are no copies to keep")

// unpark ends the running incarnation and goes on with the parked one, if there is one.
func (h *groupHost) unpark() {
	if h.parked == nil {
		return
	}
	h.kill()
	unix.Close(h.channel)
	h.process, h.channel = h.parked.process, h.parked.channel
	h.parked = nil
}

// home is the process whose end is that of the images in memory; nil if there is none.
func (h *groupHost) home() *reaper.Child {
	if h.parked != nil {
		return h.parked.process
	}
	return h.process
}
