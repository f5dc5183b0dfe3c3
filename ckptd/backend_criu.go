package ckptd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/checkpoint-restore/go-criu/v7/rpc"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

func (*criu) name() string { return BackendCRIU }

// save implements backend.
func (c *criu) save(ctx context.Context, h *hosted, i *image) (err error) {
	i.channelInode = h.channelInode
	if i.halfClosed, err = h.halfClosed(); err != nil {
		return h.orDeath(err)
	}
	if i.last, err = h.lastGiven(); err != nil {
		return h.orDeath(err)
	}
	ctx, cancel := h.whileAlive(ctx)
	defer cancel()
	if err := h.joinClocks(); err != nil {
		return err
	}
	show, err := h.hideCopies()
	if err == nil {
		_, err = c.run(ctx, h.dump(i))
	}
	if err := errors.Join(err, show()); err != nil {
		return h.orDeath(err)
	}
	return nil
}

func (h *hosted) dump(i *image) criuOperation {
	options := &rpc.CriuOpts{
		Pid:          proto.Int32(int32(h.process.pid)),
		LeaveRunning: proto.Bool(true),
		External:     []string{fmt.Sprintf("unix[%d]", h.channelInode)},
	}
	for n, m := range h.mounts {
		options.External = append(options.External, fmt.Sprintf("mnt[%s]:tandem%d", m.Target, n))
	}
	return criuOperation{
		kind: rpc.CriuReqType_DUMP, options: options,
		network: h.network, images: i.pages(),
		at: map[string]func() error{afterDump: func() error { return h.saveFiles(i) }},
	}
}

// stop implements backend.
func (c *criu) stop(h *hosted, _ *image) error {
	if err := h.park(); err != nil { // then nothing of it is kept
		h.kill()
	}
	return nil
}

// revive implements backend. CRIU starts while the group is ended, and is held up before it makes anything.
func (c *criu) revive(ctx context.Context, h *hosted, i *image, clear func() error) (int, error) {
	at := map[string]func() error{}
	var inside func() error
	if len(i.halfClosed) > 0 {
		inside, at[beforeResume] = holdPackets, func() error { return h.finishRestore(i.halfClosed) }
	}
	n, err := h.daemon.newNext(inside)
	if err != nil {
		return -1, err
	}
	await := begin(clear)
	entered := false
	at[beforeRestore] = func() error {
		if err := await(); err != nil {
			return err
		}
		entered = true
		return h.enter(n)
	}
	watched, cancel := c.whileRestored(ctx, n.network, await)
	defer cancel()
	pid, err := c.restore(watched, h, i, n, at)
	if e := await(); e != nil { // also where CRIU has not come so far
		err = e
	}
	if err == nil && !entered {
		panic("ckptd: CRIU has restored a group without having been let")
	}
	if err == nil {
		err = giveAfter(n.checker, i.last)
	}
	if err != nil {
		sys.CloseAll([]int{n.checker, n.group})
		if !entered { // else what CRIU has left there is killed with the group
			err = errors.Join(err, netns.KillAll(n.inode, 0), n.network.Close())
		}
		return -1, err
	}
	unix.Close(n.group)
	h.process = h.daemon.reaper.adopt(pid)
	return n.checker, nil
}

