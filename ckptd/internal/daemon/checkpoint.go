package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
)

// A checkpoint in order: make room, save the processes and the files while nothing runs, note what
// was written, and count it. The group goes on when the second step is done.

// checkpoint saves the running incarnation, which goes on. For the history of the image it gets
// what happened since it was saved or restored last.
//
// Room is made first, by dropping images that are worth less, and again when it is known how large
// the image is. Those that had to go are told to the checker, also with an error.
func (h *groupHost) checkpoint(ctx context.Context, steps int, unrepeatable bool) (*store.Image, []string,
	error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.runs.cause(); err != nil {
		return nil, nil, err
	}
	images := h.files.store
	i, dropped, err := images.Create(h.id, store.History{Parent: h.from, Steps: max(steps, 0),
		Unrepeatable: unrepeatable})
	if err != nil {
		return nil, dropped, err
	}
	if err = h.save(ctx, i); err != nil {
		err = h.notSaved(i, err)
	} else if i.Manifest, err = store.ManifestOf(i.Directory); err != nil {
		err = fmt.Errorf("%w: %w", wire.ErrNotStored, err)
	}
	if err != nil {
		return nil, dropped, errors.Join(err, images.Remove(i))
	}
	h.files.base, h.from = i.Tree, i
	more, err := images.Commit(i)
	return i, append(dropped, more...), err
}

// save saves the group, and notes how it looks where restores are verified. One look before and one
// after are both right: what a timer does between them is in the image or not.
func (h *groupHost) save(ctx context.Context, i *store.Image) error {
	if !h.verify {
		return h.saves.save(ctx, i)
	}
	if err := h.inspector().note(i); err != nil {
		return err
	}
	if err := h.saves.save(ctx, i); err != nil {
		return err
	}
	return h.inspector().note(i)
}

// inspector looks at the incarnation that runs. It has nothing of its own, and is made when it is
// needed.
func (h *groupHost) inspector() inspector { return inspector{h.runs, h.files.directory} }

// notSaved says why the group was not saved. Where it may be in any state, it is ended. A full disk
// is told as such, since the checker may go on where there is room again. CRIU may have left
// processes stopped, or half of them frozen: nobody could rely on what goes on then.
func (h *groupHost) notSaved(i *store.Image, err error) error {
	if errors.Is(err, wire.ErrUnsavable) {
		return err // it was not tried
	}
	err = fmt.Errorf("checkpoint of group %d: %w", h.id, err)
	cannot := store.CannotStore(i.Pages(), err)
	goesOn := []error{incarnation.ErrRefused, incarnation.ErrCopyKilled, wire.ErrNotQuiescent}
	if !slices.ContainsFunc(goesOn, func(e error) bool { return errors.Is(err, e) }) {
		h.runs.fail(err)
		err = h.runs.down
	}
	if cannot != nil {
		return fmt.Errorf("%w: %w", cannot, err)
	}
	return err
}
