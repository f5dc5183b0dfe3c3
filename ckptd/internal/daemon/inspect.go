package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/verify"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// A backend may lose something and not say so. In tests, and for users who ask for it, a restored
// group is therefore compared with what was seen of it around the checkpoint, in all that the
// kernel shows.

// inspector compares a restored group with how it looked when it was saved: what Options.Verify
// asks for. Everything is looked at through /proc, as somebody else would.
type inspector struct {
	runs      *incarnationHost
	directory string // of the group
}

// note notes how the group looks, at a moment when nothing runs: before a checkpoint, and after it,
// since a timer may go off between them. What changes while it is looked at is looked at again.
func (v inspector) note(i *store.Image) error {
	const attempts, pause = 1000, time.Millisecond
	var state []string
	var err error
	for range attempts {
		if state, err = v.visible(); err == nil {
			i.Visible = append(i.Visible, state)
			return nil
		}
		time.Sleep(pause)
	}
	return fmt.Errorf("%w: %w", wire.ErrNotQuiescent, err)
}

// compare returns an error that lists what differs from how the group looked before the checkpoint,
// or after it. The peers come back to where they were within moments, since they have been let go
// already.
func (v inspector) compare(ctx context.Context, i *store.Image) error {
	const patience, pause, most = 10 * time.Second, time.Millisecond, 20
	for began := time.Now(); ; time.Sleep(pause) {
		now, err := v.visible()
		var differing []string
		for _, want := range i.Visible {
			want, now := verify.WithoutTimed(want, now, time.Since(began))
			differing = verify.Differences(verify.KnownTo(i.Backend, want), verify.KnownTo(i.Backend, now))
			if err == nil && len(differing) == 0 {
				return nil
			}
		}
		if time.Since(began) > patience || ctx.Err() != nil {
			// A process that was killed meanwhile is missing, too: that says nothing of the
			// restore.
			if name := v.died(); name != "" && slices.ContainsFunc(differing,
				func(line string) bool { return strings.HasPrefix(line, "- process") }) {
				return fmt.Errorf("%s has died since it was restored from image %s", name, i.ID)
			}
			return errors.Join(fmt.Errorf("%w: group %d and its image %s, which is older (-):\n%s",
				wire.ErrDiffers, v.runs.id, i.ID, strings.Join(differing[:min(len(differing), most)], "\n")),
				err)
		}
	}
}

// died names a process of the group that has died; it is empty if there is none. It may have been
// killed from outside, and a difference would be blamed on the restore.
func (v inspector) died() string {
	if state, _ := procfs.State(strconv.Itoa(v.runs.process.PID)); state == 0 || state == 'Z' {
		return "the proxy"
	}
	return procfs.DeadChild(v.runs.process.PID)
}

// visible describes the running incarnation, a line for each thing. The proxy is left out: it is no
// part of what backends bring back alike.
func (v inspector) visible() ([]string, error) {
	network, err := sys.Inode(int(v.runs.network.Fd()))
	if err != nil {
		return nil, err
	}
	all, err := netns.Processes(network)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(pid int) bool { return pid == v.runs.process.PID })
	state, err := verify.Processes(all, v.runs.process.PID)
	if err != nil {
		return nil, err
	}
	files, err := verify.Files(v.directory)
	return append(state, files...), err
}
