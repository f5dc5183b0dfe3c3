package ckptd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/shim"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
)

// Where the daemon keeps its things, on a tmpfs that no other process sees.
const (
	baseDirectory    = "/run/tandem"
	rootDirectory    = baseDirectory + "/root" // the machine's root, read-only
	devicesDirectory = baseDirectory + "/dev"  // the machine's /dev, read-only
	groupsDirectory  = baseDirectory + "/groups"
	imagesDirectory  = baseDirectory + "/images"
	workDirectory    = baseDirectory + "/criu" // a tmpfs of its own, which neither images nor peers can fill
	proxyFile        = baseDirectory + "/tandem-proxy"
	shimFile         = baseDirectory + "/nd.so"
)

// Descriptors of a daemon: the channel to the checker, and the one to a shared daemon.
const (
	Channel = 3
	Control = 4
)

const (
	maxRequests    = 64 // at work at a time
	defaultTimeout = 60 * time.Second
)

// daemon serves one checker.
type daemon struct {
	reaper  *reaper
	criu    *criu
	memory  bool     // whether groups are saved in memory, where they can be
	limbo   *os.File // network namespace of copies, and of who holds them
	always  bool     // memory must do: CRIU does not stand in for it
	verify  bool     // compare restored groups with their images
	store   *store
	dumps   dumps // of all groups, by CRIU
	hasShim bool
	vdso    *proxy.VDSO   // how to map that of the shim
	spare   chan *os.File // network namespaces made ahead

	limits Limits
	ready  chan struct{} // closed when it is set up

	mu     sync.Mutex
	groups map[uint64]*hosted
	next   uint64
}

// Serve is the whole life of a daemon, which must be pid 1 of a fresh pid namespace, in
// fresh mount and network namespaces, with the channel to the checker as descriptor
// Channel. It returns nil once the checker has closed its end; the caller must exit then,
// which ends all groups. With limits, a shared daemon asks for the status by descriptor
// Control.
func Serve(limits Limits) error {
	// Whatever the checker was started with besides must not get into CRIU and groups.
	if err := unix.CloseRange(Channel, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("keep descriptors from children: %w", err)
	}
	defer watch.KeepAwake()()
	d := &daemon{reaper: newReaper(), groups: map[uint64]*hosted{}, spare: make(chan *os.File, 1), limits: limits, ready: make(chan struct{})}
	if limits != (Limits{}) {
		go d.answerStatus(Control)
	}
	desk := &desk{daemon: d, slots: make(chan struct{}, maxRequests), queue: queues{}, closed: make(chan error, 1)}
	go desk.receive()
	return <-desk.closed
}

// desk is where requests come in.
type desk struct {
	daemon *daemon
	slots  chan struct{} // one for each request that is served
	queue  queues        // of whoever receives
	closed chan error    // gets a value when nothing comes any more
}

// receive receives requests until there is one that takes time. It serves that: whoever has read a request
// need not wake up anybody for it. Another one receives meanwhile.
func (d *desk) receive() {
	for {
		message, descriptors, err := receiveMessage(Channel)
		if err == io.EOF {
			d.closed <- nil
			return
		}
		if err != nil {
			d.closed <- fmt.Errorf("read requests: %w", err)
			return
		}
		var r request
		sequence, err := decodeMessage(message, requestKind, &r)
		if err != nil {
			sys.CloseAll(descriptors)
			send(Channel, sequence, errorReply(fmt.Errorf("%w: %w", ErrInvalid, err)), nil)
			continue
		}
		if r.Operation == operationSetup {
			d.serve(r, sequence, descriptors, now()) // nothing else can be served before or during it
			continue
		}
		d.slots <- struct{}{}
		turn, after := d.queue.join(r)
		go d.receive()
		d.serve(r, sequence, descriptors, turn)
		close(after)
		<-d.slots
		return
	}
}

// serve serves a request when its turn has come.
func (d *desk) serve(r request, sequence uint32, descriptors []int, turn <-chan struct{}) {
	d.daemon.inTime(r, func() (reply, []int) {
		<-turn
		defer sys.CloseAll(descriptors)
		return d.daemon.handle(r, descriptors)
	}, func(answer reply, given []int) bool { return send(Channel, sequence, answer, given) })
	go d.daemon.prepareNetwork()
}

// queues keep the requests for each group in their order: a checker that has given up
// waiting for one may send the next.
type queues map[uint64]chan struct{}

// join returns what to wait for before a request is served and what to close after it.
func (q queues) join(r request) (before <-chan struct{}, after chan<- struct{}) {
	last, turn := q[r.Group], make(chan struct{})
	switch {
	case r.Group == 0 || r.Operation == operationCause: // waits for what others do
		return now(), turn
	case last == nil:
		last = now()
	}
	if q[r.Group] = turn; r.Operation == operationClose {
		delete(q, r.Group) // those that follow find no group
	}
	return last, turn
}

