// Package daemon serves one checker: it starts groups in namespaces of their own, has a backend
// save them, and brings them back.
//
// A restore reads from top to bottom in restore.go: prepare, look for damage, stop what runs, put
// the files back, start.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/criu"
	"github.com/tandem-mc/tandem/ckptd/internal/memory"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/reaper"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys/awake"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// Descriptors of a daemon: the channel to the checker, and the one to a shared daemon.
const (
	Channel = 3
	Control = 4
)

// daemon serves one checker.
type daemon struct {
	reaper    *reaper.Reaper
	criu      *criu.Runner
	memory    bool     // whether groups are saved in memory, where they can be
	copyNetns *os.File // network namespace of copies, and of who holds them
	always    bool     // memory must do: CRIU does not stand in for it
	verify    bool     // compare restored groups with their images
	store     *store.Store
	dumps     criu.FailedDumps // of all groups, by CRIU
	hasShim   bool
	vdso      *proxy.VDSO   // how to map that of the shim
	spare     chan *os.File // network namespaces made ahead

	limits wire.Limits
	ready  chan struct{} // closed when it is set up

	mu     sync.Mutex
	groups map[uint64]*groupHost
	next   uint64
}

// Serve is the whole life of a daemon, which must be pid 1 of a fresh pid namespace, in
// fresh mount and network namespaces, with the channel to the checker as descriptor
// Channel. It returns nil once the checker has closed its end; the caller must exit then,
// which ends all groups. With limits, a shared daemon asks for the status by descriptor
// Control.
func Serve(limits wire.Limits) error {
	// Whatever the checker was started with besides must not get into CRIU and groups.
	if err := unix.CloseRange(Channel, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("keep descriptors from children: %w", err)
	}
	defer awake.Keep()()
	d := &daemon{reaper: reaper.New(), groups: map[uint64]*groupHost{}, spare: make(chan *os.File, 1),
		limits: limits, ready: make(chan struct{})}
	if limits != (wire.Limits{}) {
		go d.answerStatus(Control)
	}
	in := &dispatcher{daemon: d, slots: make(chan struct{}, maxRequests), queue: queues{},
		closed: make(chan error, 1)}
	go in.receive()
	return <-in.closed
}

// handle carries out one request; the descriptors it returns are for the checker.
func (d *daemon) handle(r wire.Request, given []int) (wire.Response, []int) {
	ctx, cancel := context.WithTimeout(context.Background(), wire.Deadline(r))
	defer cancel()
	var answer wire.Response
	var descriptors []int
	var err error
	switch r.Operation {
	case wire.OpSetup:
		if err = d.setUp(r.Setup); err == nil {
			close(d.ready)
		}
	case wire.OpStatus:
		descriptors, err = d.status()
	case wire.OpStart:
		answer, descriptors, err = d.start(ctx, given)
	default:
		var h *groupHost
		if h, err = d.find(r.Group); err == nil {
			answer, descriptors, err = d.handleGroup(ctx, h, r)
		}
	}
	if err != nil {
		return wire.ErrorResponse(err), nil
	}
	return answer, descriptors
}

func (d *daemon) handleGroup(ctx context.Context, h *groupHost, r wire.Request) (answer wire.Response,
	descriptors []int, err error) {
	begin := time.Now()
	switch r.Operation {
	case wire.OpCheckpoint:
		i, dropped, err := h.checkpoint(ctx, r.Steps, r.Unrepeatable)
		if err != nil {
			return answer, nil, err
		}
		took := time.Since(begin)
		h.done.add(&h.done.checkpoints, took)
		return checkpointReply(i, took, dropped, h.refusal), nil, nil
	case wire.OpRestore:
		back, err := h.restore(ctx, r.Image)
		if err == nil {
			h.done.add(&h.done.restores, time.Since(begin))
		}
		return wire.Response{Sockets: back.sockets}, back.descriptors, err
	case wire.OpDrop:
		var i *store.Image
		if i, err = d.store.Use(h.id, r.Image); err == nil {
			err = d.store.Remove(i)
		}
	case wire.OpCause:
		err = h.awaitEnd(ctx)
	case wire.OpClose:
		err = d.closeGroup(h)
	default:
		err = fmt.Errorf("%w: no operation %.64q", wire.ErrInvalid, r.Operation)
	}
	return answer, descriptors, err
}

// checkpointReply fits into a message. A dropped image that it leaves out is found to be gone when
// it is wanted.
func checkpointReply(i *store.Image, took time.Duration, dropped []string, refusal error) wire.Response {
	r := wire.Response{Image: i.ID, Bytes: i.Bytes, Micros: took.Microseconds(),
		Dropped: wire.CutList(dropped, wire.MaxDropped), Backend: i.Backend}
	if refusal != nil {
		r.Refusal = wire.Cut(refusal.Error(), wire.MaxErrorText)
	}
	return r
}

// closeGroup ends a group for good.
func (d *daemon) closeGroup(h *groupHost) error {
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

func (d *daemon) find(id uint64) (*groupHost, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h, ok := d.groups[id]; ok {
		return h, nil
	}
	return nil, fmt.Errorf("%w: there is no group %d (any more)", wire.ErrGroupDown, id)
}

// BindReadOnly makes a read-only view of a directory or file at another place.
func BindReadOnly(source, place string) error {
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
func (d *daemon) start(ctx context.Context, given []int) (wire.Response, []int, error) {
	if d.store == nil || len(given) != 1 {
		return wire.Response{}, nil, fmt.Errorf("%w: a start without a set-up or a description",
			wire.ErrInvalid)
	}
	g, err := wire.ReadSpec(given[0])
	if err != nil {
		return wire.Response{}, nil, err
	}
	d.mu.Lock()
	if len(d.groups) >= wire.MaxGroups {
		d.mu.Unlock()
		return wire.Response{}, nil, fmt.Errorf("%d groups run already: close some", wire.MaxGroups)
	}
	d.next++
	h := &groupHost{daemon: d, id: d.next, channel: -1, names: names(g),
		directory: filepath.Join(paths.Groups, strconv.FormatUint(d.next, 10))}
	h.criu = &criu.Group{Runner: d.criu, MakeNext: d.newNext}
	if d.memory {
		h.memory = memory.NewGroup(d.copyNetns, d.reaper, d.newNext)
	}
	d.groups[h.id] = h
	d.mu.Unlock()
	pids, descriptors, err := h.start(ctx, g)
	if err != nil {
		return wire.Response{}, nil, errors.Join(err, d.closeGroup(h))
	}
	return wire.Response{Group: h.id, Peers: pids}, descriptors, nil
}

// names are those of the peers of a group.
func names(g peers.Group) (all []string) {
	for _, p := range g.Peers {
		all = append(all, p.Name)
	}
	return all
}
