package explore

import (
	"fmt"
	"slices"
)

// Of DPOR the path is saved, and for each node on it what is to do and the sleepers that
// were explored from there. The trace is not, nor what follows from it: the inherited
// sleepers and the races that are unsettled. The first execution after a resume begins with the path, so
// that they are found again; the search needs only the last node's sleep set before.

// restored is what the first execution after a resume has to show.
type restored struct {
	explored [][]*Sleeper // from each node
	digests  []uint64     // of the transitions at all nodes but the last
	sleep    []*Sleeper   // at the last node
}

func (d *dpor) save(e *encoder) {
	more := !d.ended && d.choose()
	if d.tally.save(e, "dpor"); !more {
		e.ended = true
		return
	}
	top := len(d.nodes) - 1
	d.sizes.save(e)
	e.number(uint64(len(d.nodes)))
	for i := range d.nodes {
		n := &d.nodes[i]
		e.wakeups(&n.todo)
		e.truth(n.vague)
		e.truth(n.leaf)
		if d.restored != nil {
			e.sleepers(d.restored.explored[i])
		} else {
			e.sleepers(d.sleepOf(n)[n.inherited:])
		}
		switch {
		case i == top:
			e.branch(d.chosen)
			e.sleepers(d.sleepOf(n))
			continue
		case d.restored != nil:
			e.fixed(d.restored.digests[i])
		default:
			e.fixed(d.trace.digest(int32(i)))
		}
		e.action(d.path[i])
	}
	choosing := slices.DeleteFunc(slices.Clone(d.choosing), func(i int32) bool { return int(i) >= top })
	if len(d.nodes) > 0 {
		e.number(uint64(len(choosing)))
	}
	for _, i := range choosing {
		e.number(uint64(i))
	}
}

func (d *dpor) resume(from *decoder) {
	d.tally.resume(from, "dpor")
	d.sizes.resume(from)
	length := from.length()
	if length == 0 {
		return
	}
	d.begun, d.decided, d.restored = true, true, &restored{}
	for i := range length {
		d.nodes = append(d.nodes, node{todo: from.wakeups(0), vague: from.truth(), leaf: from.truth()})
		d.restored.explored = append(d.restored.explored, from.sleepers())
		if i < length-1 {
			d.restored.digests = append(d.restored.digests, from.fixed())
			d.path = append(d.path, from.action())
		}
	}
	chosen := from.branch(0)
	d.sleep = from.sleepers()
	d.restored.sleep = slices.Clone(d.sleep)
	d.nodes[length-1].sleepEnd = len(d.sleep)
	for range from.length() {
		i := int32(from.count(uint64(length - 1)))
		if int(i) == length-1 || len(d.choosing) > 0 && i <= d.choosing[len(d.choosing)-1] {
			from.fail("it is damaged: there are alternatives at node %d", i)
			return
		}
		d.choosing = append(d.choosing, i)
	}
	d.descend(chosen)
}

// rebuild makes the trace, and what follows from it, of the beginning of the first
// execution after a resume.
func (d *dpor) rebuild(transitions []Transition) error {
	r, nodes, chosen := d.restored, d.nodes, d.chosen
	d.restored, d.nodes, d.sleep, d.chosen = nil, nil, nil, nil
	for i, was := range nodes {
		d.addNode(i, was.leaf)
		n := &d.nodes[i]
		n.todo, n.vague = was.todo, was.vague
		d.sleep = append(d.sleep, r.explored[i]...)
		if n.sleepEnd = len(d.sleep); i == len(nodes)-1 {
			break
		}
		races, err := d.trace.push(&transitions[i])
		if err != nil {
			return err
		}
		d.find(races, int32(i))
		if d.trace.digest(int32(i)) != r.digests[i] {
			return &DivergenceError{Step: i, Want: "what was executed there before the search was resumed", Got: "something else"}
		}
		if err := d.findPartners(i, &transitions[i]); err != nil {
			return err
		}
	}
	d.chosen, d.reversible = chosen, d.reversible[:0]
	top := &d.nodes[len(nodes)-1]
	if got := d.sleepOf(top); !slices.EqualFunc(got, r.sleep, (*Sleeper).equal) {
		return &DivergenceError{Step: len(nodes) - 1, Want: fmt.Sprintf("the sleep set %v", r.sleep), Got: fmt.Sprint(got)}
	}
	return nil
}

// String is for errors.
func (s *Sleeper) String() string { return fmt.Sprintf("%v with %v", s.Action, s.Accesses) }

func (s *Sleeper) equal(other *Sleeper) bool {
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
	for bit, is := range [...]bool{x.barrier, x.forced, x.settled} {
		if is {
			add(1 << bit)
		}
	}
	return h
}

func (e *encoder) wakeups(w *wakeups) {
	e.number(uint64(len(w.branches)))
	for _, b := range w.branches {
		e.branch(b)
	}
	e.number(uint64(len(w.postponed)))
	for _, r := range w.postponed {
		e.reversal(r)
	}
}

// branch writes the steps that go on in one way only as a list: there may be very many.
func (e *encoder) branch(b *branch) {
	last, more := b, len(b.steps)-1
	for len(last.below.branches) == 1 && len(last.below.postponed) == 0 {
		last = last.below.branches[0]
		more += len(last.steps)
	}
	e.step(b.first())
	e.number(uint64(more))
	for rest := b.steps[1:]; ; rest = b.steps {
		for _, s := range rest {
			e.step(s)
		}
		if b == last {
			break
		}
		b = b.below.branches[0]
	}
	e.wakeups(&last.below)
}

func (e *encoder) step(s *step) {
	e.action(s.Action)
	e.accesses(s.Accesses)
	e.data = append(e.data, byte(s.marks))
}

// reversal writes one that is detached.
func (e *encoder) reversal(r *reversal) {
	e.truth(r.whole)
	e.number(uint64(len(r.steps)))
	for i := range r.steps {
		e.step(&r.steps[i])
		e.number(uint64(len(r.before[i])))
		for _, j := range r.before[i] {
			e.number(uint64(j))
		}
	}
}

// maxLevels bounds the levels at which a wakeup tree that is read branches.
const maxLevels = 1 << 16

func (d *decoder) wakeups(level int) (w wakeups) {
	for range d.length() {
		w.branches = append(w.branches, d.branch(level+1))
	}
	for range d.length() {
		w.postponed = append(w.postponed, d.reversal())
	}
	return w
}

func (d *decoder) branch(level int) *branch {
	if level > maxLevels {
		d.fail("it is damaged: what is to do branches at more than %d levels", maxLevels)
	}
	first := d.step()
	b := &branch{steps: []*step{&first}}
	for range d.length() {
		next := d.step()
		b.steps = append(b.steps, &next)
	}
	b.below = d.wakeups(level)
	return b
}

func (d *decoder) step() step {
	s := step{Action: d.action(), Accesses: d.accesses(), marks: marks(d.bytes(1)[0])}
	if s.marks >= allMarks {
		d.fail("it is damaged: a step to do has the unknown marks %#x", s.marks)
	}
	return s
}

func (d *decoder) reversal() *reversal {
	r := &reversal{whole: d.truth()}
	for i := range d.length() {
		r.steps = append(r.steps, d.step())
		var before []int
		for range d.length() {
			j := d.count(uint64(i))
			if j == i {
				d.fail("it is damaged: a step has to run before itself")
			}
			before = append(before, j)
		}
		r.before = append(r.before, before)
	}
	if len(r.steps) == 0 {
		d.fail("it is damaged: a reversal has no steps")
	}
	r.removed = make([]bool, len(r.steps))
	return r
}
