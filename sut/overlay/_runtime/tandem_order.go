package runtime

// Random picks that look at what goroutines are about to do.
//
// Partial order sampling has pending operations, and not goroutines, ordered by priority. An
// operation gets another one whenever something has happened that conflicts with it (Yuan, Yang,
// Gu: Partial Order Aware Concurrency Sampling, CAV 2018).
//
// The selectively uniform random walk has the interesting transitions, which access some objects,
// ordered uniformly: it intends one goroutine to execute the next of them, drawn by how many are
// left to each (Zhao, Wolff, Mathur, Roychoudhury: Selectively Uniform Concurrency Testing, ASPLOS
// 2025).

var tandemOrder struct {
	seen     uint32 // records of the log that have been looked at
	begun    bool
	running  uint64 // goroutine of the last transition among these; 0: time has passed
	counted  bool   // that transition is interesting
	intended uint64 // goroutine; 0: to be drawn
}

// tandemNewRecords is where the records begin that have not been looked at.
func tandemNewRecords() uint32 {
	from := tandemOrder.seen
	if from > tandem.sh.records { // the log has begun anew
		from = 0
	}
	tandemOrder.seen = tandem.sh.records
	return from
}

// tandemDrawFor is a random number below n, for the present transition and a purpose.
func tandemDrawFor(purpose, n uint64) uint64 {
	return tandemMix(tandem.sh.guide.seed^tandemMix(purpose^tandemMix(uint64(tandem.position)))) % n
}

// intends is the i-th access that a pending operation would make, as the log has it. Where there is
// none, the object is 0.
func (t *tandemG) intends(i int) (object uint64, kind uint8, more bool) {
	if !t.hasArms() {
		if i > 0 || t.object == 0 || t.op == opResume || t.op == opExit {
			return 0, 0, false
		}
		return tandemObject(t), tandemAccessKind(t), true
	}
	arm := i / 3
	if arm >= t.ncases {
		return 0, 0, false
	}
	c := t.channel(arm)
	if c == nil {
		return 0, 0, true
	}
	own, others := uint64(tandemReceivers), uint64(tandemSenders)
	if t.sends(arm) {
		own, others = others, own
	}
	switch {
	case i%3 == 0 && (c.dataqsiz > 0 || !t.guarded):
		return tandemChannelObject(c), accessWrite, true
	case i%3 == 0:
		return tandemChannelObject(c), accessRead, true
	case i%3 == 1 && t.announced && c.dataqsiz == 0: // it would withdraw
		return tandemChannelObject(c) | own, accessCommute, true
	case i%3 == 2 && t.takesPartners(arm):
		return tandemChannelObject(c) | others, accessWrite, true
	}
	return 0, 0, true
}

// tandemPartialOrderPick takes the goroutine whose pending operation has the highest priority.
func tandemPartialOrderPick() *g {
	from := tandemNewRecords()
	best := (*g)(nil)
	for i := range tandem.nparked {
		gp := tandem.parked[i].ptr()
		t := &gp.tandem
		if tandemIsOvertaken(t, from) {
			t.priority = 0
		}
		if t.priority == 0 {
			at := tandemMix(uint64(tandem.position))
			t.priority = tandemMix(tandem.sh.guide.seed^tandemMix(t.id^at)) | 1
		}
		if gp == tandem.current.ptr() && tandem.fair.rounds >= tandemLoopPatience {
			t.priority = 1 // it goes round in a loop that waits
		}
		if tandemPickable(gp) && tandemRareSource(gp) == rareKinds &&
			(best == nil || t.priority > best.tandem.priority) {
			best = gp
		}
	}
	best.tandem.priority = 0 // it is that of this operation
	return best
}

// tandemIsOvertaken reports whether something in the log from a record on conflicts with a pending
// operation.
func tandemIsOvertaken(t *tandemG, from uint32) bool {
	if t.priority == 0 {
		return false
	}
	sh := tandem.sh
	for i := 0; ; i++ {
		object, kind, more := t.intends(i)
		if !more {
			return false
		}
		for j := from; j < sh.records && object != 0; j++ {
			r := &sh.record[j]
			if r.kind == recordAccess && r.a == object &&
				(kind != r.flag || kind == accessWrite) {
				return true
			}
		}
	}
}

