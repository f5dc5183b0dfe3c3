package testkit

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// arm is one of the channel operations among which an instruction chooses.
type arm struct {
	object int
	send   bool
}

func (a arm) mask() uint8 {
	if a.send {
		return core.ReadySend
	}
	return core.ReadyReceive
}

// arms returns what a channel operation chooses from, and whether it waits.
func (in instruction) arms() (arms []arm, block bool) {
	switch in.op {
	case opSend:
		return []arm{{in.object, true}}, true
	case opRecv:
		return []arm{{in.object, false}}, true
	case opSelect:
		return []arm{{in.object, false}, {in.other, false}}, true
	case opEither:
		return []arm{{in.object, false}, {in.other, true}}, true
	case opPoll:
		return []arm{{in.object, false}}, false
	case opOffer:
		return []arm{{in.object, true}}, false
	}
	return nil, false
}

// alternative is a way in which a channel operation can go on: an arm, -1 for none,
// and on a channel without buffer the partner and its arm.
type alternative struct {
	arm     int
	partner *simGoroutine
	other   int
}

// unbuffered reports whether values are handed over on a channel from one
// goroutine to another, in a single transition.
func (w *Worker) unbuffered(c int) bool { return w.objects[c].capacity == 0 && !w.objects[c].closed }

// Beside a channel itself two objects stand for the goroutines that wait to send to
// it, and to receive from it. Those that would be partners of an arm, and those that wait
// like it:

func (w *Worker) partners(a arm) int { return w.alike(arm{a.object, !a.send}) }

func (w *Worker) alike(a arm) int {
	return a.object + (1+btoi(!a.send))*len(w.objects)
}

// alternatives lists how a channel operation can go on. On a channel without buffer
// it is the one that does not wait, and of two that do the sender, that takes a partner.
func (w *Worker) alternatives(g *simGoroutine, in instruction) (list []alternative) {
	arms, block := in.arms()
	entered := false
	for i, a := range arms {
		if w.armReady(a) {
			list = append(list, alternative{arm: i})
		}
		if !w.unbuffered(a.object) || !a.send && block {
			continue
		}
		for _, p := range w.goroutines {
			j, ok := w.partnerArm(g, p, a)
			if ok && (w.canBlock(in) || w.canBlock(p.waiting)) {
				entered = entered || w.entered(p)
				list = append(list, alternative{i, p, j})
			}
		}
	}
	if !block && !entered && !slices.ContainsFunc(arms, w.armReady) {
		list = append(list, alternative{arm: -1})
	}
	return list
}

// armReady reports whether an arm can go on without a partner.
func (w *Worker) armReady(a arm) bool {
	o := &w.objects[a.object]
	return o.closed || a.send && len(o.buffer) < o.capacity || !a.send && len(o.buffer) > 0
}

// partnerArm returns the arm of p that waits for arm a of g.
func (w *Worker) partnerArm(g, p *simGoroutine, a arm) (int, bool) {
	if p == g || !p.arrived {
		return 0, false
	}
	arms, _ := p.waiting.arms()
	j := slices.Index(arms, arm{a.object, !a.send})
	return j, j >= 0
}

// entered reports whether a goroutine has gone as far as to wait: it cannot be
// preempted just before.
func (w *Worker) entered(p *simGoroutine) bool {
	arms, _ := p.waiting.arms()
	return p.sealed && !slices.ContainsFunc(arms, w.armReady)
}

// canBlock reports whether a goroutine that goes on to an operation may have to wait
// there, so that another one finds it waiting.
func (w *Worker) canBlock(in instruction) bool {
	arms, block := in.arms()
	return block && !slices.ContainsFunc(arms, w.armReady)
}

// count is how many goroutines an object stands for.
func (w *Worker) count(object int) (n int32) {
	for _, g := range w.goroutines {
		if !g.arrived {
			continue
		}
		arms, _ := g.waiting.arms()
		n += int32(btoi(slices.ContainsFunc(arms, func(a arm) bool { return w.alike(a) == object })))
	}
	return n
}

// arrive tells those that may become partners of g that it waits, or no longer does.
func (w *Worker) arrive(g *simGoroutine) {
	arms, block := g.body[g.pc].arms()
	if !block {
		return
	}
	w.announce(arms, 1)
	g.arrived, g.sealed, g.waiting = true, g.body[g.pc].sealed, g.body[g.pc]
}

func (w *Worker) announces(in instruction) bool {
	arms, block := in.arms()
	return block && slices.ContainsFunc(arms, func(a arm) bool { return w.objects[a.object].capacity == 0 })
}

func (w *Worker) announce(arms []arm, delta int) {
	for _, a := range arms {
		if w.objects[a.object].capacity == 0 {
			w.access(w.alike(a), core.Commute, delta)
		}
	}
}

