// Package criu saves groups by CRIU, and brings them back in a new incarnation. It runs one CRIU
// for each dump and each restore, and does what CRIU leaves undone.
package criu

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/checkpoint-restore/go-criu/v7/rpc"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
)

// A dump leaves the group running. A restore is begun early: CRIU reads the image while the old
// incarnation is still looked at, and stops where it would make something. There it waits until the
// way is clear.

// Group saves one group by CRIU. It has no state: what there is of an image is in its files, and in
// Image.
type Group struct {
	*Runner
	MakeNext func(inside func() error) (*incarnation.Next, error)
}

// Image is what has to be known of an image beside the files that CRIU has written. CRIU does not
// save these, or not in a way that could be relied on.
type Image struct {
	channelInode uint64 // of the proxy's end of the command channel
	last         int    // process ID that was given last in the group
	// connections that have ended in one direction: see HoldPackets
	halfClosed map[connection]uint32
}

// InMemory implements store.Saved: the image is files.
func (*Image) InMemory() bool { return false }

// Alive implements store.Saved.
func (*Image) Alive() bool { return true }

// PIDs implements store.Saved.
func (*Image) PIDs() []int { return nil }

// Bytes implements store.Saved.
func (*Image) Bytes() int64 { return 0 }

// Weigh implements store.Saved.
func (*Image) Weigh() int64 { return 0 }

// Fixed implements store.Saved.
func (*Image) Fixed() int64 { return 0 }

// Mapped implements store.Saved: nobody has looked what the peers have mapped.
func (*Image) Mapped() store.MappedFiles { return store.MappedFiles{} }

// End implements store.Saved: the store removes the files.
func (*Image) End() {}

// Save has CRIU dump the incarnation. CRIU stops everything while it reads. At the end, before it
// lets the group go on, it calls back: then the files are saved.
func (c *Group) Save(
	ctx context.Context, in *incarnation.Incarnation, directory string, files func(store.MappedFiles) error,
) (_ store.Saved, err error) {
	i := &Image{channelInode: in.ChannelInode}
	if i.halfClosed, err = halfClosed(in); err != nil {
		return nil, err
	}
	if i.last, err = incarnation.LastGiven(in.Channel); err != nil {
		return nil, err
	}
	ctx, cancel := whileAlive(ctx, in.PID)
	defer cancel()
	options := &rpc.CriuOpts{
		Pid:          proto.Int32(int32(in.PID)),
		LeaveRunning: proto.Bool(true),
		External:     []string{fmt.Sprintf("unix[%d]", in.ChannelInode)},
	}
	for n, m := range in.Mounts {
		options.External = append(options.External, fmt.Sprintf("mnt[%s]:tandem%d", m.Target, n))
	}
	_, err = c.run(ctx, operation{
		kind: rpc.CriuReqType_DUMP, options: options,
		network: in.Network, images: directory,
		at: map[string]func() error{afterDump: func() error { return files(store.MappedFiles{}) }},
	})
	return i, err
}

// Restore is a CRIU that has been started, and is held up before it makes anything. So what takes
// CRIU time before it makes anything, such as to read the image, is done while the old incarnation
// still runs.
type Restore struct {
	image   *Image
	next    *incarnation.Next
	cancel  context.CancelFunc
	proceed chan struct{} // closed when it may go on
	done    chan struct{} // closed when it has ended; then:
	entered bool          // whether it has gone on
	pid     int
	err     error
}

