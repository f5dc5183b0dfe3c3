package global

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/forms"
	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Share is the part of a search breadth first that one process does. Of each level it expands only
// the states that are its own; those of others it hands on when it reaches them, once each. It
// remembers those as well, so that it need not hand them on again. What others have reached of its
// own states is received before the next level begins.
//
// How states are kept is that of a search alone: vectors where they fit, else bytes, and wider ones
// as soon as they do not fit any more. A share has one arena, in which own states and others lie in
// the order in which they were met. So a level is a range of places, and a list of the own ones in
// it. A state of another share lies there only to be found again, and is never expanded.
//
// All shares together visit the states of a search by one, at the same depth, and count the same
// transitions. Steps that commute are left out as in such a search: a state that is handed on comes
// with the state and the node that have led to it.
type Share struct {
	*search
	w      *worker
	x      expands
	config ShareConfig
	// level has the own states that are expanded now, next those of the next level. Packed has the
	// states that states of others were reached from, of both.
	level, next        []span
	states             int // of next
	packed, nextPacked []byte
	lastPacked         int // where the last one lies in nextPacked, plus one; 0: it is not there
	state, before      system.State
	scratch            []byte
	found              *Found
	hasBegun           bool
	looks              *worker // of Leads
	// counts are how many states there were at the end of each level. Of all states, so many were
	// written, up to a place in the arena.
	counts  []int
	written int
	place   uint64
}

// ShareConfig says which states are whose.
type ShareConfig struct {
	// Digest is a number of a state that is the same in all processes. Different states may have
	// the same, but rarely.
	Digest func(*system.State) (uint64, error)
	// Owner is whose a state is, Own who this process is. If it looks at the local states of some
	// nodes only, ByLocals has them as bits; else it is zero.
	Owner    func(*system.State) (int, error)
	ByLocals uint64
	Own      int
}

// span has own states that were met one after the other. Where states are vectors they lie side by
// side, so most own states are in few spans. Before is the place in packed, plus one, of what they
// were reached from, if that is not in the form; else zero.
type span struct {
	from   space.Ref
	count  uint64
	before int
}

// own adds an own state to the next level.
func (h *Share) own(at space.Ref, before int) {
	h.states++
	if n := len(h.next); n > 0 && before == 0 && h.next[n-1].before == 0 &&
		h.next[n-1].from+space.Ref(h.next[n-1].count) == at {
		h.next[n-1].count++
		return
	}
	h.next = append(h.next, span{at, 1, before})
}

// Found is a violation. Of several that are met in a level, the least one is kept, in an order that
// depends neither on numbers nor on who meets it.
type Found struct {
	// IsLonger says that the run ends one step behind the level that is expanded.
	IsLonger bool
	// Digest is that of the last state of the run, or of the one before a step that fails.
	Digest uint64
	// Locals are the numbers of its local states.
	Locals   []table.Local
	Property int
	Failure  string
	IsStep   bool // the step that fails is behind that state
}

// Compare is the order of violations.
func (f *Found) Compare(other *Found) int {
	order := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(order(f.IsLonger)-order(other.IsLonger), cmp.Compare(f.Digest, other.Digest),
		order(f.IsStep)-order(other.IsStep), cmp.Compare(f.Property, other.Property),
		cmp.Compare(f.Failure, other.Failure))
}

// NewShare begins with the own states among those in which a run may begin.
func NewShare(c Config, s ShareConfig) (*Share, error) {
	h, err := newShare(c, s, 0)
	if err != nil {
		return nil, err
	}
	return h, h.handOn(nil)
}

// newShare has the states in which a run may begin. Log is that of the bits of a counter.
func newShare(c Config, s ShareConfig, log uint) (*Share, error) {
	c.Workers = 1
	h := &Share{search: &search{Config: &c, log: log, filing: filing{expander: newExpands}}, config: s}
	w, err := h.begin(nil)
	for forms.IsNarrow(err) {
		w, err = h.begin(err)
	}
	if err != nil {
		return nil, err
	}
	h.setWorker(w)
	h.looks = h.newWorker(0)
	h.levelStart, h.levelEnd = []uint64{0}, []uint64{0}
	return h, nil
}

// FailsAtStart searches no further than the start. The result is nil if nothing is violated there.
func FailsAtStart(c Config) (*Result, error) {
	s := &search{Config: &c}
	w, err := s.begin(nil)
	for forms.IsNarrow(err) {
		w, err = s.begin(err)
	}
	defer forms.Release(s.form)
	if err == nil {
		return nil, nil
	}
	return s.result(w, err)
}

// setWorker has a worker expand states.
func (h *Share) setWorker(w *worker) {
	h.w, w.collect, w.isOwn = w, h.collect, h.isOwn
	h.x = h.expander(h.form, w)
}