// footprint records the accesses of a channel operation: first all that its alternatives
// follow from, then what it changes. They are the same for each of its alternatives, so that
// whatever changes one of these depends on all of them.
func (w *Worker) footprint(g *simGoroutine, in instruction, alternatives []alternative,
	chosen *simGoroutine) {
	arms, block := in.arms()
	if len(arms) > 1 || !w.changes(arms[0]) {
		w.look(g, in)
	} // else what it changes is all that it looks at
	for i, a := range arms {
		if w.changes(a) {
			w.access(a.object, core.Write)
		}
		meets := slices.ContainsFunc(alternatives,
			func(x alternative) bool { return x.arm == i && x.partner != nil })
		if meets && (a.send || !block) {
			w.access(w.partners(a), core.Write)
		}
	}
	for _, p := range w.candidates(g, in) {
		theirs, _ := p.waiting.arms()
		w.announce(theirs, -btoi(p == chosen)) // what else it could have done would be over
	}
}

// changes reports whether an arm can go on without a partner, and changes what is in its channel.
func (w *Worker) changes(a arm) bool {
	return w.objects[a.object].capacity > 0 && w.armReady(a) &&
		(a.send || len(w.objects[a.object].buffer) > 0)
}

// look records what the alternatives of an operation follow from.
func (w *Worker) look(g *simGoroutine, in instruction) {
	w.current.Accesses = append(w.current.Accesses, w.looks(g, in)...)
}

func (w *Worker) looks(g *simGoroutine, in instruction) []core.Access {
	arms, block := in.arms()
	list := w.lookAt(arms, block)
	for _, p := range w.candidates(g, in) {
		theirs, _ := p.waiting.arms()
		list = append(list, w.lookAt(theirs, true)...)
	}
	return list
}

func (w *Worker) lookAt(arms []arm, block bool) (list []core.Access) {
	for _, a := range arms {
		list = append(list, w.accessTo(a.object, core.Read))
		if w.objects[a.object].capacity == 0 && (a.send || !block) {
			list = append(list, w.accessTo(w.partners(a), core.Read))
		}
	}
	return list
}

// intended is what a pending operation would access.
func (w *Worker) intended(g *simGoroutine, in instruction) (list []core.Access) {
	arms, block := in.arms()
	for _, a := range arms {
		if g.arrived && w.objects[a.object].capacity == 0 {
			list = append(list, w.accessTo(w.alike(a), core.Commute)) // it would withdraw
		}
	}
	for _, a := range arms {
		kind := core.Read
		if w.objects[a.object].capacity > 0 {
			kind = core.Write
		}
		list = append(list, w.accessTo(a.object, kind))
		if w.objects[a.object].capacity == 0 && (a.send || !block) {
			list = append(list, w.accessTo(w.partners(a), core.Write))
		}
	}
	return list
}

// candidates returns those that wait for g to be their partner.
func (w *Worker) candidates(g *simGoroutine, in instruction) []*simGoroutine {
	arms, block := in.arms()
	return slices.DeleteFunc(slices.Clone(w.goroutines), func(p *simGoroutine) bool {
		return !slices.ContainsFunc(arms, func(a arm) bool {
			_, ok := w.partnerArm(g, p, a)
			return ok && w.unbuffered(a.object) && (a.send || !block)
		})
	})
}

// channel executes a channel operation of g, and that of its partner.
func (w *Worker) channel(g *simGoroutine, in instruction, choice int) {
	arms, _ := in.arms()
	alternatives := w.alternatives(g, in)
	how := alternatives[choice]
	// else it was not pending before
	if p := how.partner; p != nil && !slices.Contains(w.current.Starts, p.id) {
		w.current.Partners = append(w.current.Partners, w.pendingOf(p))
	}
	if g.arrived {
		w.announce(arms, -1)
		g.arrived = false
	}
	w.footprint(g, in, alternatives, how.partner)
	received := -1
	switch {
	case how.arm < 0:
	case how.partner != nil:
		received = w.meet(arms[how.arm].send, in, how.partner)
	default:
		received = w.transfer(arms[how.arm], in)
	}
	switch {
	case in.op == opOffer:
		g.regs[in.reg] = btoi(how.arm >= 0)
	case in.op != opSend && !(how.arm >= 0 && arms[how.arm].send):
		g.regs[in.reg] = received
	}
}

// meet executes the partner's half of a rendezvous.
func (w *Worker) meet(sends bool, in instruction, p *simGoroutine) (received int) {
	theirs := p.waiting
	p.arrived = false
	p.pc++
	w.resume(p)
	if sends {
		p.regs[theirs.reg] = in.value
		return -1
	}
	return theirs.value
}

// transfer executes an operation that needs no partner.
func (w *Worker) transfer(a arm, in instruction) (received int) {
	o := &w.objects[a.object]
	switch {
	case a.send && o.closed:
		w.end(core.Panicked, "send on closed channel")
	case a.send:
		o.buffer = append(o.buffer, in.value)
	case len(o.buffer) > 0:
		received, o.buffer = o.buffer[0], o.buffer[1:]
	}
	return received
}

func (w *Worker) close(g *simGoroutine, c int) {
	w.access(c, core.Write)
	if w.objects[c].closed {
		w.end(core.Panicked, "%s: close of closed channel", g.name)
	}
	w.objects[c].closed = true
}
