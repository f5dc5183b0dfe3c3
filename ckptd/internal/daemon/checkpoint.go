package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/criu"
	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/verify"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// checkpoint saves the running incarnation, which goes on. For the history of the image it
// gets what happened since it was saved or restored last.
func (h *groupHost) checkpoint(ctx context.Context, steps int, unrepeatable bool) (*store.Image, []string,
	error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.cause(); err != nil {
		return nil, nil, err
	}
	images := h.daemon.store
	i, dropped, err := images.Create(h.id, store.History{Parent: h.from, Steps: max(steps, 0),
		Unrepeatable: unrepeatable})
	if err != nil {
		return nil, dropped, err
	}
	if err = h.saveVerifiably(ctx, i); err != nil {
		err = h.notSaved(i, err)
	} else if i.Manifest, err = store.ManifestOf(i.Directory); err != nil {
		err = fmt.Errorf("%w: %w", wire.ErrNotStored, err)
	}
	if err != nil {
		return nil, dropped, errors.Join(err, images.Remove(i))
	}
	h.base, h.from = i.Tree, i
	more, err := images.Settle(i)
	return i, append(dropped, more...), err
}

// damage returns an error that names a file of an image that is not as it was written, nil if there
// is none that a restore reads.
func (h *groupHost) damage(i *store.Image) error {
	err := i.Manifest.Check(i.Directory)
	if err == nil {
		err = h.compare(i).Check(i.Tree, h.directory)
	}
	if err != nil {
		return damaged{err}
	}
	return nil
}

// compare is how the files of the group are compared with those of an image in a restore.
func (h *groupHost) compare(i *store.Image) *store.FileComparison {
	if !i.Saved.InMemory() {
		return &store.FileComparison{} // nobody has looked what is mapped
	}
	return &store.FileComparison{Known: h.stamps, Mapped: i.Saved.Mapped()}
}

// notSaved says why the group was not saved. Where it may be in any state, it is ended.
func (h *groupHost) notSaved(i *store.Image, err error) error {
	if errors.Is(err, wire.ErrUnsavable) {
		return err // it was not tried
	}
	err = fmt.Errorf("checkpoint of group %d: %w", h.id, err)
	cannot := store.CannotStore(i.Pages(), err)
	goesOn := []error{incarnation.ErrRefused, incarnation.ErrCopyKilled, wire.ErrNotQuiescent}
	if !slices.ContainsFunc(goesOn, func(e error) bool { return errors.Is(err, e) }) {
		h.fail(err)
		err = h.down
	}
	if cannot != nil {
		return fmt.Errorf("%w: %w", cannot, err)
	}
	return err
}

// saveFiles copies the files of the group, which must not run.
func (h *groupHost) saveFiles(i *store.Image, mapped store.MappedFiles) (err error) {
	buffer, giveBack := sys.Borrow()
	defer giveBack()
	s := store.TreeSaver{
		FileComparison: store.FileComparison{Known: h.stamps, Mapped: mapped},
		Except:         paths.ProxyDirectory,
		CopyOf: func(path string, _ int64) (*store.Content, error) {
			return h.daemon.store.Contents().CopyOf(path, buffer)
		},
	}
	i.Tree, err = s.Save(h.directory, h.base)
	i.Contents, i.Fresh = s.Used, s.Fresh
	return err
}

// putBackFiles puts back the files of the group, in the place of other images if need be.
func (h *groupHost) putBackFiles(i *store.Image) error {
	for {
		r := store.TreeRestorer{FileComparison: *h.compare(i), Except: paths.ProxyDirectory}
		if !i.Saved.InMemory() {
			h.stamps = nil
		}
		err := r.Restore(i.Tree, h.directory)
		if !errors.Is(err, unix.ENOSPC) || h.daemon.store.MakeRoom() != nil {
			return err
		}
	}
}

// backend is a way to save the incarnations of one group and to bring them back. Its methods are
// called with the group's lock held.
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

