// Package grouped has nodes in groups, each of which is one component of the system. What nodes of
// a group say to each other is internal to it, unless something outside of the group depends on it.
package grouped

import (
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// System begins the exploration of some components, each of which has the name of its group; empty:
// it has none. Those without a name, such as real peers, are in none, either.
func System(components int, names []string) *skeleton.System {
	g := skeleton.Groups{Shown: isShown}
	known, groups := map[string]int{}, 0
	for c := range components {
		name := ""
		if c < len(names) {
			name = names[c]
		}
		group, found := known[name]
		if !found || name == "" {
			group = groups
			groups++
		}
		if known[name] = group; name == "" {
			delete(known, name)
		}
		g.Of = append(g.Of, group)
	}
	if groups == components {
		return skeleton.New(components)
	}
	return skeleton.NewGrouped(components, g)
}

// isShown says whether something outside of a group may depend on an event inside of it.
//
// A connect that succeeds comes before the close of the listener, and so does a datagram before the
// close of its socket. Nothing in a skeleton says that. It is only known that a prefix in which one
// of them also comes later has no execution. That may be because of several of them, in several
// groups. So they all have to be there to be seen.
//
// How often something happens in an execution at most is counted over all nodes: what is late, and
// datagrams that suffer. So that two insides that may be put together are within that, too, all of
// it is seen. A connection that a node loses need not be: each node has a limit of its own. A crash
// is seen anyway, since it goes to nobody.
func isShown(e *skeleton.Event) bool {
	d := network.Did(e)
	got, _ := e.Got.(network.Event)
	return network.IsDoor(e) || network.IsDatagram(e) || isDatagram(got) || d.Unaccepted || d.Late > 0 ||
		d.Kind == model.Connect || d.Kind == model.Accept
}

// isDatagram says whether what is received is a datagram.
func isDatagram(got network.Event) bool { return got.Kind == model.Send && got.Address != "" }
