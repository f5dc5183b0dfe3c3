package memory

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// What the peers start gets the process ID that follows the last one, and may show it. So that it
// gets the same one after a restore, the ID that was given last goes back, too; and a checkpoint
// must not use up any: copies have IDs that were chosen, which the kernel does not count as given.

// pidAllocator chooses process IDs in a group for copies of its peers.
type pidAllocator struct{ next, limit int }

// choose returns an ID from the upper half of all that there are, going down: the peers, who begin
// below, hardly come that far. Another copy may have it, after very many. The kernel lets a process
// be made with any ID that is free, by a call that names it (clone3).
func (n *pidAllocator) choose() (int, error) {
	if n.limit == 0 {
		const file = "/proc/sys/kernel/pid_max"
		text, err := procfs.Read(file)
		if err == nil {
			n.limit, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		if err != nil {
			return 0, fmt.Errorf("choose a process ID for a copy: %s: %w", file, err)
		}
	}
	if n.next--; n.next < n.limit/2 {
		n.next = n.limit - 1
	}
	return n.next, nil
}