// save saves the group by the memory backend, if the daemon has it and it can hold the
// group, and otherwise by CRIU. A group that it could not hold once is not tried again.
func (h *groupHost) save(ctx context.Context, i *store.Image) error {
	d := h.daemon
	if h.memory == nil || h.refusal != nil {
		return h.saveByCRIU(ctx, i)
	}
	err := h.saveQuietly(ctx, i)
	if errors.Is(err, incarnation.ErrCopyKilled) {
		return fmt.Errorf("%w: %w", wire.ErrNotStored, err)
	}
	if err != nil {
		if cannot := store.CannotStore(i.Pages(), err); cannot != nil {
			return fmt.Errorf("%w: %w", cannot, err)
		}
	}
	if d.always || !errors.Is(err, incarnation.ErrRefused) && !errors.Is(err, wire.ErrNotQuiescent) {
		return err
	}
	h.giveUpMemory(err)
	if err := d.store.ReleaseFiles(i); err != nil {
		return err
	}
	return h.saveByCRIU(ctx, i)
}

// giveUpMemory has the group saved by CRIU from now on.
func (h *groupHost) giveUpMemory(why error) {
	h.refusal = why
	h.memory.GiveUp()
	fmt.Fprintf(os.Stderr, "tandem-ckptd: group %d is saved by CRIU from now on: %v\n", h.id, why)
}

// saveByCRIU saves the group by CRIU, unless that is known to be in vain: an attempt that fails is
// the end of the group.
func (h *groupHost) saveByCRIU(ctx context.Context, i *store.Image) error {
	d := h.daemon
	i.Backend = wire.BackendCRIU
	why, err := criu.OutOfReach(h.network)
	if err == nil && why == "" {
		why = d.dumps.Hopeless()
	}
	if err != nil || why != "" {
		if h.refusal != nil {
			why = fmt.Sprintf("%s; and %v", why, h.refusal)
		}
		return errors.Join(err, fmt.Errorf("%w: %s", wire.ErrUnsavable, why))
	}
	err = h.dump(ctx, i)
	// a full disk may have room the next time
	if err == nil || store.CannotStore(i.Pages(), err) == nil {
		d.dumps.Note(err)
	}
	return err
}

// dump has CRIU save the group, of which it must see neither copies nor clocks that were turned
// back.
func (h *groupHost) dump(ctx context.Context, i *store.Image) error {
	in := h.incarnation()
	if h.memory != nil && h.parked == nil { // else nothing was turned back here
		if err := h.memory.JoinClocks(in); err != nil {
			return err
		}
	}
	show, err := h.hideCopies()
	if err == nil {
		var s store.Saved
		s, err = h.criu.Save(ctx, in, i.Pages(), func(mapped store.MappedFiles) error {
			h.stamps = nil // nobody has looked what is mapped
			return h.saveFiles(i, mapped)
		})
		if err == nil {
			h.daemon.store.Hold(i, s)
		}
	}
	if err := errors.Join(err, show()); err != nil {
		return h.orDeath(err)
	}
	return nil
}

// saveQuietly saves by the memory backend, again where something stirred for a moment: a
// timer's signal that comes just then would be lost.
func (h *groupHost) saveQuietly(ctx context.Context, i *store.Image) error {
	const attempts, pause = 20, time.Millisecond
	i.Backend = wire.BackendMemory
	for attempt := 1; ; attempt++ {
		err := h.copy(ctx, i)
		if !errors.Is(err, wire.ErrNotQuiescent) || attempt == attempts || ctx.Err() != nil {
			return err
		}
		time.Sleep(pause)
		if err := h.daemon.store.ReleaseFiles(i); err != nil {
			return err
		}
	}
}

// copy has the memory backend save the group.
func (h *groupHost) copy(ctx context.Context, i *store.Image) error {
	in := h.incarnation()
	var err error
	if in.Peers, err = h.livePeers(); err != nil {
		return err
	}
	s, err := h.memory.Save(ctx, in, i.Pages(), func(mapped store.MappedFiles) error {
		if h.stamps == nil {
			h.stamps = store.Stamps{}
		}
		return h.saveFiles(i, mapped)
	})
	if err == nil {
		h.daemon.store.Hold(i, s)
	}
	return err
}

