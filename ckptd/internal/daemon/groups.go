package daemon

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
)

// A group is on the list from before its start until its close. What is not on the list cannot be
// asked for anything, and whatever is on it ends when the daemon does.

// groups are those that the checker has started and not closed, by their ids. Safe for concurrent
// use. Its lock is held for moments only; what takes time is under the lock of the group.
type groups struct {
	mu   sync.Mutex
	all  map[uint64]*groupHost
	last uint64 // id that was given last; none is given twice
}

func newGroups() *groups { return &groups{all: map[uint64]*groupHost{}} }

// add makes room for one more group, which is made for an id that no other one has had. It is found
// from then on.
func (g *groups) add(create func(id uint64) *groupHost) (*groupHost, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.all) >= wire.MaxGroups {
		return nil, fmt.Errorf("%d groups run already: close some", wire.MaxGroups)
	}
	g.last++
	h := create(g.last)
	g.all[h.id] = h
	return h, nil
}

// find finds a group that was not closed.
func (g *groups) find(id uint64) (*groupHost, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if h, ok := g.all[id]; ok {
		return h, nil
	}
	return nil, fmt.Errorf("%w: there is no group %d (any more)", wire.ErrGroupDown, id)
}

// close ends a group for good. It is not found any more while it ends.
func (g *groups) close(h *groupHost) error {
	g.mu.Lock()
	delete(g.all, h.id)
	g.mu.Unlock()
	return h.close()
}

// status lists the groups in the order of their ids, without their images.
func (g *groups) status() []wire.GroupStatus {
	list := []wire.GroupStatus{}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, h := range g.all {
		list = append(list, h.status())
	}
	slices.SortFunc(list, func(a, b wire.GroupStatus) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
