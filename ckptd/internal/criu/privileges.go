package criu

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// A dump that fails is the end of its group. So it is not tried where it is known to fail: for want
// of a right, or since it has failed again and again.

// OutOfReach says which process of a group, by its network, CRIU cannot save, and what helps; empty
// if there is none. CRIU asks for the resource limits of each, which the kernel tells of processes
// with other users or groups only to those with CAP_SYS_RESOURCE. Containers often do not have it.
// A dump that fails would be the end of the group, so it is found out before.
func OutOfReach(namespace *os.File) (string, error) {
	if capable, err := procfs.HasCapability(unix.CAP_SYS_RESOURCE); err != nil || capable {
		return "", err
	}
	network, err := sys.Inode(int(namespace.Fd()))
	if err != nil {
		return "", err
	}
	all, err := netns.Processes(network)
	if err != nil {
		return "", err
	}
	for _, pid := range all {
		text, err := procfs.Read(fmt.Sprintf("/proc/%d/status", pid))
		// It has ended since the list was made.
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return "", err
		}
		if s := procfs.Status(text); foreign(s) {
			return fmt.Sprintf(
				"CRIU cannot save %s, which runs as user %s and group %s, since tandem runs without the "+
					"capability CAP_SYS_RESOURCE; "+
					"give tandem that (docker run --cap-add SYS_RESOURCE), have the peer run as root, "+
					"or give "+
					"it choices, so that it needs no checkpoints",
				strings.TrimSpace(s.Field("Name:")), different(s.Field("Uid:")),
				different(s.Field("Gid:"))), nil
		}
	}
	return "", nil
}

// compared are the first IDs of a line: the real, the effective and the saved one.
const compared = 3

// foreign tells whether a process has a user or group other than root's, be it the real, the
// effective or the saved one. The kernel compares all three when one process asks about another.
func foreign(s procfs.Status) bool {
	for _, name := range []string{"Uid:", "Gid:"} {
		ids := strings.Fields(s.Field(name))
		if slices.ContainsFunc(ids[:min(compared, len(ids))], func(id string) bool { return id != "0" }) {
			return true
		}
	}
	return false
}

// different are the real, effective and saved IDs in a line of /proc/PID/status, each once.
func different(line string) string {
	ids := strings.Fields(line)
	return strings.Join(slices.Compact(ids[:min(compared, len(ids))]), "/")
}

// FailedDumps counts how often CRIU has failed to save a group. What it cannot do for one it cannot
// do for the next, which is started in the same way; and a dump that fails is the end of the group.
// Safe for concurrent use.
type FailedDumps struct {
	mu     sync.Mutex
	failed int    // in a row
	why    string // the last time
}

// maxFailedDumps in a row are enough to stop trying. One that fails may have other reasons.
const maxFailedDumps = 3

// Note counts a dump that has ended with this error, or none. What is not CRIU's own verdict, such
// as that it was killed, says nothing of the next time.
func (d *FailedDumps) Note(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		d.failed = 0
	case errors.Is(err, ErrFailed):
		d.failed++
		d.why = err.Error()
	}
}

// Hopeless says why no more dumps are to be tried; empty if they are. The text is what CRIU has
// said the last time.
func (d *FailedDumps) Hopeless() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed < maxFailedDumps {
		return ""
	}
	return fmt.Sprintf("%s (%d times in a row; it is not tried again)", d.why, d.failed)
}
