package driver

import (
	"slices"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
)

// naming says which socket of the group is that of a connection. In group scope a connection has
// the same number everywhere, and names are empty. The driver's lock guards the numbers.
type naming struct {
	scope   iocache.Scope
	cache   *iocache.Cache
	numbers map[string]int // of the sockets of connections that have names
}

// number is that of a connection's socket in the group: in group scope its own, and otherwise that
// of its name, which does not depend on the order in which connections are opened. A new name gets
// the next free number.
func (n *naming) number(name string, connection int) int {
	if name == "" {
		return connection
	}
	number, known := n.numbers[name]
	if !known {
		number = len(n.numbers)
		n.numbers[name] = number
	}
	return number
}

// socketOf is the number of the socket of a connection in the tree of a place. connection counts
// inside the tree: 0 is the connection that the tree is named after.
func (n *naming) socketOf(at iocache.NodeID, connection int) int {
	if n.scope == iocache.Group {
		return connection
	}
	name := n.cache.Name(at)
	if connection > 0 { // the peers have opened it
		name = n.opened(name, connection-1)
	}
	return n.number(name, 0)
}

// opened is the name of the k-th connection that the peers open when the program begins to listen;
// in group scope connections have none.
func (n *naming) opened(listener string, k int) string {
	if n.scope == iocache.Group {
		return ""
	}
	return iocache.OpenedName(listener, k)
}

// withOpened are the names of connections, and of those that the peers have opened in their
// reaction. The list is a copy. Its order is the order in which renumber counts.
func (n *naming) withOpened(names []string, in model.Input, r model.Reaction) []string {
	names = slices.Clone(names)
	for k := range r.Opened {
		names = append(names, n.opened(in.Name, k))
	}
	return names
}

// renumber puts the place of each connection among names for the number of its socket. It is -1
// where the connection is none of them. A place of -1 then shows as data on a connection that is
// not of this tree, which is a contradiction.
func (n *naming) renumber(r *model.Reaction, names []string) {
	place := func(socket int) int {
		return slices.IndexFunc(names, func(name string) bool { return n.number(name, 0) == socket })
	}
	for i := range r.Deliveries {
		r.Deliveries[i].Conn = place(r.Deliveries[i].Conn)
	}
	for i := range r.Opened {
		r.Opened[i] = place(r.Opened[i])
	}
}
