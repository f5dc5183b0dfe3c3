package process

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
)

// Processes that a peer has forked go back with it. A copy of a child would be of no use, since
// what it forks is never a child of the restored parent. So the image of a child is what its
// parent's copy does not have: the pages of memory that differ, which in servers that fork are few.
// A restored parent forks a process, whose memory is then made the child's. What a process gets
// when it executes a program is not made again: a child that has executed another one is refused.

// descent is what there is to know of a process that a peer has forked, beside what there is of
// any. It is complete when the process has been interrogated and its memory compared.
type descent struct {
	exitSignal uint64 // that its parent gets when it ends
	session    int    // of the parent's, or its own; in the group's pid namespace
	group      int
	umask      uint64
	groups     *groupIDs       // nil where they are the parent's
	brk        uint64          // end of the heap
	actions    []byte          // of all signals
	memory     difference      // from the parent's
	forker     ptrace.RseqArea // of the parent, which a fork inherits
}

// examineStatus compares the status of a process with that of its parent, and notes what the child
// can be given: its umask, its groups, and its place among sessions and process groups. It can
// be brought to a session or a process group of its own, and to those of its parent, but to no
// others. Other rights, filters and capabilities are not given back to a child: it has those of its
// parent.
func (d *descent) examineStatus(pid, inner int, own, parents procfs.Status) (err error) {
	for _, field := range append([]string{"Seccomp_filters:"}, statusOfAll...) {
		if field == "Umask:" || own.Field(field) == parents.Field(field) {
			continue
		}
		// Of all that differs, only groups can be given to the child.
		canBeGiven := false
		if field == "Gid:" || field == "Groups:" {
			d.groups = otherGroups(own, parents)
			canBeGiven = d.groups != nil
		}
		if !canBeGiven {
			return incarnation.Refuse("process %d has another %s than its parent", pid,
				strings.TrimSuffix(field, ":"))
		}
	}
	if d.umask, err = strconv.ParseUint(own.Field("Umask:"), 8, 32); err != nil {
		return fmt.Errorf("the umask of process %d: %w", pid, err)
	}
	d.session, d.group = own.Innermost("NSsid:"), own.Innermost("NSpgid:")
	leads := d.session == inner && d.group == inner
	follows := d.session == parents.Innermost("NSsid:") &&
		(d.group == inner || d.group == parents.Innermost("NSpgid:"))
	if !leads && !follows {
		return incarnation.Refuse(
			"process %d is in a session or a process group that is neither its own nor its parent's", pid)
	}
	return nil
}

// groupIDs are those that setresgid(2) and setgroups(2) give to a process.
type groupIDs struct {
	real, effective, saved uint64
	supplementary          []byte // as an array in C
}

// otherGroups returns the group IDs of a process, where it can be given them and nothing else comes
// of that; nil otherwise. A change of the effective one also decides who may trace the process.
// Dropbear keeps one as the saved ID, for when users log out.
func otherGroups(own, parents procfs.Status) *groupIDs {
	ids, err := numbers(own.Field("Gid:"))
	theirs, err2 := numbers(parents.Field("Gid:"))
	all, err3 := numbers(own.Field("Groups:"))
	may, err4 := strconv.ParseUint(own.Field("CapEff:"), 16, 64)
	// The fourth is the one for access to files.
	if errors.Join(err, err2, err3, err4) != nil || len(ids) != 4 || len(theirs) != 4 ||
		ids[1] != theirs[1] || ids[1] != ids[3] || theirs[1] != theirs[3] || may&(1<<unix.CAP_SETGID) == 0 {
		return nil
	}
	g := &groupIDs{real: ids[0], effective: ids[1], saved: ids[2]}
	for _, id := range all {
		g.supplementary = binary.NativeEndian.AppendUint32(g.supplementary, uint32(id))
	}
	return g
}

// numbers reads the decimal numbers of a line.
func numbers(line string) (all []uint64, err error) {
	for _, word := range strings.Fields(line) {
		n, err := strconv.ParseUint(word, 10, 32)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// statusOfAll are the lines of /proc/PID/status that all threads must have in common.
var statusOfAll = []string{"Uid:", "Gid:", "Groups:", "CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:",
	"NoNewPrivs:", "Seccomp:", "Umask:"}
