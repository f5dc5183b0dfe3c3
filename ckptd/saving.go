package ckptd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// checkpoint saves the running incarnation, which goes on. For the history of the image it
// gets what happened since it was saved or restored last.
func (h *hosted) checkpoint(ctx context.Context, steps int, unrepeatable bool) (*image, []string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.cause(); err != nil {
		return nil, nil, err
	}
	store := h.daemon.store
	i, dropped, err := store.create(h.id, history{parent: h.from, steps: max(steps, 0), unrepeatable: unrepeatable})
	if err != nil {
		return nil, dropped, err
	}
	if err = h.saveVerifiably(ctx, i); err != nil {
		err = h.notSaved(i, err)
	} else if i.seal, err = sealOf(i.directory); err != nil {
		err = fmt.Errorf("%w: %w", ErrNotStored, err)
	}
	if err != nil {
		return nil, dropped, errors.Join(err, store.remove(i))
	}
	h.base, h.from = i.tree, i
	more, err := store.settle(i)
	return i, append(dropped, more...), err
}

// damage returns an error that names a file of an image that is not as it was written, nil if there
// is none that a restore reads.
func (h *hosted) damage(i *image) error {
	err := i.seal.check(i.directory)
	if err == nil {
		err = h.compare(i).check(i.tree, h.directory)
	}
	if err != nil {
		return damaged{err}
	}
	return nil
}

// compare is how the files of the group are compared with those of an image in a restore.
func (h *hosted) compare(i *image) *fileComparison {
	if !i.saved.inMemory() {
		return &fileComparison{} // nobody has looked what is mapped
	}
	return &fileComparison{known: h.stamps, mapped: i.saved.mapped()}
}

// notSaved says why the group was not saved. Where it may be in any state, it is ended.
func (h *hosted) notSaved(i *image, err error) error {
	if errors.Is(err, ErrUnsavable) {
		return err // it was not tried
	}
	err = fmt.Errorf("checkpoint of group %d: %w", h.id, err)
	cannot := cannotStore(i.pages(), err)
	if !errors.Is(err, errRefused) && !errors.Is(err, ErrNotQuiescent) {
		h.fail(err)
		err = h.down
	}
	if cannot != nil {
		return fmt.Errorf("%w: %w", cannot, err)
	}
	return err
}

// saveFiles copies the files of the group, which must not run.
func (h *hosted) saveFiles(i *image, mapped mappedFiles) (err error) {
	buffer, giveBack := borrow()
	defer giveBack()
	s := treeSaver{
		fileComparison: fileComparison{known: h.stamps, mapped: mapped},
		except:         proxyDirectory,
		copyOf: func(path string, _ int64) (*content, error) {
			return h.daemon.store.contents().copyOf(path, buffer)
		},
	}
	i.tree, err = s.save(h.directory, h.base)
	i.contents, i.fresh = s.used, s.fresh
	return err
}

// putBackFiles puts back the files of the group, in the place of other images if need be.
func (h *hosted) putBackFiles(i *image) error {
	for {
		r := treeRestorer{fileComparison: *h.compare(i), except: proxyDirectory}
		if !i.saved.inMemory() {
			h.stamps = nil
		}
		err := r.restore(i.tree, h.directory)
		if !errors.Is(err, unix.ENOSPC) || h.daemon.store.makeRoom() != nil {
			return err
		}
	}
}

// cannotStore returns ErrNotStored or ErrNoRoom where it is the store's fault, or that of the files that are to be kept there, that an image
// could not be written to a directory; else nil. CRIU does not say so where it cannot write its log either.
func cannotStore(directory string, err error) error {
	if errors.Is(err, unix.ENOSPC) {
		return ErrNoRoom
	}
	for _, cause := range []error{unix.EDQUOT, unix.EROFS, unix.EIO, unix.ENAMETOOLONG, errNotCopied} {
		if errors.Is(err, cause) {
			return ErrNotStored
		}
	}
	const enough = 64 << 10
	probe := filepath.Join(directory, "probe")
	defer os.Remove(probe)
	err = os.WriteFile(probe, make([]byte, enough), 0o600)
	switch {
	case errors.Is(err, unix.ENOSPC):
		return ErrNoRoom
	case err != nil:
		return ErrNotStored
	}
	return nil
}
