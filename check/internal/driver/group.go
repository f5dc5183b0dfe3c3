package driver

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/proxy"
)

// groupState is a group and where it stands. There is one for each behaviour that was needed. The
// driver's lock guards it.
type groupState struct {
	behaviour int
	group     Group            // nil until it is needed
	at        iocache.Position // where the group stands; nil: nowhere, its connections were given up
	sockets   map[int]*socket  // the group's open connections, by number
	lost      string           // why the first of the checkpoints that are gone is
	history   groupHistory     // how it came to where it stands
	way       *way             // nil: it is not known
	reads     ckptd.Reads      // after the last input
}

// socket is the checker's descriptor of a connection into the group. The proxy holds the other
// descriptor of the same socket, which a checkpoint saves.
type socket struct {
	fd    int
	kind  proxy.Address // what it was opened with; of one that a peer has opened, the network
	ended bool          // the peer's stream has ended
	shut  bool          // nothing can be sent any more: the program has shut it down, or it was reset
	// broken: what was sent met a reset. What the peer sent before may still be there, and then the
	// stream ends with the reset.
	broken  bool
	listens bool // it is a listener
}

// way counts the inputs on the way to where a group stands. To find that out takes time in
// proportion to their number, so it is kept up to date with each input.
type way struct {
	depth int // inputs since the group was started; to choose how the peers behave is none
	saved bool
	since int                // inputs since the nearest physical checkpoint; without one, all
	kinds map[model.Kind]int // of these
}

// wayOf is the way to where the group stands. Started is where it is without any input. It is
// computed from the cache when it is not known, and then kept.
func (g *groupState) wayOf(cache *iocache.Cache, started iocache.NodeID) *way {
	if g.way == nil {
		w := &way{}
		from := iocache.Position{started}
		w.depth, _ = cache.Distance(from, g.at)
		w.since = w.depth
		// The start is the farthest place to come from. A checkpoint is nearer or as near.
		if nearest, _, ok := cache.Nearest(g.at); ok {
			from, w.saved = nearest, true
			w.since, _ = cache.Distance(nearest, g.at)
		}
		w.kinds = cache.MissingKinds(from, g.at)
		g.way = w
	}
	return g.way
}

// noteSaved notes that there is a physical checkpoint where the group stands. An unknown way stays
// unknown: the cache has the image, and finds it.
func (g *groupState) noteSaved() {
	if g.way != nil {
		g.way.saved, g.way.since, g.way.kinds = true, 0, map[model.Kind]int{}
	}
}

// start has the group stand where it is without any input. The caller has closed the sockets of the
// group before.
func (g *groupState) start(group Group, started iocache.NodeID) {
	g.group, g.at = group, iocache.Position{started}
	g.history, g.way = newHistory(), nil
}

// advance has the group stand at a place that the cache has got since: one input further. isNew
// says that the cache did not have the place. Only then is the nearest checkpoint the same as
// before.
func (g *groupState) advance(at iocache.Position, kind model.Kind, isNew bool) {
	g.at = slices.Clone(at)
	switch {
	case !isNew: // there may be checkpoints on the way to it that are nearer
		g.way = nil
	case g.way != nil:
		g.way.depth++
		g.way.since++
		g.way.kinds[kind]++
	}
}

// leave gives up where the group stands: nobody may go on from there. The processes stay. The next
// seek restores them, or starts others.
func (g *groupState) leave() {
	g.dropSockets()
	g.at, g.way = nil, nil
}

// dropSockets closes the checker's descriptors. The sockets are the proxy's, and stay as they are.
// The next restore gets descriptors anew.
func (g *groupState) dropSockets() {
	for number, socket := range g.sockets {
		unix.Close(socket.fd)
		delete(g.sockets, number)
	}
}

// close ends the group. The group may have no processes yet. Close is called once.
func (g *groupState) close() error {
	g.dropSockets()
	if g.group == nil {
		return nil
	}
	return g.group.Close()
}
