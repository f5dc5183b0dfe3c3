package ckptd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/tandem-mc/tandem/proxy"
)

// backend is a way to save the incarnations of one group and to bring them back. Its methods are
// called with the group's lock held.
type backend interface {
	// save saves an incarnation, which goes on, to a directory if it needs one. It calls files once, while everything
	// stands still, with what the peers have mapped.
	// An error that wraps errRefused says that the backend cannot hold the group, which
	// goes on as if nothing had happened; after any other one it may be in any state.
	save(ctx context.Context, in *incarnation, directory string, files func(mappedFiles) error) (saved, error)
	// prepare begins to bring back what was saved, as far as that can be done beside an incarnation that runs.
	prepare(ctx context.Context, in *incarnation, s saved, directory string) (restore, error)
}

// saved is what a backend has of an image.
type saved interface {
	// inMemory tells whether it is held by processes, with whose end it is gone.
	inMemory() bool
	alive() bool
	pids() []int  // of those processes
	bytes() int64 // of memory that they have just taken
	weigh() int64 // of memory that they hold now, with their shares of what others hold, too
	fixed() int64 // the part of both that no other image can share
	mapped() mappedFiles
	end() // drops it
}

// restore is an incarnation that is about to be brought back. Either start or abort ends it.
type restore interface {
	// stop ends what runs of the group, as far as it is not needed any more. Peers that have ended are nobody's.
	stop(in *incarnation, ended bool) error
	// start starts the incarnation as it was when it was saved. The files are in place by then.
	start() (*started, error)
	abort()
}

// started is what has come of a restore.
type started struct {
	next    *next
	pid     int              // of the new proxy; 0: the old one goes on
	peers   []int            // pids of the peers; nil: they are not known
	sockets map[proxy.ID]int // descriptors of the sockets of the proxy, for the checker
}

// save saves the group by the memory backend, if the daemon has it and it can hold the
// group, and otherwise by CRIU. A group that it could not hold once is not tried again.
func (h *hosted) save(ctx context.Context, i *image) error {
	d := h.daemon
	if h.memory == nil || h.refusal != nil {
		return h.saveByCRIU(ctx, i)
	}
	err := h.saveQuietly(ctx, i)
	if err != nil {
		if cannot := cannotStore(i.pages(), err); cannot != nil {
			return fmt.Errorf("%w: %w", cannot, err)
		}
	}
	if d.always || !errors.Is(err, errRefused) && !errors.Is(err, ErrNotQuiescent) {
		return err
	}
	h.giveUpMemory(err)
	if err := d.store.releaseFiles(i); err != nil {
		return err
	}
	return h.saveByCRIU(ctx, i)
}

// giveUpMemory has the group saved by CRIU from now on.
func (h *hosted) giveUpMemory(why error) {
	h.refusal = why
	h.memory.giveUp()
	fmt.Fprintf(os.Stderr, "tandem-ckptd: group %d is saved by CRIU from now on: %v\n", h.id, why)
}

// saveByCRIU saves the group by CRIU, unless that is known to be in vain: an attempt that fails is the end of the group.
func (h *hosted) saveByCRIU(ctx context.Context, i *image) error {
	d := h.daemon
	i.backend = BackendCRIU
	why, err := outOfReach(h.network)
	if err == nil && why == "" {
		why = d.dumps.hopeless()
	}
	if err != nil || why != "" {
		if h.refusal != nil {
			why = fmt.Sprintf("%s; and %v", why, h.refusal)
		}
		return errors.Join(err, fmt.Errorf("%w: %s", ErrUnsavable, why))
	}
	err = h.dump(ctx, i)
	if err == nil || cannotStore(i.pages(), err) == nil { // a full disk may have room the next time
		d.dumps.note(err)
	}
	return err
}

// dump has CRIU save the group, of which it must see neither copies nor clocks that were turned back.
func (h *hosted) dump(ctx context.Context, i *image) error {
	in := h.incarnation()
	if h.memory != nil && h.parked == nil { // else nothing was turned back here
		if err := h.memory.joinClocks(in); err != nil {
			return err
		}
	}
	show, err := h.hideCopies()
	if err == nil {
		var s saved
		s, err = h.criu.save(ctx, in, i.pages(), func(mapped mappedFiles) error {
			h.stamps = nil // nobody has looked what is mapped
			return h.saveFiles(i, mapped)
		})
		if err == nil {
			h.daemon.store.hold(i, s)
		}
	}
	if err := errors.Join(err, show()); err != nil {
		return h.orDeath(err)
	}
	return nil
}

// saveQuietly saves by the memory backend, again where something stirred for a moment: a
// timer's signal that comes just then would be lost.
func (h *hosted) saveQuietly(ctx context.Context, i *image) error {
	const attempts, pause = 20, time.Millisecond
	i.backend = BackendMemory
	for attempt := 1; ; attempt++ {
		err := h.copy(ctx, i)
		if !errors.Is(err, ErrNotQuiescent) || attempt == attempts || ctx.Err() != nil {
			return err
		}
		time.Sleep(pause)
		if err := h.daemon.store.releaseFiles(i); err != nil {
			return err
		}
	}
}

// copy has the memory backend save the group.
func (h *hosted) copy(ctx context.Context, i *image) error {
	in := h.incarnation()
	var err error
	if in.peers, err = h.livePeers(); err != nil {
		return err
	}
	s, err := h.memory.save(ctx, in, i.pages(), func(mapped mappedFiles) error {
		if h.stamps == nil {
			h.stamps = stamps{}
		}
		return h.saveFiles(i, mapped)
	})
	if err == nil {
		h.daemon.store.hold(i, s)
	}
	return err
}

// begin runs f beside the caller, and returns what waits for its result.
func begin(f func() error) (wait func() error) {
	result := make(chan error, 1)
	go func() { result <- f() }()
	return sync.OnceValue(func() error { return <-result })
}

// orGone makes of a failed restore in memory an image that is gone, where CRIU can do
// without: what it held can be had again from nothing.
func (h *hosted) orGone(i *image, err error) error {
	if i.backend != BackendMemory || h.daemon.always {
		return err
	}
	h.giveUpMemory(err)
	return fmt.Errorf("%w: %w", ErrImageGone, textOf(err))
}

// textOf keeps the text of an error, and not what it is.
func textOf(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(err.Error())
}
