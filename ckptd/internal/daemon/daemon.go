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
)

// The daemon starts when its client does and ends with it. Everything that it has is in namespaces
// and on a tmpfs of its own, so its end leaves nothing behind, in whatever way it comes.

// Descriptors of a daemon: the channel to the checker, and the one to a shared daemon.
const (
	Channel = 3
	Control = 4
)

// daemon serves one checker. Its groups are isolated from each other: what fails in one is told to
// the checker, and the others go on.
type daemon struct {
	policy // how groups are saved

	reaper   *reaper.Reaper
	networks networks
	store    *store.Store // nil until it is set up
	shim     shimFiles
	verify   bool          // compare restored groups with their images
	limits   wire.Limits   // of a client of a shared daemon
	ready    chan struct{} // closed when it is set up
	groups   *groups
}

// Serve is the whole life of a daemon, which must be pid 1 of a fresh pid namespace, in fresh mount
// and network namespaces, with the channel to the checker as descriptor Channel. It returns nil
// once the checker has closed its end; the caller must exit then, which ends all groups. With
// limits, a shared daemon asks for the status by descriptor Control. Descriptors that the checker
// has not meant for it are not inherited by anything that it starts.
func Serve(limits wire.Limits) error {
	// Whatever the checker was started with besides must not get into CRIU and groups.
	if err := unix.CloseRange(Channel, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("keep descriptors from children: %w", err)
	}
	defer awake.Keep()()
	d := &daemon{reaper: reaper.New(), groups: newGroups(), networks: newNetworks(),
		limits: limits, ready: make(chan struct{})}
	if limits != (wire.Limits{}) {
		go d.answerStatus(Control)
	}
	in := &dispatcher{daemon: d, slots: make(chan struct{}, maxRequests), queue: queues{},
		closed: make(chan error, 1)}
	go in.receive()
	return <-in.closed
}

// handle carries out one request; the descriptors it returns are for the checker. An error is an
// answer like any other. It ends the request, and not the daemon.
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
		if h, err = d.groups.find(r.Group); err == nil {
			answer, descriptors, err = d.handleGroup(ctx, h, r)
		}
	}
	if err != nil {
		return wire.ErrorResponse(err), nil
	}
	return answer, descriptors
}

// handleGroup carries out a request that is about a group. What a checkpoint or a restore has taken
// is measured here, with the time that it waited for the lock.
func (d *daemon) handleGroup(ctx context.Context, h *groupHost, r wire.Request) (answer wire.Response,
	descriptors []int, err error) {
	began := time.Now()
	switch r.Operation {
	case wire.OpCheckpoint:
		i, dropped, err := h.checkpoint(ctx, r.Steps, r.Unrepeatable)
		if err != nil {
			return answer, nil, err
		}
		took := time.Since(began)
		h.done.addCheckpoint(took)
		return checkpointReply(i, took, dropped, h.saves.refusal), nil, nil
	case wire.OpRestore:
		back, err := h.restore(ctx, r.Image)
		if err == nil {
			h.done.addRestore(time.Since(began))
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
		err = d.groups.close(h)
	default:
		err = fmt.Errorf("%w: no operation %.64q", wire.ErrInvalid, r.Operation)
	}
	return answer, descriptors, err
}

// checkpointReply fits into a message. A dropped image that it leaves out is found to be gone when
// it is wanted. Thousands of images may have gone for a large one.
func checkpointReply(i *store.Image, took time.Duration, dropped []string, refusal error) wire.Response {
	r := wire.Response{Image: i.ID, Bytes: i.Bytes, Micros: took.Microseconds(),
		Dropped: wire.CutList(dropped, wire.MaxDropped), Backend: i.Backend}
	if refusal != nil {
		r.Refusal = wire.Cut(refusal.Error(), wire.MaxErrorText)
	}
	return r
}

// giveUp closes a group of which the checker was not told that it was started: nobody else would.
// It would run until the daemon ends, and take one of the places.
func (d *daemon) giveUp(id uint64) {
	h, err := d.groups.find(id)
	if err == nil {
		err = d.groups.close(h)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "tandem-ckptd: close group %d, whose start was given up: %v\n", id, err)
	}
}

// start makes a group from the description in the memfd that came with the request. The group is
// known before it is started, so that an end of the daemon ends it, too. One whose start fails is
// closed at once.
func (d *daemon) start(ctx context.Context, given []int) (wire.Response, []int, error) {
	if d.store == nil || len(given) != 1 {
		return wire.Response{}, nil, fmt.Errorf("%w: a start without a set-up or a description",
			wire.ErrInvalid)
	}
	g, err := wire.ReadSpec(given[0])
	if err != nil {
		return wire.Response{}, nil, err
	}
	h, err := d.groups.add(func(id uint64) *groupHost { return d.newGroupHost(id, names(g)) })
	if err != nil {
		return wire.Response{}, nil, err
	}
	pids, descriptors, err := h.start(ctx, g)
	if err != nil {
		return wire.Response{}, nil, errors.Join(err, d.groups.close(h))
	}
	return wire.Response{Group: h.id, Peers: pids}, descriptors, nil
}

// newGroupHost is for a group that is not started yet. Its parts know each other by pointers: each
// has one job, and none is changed without the lock of the group.
func (d *daemon) newGroupHost(id uint64, names []string) *groupHost {
	directory := filepath.Join(paths.Groups, strconv.FormatUint(id, 10))
	h := &groupHost{id: id, names: names, verify: d.verify,
		layout: layout{directory: directory, shim: &d.shim}}
	h.files = &groupFiles{directory: directory, store: d.store}
	h.saves = &backends{policy: &d.policy, host: h,
		criu: &criu.Group{Runner: d.policy.criu, MakeNext: d.networks.makeNext}}
	if d.inMemory {
		h.saves.memory = memory.NewGroup(d.copies, d.reaper, d.networks.makeNext)
	}
	h.runs = &incarnationHost{id: id, reaper: d.reaper, networks: d.networks, store: d.store,
		memory: h.saves.memory, channel: -1}
	return h
}

// names are those of the peers of a group. The status names a group by them.
func names(g peers.Group) (all []string) {
	for _, p := range g.Peers {
		all = append(all, p.Name)
	}
	return all
}
