package ckptd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/checkpoint-restore/go-criu/v7/rpc"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// Where a group finds its own things. The same for every group: each has its own /run.
const (
	runDirectory     = "/run"
	scratchDirectory = "/run/tandem"
	proxyDirectory   = ".proxy" // in /run, no part of a checkpoint
	hostname         = "tandem"
)

// hosted is a group as the daemon has it: at most one incarnation of it runs at a time.
type hosted struct {
	daemon    *daemon
	id        uint64
	directory string // becomes /run of the group
	mounts    []proxy.Mount
	views     []string // read-only mounts of the daemon for this group
	base      string   // files of the image that was taken or restored last

	mu      sync.Mutex
	network *os.File // namespace of the incarnation
	process *child   // pid 1 of the incarnation, the proxy; nil while none was started
	down    error    // why none runs, where that is known better than from process
	output  *os.File // write end of the pipe that is stdout and stderr of all peers
	page    *os.File // in which the peers' shim counts what they read

	channelInode uint64 // of the proxy's end of the command channel
}

// start starts the first incarnation. The descriptors are to be closed once handed over.
func (h *hosted) start(ctx context.Context, g peers.Group) (pids []int, descriptors []int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g = g.In(scratchDirectory)
	if err := h.layOut(g); err != nil {
		return nil, nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer read.Close()
	h.output = write
	channel, err := h.fork()
	if err != nil {
		return nil, nil, err
	}
	pids, err = proxy.ReceiveHello(ctx, channel)
	if err == nil && len(pids) != len(g.Peers) {
		err = fmt.Errorf("the proxy has started %d peers, not %d", len(pids), len(g.Peers))
	}
	if err == nil {
		descriptors, err = h.handOver(channel, int(read.Fd()), int(h.page.Fd()))
	}
	if err != nil {
		unix.Close(channel)
		return nil, nil, withOutput(err, read)
	}
	return pids, descriptors, nil
}

// withOutput adds to err what the group has written.
func withOutput(err error, output *os.File) error {
	const most = 4 << 10
	b := make([]byte, most)
	fd := int(output.Fd()) // which makes it blocking, each time
	unix.SetNonblock(fd, true)
	n, _ := unix.Read(fd, b)
	if text := bytes.TrimSpace(b[:max(n, 0)]); len(text) > 0 {
		return fmt.Errorf("%w; output: %s", err, text)
	}
	return err
}

// renew gives the next incarnation a network namespace and a command channel in it.
func (h *hosted) renew() (checker, group int, err error) {
	network, err := newNetwork()
	if err != nil {
		return -1, -1, err
	}
	if h.network != nil {
		h.network.Close()
	}
	h.network = network
	var pair [2]int
	err = inNetwork(network, func() (err error) {
		pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return -1, -1, fmt.Errorf("make a command channel: %w", err)
	}
	if h.channelInode, err = inode(pair[1]); err != nil {
		closeAll(pair[:])
		return -1, -1, err
	}
	return pair[0], pair[1], nil
}

func inode(fd int) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, fmt.Errorf("inode of descriptor %d: %w", fd, err)
	}
	return st.Ino, nil
}

// fork starts the proxy and returns the checker's end of its channel.
func (h *hosted) fork() (int, error) {
	checker, group, err := h.renew()
	if err != nil {
		return -1, err
	}
	defer unix.Close(group)
	null, err := os.Open(os.DevNull)
	if err != nil {
		unix.Close(checker)
		return -1, err
	}
	defer null.Close()
	config := filepath.Join(h.directory, proxyDirectory, "config.json")
	attributes := &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{"GOMAXPROCS=1"}, // fewer threads, smaller images
		Files: []uintptr{null.Fd(), h.output.Fd(), h.output.Fd(), uintptr(group)},
		Sys: &syscall.SysProcAttr{
			Setsid:     true,
			Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		},
	}
	err = inNetwork(h.network, func() (err error) {
		h.process, err = h.daemon.reaper.start(func() (int, error) {
			return syscall.ForkExec(proxyFile, []string{proxyFile, proxy.StageMount, config}, attributes)
		})
		return err
	})
	if err != nil {
		unix.Close(checker)
		return -1, fmt.Errorf("start the proxy of a group in namespaces of its own: %w", err)
	}
	return checker, nil
}

// handOver returns the descriptors that the checker gets: a pidfd of the incarnation, its
// channel, which is taken over, and copies of others.
func (h *hosted) handOver(channel int, others ...int) ([]int, error) {
	pidfd, err := unix.PidfdOpen(h.process.pid, 0)
	if err != nil {
		return nil, fmt.Errorf("the group did not live to be handed over: %w", err)
	}
	descriptors := []int{pidfd, channel}
	for _, fd := range others {
		duplicate, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			descriptors[1] = pidfd // the caller closes the channel
			closeAll(descriptors[1:])
			return nil, err
		}
		descriptors = append(descriptors, duplicate)
	}
	return descriptors, nil
}

// checkpoint saves the running incarnation, which goes on.
func (h *hosted) checkpoint(ctx context.Context) (*image, []string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.cause(); err != nil {
		return nil, nil, err
	}
	store := h.daemon.store
	i, dropped, err := store.create(h.id)
	if err != nil {
		return nil, dropped, err
	}
	i.channelInode = h.channelInode
	ctx, cancel := h.whileAlive(ctx)
	defer cancel()
	_, err = h.daemon.criu.run(ctx, h.dump(i))
	if err != nil {
		h.fail(fmt.Errorf("checkpoint of group %d: %w", h.id, h.orDeath(err)))
		return nil, dropped, errors.Join(h.down, store.remove(i))
	}
	h.base = i.files()
	more, err := store.settle(i)
	return i, append(dropped, more...), err
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
		network: h.network, images: i.pages(), log: "dump.log",
		frozen: func() error {
			return treeCopy{from: h.directory, to: i.files(), except: proxyDirectory, base: h.base}.save()
		},
	}
}

