package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tandem-mc/tandem/ckptd/internal/criu"
	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/memory"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// How a group is saved is chosen anew only once: when the memory backend has refused it. The
// reasons for that, such as a kind of socket, are the peers' habits, and come again.

// backend is a way to save the incarnations of one group and to bring them back. Its methods are
// called with the group's lock held. A restore is not one call, so that what takes time comes
// before anything is stopped: see incarnation.Restore.
type backend interface {
	// Save saves an incarnation, which goes on, to a directory if it needs one. It calls files
	// once, while everything stands still, with what the peers have mapped. An error that wraps
	// ErrRefused says that the backend cannot hold the group, which goes on as if nothing had
	// happened. So it does after ErrCopyKilled. After any other one it may be in any state.
	Save(ctx context.Context, in *incarnation.Incarnation, directory string,
		files func(store.MappedFiles) error) (store.Saved, error)
	// Prepare begins to bring back what was saved, as far as that can be done beside an incarnation
	// that runs.
	Prepare(ctx context.Context, in *incarnation.Incarnation, s store.Saved,
		directory string) (incarnation.Restore, error)
}

// backends chooses how a group is saved: in memory as long as that can hold it, and then by CRIU.
type backends struct {
	*policy
	host   *groupHost
	criu   *criu.Group
	memory *memory.Group // nil where every group is saved by CRIU
	// refusal is why the memory backend does not hold the group; nil: it does, or was not asked.
	refusal error
}

// policy is what a daemon has in common for the backends of all its groups. What CRIU could not do
// for one group it cannot do for the next, so that is counted for all of them.
type policy struct {
	criu     *criu.Runner
	inMemory bool     // groups are saved in memory, where they can be
	always   bool     // memory must do: CRIU does not stand in for it
	noCRIU   string   // why it cannot, and what to do about it; empty: it is not wanted, or can
	alone    bool     // it never will, and groups that memory cannot hold go on without images
	copies   *os.File // network namespace of copies, and of a proxy that is parked
	dumps    criu.FailedDumps
}

// of is the backend that has saved an image. An image knows whether it is files or processes.
func (b *backends) of(i *store.Image) backend {
	if i.Saved.InMemory() {
		return b.memory
	}
	return b.criu
}

// save saves the group by the memory backend, if the daemon has it and it can hold the group, and
// otherwise by CRIU. A group that it could not hold once is not tried again. What the memory
// backend has begun of an image is given back before CRIU begins another.
func (b *backends) save(ctx context.Context, i *store.Image) error {
	if b.memory == nil || b.refusal != nil {
		return b.saveByCRIU(ctx, i)
	}
	err := b.saveQuietly(ctx, i)
	if errors.Is(err, incarnation.ErrCopyKilled) {
		return fmt.Errorf("%w: %w", wire.ErrNotStored, err)
	}
	if err != nil {
		if cannot := store.CannotStore(i.Pages(), err); cannot != nil {
			return fmt.Errorf("%w: %w", cannot, err)
		}
	}
	// The group goes on, and a later place may be one that memory can hold.
	if b.alone && errors.Is(err, incarnation.ErrRefused) {
		return fmt.Errorf("%w: %w; CRIU may hold it: %s", wire.ErrUnsavable, err, b.noCRIU)
	}
	// An error that is neither may have left the group in any state: CRIU would save that.
	if b.always || !errors.Is(err, incarnation.ErrRefused) && !errors.Is(err, wire.ErrNotQuiescent) {
		return b.wantsCRIU(err)
	}
	b.giveUpMemory(err)
	if err := b.host.files.store.ReleaseFiles(i); err != nil {
		return err
	}
	return b.saveByCRIU(ctx, i)
}

// wantsCRIU adds to an error of the memory backend that CRIU may be able to save the group, where
// that is not at hand. What is to be done about it is the user's choice.
func (b *backends) wantsCRIU(err error) error {
	if b.noCRIU == "" || !errors.Is(err, incarnation.ErrRefused) {
		return err
	}
	return fmt.Errorf("%w; CRIU may hold it, but cannot be used: %s; or check with --strategy never, which "+
		"saves nothing", err, b.noCRIU)
}

