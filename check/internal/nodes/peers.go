package nodes

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/beside"
	"github.com/tandem-mc/tandem/check/internal/nodes/datagram"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// explorePeers finds other orders in which what nodes do reaches the peers.
func explorePeers(x *explorer, item skeleton.Item) (reported, error) {
	if err := x.interrupted(); err != nil {
		return reported{}, err
	}
	e, err := x.peers.Explore(item)
	if err != nil {
		return reported{}, cannot(x, err)
	}
	return reported{Key: item.Key, IsExplored: true, Explored: e}, nil
}

// cannot ends the exploration where peers do what it cannot have, or because of another error.
func cannot(x *explorer, err error) error {
	u := beside.Unsupported{}
	switch {
	case errors.As(err, &u):
		x.unknown = u.Error()
		return errEnough
	case x.interrupted() != nil: // the peers were asked in vain
		return x.interrupted()
	}
	return err
}

// tell has what a node has sent be on its way: it tells others of the events of the node that they
// do not know of. Peers react at once. Once nobody looks at that any more, they are not asked.
func (w *walk) tell(m *member) {
	for ; m.told < len(m.Made); m.told++ {
		e := &m.Made[m.told]
		w.spread(e)
		// The last node that ends has nobody left who would notice.
		if w.peers != nil && w.over == "" && !w.rests &&
			slices.ContainsFunc(w.members, func(m *member) bool { return !m.gone }) {
			w.hear(w.peers.Gets(e))
		}
	}
}

// spread tells others of an event.
func (w *walk) spread(e *skeleton.Event) {
	w.events++
	w.slow.Send(w.net, e, w.ticks)
	d := network.Did(e)
	if d.Fate == datagram.Late {
		w.slow.Hold(e, w.ticks, w.random)
	}
	for _, other := range w.members {
		if other.Node == e.Component || e.To != other.Node && e.To != skeleton.Everybody {
			continue
		}
		other.inbox = append(other.inbox, skeleton.Arrival{Send: *e})
		other.news = true
		// A close is a reset if something is there that was not read (RFC 2525, section 2.17).
		// Peers only close to reset.
		if d.Kind != model.Close {
			continue
		}
		if w.net.IsBeside(e.Component) {
			other.aborted[e.Name] = true
		} else {
			other.aborted[e.Name] = w.members[e.Component].HasUnread(d.Conn)
		}
	}
}

// hear tells the nodes what the peers have done. An error of theirs ends the walk, and the check.
func (w *walk) hear(err error) {
	if err != nil {
		w.err, w.over = cmp.Or(w.err, err), cmp.Or(w.over, "the peers have failed")
	}
	for ; w.peers.Told < len(w.peers.Made); w.peers.Told++ {
		w.spread(&w.peers.Made[w.peers.Told])
	}
}

// peersAct has time pass for the peers, as all nodes wait: until the first of their timers is due,
// or with 0 for ever. It says whether the peers have done something before that.
func (w *walk) peersAct(first time.Duration) bool {
	// It was due at the time that has come last, and no node has waited for longer.
	if w.peers.IsDue() {
		w.hear(w.peers.Fires())
		return true
	}
	most := time.Duration(0)
	if first > 0 {
		most = first - w.now
	}
	passed, r, err := w.peers.Waits(most)
	switch {
	case err != nil:
		w.hear(err)
		return true
	case r == nil:
		return false
	case passed > 0: // for all nodes, so their own timers fire then that are due as soon
		w.advanceTo(w.now+passed, true)
	}
	w.peers.React(*r)
	w.hear(nil)
	return true
}