// restore has CRIU bring the image back in the next network, with the channel there.
func (c *criu) restore(ctx context.Context, h *hosted, i *image, n *next, at map[string]func() error) (pid int, err error) {
	inherit, err := h.inheritOutputs()
	if err != nil {
		return 0, err
	}
	duplicate, err := unix.FcntlInt(uintptr(n.group), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	channel := os.NewFile(uintptr(duplicate), "command channel")
	defer channel.Close()
	options := &rpc.CriuOpts{Root: proto.String(rootDirectory), RstSibling: proto.Bool(true)}
	for n, m := range h.mounts {
		options.External = append(options.External, fmt.Sprintf("mnt[tandem%d]:%s", n, m.Source))
	}
	return c.run(ctx, criuOperation{
		kind: rpc.CriuReqType_RESTORE, options: options,
		network: n.network, images: i.pages(),
		inherit: append(inherit, inherited{key: fmt.Sprintf("socket:[%d]", i.channelInode), file: channel}),
		at:      at,
	})
}

// inheritOutputs are the pipes that a restored group writes to: those that it was saved with.
func (h *hosted) inheritOutputs() (all []inherited, err error) {
	for _, output := range h.outputs {
		number, err := sys.Inode(int(output.Fd()))
		if err != nil {
			return nil, err
		}
		all = append(all, inherited{key: fmt.Sprintf("pipe:[%d]", number), file: output})
	}
	return all, nil
}

// whileAlive ends soon after the proxy does: CRIU may wait for ever for a dead process.
// While CRIU traces the proxy nobody else is told of its end, so it has to be looked for.
func (h *hosted) whileAlive(parent context.Context) (context.Context, context.CancelFunc) {
	const (
		interval = 100 * time.Millisecond
		grace    = time.Second // in which CRIU itself notices, as it mostly does
	)
	ctx, cancel := context.WithCancel(parent)
	pid := h.process.pid
	go func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for dead := time.Duration(0); dead < grace; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if state, _ := procfs.State(strconv.Itoa(pid)); state == 'Z' || state == 'X' {
				dead += interval
			}
		}
		cancel()
	}()
	return ctx, cancel
}

// whileRestored ends soon after something that CRIU has restored has been killed. Its first process is
// the daemon's child, so that CRIU is not told of its end, and waits for ever; nor is it always told when
// another one does not come as far as the rest, who wait for it then. It does not look before cleared has
// returned: so long CRIU is held up, and stands still itself.
func (c *criu) whileRestored(parent context.Context, network *os.File, cleared func() error) (context.Context, context.CancelFunc) {
	const interval = 100 * time.Millisecond
	ctx, cancel := context.WithCancel(parent)
	go func() {
		defer cancel()
		if cleared() != nil { // which ends the restore
			return
		}
		tick := time.NewTicker(cmp.Or(c.interval, interval))
		defer tick.Stop()
		// So many times in a row: it may not be there yet, or not be seen while it is being made.
		const standstill = 30
		last, still := time.Duration(-1), 0
		for patience, missing := 50, 0; missing < patience && still < standstill; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if ran, sleep := ranIn(network); sleep && ran == last {
				still++
			} else {
				last, still = ran, 0
			}
			switch n, err := c.reaper.strangersIn(network); {
			case err != nil:
				return
			case n > 0:
				patience, missing = 5, 0
			default:
				missing++
			}
		}
	}()
	return ctx, cancel
}

// ranIn is how long all that there is in a network has run, and whether all of it sleeps.
func ranIn(network *os.File) (ran time.Duration, sleep bool) {
	number, err := sys.Inode(int(network.Fd()))
	if err != nil {
		return 0, false
	}
	all, err := netns.Processes(number)
	if sleep = err == nil && len(all) > 0; !sleep {
		return 0, false
	}
	for _, pid := range all {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		for _, task := range tasks {
			state, _ := procfs.State(strings.TrimPrefix(task, "/proc/"))
			sleep = sleep && state != 'R' && state != 'D'
			text, _ := os.ReadFile(task + "/schedstat") // it may have ended
			first, _, _ := strings.Cut(string(text), " ")
			n, _ := strconv.ParseInt(first, 10, 64)
			ran += time.Duration(n)
		}
	}
	return ran, sleep
}

// orDeath blames a failed dump on the death of the proxy or of a peer, if that is what
// made it fail.
func (h *hosted) orDeath(err error) error {
	const grace = 100 * time.Millisecond // for the death to become known
	select {
	case <-h.process.done:
		return fmt.Errorf("%w; %w", h.cause(), err)
	case <-time.After(grace): // when the proxy dies, so do the peers: their death says nothing before
	}
	if dead := procfs.DeadChild(h.process.pid); dead != "" {
		return fmt.Errorf("peer process %s died; %w", dead, err)
	}
	return err
}
