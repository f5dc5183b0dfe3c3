package ckptd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// backend is a way to save groups and to bring them back. Its methods are called with the
// group's lock held.
type backend interface {
	name() string
	// save saves the running incarnation, which goes on, as image i, files included.
	// An error that wraps errRefused says that the backend cannot hold the group, which
	// goes on as if nothing had happened; after any other one it may be in any state.
	save(ctx context.Context, h *hosted, i *image) error
	// stop ends what runs of the group, as far as it is not needed for revive.
	stop(h *hosted, i *image) error
	// revive starts what stop ended again, as it was when the image was saved, but for
	// files. It returns the checker's end of its channel. It calls clear once, which calls stop, before it makes
	// anything; if clear fails, it ends with that error.
	revive(ctx context.Context, h *hosted, i *image, clear func() error) (channel int, err error)
}

// save saves the group by the memory backend, if the daemon has it and it can hold the
// group, and otherwise by CRIU. A group that it could not hold once is not tried again.
func (h *hosted) save(ctx context.Context, i *image) error {
	d := h.daemon
	if d.memory == nil || h.refusal != nil {
		return h.saveByCRIU(ctx, i)
	}
	i.backend = d.memory
	err := h.saveQuietly(ctx, i)
	if err != nil {
		if cannot := cannotStore(i.pages(), err); cannot != nil {
			return fmt.Errorf("%w: %w", cannot, err)
		}
	}
	if d.always || !errors.Is(err, errRefused) && !errors.Is(err, ErrNotQuiescent) {
		return err
	}
	h.refusal = err
	fmt.Fprintf(os.Stderr, "tandem-ckptd: group %d is saved by CRIU from now on: %v\n", h.id, err)
	if err := d.store.releaseFiles(i); err != nil {
		return err
	}
	return h.saveByCRIU(ctx, i)
}

// saveByCRIU saves the group by CRIU, unless that is known to be in vain: an attempt that fails is the end of the group.
func (h *hosted) saveByCRIU(ctx context.Context, i *image) error {
	d := h.daemon
	i.backend = d.criu
	why, err := h.outOfReach()
	if err == nil && why == "" {
		why = d.dumps.hopeless()
	}
	if err != nil || why != "" {
		if h.refusal != nil {
			why = fmt.Sprintf("%s; and %v", why, h.refusal)
		}
		return errors.Join(err, fmt.Errorf("%w: %s", ErrUnsavable, why))
	}
	err = d.criu.save(ctx, h, i)
	if err == nil || cannotStore(i.pages(), err) == nil { // a full disk may have room the next time
		d.dumps.note(err)
	}
	return err
}

// saveQuietly saves by the memory backend, again where something stirred for a moment: a
// timer's signal that comes just then would be lost.
func (h *hosted) saveQuietly(ctx context.Context, i *image) error {
	const attempts, pause = 20, time.Millisecond
	for attempt := 1; ; attempt++ {
		err := h.daemon.memory.save(ctx, h, i)
		if !errors.Is(err, ErrNotQuiescent) || attempt == attempts || ctx.Err() != nil {
			return err
		}
		time.Sleep(pause)
		if err := h.daemon.store.releaseFiles(i); err != nil {
			return err
		}
	}
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
	if i.backend != h.daemon.memory || h.daemon.always {
		return err
	}
	h.refusal = err
	fmt.Fprintf(os.Stderr, "tandem-ckptd: group %d is saved by CRIU from now on: %v\n", h.id, err)
	return fmt.Errorf("%w: %w", ErrImageGone, textOf(err))
}

// textOf keeps the text of an error, and not what it is.
func textOf(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(err.Error())
}
