package daemon

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
)

// A restore in order: prepare, look for damage, stop what runs, put the files back, start. Up to
// the third step it can be given up as if nothing had happened.

// restore ends the running incarnation, if any, and starts one from the image. Where the image is
// gone or damaged nothing has changed. After any other error no incarnation runs.
//
// The image is in use meanwhile, so that no other group makes room of it. The history of later
// images begins with it.
func (h *groupHost) restore(ctx context.Context, id string) (r restored, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, err := h.files.store.Use(h.id, id)
	if err != nil {
		return r, err
	}
	defer h.files.store.Release(i)
	if home := h.runs.home(); i.Saved.InMemory() && (home == nil || home.Ended() || !i.Saved.Alive()) {
		return r, fmt.Errorf("%w: group %d, image %s ended with the processes that held it",
			wire.ErrImageGone, h.id, i.ID)
	}
	s, err := h.bringBack(ctx, h.saves.of(i), i)
	if damage := (damaged{}); errors.As(err, &damage) { // and nothing has changed
		err = fmt.Errorf("%w: group %d, image %s is damaged: %w", wire.ErrImageGone, h.id, i.ID,
			wire.TextOf(damage))
		return r, errors.Join(err, h.files.store.Remove(i))
	}
	if err == nil {
		r.descriptors, err = h.adopt(s)
	}
	if err != nil {
		h.runs.fail(fmt.Errorf("restore of image %s: %w", id, err))
		return r, h.saves.failedRestore(i, h.runs.down)
	}
	if h.verify {
		if err := h.inspector().compare(ctx, i); err != nil {
			sys.CloseAll(r.descriptors)
			closeSockets(s)
			h.runs.fail(err)
			return restored{}, h.runs.down
		}
	}
	h.runs.down, h.from = nil, i
	h.files.store.Restored(i)
	r.descriptors = h.runs.withPeers(r.descriptors)
	r.addSockets(s.Sockets)
	return r, nil
}

// damaged says what of an image is not as it was written. The checker is told that the image is
// gone, and can do without.
type damaged struct{ error }

// bringBack ends what runs, puts back the files, and starts the image. Where that is damaged,
// nothing has changed. While files are looked at and put back CRIU reads its part of the image.
//
// As long as nothing was stopped the restore can be given up as if it had not been asked for. From
// then on a failure leaves no incarnation.
func (h *groupHost) bringBack(ctx context.Context, by backend, i *store.Image) (*incarnation.Started,
	error) {
	r, err := by.Prepare(ctx, h.incarnation(), i.Saved, i.Pages())
	if err != nil {
		return nil, errors.Join(err, h.checkDamage(i))
	}
	if err := h.checkDamage(i); err != nil {
		r.Abort()
		return nil, err
	}
	if err := h.stop(i, r); err != nil {
		h.abort(r)
		return nil, fmt.Errorf("end the peers: %w", err)
	}
	h.runs.down = fmt.Errorf("%w: a restore of %s was not completed", wire.ErrGroupDown, i.ID)
	if err := h.files.putBack(i); err != nil {
		h.abort(r)
		return nil, fmt.Errorf("put back the files: %w", err)
	}
	return r.Start()
}

// checkDamage returns an error of type damaged if an image is not as it was written. It takes
// longer than most of the restore, so CRIU reads the image meanwhile.
func (h *groupHost) checkDamage(i *store.Image) error {
	if err := h.files.check(i); err != nil {
		return damaged{err}
	}
	return nil
}

// stop ends the incarnation that runs. When CRIU brings back another one, that with the copies is
// parked; when they are wanted, it goes on. Copies live in the incarnation that they were made in,
// as children of its proxy.
func (h *groupHost) stop(i *store.Image, r incarnation.Restore) error {
	if !i.Saved.InMemory() {
		if err := h.runs.park(h.saves.copies); err != nil { // then nothing of it is kept
			h.runs.kill()
		}
		return r.Stop(nil, true)
	}
	ended := h.runs.parked != nil
	h.runs.unpark()
	in := h.incarnation()
	if !ended {
		var err error
		if in.Peers, err = h.runs.livePeers(); err != nil {
			return err
		}
	}
	h.runs.peers = nil
	return r.Stop(in, ended)
}

// abort gives up a restore that is under way. A restore that waits for the proxy does not once that
// is killed.
func (h *groupHost) abort(r incarnation.Restore) {
	if h.runs.process != nil {
		h.runs.process.Signal()
	}
	r.Abort()
}

// adopt makes what was started the incarnation that runs, and returns the first descriptors for the
// checker. After an error nobody has any of what was started but its processes.
func (h *groupHost) adopt(s *incarnation.Started) (descriptors []int, err error) {
	if err = h.runs.adopt(s); err == nil {
		descriptors, err = h.runs.handOver(s.Next.Checker)
	}
	if err != nil {
		unix.Close(s.Next.Checker)
		closeSockets(s)
	}
	return descriptors, err
}