// orGone makes of a failed restore in memory an image that is gone, where CRIU can do
// without: what it held can be had again from nothing.
func (h *groupHost) orGone(i *store.Image, err error) error {
	if i.Backend != wire.BackendMemory || h.daemon.always {
		return err
	}
	h.giveUpMemory(err)
	return fmt.Errorf("%w: %w", wire.ErrImageGone, wire.TextOf(err))
}

// verify is what Options.Verify adds to a restore: an error that lists what differs. The peers
// come back to where they were within moments, since they have been let go already.
func (h *groupHost) verify(ctx context.Context, i *store.Image) error {
	const patience, pause, most = 10 * time.Second, time.Millisecond, 20
	for begin := time.Now(); ; time.Sleep(pause) {
		now, err := h.visible()
		var differing []string
		for _, want := range i.Visible {
			want, now := verify.SettleTimed(want, now, time.Since(begin))
			differing = verify.Differences(verify.KnownTo(i.Backend, want), verify.KnownTo(i.Backend, now))
			if err == nil && len(differing) == 0 {
				return nil
			}
		}
		if time.Since(begin) > patience || ctx.Err() != nil {
			if name := h.died(); name != "" && slices.ContainsFunc(differing,
				func(line string) bool { return strings.HasPrefix(line, "- process") }) {
				return fmt.Errorf("%s has died since it was restored from image %s", name, i.ID)
			}
			return errors.Join(fmt.Errorf("%w: group %d and its image %s, which is older (-):\n%s",
				wire.ErrDiffers, h.id, i.ID, strings.Join(differing[:min(len(differing), most)], "\n")), err)
		}
	}
}

// died names a process of the group that has died; it is empty if there is none.
func (h *groupHost) died() string {
	if state, _ := procfs.State(strconv.Itoa(h.process.PID)); state == 0 || state == 'Z' {
		return "the proxy"
	}
	return procfs.DeadChild(h.process.PID)
}

// saveVerifiably saves the group and notes what verify needs.
func (h *groupHost) saveVerifiably(ctx context.Context, i *store.Image) error {
	if !h.daemon.verify {
		return h.save(ctx, i)
	}
	if err := h.noteVisible(i); err != nil {
		return err
	}
	if err := h.save(ctx, i); err != nil {
		return err
	}
	return h.noteVisible(i)
}

// noteVisible notes how the group looks, at a moment when nothing runs: before a checkpoint,
// and after it, since a timer may go off between them.
func (h *groupHost) noteVisible(i *store.Image) error {
	const attempts, pause = 1000, time.Millisecond
	var state []string
	var err error
	for range attempts {
		if state, err = h.visible(); err == nil {
			i.Visible = append(i.Visible, state)
			return nil
		}
		time.Sleep(pause)
	}
	return fmt.Errorf("%w: %w", wire.ErrNotQuiescent, err)
}

// visible describes the running incarnation, a line for each thing.
func (h *groupHost) visible() ([]string, error) {
	network, err := sys.Inode(int(h.network.Fd()))
	if err != nil {
		return nil, err
	}
	all, err := netns.Processes(network)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(pid int) bool { return pid == h.process.PID })
	state, err := verify.Processes(all, h.process.PID)
	if err != nil {
		return nil, err
	}
	files, err := verify.Files(h.directory)
	return append(state, files...), err
}

// orDeath blames a failed dump on the death of the proxy or of a peer, if that is what
// made it fail.
func (h *groupHost) orDeath(err error) error {
	const grace = 100 * time.Millisecond // for the death to become known
	select {
	case <-h.process.Done:
		return fmt.Errorf("%w; %w", h.cause(), err)
	case <-time.After(grace):
		// when the proxy dies, so do the peers: their death says nothing before
	}
	if dead := procfs.DeadChild(h.process.PID); dead != "" {
		return fmt.Errorf("peer process %s died; %w", dead, err)
	}
	return err
}