// Release gives the memory back.
func (h *Share) Release() { forms.Release(h.form) }

// Begin begins the next level, and says how many own states it has.
func (h *Share) Begin() int {
	if h.hasBegun {
		h.search.before = append(h.search.before, slices.Clone(h.levelEnd))
		h.depth++
	}
	h.hasBegun, h.isSingle = true, h.states == 1
	h.levelStart[0], h.levelEnd[0] = h.levelEnd[0], h.form.End(0)
	// Numbers of states stay the same in another form, which places do not.
	all, _ := h.form.Size()
	h.counts = append(h.counts, all)
	h.level, h.next = h.next, h.level[:0]
	h.packed, h.nextPacked = h.nextPacked, h.packed[:0]
	h.found, h.lastPacked = nil, 0
	n := h.states
	h.states = 0
	return n
}

// Tally is what was counted so far, in all levels.
type Tally struct {
	Transitions int64
	Reached     uint64
	States      int // that are here, in so many bytes
	Bytes       int64
}

// Tally is what this share has counted.
func (h *Share) Tally() Tally {
	states, bytes := h.form.Size()
	return Tally{h.transitions.Load(), h.search.reached.Load(), states, bytes}
}

// Expand expands the level, and hands on states of others: with the one that they were reached
// from, and the node that has led there, plus one. That node is zero if nobody needs to know. What
// is handed on may be kept only until the call returns. A reason says why the search ended; then
// nothing was handed on. The violation is nil if none was met.
func (h *Share) Expand(hand Hand) (found *Found, reason string, err error) {
	if found, reason, err = h.ExpandOnly(); err == nil && reason == "" {
		err = h.handOn(hand)
	}
	return found, reason, err
}

// ExpandOnly is Expand, and hands on nothing. If memory has no room, the error is ErrFull, and what
// was reached is of no use.
func (h *Share) ExpandOnly() (found *Found, reason string, err error) {
	if h.isFull(0) {
		return nil, "", ErrFull
	}
	for {
		h.boundary = boundary{h.transitions.Load(), h.expandings.Load(), h.search.reached.Load()}
		err = h.expandAll()
		if !forms.IsNarrow(err) {
			break
		}
		h.beginAgain()
		if err := h.widen(err); err != nil {
			return nil, "", err
		}
	}
	if errors.Is(h.err, ErrFull) {
		return nil, "", h.beginAgain()
	}
	if errors.Is(err, errEnded) && h.err == nil {
		return nil, h.reason, nil
	}
	return h.found, "", cmp.Or(h.err, err)
}

// Hand takes a state that is another one's. Number is that of the state before.
type Hand func(to int, number uint64, before, state *system.State, node uint8) error

// expandAll expands all states of the level.
func (h *Share) expandAll() error {
	last := 0
	for _, m := range h.level {
		var err error
		if m.before == 0 {
			err = h.x.expandRange(forms.Part{From: uint64(m.from), End: uint64(m.from) + m.count})
		} else {
			if m.before != last {
				size, from := binary.Uvarint(h.packed[m.before-1:])
				h.Unpack(&h.before, h.packed[m.before-1+from:][:size])
				last = m.before
			}
			err = h.x.expandShared(m.from, &h.before)
		}
		if err != nil {
			return err
		}
	}
	err := h.x.settle()
	if err == nil {
		h.w.flush()
	}
	return err
}

// handOn looks through all that was reached last: by then each state is there once, whichever steps
// have led to it. What is another one's is handed on. What was reached from the same state lies
// side by side, so that state is looked up once.
func (h *Share) handOn(hand Hand) error {
	last := space.None
	return h.form.EachMoved(0, h.levelEnd[0], h.form.End(0), func(at space.Ref, node uint8) error {
		to, err := h.ownerOf(at, node)
		if err != nil {
			return err
		}
		if to == h.config.Own {
			h.own(at, 0)
			return nil
		}
		if hand == nil {
			return nil
		}
		h.form.Look(at, &h.state)
		parent := h.form.Parent(at)
		if node > 0 && parent != last {
			h.form.Look(parent, &h.before)
			last = parent
		}
		return hand(to, uint64(parent), &h.before, &h.state, node)
	})
}

// ownerOf is whose a state is that was reached from an own one by a step of a node, which is given
// plus one. Zero: the node is not known, and neither is whose the state before was.
func (h *Share) ownerOf(at space.Ref, node uint8) (int, error) {
	nodes := h.config.ByLocals
	switch {
	case nodes == 0:
		h.form.Look(at, &h.state)
	case node > 0 && nodes>>(node-1)&1 == 0:
		// A step of another node does not change whose it is.
		return h.config.Own, nil
	default:
		h.form.LookLocals(at, &h.state)
	}
	return h.config.Owner(&h.state)
}