// tandemWalkPick draws a goroutine that does not get ahead of the intended one.
func tandemWalkPick() *g {
	tandemCountInteresting()
	order := &tandemOrder
	if order.intended == 0 {
		order.intended = tandemDrawIntended()
	}
	total := uint64(0) // of those that may go on, or else of what is left to those that can
	for i := range tandem.nparked {
		if tandemMayWalk(tandem.parked[i].ptr()) {
			total++
		}
	}
	ahead := total == 0
	if ahead {
		for i := range tandem.nparked {
			total += tandemLeftTo(tandem.parked[i].ptr())
		}
	}
	at := tandemDrawFor(0, total)
	for i := range tandem.nparked {
		gp := tandem.parked[i].ptr()
		n := uint64(0)
		switch {
		case ahead:
			n = tandemLeftTo(gp)
		case tandemMayWalk(gp):
			n = 1
		}
		if at < n {
			if ahead {
				order.intended = gp.tandem.id
			}
			return gp
		}
		at -= n
	}
	throw("tandem: the enabled goroutines changed while they were counted")
	return nil
}

// tandemMayWalk reports whether a goroutine can be picked and does not get ahead of the intended
// one. If all go round in loops that wait, any may.
func tandemMayWalk(gp *g) bool {
	t := &gp.tandem
	return tandemPickable(gp) && tandemRareSource(gp) == rareKinds &&
		(t.id == tandemOrder.intended || tandem.barren >= tandemLoopPatience || !tandemIsInteresting(t))
}

// tandemLeftTo is how many interesting transitions are left to a goroutine that can be picked, and
// that is at one.
func tandemLeftTo(gp *g) uint64 {
	if !tandemPickable(gp) || tandemRareSource(gp) != rareKinds {
		return 0
	}
	if w := tandemEventsOf(gp.tandem.id); w != nil {
		return uint64(max(w.left, 1))
	}
	return 1
}

func tandemIsInteresting(t *tandemG) bool {
	for i := 0; ; i++ {
		object, _, more := t.intends(i)
		if !more || tandemIsChosen(object) {
			return more
		}
	}
}

// tandemIsChosen reports whether accesses to an object are interesting.
func tandemIsChosen(object uint64) bool {
	guide := &tandem.sh.guide
	for _, o := range guide.object[:guide.objects] {
		if o == object && object != 0 {
			return true
		}
	}
	return false
}

func tandemEventsOf(id uint64) *sharedEvents {
	guide := &tandem.sh.guide
	for i := range guide.weights {
		if w := &guide.weight[i]; w.goroutine == id {
			return w
		}
	}
	return nil
}

// tandemDrawIntended draws a goroutine by what is left to it; 0 if nothing is left to any.
func tandemDrawIntended() uint64 {
	guide := &tandem.sh.guide
	total := uint64(0)
	for i := range guide.weights {
		total += uint64(guide.weight[i].left)
	}
	if total == 0 {
		return 0
	}
	at := tandemDrawFor(1, total)
	for i := range guide.weights {
		w := &guide.weight[i]
		if at < uint64(w.left) {
			return w.goroutine
		}
		at -= uint64(w.left)
	}
	throw("tandem: the weights changed while they were counted")
	return 0
}

// tandemCountInteresting takes note of what has happened: of interesting transitions, and of
// goroutines that were started or have ended.
func tandemCountInteresting() {
	order, sh := &tandemOrder, tandem.sh
	if !order.begun {
		order.begun = true
		if w := tandemEventsOf(1); w != nil { // main
			w.left = w.events
		}
	}
	for i := tandemNewRecords(); i < sh.records; i++ {
		switch r := &sh.record[i]; r.kind {
		case recordStep:
			order.running, order.counted = r.a, false
		case recordTick:
			if r.number != tickEarly && r.number != tickWithin {
				order.running, order.counted = 0, false
			}
		case recordAccess:
			if !order.counted && tandemIsChosen(r.a) {
				order.counted = true
				tandemCountEvent()
			}
		case recordSpawn:
			tandemCountSpawn(r.a)
		case recordEnd:
			if w := tandemEventsOf(r.a); w != nil {
				w.left = 0
			}
			if order.intended == r.a {
				order.intended = 0
			}
		}
	}
}

// tandemCountEvent counts an interesting transition of the goroutine that runs.
func tandemCountEvent() {
	order := &tandemOrder
	if w := tandemEventsOf(order.running); w != nil && w.left > 0 {
		w.left--
	}
	if order.intended == order.running {
		order.intended = 0
	}
}

// tandemCountSpawn counts a goroutine that was started. What is left to it was left to the one that
// has started it, and so was the intention.
func tandemCountSpawn(id uint64) {
	order := &tandemOrder
	child := tandemEventsOf(id)
	if child == nil || child.events == 0 {
		return
	}
	child.left = child.events
	parent := tandemEventsOf(order.running)
	if parent == nil || parent.left == 0 {
		return
	}
	if order.intended == order.running && tandemDrawFor(id, uint64(parent.left)) < uint64(child.left) {
		order.intended = id
	}
	parent.left -= min(parent.left, child.left)
}
