package ckptd

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/proxy"
)

// What the peers start gets the process ID that follows the last one, and may show it. So that it
// gets the same one after a restore, the ID that was given last goes back, too; and a checkpoint
// must not use up any: copies have IDs that were chosen, which the kernel does not count as given.

// numbers chooses process IDs in a group for copies of its peers.
type numbers struct{ next, limit int }

// choose returns an ID from the upper half of all that there are, going down: the peers, who begin below, hardly come that
// far. Another copy may have it, after very many.
func (n *numbers) choose() (int, error) {
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

// lastGiven asks the proxy, over the checker's end of its channel, for the process ID that was given last in the group.
func lastGiven(channel int) (int, error) {
	v, err := proxy.Visit(channel)
	if err != nil {
		return 0, err
	}
	last, err := v.Last()
	return last, errors.Join(err, v.End())
}

// giveAfter has the proxy at the other end of a command channel see to it that the next process gets an ID as if this one
// had been given last. It returns descriptors of the proxy's sockets.
func giveAfter(channel, last int) (sockets map[proxy.ID]int, err error) {
	v, err := proxy.Visit(channel)
	if err != nil {
		return nil, err
	}
	if err = v.SetLast(last); err == nil {
		sockets, _, err = v.Sockets()
	}
	if err = errors.Join(err, v.End()); err != nil {
		sys.CloseAll(slices.Collect(maps.Values(sockets)))
		return nil, err
	}
	return sockets, nil
}
