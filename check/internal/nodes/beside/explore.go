package beside

import (
	"fmt"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// In an exploration the peers are a component as any other one. All its events are in one order:
// each time it takes something of what nodes have sent, and then does what comes of that. So for an
// order of what it takes, it has one execution, and its branches are other orders.
//
// What one node has sent reaches the peers in the order in which the node has done it. What two
// nodes have sent may come in any order, also if one of them has told the other one in between: the
// network between each of them and the peers may be the slower one.

// Explorer runs the peers alone, against what nodes do to them. One goroutine uses it.
type Explorer struct {
	group   *Group
	net     *network.Nodes
	answers Answers
}

// NewExplorer begins an exploration with the peers of a group.
func NewExplorer(group *Group, net *network.Nodes) *Explorer {
	return &Explorer{group, net, group.New()}
}

// In is the same with a network of the same nodes, which one of several has that the peers belong
// to. One goroutine at a time uses one of them.
func (x *Explorer) In(net *network.Nodes) *Explorer { return &Explorer{x.group, net, x.answers} }

// Unsupported is what peers do that explorations cannot have yet.
type Unsupported struct{ what string }

// Error implements error.
func (u Unsupported) Error() string {
	return u.what + ", which is not explored yet: executions at random have it"
}

// Extend has the peers do what a script says, and then take all else that has arrived. It returns
// nil if they cannot do what the script says.
func (x *Explorer) Extend(script []skeleton.Event, arrivals []skeleton.Arrival) (*skeleton.Local, error) {
	r, err := x.begin(script, arrivals)
	if err != nil {
		return nil, err
	}
	for len(r.Made) < len(script) {
		if possible, err := r.step(); !possible || err != nil {
			return nil, err
		}
	}
	for next := r.next(); len(next) > 0; next = r.next() {
		if err := r.take(next[0]); err != nil {
			return nil, err
		}
	}
	local := r.Local()
	return &local, nil
}

// Rest is an error if the peers go on where nodes wait for ever, at the end of an execution. If all
// nodes are gone, nobody would notice.
func (x *Explorer) Rest(g skeleton.Global) error {
	of := x.net.Programs()
	if !slices.ContainsFunc(g[:of], func(l skeleton.Local) bool { return l.Waits != nil }) {
		return nil
	}
	l := g[of]
	r, err := x.begin(l.Events, g.Arrivals(of))
	for err == nil && len(r.Made) < len(l.Events) {
		var possible bool
		if possible, err = r.step(); !possible {
			return err
		}
	}
	if err == nil {
		err = r.wait(0)
	}
	return err
}

// Explore finds the branches of the peers in an item. They have one execution in it if they take
// all that has arrived before each advance of the clock, and in the end. Else they have none: they
// go on, and the branch in which they do so is among those that are found.
func (x *Explorer) Explore(item skeleton.Item) (e skeleton.Exploration, err error) {
	script := item.Local.Events
	r, err := x.begin(script, item.Arrivals)
	possible := true
	for err == nil && possible {
		// Nothing comes between what the peers take and what they do because of that. So there is a
		// place to take something else only where they have done all of it.
		made := len(r.Made)
		isEnd := made >= len(script)
		for _, a := range r.next() {
			event := r.event(a)
			if !isEnd && script[made].From == a.Send.Name {
				continue
			}
			e.Branches = append(e.Branches, skeleton.Branch{Component: item.Component,
				Before: script[:made], Event: &event})
			possible = possible && !isEnd && script[made].Tick == 0
		}
		if isEnd || !possible {
			break
		}
		possible, err = r.step()
	}
	if err == nil && possible && len(r.Made) == len(script) {
		e.Traces, e.Outcomes = 1, []string{model.Completed.String()}
	}
	return e, err
}

// run is an execution of the peers.
//
// It is given what nodes have sent as it is in a global skeleton, with all that is before it there.
type run struct {
	*Component
	script   []skeleton.Event
	arrivals []skeleton.Arrival
	taken    map[skeleton.Name]bool
}

func (x *Explorer) begin(script []skeleton.Event, arrivals []skeleton.Arrival) (*run, error) {
	c, err := New(x.group, x.net, x.answers, nil)
	c.whole = true
	return &run{Component: c, script: script, arrivals: arrivals, taken: map[skeleton.Name]bool{}}, err
}

// step has them do what the script has next, and all that comes of it. It says whether they can.
func (r *run) step() (possible bool, err error) {
	made := len(r.Made)
	next := &r.script[made]
	if next.Tick > 0 {
		now := network.Did(next).Time
		if err := r.wait(now - r.now); err != nil {
			return false, err
		}
		r.Advances(now, network.Did(next).Own)
	} else {
		i := slices.IndexFunc(r.arrivals, func(a skeleton.Arrival) bool { return a.Send.Name == next.From })
		if i < 0 || !r.can(&r.arrivals[i]) {
			return false, nil
		}
		if err := r.take(&r.arrivals[i]); err != nil {
			return false, err
		}
	}
	// A prefix may end in the middle of what they do. They do the rest of it all the same: they do
	// not stop before they are quiescent.
	for i := made; i < min(len(r.Made), len(r.script)); i++ {
		if !r.Made[i].Equal(&r.script[i]) {
			return false, nil
		}
	}
	return true, nil
}

// wait has time pass for the peers, who must not do anything by themselves meanwhile.
func (r *run) wait(most time.Duration) error {
	_, reaction, err := r.Waits(most)
	if err == nil && (reaction != nil || r.IsDue()) {
		err = Unsupported{"a timer of the peers ends while nodes wait"}
	}
	return err
}

// next lists what they could take now.
func (r *run) next() (list []*skeleton.Arrival) {
	for i := range r.arrivals {
		if r.can(&r.arrivals[i]) {
			list = append(list, &r.arrivals[i])
		}
	}
	return list
}

// can says whether they can take something now: it has been sent by then, and so has all that its
// node has done to them before.
func (r *run) can(a *skeleton.Arrival) bool {
	d := network.Did(&a.Send)
	if r.taken[a.Send.Name] || network.IsDoor(&a.Send) || d.Kind != model.Connect && r.conns[d.Conn] == nil {
		return false
	}
	for _, after := range a.After {
		if after.N > len(r.Made) {
			return false
		}
	}
	return !slices.ContainsFunc(r.arrivals, func(b skeleton.Arrival) bool {
		return b.Send.Component == a.Send.Component && b.Send.Name != a.Send.Name &&
			!r.taken[b.Send.Name] && skeleton.Precedes(&b.Send, &a.Send)
	})
}

// event is the one with which they take something.
func (r *run) event(a *skeleton.Arrival) skeleton.Event {
	d := network.Did(&a.Send)
	label := network.Event{Kind: model.Receive, Conn: d.Conn, End: true}
	switch d.Kind {
	case model.Connect:
		label = network.Event{Kind: model.Accept, Conn: d.Conn}
	case model.Send:
		label.End, label.Taken = false, r.conns[d.Conn].taken+len(r.net.Data[d])
	}
	return r.named(skeleton.Event{Label: label, To: skeleton.Nobody, From: a.Send.Name, Got: a.Send.Label})
}

// take gives the peers something of what nodes have sent.
func (r *run) take(a *skeleton.Arrival) error {
	d, made := network.Did(&a.Send), len(r.Made)
	if d.Kind == model.Connect {
		if err := r.Connects(model.Input{Kind: model.Connect, Addr: d.Address}); err != nil {
			return err
		}
		if r.connected.Refused != 0 {
			return Unsupported{fmt.Sprintf("nobody listens at %s", d.Address)}
		}
	}
	r.taken[a.Send.Name] = true
	if err := r.Gets(&a.Send); err != nil {
		return err
	}
	for i := made; i < len(r.Made); i++ {
		if network.Did(&r.Made[i]).Kind == model.Close {
			return Unsupported{"a peer resets a connection"}
		}
	}
	return nil
}