// isOwn is that of a worker. All parts go level by level, so an own state that is new is expanded
// later than the one that leads to it. Of states of others only their owners know that.
func (h *Share) isOwn(at space.Ref, node uint8) (bool, error) {
	to, err := h.ownerOf(at, node)
	return to == h.config.Own, err
}

// Receive adds an own state that another one has reached from a state by a step of a node, which is
// zero if that is not known. It says whether the state is new. The state before is the same as in
// the last call if isSame.
func (h *Share) Receive(before *system.State, isSame bool, state *system.State, node uint8) (isNew bool,
	err error) {
	if h.Select != nil {
		node = 0 // a selection does not ask which steps commute
	}
	at, isNew, err := h.form.AddFrom(state, space.None, node)
	for forms.IsNarrow(err) {
		if err := h.widen(err); err != nil {
			return false, err
		}
		at, isNew, err = h.form.AddFrom(state, space.None, node)
	}
	if !isSame {
		h.lastPacked = 0
	}
	if err != nil || !isNew {
		return false, err
	}
	if node > 0 && h.lastPacked == 0 {
		h.lastPacked = len(h.nextPacked) + 1
		h.scratch = h.Pack(h.scratch[:0], before)
		h.nextPacked = binary.AppendUvarint(h.nextPacked, uint64(len(h.scratch)))
		h.nextPacked = append(h.nextPacked, h.scratch...)
	}
	place := 0
	if node > 0 {
		place = h.lastPacked
	}
	h.own(at, place)
	return true, nil
}

// widen takes all states to a form that is wide enough. What was packed does not depend on the
// form, and stays. The numbers of states do, and so does what the worker has seen of them.
func (h *Share) widen(reason error) error {
	c, err := convert(h.search, reason)
	if err != nil {
		return err
	}
	if c.places != nil {
		h.level, h.next = moved(c, h.level), moved(c, h.next)
		h.place = h.placeOfState(h.written)
	}
	c.release()
	h.setWorker(h.newWorker(0))
	return nil
}

// moved are the spans of states that are elsewhere now, and not side by side any more.
func moved(c *conversion, list []span) (singles []span) {
	for _, m := range list {
		for i := range m.count {
			singles = append(singles, span{c.now(m.from + space.Ref(i)), 1, m.before})
		}
	}
	return singles
}

// collect keeps the least violation of the level.
func (h *Share) collect(f *finding) error {
	found := &Found{IsLonger: f.isLonger, Property: f.Property, Failure: f.Failure, IsStep: f.step != nil}
	h.form.Look(f.at, &h.state)
	var err error
	if found.Digest, err = h.config.Digest(&h.state); err != nil {
		return err
	}
	if h.found == nil || found.Compare(h.found) < 0 {
		found.Locals = slices.Clone(h.state.Locals)
		h.found = found
	}
	return nil
}

// Before returns the least digest of the states of a level that lead in one step to a state with a
// digest, and their local states; false if there is none. Such a state differs from the other one
// in the local state of one node at most, which mayLead looks at. Only own states are looked at:
// with a selection, another one's may be nearer to the start than where it was met here. Then the
// run would depend on who has met it.
func (h *Share) Before(level int, target uint64, mayLead func([]table.Local) bool) (digest uint64,
	locals []table.Local, ok bool, err error) {
	from, ends := uint64(0), append(slices.Clone(h.search.before), h.levelEnd)
	if level >= len(ends) {
		return 0, nil, false, nil
	}
	if level > 0 {
		from = ends[level-1][0]
	}
	w := h.newWorker(0)
	for at := range h.form.Each(0, from, ends[level][0]) {
		h.form.Look(at, &w.Cur)
		if !mayLead(w.Cur.Locals) {
			continue
		}
		isOwn, err := h.isOwn(at, 0)
		own, fault := h.config.Digest(&w.Cur)
		if err = errors.Join(err, fault); err != nil {
			return 0, nil, false, err
		}
		if !isOwn || ok && own >= digest {
			continue
		}
		leads, err := h.leads(w, target)
		if err != nil {
			return 0, nil, false, err
		}
		if leads {
			digest, ok, locals = own, true, slices.Clone(w.Cur.Locals)
		}
	}
	return digest, locals, ok, nil
}

// leads says whether a step leads from what a worker looks at to a state with a digest.
func (h *Share) leads(w *worker, target uint64) (bool, error) {
	err := w.Expand(func(step system.Step) error {
		if step.Outcome != nil && step.Outcome.Failure != "" {
			return nil
		}
		next, err := h.config.Digest(&w.Next)
		if err == nil && next == target {
			err = errEnded
		}
		return err
	})
	if errors.Is(err, errEnded) {
		return true, nil
	}
	return false, err
}