// giveUpMemory has the group saved by CRIU from now on. Its images in memory stay: they can be
// restored as before. But what they bring back is for CRIU to save, which does not know of other
// clocks.
func (b *backends) giveUpMemory(why error) {
	b.refusal = why
	b.memory.GiveUp()
	fmt.Fprintf(os.Stderr, "tandem-ckptd: group %d is saved by CRIU from now on: %v\n", b.host.id, why)
}

// saveQuietly saves by the memory backend, again where something stirred for a moment: a timer's
// signal that comes just then would be lost.
func (b *backends) saveQuietly(ctx context.Context, i *store.Image) error {
	const attempts, pause = 20, time.Millisecond
	i.Backend = wire.BackendMemory
	for attempt := 1; ; attempt++ {
		err := b.saveInMemory(ctx, i)
		if !errors.Is(err, wire.ErrNotQuiescent) || attempt == attempts || ctx.Err() != nil {
			return err
		}
		time.Sleep(pause)
		if err := b.host.files.store.ReleaseFiles(i); err != nil {
			return err
		}
	}
}

// saveInMemory has the memory backend save the group, once. The files are saved while the peers
// stand still: between the two nobody can change them.
func (b *backends) saveInMemory(ctx context.Context, i *store.Image) error {
	in := b.host.incarnation()
	var err error
	if in.Peers, err = b.host.runs.livePeers(); err != nil {
		return err
	}
	s, err := b.memory.Save(ctx, in, i.Pages(), func(mapped store.MappedFiles) error {
		return b.host.files.saveKnown(i, mapped)
	})
	if err == nil {
		b.host.files.store.Hold(i, s)
	}
	return err
}

// saveByCRIU saves the group by CRIU, unless that is known to be in vain: an attempt that fails is
// the end of the group. The checker may go on without an image, where it is told before anything
// was tried.
func (b *backends) saveByCRIU(ctx context.Context, i *store.Image) error {
	i.Backend = wire.BackendCRIU
	why, err := criu.OutOfReach(b.host.runs.network)
	if err == nil && why == "" {
		why = b.dumps.Hopeless()
	}
	if err != nil || why != "" {
		if b.refusal != nil {
			why = fmt.Sprintf("%s; and %v", why, b.refusal)
		}
		return errors.Join(err, fmt.Errorf("%w: %s", wire.ErrUnsavable, why))
	}
	err = b.dump(ctx, i)
	// A full disk says nothing of CRIU: there may be room the next time.
	if err == nil || store.CannotStore(i.Pages(), err) == nil {
		b.dumps.Note(err)
	}
	return err
}

// dump has CRIU save the group, of which it must see neither copies nor clocks that were turned
// back. Nobody tells the daemon what the peers have mapped, so what it knows of files without a
// look does not count.
func (b *backends) dump(ctx context.Context, i *store.Image) error {
	h := b.host
	in := h.incarnation()
	if b.memory != nil && h.runs.parked == nil { // else nothing was turned back here
		if err := b.memory.EnterClocks(in); err != nil {
			return err
		}
	}
	show, err := h.runs.hideCopies(h.files.directory)
	if err == nil {
		var s store.Saved
		s, err = b.criu.Save(ctx, in, i.Pages(), func(mapped store.MappedFiles) error {
			return h.files.saveUnknown(i, mapped)
		})
		if err == nil {
			h.files.store.Hold(i, s)
		}
	}
	if err := errors.Join(err, show()); err != nil {
		return blameDeath(h.runs, err)
	}
	return nil
}

// blameDeath blames a failed dump on the death of the proxy or of a peer, if that is what made it
// fail. CRIU says only that it could not go on.
func blameDeath(r *incarnationHost, err error) error {
	const grace = 100 * time.Millisecond // for the death to become known
	select {
	case <-r.process.Done:
		return fmt.Errorf("%w; %w", r.cause(), err)
	case <-time.After(grace):
		// When the proxy dies, so do the peers: their death says nothing before.
	}
	if dead := procfs.DeadChild(r.process.PID); dead != "" {
		return fmt.Errorf("peer process %s died; %w", dead, err)
	}
	return err
}

// failedRestore makes of a failed restore in memory an image that is gone, where CRIU can do
// without: what it held can be had again from nothing.
func (b *backends) failedRestore(i *store.Image, err error) error {
	if i.Backend != wire.BackendMemory || b.always {
		return err
	}
	b.giveUpMemory(err)
	return fmt.Errorf("%w: %w", wire.ErrImageGone, wire.TextOf(err))
}
