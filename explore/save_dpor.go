package explore

import (
	"fmt"
	"slices"
)

// Of DPOR the path is saved, and for each node on it what is to do and the sleepers that
// were explored from there. The trace is not, nor what follows from it: the inherited
// sleepers and those awakened. The first execution after a resume begins with the path, so
// that they are found again; the search needs only the last node's sleep set before.

// restored is what the first execution after a resume has to show.
type restored struct {
	explored [][]Sleeper // from each node
	digests  []uint64    // of the transitions at all nodes but the last
	sleep    []Sleeper   // at the last node
}

func (d *dpor) save(e *encoder) {
	d.tally.save(e, "dpor")
	if d.ended || !d.choose() {
		e.ended = true
		return
	}
	top := len(d.nodes) - 1
	d.sizes.save(e)
	e.number(uint64(len(d.nodes)))
	for i := range d.nodes {
		n := &d.nodes[i]
		e.sequences(n.todo)
		if d.restored != nil {
			e.sleepers(d.restored.explored[i])
		} else {
			e.sleepers(d.sleepOf(n)[n.inherited:])
		}
		switch {
		case i == top:
			e.sequences([]sequence{d.chosen})
			e.sleepers(d.sleepOf(n))
			continue
		case d.restored != nil:
			e.fixed(d.restored.digests[i])
		default:
			e.fixed(d.trace.digest(int32(i)))
		}
		e.action(d.path[i])
	}
}

func (d *dpor) resume(from *decoder) {
	d.tally.resume(from, "dpor")
	d.sizes.resume(from)
	length := from.length()
	if length == 0 {
		return
	}
	d.begun, d.settled, d.restored = true, true, &restored{}
	for i := range length {
		d.nodes = append(d.nodes, node{todo: from.sequences()})
		d.restored.explored = append(d.restored.explored, from.sleepers())
		if i < length-1 {
			d.restored.digests = append(d.restored.digests, from.fixed())
			d.path = append(d.path, from.action())
		}
	}
	chosen := from.sequences()
	d.sleep = from.sleepers()
	if len(chosen) != 1 {
		from.fail("it is damaged: %d sequences are to be executed next", len(chosen))
		return
	}
	d.chosen, d.restored.sleep = chosen[0], slices.Clone(d.sleep)
	d.nodes[length-1].sleepEnd = len(d.sleep)
	for _, s := range d.chosen {
		d.path = append(d.path, s.Action)
	}
}

// rebuild makes the trace, and what follows from it, of the beginning of the first
// execution after a resume.
func (d *dpor) rebuild(transitions []Transition) error {
	r, nodes := d.restored, d.nodes
	d.restored, d.nodes, d.sleep = nil, nil, nil
	for i, was := range nodes {
		d.addNode(i)
		n := &d.nodes[i]
		n.todo = was.todo
		d.sleep = append(d.sleep, r.explored[i]...)
		if n.sleepEnd = len(d.sleep); i == len(nodes)-1 {
			break
		}
		if _, err := d.trace.push(&transitions[i]); err != nil {
			return err
		}
		if d.trace.digest(int32(i)) != r.digests[i] {
			return &DivergenceError{Step: i, Want: "what was executed there before the search was resumed", Got: "something else"}
		}
	}
	top := &d.nodes[len(nodes)-1]
	if got := d.sleepOf(top); !slices.EqualFunc(got, r.sleep, Sleeper.equal) {
		return &DivergenceError{Step: len(nodes) - 1, Want: fmt.Sprintf("the sleep set %v", r.sleep), Got: fmt.Sprint(got)}
	}
	return nil
}

func (s Sleeper) equal(other Sleeper) bool {
	return s.Action == other.Action && slices.Equal(s.Accesses, other.Accesses)
}

// digest is a hash of what was executed in event e.
func (t *trace) digest(e int32) uint64 {
	x := &t.events[e]
	h := mix(uint64(x.Goroutine))
	add := func(n uint64) { h = mix(h + n) }
	add(uint64(x.Choice))
	add(uint64(x.choices))
	for _, a := range t.accessesOf(e) {
		add(uint64(a.Object))
		add(uint64(a.Kind)<<8 | uint64(a.Ready))
		add(uint64(uint32(a.Delta))<<32 | uint64(uint32(a.Count)))
	}
	for _, n := range t.needsOf(e) {
		add(uint64(n.Object))
		add(uint64(n.Mask)<<8 | uint64(n.Own))
	}
	for _, g := range t.startsOf(e) {
		add(uint64(g))
	}
	if x.barrier {
		add(1)
	}
	return h
}

func (e *encoder) sequences(list []sequence) {
	e.number(uint64(len(list)))
	for _, s := range list {
		e.number(uint64(len(s)))
		for _, step := range s {
			e.action(step.Action)
			e.accesses(step.Accesses)
		}
	}
}

// sequences reads sequences, none of which is empty.
func (d *decoder) sequences() []sequence {
	var list []sequence
	for range d.length() {
		var s sequence
		for range d.length() {
			s = append(s, step{d.action(), d.accesses()})
		}
		if len(s) == 0 {
			d.fail("it is damaged: a sequence to do is empty")
		}
		list = append(list, s)
	}
	return list
}
