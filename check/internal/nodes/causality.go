package nodes

import (
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/dependence"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// What the program itself orders is in the log of an execution: a transition comes after those of
// its goroutine, after what has started or woken that, and after those that have accessed the same
// before, unless both only read it or add to it. That is what the search takes for dependent, but
// for what the environment adds to it (touches): what arrives, and when, is no event.
// So what is before an event is the same in every execution that the search takes for the same,
// and against whatever else the node is explored.

// An execution stands for all that only differ in the order of what is independent. Where it leaves
// the script in several places, each is found, since nobody runs those others. Suppose that an
// execution of the system makes some events of the script, P, and then one event more. Then the
// node has an execution that makes P before anything else that can be noticed, and then that event.
// The search runs one that is the same for it. There, no event of P comes of one that is not the
// script's, so all of P is among causality.follows, and the event among the departures. The branch
// has both.
//
// Two kinds of dependence are needed for that. What is in the Past of an event is by the program
// alone, or it would be another one against another script. What comes of a departure is by all
// that the search knows: what has arrived because of it must not be taken for something that was
// there.

// transition is one of an execution, from one point to the next.
type transition struct {
	dependence.Step
	choice int
	// barrier: the program's clock advances, or the program ends. asks: nothing else can happen,
	// and the environment says whether time passes.
	barrier, asks bool
	// accesses are those of the program; all has those, too, that the environment has added.
	accesses, all []model.Access
	exchanges     []int // inputs, as they are counted
	parts         []part
}

// part is what a transition does up to an input, or after its last one. Where something has not
// arrived yet, a transition ends that would have gone on. So parts do not depend on what arrives,
// and transitions do.
type part struct {
	accesses []model.Access // of the program
	starts   []uint64
	input    int // none: there is none
}

// none is the input of a part that has none.
const none = atEnd - 1

// transitions reads a log, of an execution to which so much can arrive.
func transitions(events []sut.Event, arrivals int) (list []transition) {
	inputs := 0
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case sut.Stepped:
			list = append(list, transition{choice: e.Alternative(),
				Step:    dependence.Step{Goroutine: e.Subject, Stepped: true},
				barrier: e.Operation == sut.Exit, asks: e.Subject == sut.PeerTimeSource,
				parts: []part{{input: none}}})
			continue
		case sut.Ticked:
			if !e.TicksWithin() {
				list = append(list, transition{barrier: !e.AsksPeers(), asks: e.AsksPeers(),
					parts: []part{{input: none}}})
			}
			continue
		}
		if len(list) == 0 {
			continue
		}
		t := &list[len(list)-1]
		if t.parts[len(t.parts)-1].input != none {
			t.parts = append(t.parts, part{input: none})
		}
		last := &t.parts[len(t.parts)-1]
		switch e.Kind {
		case sut.Accessed:
			a := model.Access{Object: model.ObjectID(e.Subject), Kind: e.Access}
			t.all = append(t.all, a)
			if !isTouched(a.Object, arrivals) && a.Object != groupObject && !delivers(events[i:]) {
				t.accesses, last.accesses = append(t.accesses, a), append(last.accesses, a)
			}
		case sut.Spawned, sut.Woke:
			t.Starts, last.starts = append(t.Starts, e.Subject), append(last.starts, e.Subject)
		case sut.Exchanged:
			t.exchanges, last.input = append(t.exchanges, inputs), inputs
			inputs++
		}
	}
	return list
}

// groupObject is what the passing of time accesses.
const groupObject = model.ObjectID(1 << 63)

// What arrives is handed out at the end of an input. Nothing of the program is logged in between.
// So all accesses from an input to the last thing that it has delivered are those of arrivals.

// delivers says whether an access is that of an arrival: something is delivered after it, before
// the next input or transition.
func delivers(events []sut.Event) bool {
	for i := range events {
		switch events[i].Kind {
		case sut.Delivered:
			return true
		case sut.Exchanged, sut.Stepped, sut.Ticked:
			return false
		}
	}
	return false
}

// causality is what is before what in an execution.
type causality struct {
	transitions []transition
	before      [][]int // of each transition, what it comes right after
	// departures are events that are not the script's, and come of nothing that is not, by their
	// index. follows are those that are, and come of nothing that is not.
	departures []int
	follows    []bool
	resets     counts // of connections that were not accepted, and all before these
	print      uint64 // the same for executions that differ in the order of independent transitions
}

