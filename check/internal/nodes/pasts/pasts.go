// Package pasts knows what is before each event of a node, while the node runs: what the program
// itself orders. An exploration needs it at once: a goroutine halts where it makes an event that is
// not in the skeleton with the same events before it.
//
// It is found by parts of transitions. A part is what a transition does up to an
// input, or after its last one. Where something has not arrived yet, a transition ends that would
// have gone on. So what a part does does not depend on what arrives, and the Past of an event is
// the same in every execution that the search takes for the same.
package pasts

import (
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/dependence"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// Pasts is what is known of one execution of a node. It is used by one goroutine at a time.
type Pasts struct {
	arrivals int
	order    *dependence.Dependence
	streams  []string // that have events
	list     []counts // what is before, and in, each part
	read     int      // events of the log
	// The present part: of which step it is, what it accesses, and whether all is before it. An
	// advance of the clock and the end of the program are after all that was.
	step     dependence.Step
	accesses []model.Access
	barrier  bool
	asks     bool // of a transition in which the environment says whether time passes
	number   int  // of the part, in its transition; -1: no transition has begun
	isClosed bool // present is what is before it
	present  counts
	doors    counts // what is before, and in, the last part that opens connections
	resets   counts // of connections that were not accepted, and all before these
	touched  bool   // doors, by the present part
}

// New is before the first transition of a node, to which so much can arrive.
func New(arrivals int) *Pasts {
	return &Pasts{arrivals: arrivals, order: dependence.New(), number: -1}
}

// Read takes note of an execution as far as it has come. It is given all events of the log until
// then, also those that it was given before. It is called before each input, and at the end.
func (p *Pasts) Read(events []sut.Event) {
	for i := p.read; i < len(events); i++ {
		e := &events[i]
		if t, begins := begun(e); begins {
			p.begin(t)
			continue
		}
		switch e.Kind {
		case sut.Accessed:
			if a, own := accessed(events[i:], p.arrivals); own {
				p.accesses = append(p.accesses, a)
			}
		case sut.Spawned, sut.Woke:
			p.step.Starts = append(p.step.Starts, e.Subject)
		case sut.Exchanged:
			p.end()
		}
	}
	p.read = len(events)
}

// End is called after all of an execution was read: what is added then comes after all else.
func (p *Pasts) End() {
	p.end()
	p.present, p.isClosed = nil, true
	for _, c := range p.list {
		p.present = p.present.with(c)
	}
}

// begin begins a transition.
func (p *Pasts) begin(t Transition) {
	p.end()
	p.step, p.barrier, p.asks, p.number, p.isClosed = t.Step, t.Barrier, t.Asks, 0, false
}

// end ends the present part. In a transition in which the environment alone does something, it is
// none.
func (p *Pasts) end() {
	if p.number < 0 {
		return
	}
	if p.isClosed || !p.asks {
		p.close()
		if p.touched {
			p.doors = p.present
		}
		p.list = append(p.list, p.present)
	}
	p.step.Starts, p.accesses, p.isClosed, p.touched, p.barrier = nil, nil, false, false, false
	p.number++
}

// close finds out what is before the present part. It is called before the input, so what the
// environment adds and delivers is not among that.
func (p *Pasts) close() {
	if p.isClosed {
		return
	}
	p.isClosed, p.present = true, nil
	for _, k := range p.order.Add(len(p.list), p.step, p.barrier, p.accesses) {
		p.present = p.present.with(p.list[k])
	}
}

// Place fills in the Past of an event that the input makes which the execution has come to. The
// event has its name. Several events of one input come after each other, in the order of the calls.
func (p *Pasts) Place(e *skeleton.Event) {
	if e.Tick > 0 && !p.isClosed { // all that was is before an advance of the common clock
		p.barrier = true
	}
	p.close()
	past := p.present
	if e.Stream == network.Doors { // these are in one order, since connections are numbered
		past, p.touched = past.with(p.doors), true
	}
	if e.Tick > 0 {
		past = past.with(p.resets)
	}
	e.Past = p.names(past, e.Component)
	at := slices.Index(p.streams, e.Stream)
	if at < 0 {
		at, p.streams = len(p.streams), append(p.streams, e.Stream)
	}
	with := past.with(make(counts, at+1))
	with[at] = e.N
	if network.Did(e).Unaccepted { // nothing that the node does comes of it, but time passes after it
		p.resets = p.resets.with(with)
		return
	}
	p.present = with
}

// All fills in the Past of all events of an execution that is over, to which so much could arrive.
// inputs says of which input each of them is, in ascending order. Those of the end of the node are
// last, and have any other number.
func All(made []skeleton.Event, inputs []int, log []sut.Event, arrivals int) {
	p := New(arrivals)
	next, input := 0, 0
	for i := range log {
		if log[i].Kind != sut.Exchanged {
			continue
		}
		p.Read(log[:i])
		for ; next < len(made) && inputs[next] == input; next++ {
			p.Place(&made[next])
		}
		input++
	}
	p.Read(log)
	p.End()
	for ; next < len(made); next++ {
		p.Place(&made[next])
	}
}

// names are the last events of the streams, sorted: a Past. Those before them in their streams are
// before the event, too.
func (p *Pasts) names(c counts, node int) (list []skeleton.Name) {
	for s, n := range c {
		if n > 0 {
			list = append(list, skeleton.Name{Component: node, Stream: p.streams[s], N: n})
		}
	}
	slices.SortFunc(list, network.CompareNames)
	return list
}

// counts says how many events of each stream there are, by the order in which streams have begun.
// It may be shorter than there are streams: of those that are left out there is none.
type counts []int

// with is what is in either, as a copy.
func (c counts) with(d counts) counts {
	joined := make(counts, max(len(c), len(d)))
	copy(joined, c)
	for s, n := range d {
		joined[s] = max(joined[s], n)
	}
	return joined
}