// now is a turn that has come.
func now() chan struct{} {
	turn := make(chan struct{})
	close(turn)
	return turn
}

// send answers; when that fails the checker is gone, and the reader of requests sees it. If it is the reply or its
// descriptors that cannot be sent, that is the answer, and send returns false.
func send(channel int, sequence uint32, r reply, descriptors []int) bool {
	message, err := encodeMessage(replyKind, sequence, r)
	if err != nil {
		send(channel, sequence, errorReply(fmt.Errorf("encode the reply: %w", err)), nil) // which is short enough
		return false
	}
	switch err := seqpacket.Send(channel, message, descriptors); {
	case err == nil || err == unix.EPIPE:
	case len(descriptors) > 0:
		send(channel, sequence, errorReply(fmt.Errorf("send %d descriptors: %w", len(descriptors), err)), nil)
		return false
	default:
		fmt.Fprintln(os.Stderr, "tandem-ckptd: answer the checker:", err)
	}
	return true
}

// handle carries out one request; the descriptors it returns are for the checker.
func (d *daemon) handle(r request, given []int) (reply, []int) {
	ctx, cancel := context.WithTimeout(context.Background(), patienceFor(r))
	defer cancel()
	var answer reply
	var descriptors []int
	var err error
	switch r.Operation {
	case operationSetup:
		if err = d.setUp(r.Setup); err == nil {
			close(d.ready)
		}
	case operationStatus:
		descriptors, err = d.status()
	case operationStart:
		answer, descriptors, err = d.start(ctx, given)
	default:
		var h *hosted
		if h, err = d.find(r.Group); err == nil {
			answer, descriptors, err = d.handleGroup(ctx, h, r)
		}
	}
	if err != nil {
		return errorReply(err), nil
	}
	return answer, descriptors
}

func (d *daemon) handleGroup(ctx context.Context, h *hosted, r request) (answer reply, descriptors []int, err error) {
	begin := time.Now()
	switch r.Operation {
	case operationCheckpoint:
		i, dropped, err := h.checkpoint(ctx, r.Steps, r.Unrepeatable)
		if err != nil {
			return answer, nil, err
		}
		took := time.Since(begin)
		h.done.add(&h.done.checkpoints, took)
		return checkpointReply(i, took, dropped, h.refusal), nil, nil
	case operationRestore:
		back, err := h.restore(ctx, r.Image)
		if err == nil {
			h.done.add(&h.done.restores, time.Since(begin))
		}
		return reply{Sockets: back.sockets}, back.descriptors, err
	case operationDrop:
		var i *image
		if i, err = d.store.use(h.id, r.Image); err == nil {
			err = d.store.remove(i)
		}
	case operationCause:
		err = h.awaitEnd(ctx)
	case operationClose:
		err = d.closeGroup(h)
	default:
		err = fmt.Errorf("%w: no operation %.64q", ErrInvalid, r.Operation)
	}
	return answer, descriptors, err
}

// checkpointReply fits into a message. A dropped image that it leaves out is found to be gone when it is wanted.
func checkpointReply(i *image, took time.Duration, dropped []string, refusal error) reply {
	r := reply{Image: i.id, Bytes: i.bytes, Micros: took.Microseconds(), Dropped: cutList(dropped, maxDropped), Backend: i.backend}
	if refusal != nil {
		r.Refusal = cut(refusal.Error(), maxErrorText)
	}
	return r
}

// closeGroup ends a group for good.
func (d *daemon) closeGroup(h *hosted) error {
	d.mu.Lock()
	delete(d.groups, h.id)
	d.mu.Unlock()
	return h.close()
}

// giveUp closes a group of which the checker was not told that it was started: nobody else would.
func (d *daemon) giveUp(id uint64) {
	h, err := d.find(id)
	if err == nil {
		err = d.closeGroup(h)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "tandem-ckptd: close group %d, whose start was given up: %v\n", id, err)
	}
}

func (d *daemon) find(id uint64) (*hosted, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h, ok := d.groups[id]; ok {
		return h, nil
	}
	return nil, fmt.Errorf("%w: there is no group %d (any more)", ErrGroupDown, id)
}