// restore ends the running incarnation, if any, and starts one from the image.
func (h *hosted) restore(ctx context.Context, id string) (descriptors []int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, err := h.daemon.store.use(h.id, id)
	if err != nil {
		return nil, err
	}
	defer h.daemon.store.release(i)
	h.kill()
	h.down = fmt.Errorf("%w: a restore of %s was not completed", ErrGroupDown, id)
	if err := (treeCopy{from: i.files(), to: h.directory, except: proxyDirectory}).putBack(); err != nil {
		return nil, fmt.Errorf("put back the files of image %s: %w", id, err)
	}
	h.base = i.files()
	channel, err := h.revive(ctx, i)
	if err == nil {
		if descriptors, err = h.handOver(channel); err != nil {
			unix.Close(channel)
		}
	}
	if err != nil {
		h.fail(fmt.Errorf("restore of image %s: %w", id, err))
		return nil, h.down
	}
	h.down = nil
	return descriptors, nil
}

// revive lets CRIU make an incarnation; it returns the checker's end of its channel.
func (h *hosted) revive(ctx context.Context, i *image) (int, error) {
	checker, group, err := h.renew()
	if err != nil {
		return -1, err
	}
	channel := os.NewFile(uintptr(group), "command channel")
	defer channel.Close()
	outputInode, err := inode(int(h.output.Fd()))
	if err != nil {
		unix.Close(checker)
		return -1, err
	}
	options := &rpc.CriuOpts{Root: proto.String(rootDirectory), RstSibling: proto.Bool(true)}
	for n, m := range h.mounts {
		options.External = append(options.External, fmt.Sprintf("mnt[tandem%d]:%s", n, m.Source))
	}
	pid, err := h.daemon.criu.run(ctx, criuOperation{
		kind: rpc.CriuReqType_RESTORE, options: options,
		network: h.network, images: i.pages(), log: "restore.log",
		inherit: []inherited{
			{key: fmt.Sprintf("socket:[%d]", i.channelInode), file: channel},
			{key: fmt.Sprintf("pipe:[%d]", outputInode), file: h.output},
		},
	})
	if err != nil {
		unix.Close(checker)
		return -1, err
	}
	h.process = h.daemon.reaper.adopt(pid)
	return checker, nil
}

// cause says why no incarnation runs, nil if one does.
func (h *hosted) cause() error {
	switch {
	case h.down != nil:
		return h.down
	case h.process == nil:
		return fmt.Errorf("%w: it was not started", ErrGroupDown)
	case !h.process.ended():
		return nil
	}
	status := h.process.status
	how := fmt.Sprintf("exited with status %d", status.ExitStatus())
	if status.Signaled() {
		how = fmt.Sprintf("was killed by signal %d (%v)", status.Signal(), status.Signal())
	}
	return fmt.Errorf("%w: its proxy (pid 1 of group %d) %s", ErrGroupDown, h.id, how)
}

// awaitEnd waits for the incarnation to end and says why it did; nil if ctx ends before.
func (h *hosted) awaitEnd(ctx context.Context) error {
	h.mu.Lock()
	process := h.process
	h.mu.Unlock()
	if process != nil {
		select {
		case <-process.done:
		case <-ctx.Done():
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cause()
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
			if state, _ := stateOfProcess(strconv.Itoa(pid)); state == 'Z' || state == 'X' {
				dead += interval
			}
		}
		cancel()
	}()
	return ctx, cancel
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
	if dead := deadChild(h.process.pid); dead != "" {
		return fmt.Errorf("peer process %s died; %w", dead, err)
	}
	return err
}

// fail ends an incarnation that CRIU may have left in any state.
func (h *hosted) fail(err error) {
	h.kill()
	h.down = fmt.Errorf("%w: %w", ErrGroupDown, err)
}

// kill ends the incarnation and every process in its network, half-restored ones too.
func (h *hosted) kill() {
	if h.process != nil {
		h.process.kill() // and with it its pid namespace
	}
	if h.network == nil {
		return
	}
	for round := 0; ; round++ {
		n, err := killInNetwork(h.network)
		if err != nil {
			panic("ckptd: cannot look for processes of a group: " + err.Error())
		}
		if n == 0 {
			return
		}
		if round > 10000 {
			panic(fmt.Sprintf("ckptd: %d processes of group %d survive SIGKILL", n, h.id))
		}
		time.Sleep(time.Duration(min(round, 10)) * 100 * time.Microsecond)
	}
}

// close ends the group for good.
func (h *hosted) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kill()
	h.down = fmt.Errorf("%w: it was closed", ErrGroupDown)
	if h.network != nil {
		h.network.Close()
		h.network = nil
	}
	if h.output != nil {
		h.output.Close()
	}
	if h.page != nil {
		h.page.Close()
	}
	for _, place := range h.views {
		if err := unix.Unmount(place, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", place, err) // and remove nothing below it
		}
	}
	h.views = nil
	return errors.Join(h.daemon.store.removeGroup(h.id), os.RemoveAll(h.directory))
}