// analyse finds out what is before each event that the node has made, to which so much could
// arrive. It fills in the Past of these.
func (n *track) analyse(events []sut.Event, arrivals int) *causality {
	c := &causality{follows: make([]bool, len(n.made))}
	if n.ordered {
		for i := range n.made {
			c.follows[i] = (n.deviation < 0 || i < n.deviation) && i < len(n.script)
		}
		if n.deviation >= 0 {
			c.departures = []int{n.deviation}
		}
		return c
	}
	c.transitions = transitions(events, arrivals)
	made := map[int][]int{} // by input
	for i, input := range n.inputs {
		made[input] = append(made[input], i)
	}
	// own is by the program alone, and all with what the environment has added.
	own, all := dependence.New(), dependence.New()
	known := &pasts{Dependence: dependence.New()}
	prints := make([]uint64, len(c.transitions))
	astray := make([]bool, len(c.transitions))
	for i := range c.transitions {
		t := &c.transitions[i]
		// An advance of the common clock is after all that was before. What opens connections is in
		// one order, since these are numbered.
		advances, accesses := t.barrier, t.accesses
		for _, input := range t.exchanges {
			for _, k := range made[input] {
				advances = advances || n.made[k].Tick > 0
				if n.made[k].Stream == network.Doors {
					accesses = append(accesses, model.Access{Object: doorsObject, Kind: model.Write})
				}
			}
		}
		for _, k := range all.Add(i, t.Step, t.barrier || t.asks, t.all) {
			astray[i] = astray[i] || astray[k]
		}
		if t.asks && !advances {
			c.before = append(c.before, nil)
			continue // the environment alone does something
		}
		// The hash of a transition is of what it is, and of the hashes of those that it comes right
		// after. So the sum of all is the same in every order that has the same dependences.
		before := own.Add(i, t.Step, advances, accesses)
		c.before = append(c.before, before)
		print := dependence.Mix(t.Goroutine ^ dependence.Mix(uint64(t.choice)))
		for _, k := range before {
			print += dependence.Mix(prints[k])
		}
		prints[i] = dependence.Mix(print)
		c.print += dependence.Mix(prints[i])
		for j := range t.parts {
			events := made[t.parts[j].input]
			before := known.of(t, j, advances && j == 0, slices.ContainsFunc(events, n.isOfDoors))
			for _, k := range events {
				before = n.place(c, k, before, &astray[i])
			}
			known.add(before)
		}
	}
	// The end of the node comes after all else. A node whose process is gone cannot do more.
	end, lost := counts(nil), len(c.departures) > 0
	for _, p := range known.list {
		end = end.with(p)
	}
	for _, k := range made[atEnd] {
		end = n.place(c, k, end, &lost)
	}
	return c
}

// pasts are what is before, and in, each part of the transitions of an execution, as far as it is
// known. Which events a transition makes at once depends on what has arrived by then. So what comes
// before an event is found by parts: the Past of an event is the same, whether the transition goes
// on after it or has to wait.
type pasts struct {
	*dependence.Dependence
	list []counts
}

// of is what is before the next part, which is the j-th of a transition. At a barrier, all that was
// is before it.
func (p *pasts) of(t *transition, j int, barrier, isOfDoors bool) (past counts) {
	part := &t.parts[j]
	accesses := part.accesses
	if isOfDoors {
		accesses = append(slices.Clip(accesses), model.Access{Object: doorsObject, Kind: model.Write})
	}
	as := dependence.Step{Goroutine: t.Goroutine, Stepped: t.Stepped, Starts: part.starts}
	for _, k := range p.Dependence.Add(len(p.list), as, barrier, accesses) {
		past = past.with(p.list[k])
	}
	return past
}

// add notes what is before all that comes after that part, with the events of the part.
func (p *pasts) add(past counts) { p.list = append(p.list, past) }

// isOfDoors reports whether an event is among those that open connections.
func (n *track) isOfDoors(k int) bool { return n.made[k].Stream == network.Doors }

// place notes what is before an event, and whether it is that of the script.
func (n *track) place(c *causality, k int, past counts, astray *bool) counts {
	e := &n.made[k]
	if e.Tick > 0 {
		past = past.with(c.resets)
	}
	e.Past = past.names(n.node, n.streams)
	at, known := n.places[e.Name]
	// Equal includes the Past: the same event in another order is a departure, too.
	switch {
	case known && e.Equal(&n.script[at]):
		c.follows[k] = !*astray
	case !known && n.goesOn:
	case !*astray:
		c.departures = append(c.departures, k)
		*astray = true
	}
	with := slices.Clone(past)
	for len(with) < len(n.streams) {
		with = append(with, 0)
	}
	with[slices.Index(n.streams, e.Stream)] = e.N
	if network.Did(e).Unaccepted { // nothing that the node does comes of it, but time passes after it
		c.resets = c.resets.with(with)
		return past
	}
	return with
}

// counts says how many events of each stream there are.
type counts []int

// with is what is in either.
func (c counts) with(d counts) counts {
	if len(d) == 0 {
		return c
	}
	joined := slices.Clone(c)
	for len(joined) < len(d) {
		joined = append(joined, 0)
	}
	for s, n := range d {
		joined[s] = max(joined[s], n)
	}
	return joined
}

// names are the last events of the streams, sorted.
func (c counts) names(node int, streams []string) (list []skeleton.Name) {
	for s, n := range c {
		if n > 0 {
			list = append(list, skeleton.Name{Component: node, Stream: streams[s], N: n})
		}
	}
	slices.SortFunc(list, network.CompareNames)
	return list
}

// hasDone says whether the node has done all that the script says.
func (n *track) hasDone(c *causality) bool {
	done := 0
	for _, follows := range c.follows {
		if follows {
			done++
		}
	}
	return done == len(n.script)
}

// followed lists what the node has done as the script says, and not after events of its own. All of
// that can be before any of those.
func (n *track) followed(c *causality) (list []skeleton.Event) {
	for i := range n.made {
		if c.follows[i] {
			list = append(list, n.made[i])
		}
	}
	return list
}