// setUp makes the daemon's own file tree.
func (d *daemon) setUp(s *setup) error {
	if s == nil || s.MaxBytes <= 0 || s.MaxImages <= 0 || d.store != nil {
		return fmt.Errorf("%w: the set-up is incomplete or repeated", ErrInvalid)
	}
	if l := d.limits; l != (Limits{}) {
		s.MaxBytes, s.MaxImages = min(s.MaxBytes, l.MaxBytes), min(s.MaxImages, l.MaxImages)
	}
	if err := mountOwnTree(s.MaxBytes); err != nil {
		return err
	}
	if err := netns.SmallHashTables(); err != nil {
		return fmt.Errorf("make the hash tables of the groups small: %w", err)
	}
	if err := copyContent(s.Proxy, proxyFile); err != nil {
		return fmt.Errorf("copy the proxy: %w", err)
	}
	if err := os.Chmod(proxyFile, 0o755); err != nil {
		return err
	}
	if s.Shim != (shim.Libraries{}) {
		if err := d.takeShim(s.Shim); err != nil {
			return fmt.Errorf("copy the shim of the peers: %w", err)
		}
	}
	d.verify = s.Verify
	d.criu = &criu{file: s.CRIU, reaper: d.reaper}
	if s.Backend != BackendCRIU {
		var err error
		d.limbo, err = netns.New()
		d.memory = err == nil
		d.always = s.Backend == BackendMemory
		if err != nil && d.always {
			return fmt.Errorf("prepare the memory backend: %w", err)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "tandem-ckptd: all groups are saved by CRIU:", err)
		}
	}
	d.store = &store{
		directory: imagesDirectory, maxBytes: s.MaxBytes, maxImages: s.MaxImages,
		used: func() (int64, error) { return bytesUsed(imagesDirectory) },
		free: func() (int64, error) { return bytesFree(imagesDirectory) },
	}
	return nil
}

// takeNetwork returns a fresh network namespace, one that was made ahead if there is one.
func (d *daemon) takeNetwork() (*os.File, error) {
	select {
	case network := <-d.spare:
		return network, nil
	default:
		return netns.New()
	}
}

// prepareNetwork makes one ahead if there is none: between requests, since it takes about
// as long as all the rest of a restore in memory.
func (d *daemon) prepareNetwork() {
	if len(d.spare) > 0 {
		return
	}
	next, err := netns.New()
	if err != nil {
		return // whoever needs one finds out
	}
	select {
	case d.spare <- next:
	default:
		next.Close()
	}
}

// mountOwnTree makes the daemon's own /proc and /run, the latter with room for a store of
// so many bytes.
func mountOwnTree(maxBytes int64) error {
	// While an image is written the store holds one more than its budget.
	size := fmt.Sprintf("size=%d", maxBytes+maxBytes/2+2*peers.MaxContent)
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
		data                 string
	}{
		{target: "/", flags: unix.MS_REC | unix.MS_PRIVATE},
		{source: "proc", target: "/proc", kind: "proc"},
		// CRIU keeps what it learns about the kernel in /run, if that is a tmpfs. What access times are for: see stamps.
		{source: "tandem", target: runDirectory, kind: "tmpfs", flags: unix.MS_STRICTATIME, data: size + ",mode=0755"},
	} {
		if err := unix.Mount(m.source, m.target, m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.kind, m.target, err)
		}
	}
	for _, directory := range []string{rootDirectory, devicesDirectory, groupsDirectory, imagesDirectory, workDirectory} {
		if err := os.MkdirAll(directory, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount("tandem", workDirectory, "tmpfs", 0, "size=16m,mode=0700"); err != nil {
		return fmt.Errorf("mount tmpfs on %s: %w", workDirectory, err)
	}
	// What a peer wrote to the machine's files would not go back with it.
	for source, place := range map[string]string{"/": rootDirectory, "/dev": devicesDirectory} {
		if err := bindReadOnly(source, place); err != nil {
			return err
		}
	}
	return nil
}

// bindReadOnly makes a read-only view of a directory or file at another place.
func bindReadOnly(source, place string) error {
	if err := unix.Mount(source, place, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s to %s: %w", source, place, err)
	}
	if err := unix.Mount("", place, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		err = fmt.Errorf("make the view of %s for the groups read-only: %w", source, err)
		return errors.Join(err, unix.Unmount(place, unix.MNT_DETACH))
	}
	return nil
}

// start makes a group from the description in the memfd that came with the request.
func (d *daemon) start(ctx context.Context, given []int) (reply, []int, error) {
	if d.store == nil || len(given) != 1 {
		return reply{}, nil, fmt.Errorf("%w: a start without a set-up or a description", ErrInvalid)
	}
	g, err := readSpec(given[0])
	if err != nil {
		return reply{}, nil, err
	}
	d.mu.Lock()
	if len(d.groups) >= MaxGroups {
		d.mu.Unlock()
		return reply{}, nil, fmt.Errorf("%d groups run already: close some", MaxGroups)
	}
	d.next++
	h := &hosted{daemon: d, id: d.next, channel: -1, names: names(g), directory: filepath.Join(groupsDirectory, strconv.FormatUint(d.next, 10))}
	h.criu = &criuGroup{criu: d.criu, makeNext: d.newNext}
	if d.memory {
		h.memory = newMemoryGroup(d.limbo, d.reaper, d.newNext)
	}
	d.groups[h.id] = h
	d.mu.Unlock()
	pids, descriptors, err := h.start(ctx, g)
	if err != nil {
		return reply{}, nil, errors.Join(err, d.closeGroup(h))
	}
	return reply{Group: h.id, Peers: pids}, descriptors, nil
}

// names are those of the peers of a group.
func names(g peers.Group) (all []string) {
	for _, p := range g.Peers {
		all = append(all, p.Name)
	}
	return all
}