// Prepare starts CRIU, which reads the image.
//
// It runs beside the caller, and is held up at the stage at which it would make something. Where
// connections have half ended, packets are held back in the new network, until all is restored.
func (c *Group) Prepare(ctx context.Context, in *incarnation.Incarnation, s store.Saved,
	directory string) (incarnation.Restore, error) {
	r := &Restore{image: s.(*Image), proceed: make(chan struct{}), done: make(chan struct{})}
	at := map[string]func() error{}
	var inside func() error
	if len(r.image.halfClosed) > 0 {
		inside = HoldPackets
		at[beforeResume] = func() error { return finishRestore(r.next.Network, r.image.halfClosed) }
	}
	var err error
	if r.next, err = c.MakeNext(inside); err != nil {
		return nil, err
	}
	at[beforeRestore] = func() error {
		select {
		case <-r.proceed:
			r.entered = true
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	ctx, r.cancel = context.WithCancel(ctx)
	watched, cancel := c.whileRestored(ctx, r.next.Network, r.proceed)
	go func() {
		defer close(r.done)
		defer cancel()
		r.pid, r.err = c.restore(watched, in, r, directory, at)
	}()
	return r, nil
}

// Stop implements incarnation.Restore: the incarnation that there was is killed, or parked,
// already. CRIU needs nothing of it: the files have all that there was.
func (r *Restore) Stop(*incarnation.Incarnation, bool) error { return nil }

// Start implements incarnation.Restore. The process IDs go on from where they were only now: CRIU
// has used some up itself.
func (r *Restore) Start() (*incarnation.Started, error) {
	close(r.proceed)
	<-r.done
	if r.err == nil && !r.entered {
		panic("ckptd: CRIU has restored a group without having been let")
	}
	s := &incarnation.Started{Next: r.next, PID: r.pid}
	if r.err == nil {
		s.Sockets, r.err = incarnation.GiveAfter(r.next.Checker, r.image.last)
	}
	if r.err != nil {
		err := r.err
		return nil, errors.Join(err, r.clean())
	}
	r.cancel()
	unix.Close(r.next.Group)
	return s, nil
}

// Abort implements incarnation.Restore. CRIU, which is held up, is killed, and has made nothing
// yet.
func (r *Restore) Abort() {
	r.cancel()
	<-r.done
	if err := r.clean(); err != nil {
		fmt.Fprintln(os.Stderr, "tandem-ckptd: give up a restore by CRIU:", err)
	}
}

// clean ends whatever CRIU has left. Peers of which nobody would know any more must not go on. It
// is safe to call it where nothing was made.
func (r *Restore) clean() error {
	r.cancel()
	err := netns.KillAll(r.next.Inode, 0)
	if err != nil && r.entered {
		panic(fmt.Sprintf("ckptd: what CRIU has brought back cannot be ended: %v", err))
	}
	r.next.Close()
	return err
}

// restore has CRIU bring the image back in the next network, with the channel there. The group's
// end of the channel takes the place of the one that the proxy had, and the mounts that of the
// daemon's which they were made from.
func (c *Group) restore(
	ctx context.Context, in *incarnation.Incarnation, r *Restore, directory string,
	at map[string]func() error,
) (pid int, err error) {
	inherit, err := inheritOutputs(in.Outputs)
	if err != nil {
		return 0, err
	}
	duplicate, err := unix.FcntlInt(uintptr(r.next.Group), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	channel := os.NewFile(uintptr(duplicate), "command channel")
	defer channel.Close()
	options := &rpc.CriuOpts{Root: proto.String(paths.Root), RstSibling: proto.Bool(true)}
	for n, m := range in.Mounts {
		options.External = append(options.External, fmt.Sprintf("mnt[tandem%d]:%s", n, m.Source))
	}
	return c.run(ctx, operation{
		kind: rpc.CriuReqType_RESTORE, options: options,
		network: r.next.Network, images: directory,
		inherit: append(inherit, inherited{key: fmt.Sprintf("socket:[%d]", r.image.channelInode),
			file: channel}),
		at: at,
	})
}

// inheritOutputs are the pipes that a restored group writes to: those that it was saved with. CRIU
// takes the daemon's end for what the saved process had, by the inode that the pipe had then: it is
// the same pipe.
func inheritOutputs(outputs []*os.File) (all []inherited, err error) {
	for _, output := range outputs {
		number, err := sys.Inode(int(output.Fd()))
		if err != nil {
			return nil, err
		}
		all = append(all, inherited{key: fmt.Sprintf("pipe:[%d]", number), file: output})
	}
	return all, nil
}
