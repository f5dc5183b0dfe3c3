package vector

import (
	"math/bits"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Move is a transition of one node, as a change of vectors: add and then or. It is the same for all
// states in which the node has the same local state.
type Move[V space.Vector] struct {
	Add, Or V
	// Full are the highest bits of the counters that are raised. Where one is set, it might
	// overflow.
	Full V
	// Combination is what it adds to the number of the combination of classes.
	Combination uint64
	Step        *system.Step
	Node        uint8
	// Spends is the fault that the move takes from those that are left, plus one; zero if there is
	// no bound.
	Spends uint8
	// Fails says that the handler has failed, Wrong that an assertion of the node does, Judged that
	// a new state has to be looked at.
	Fails, Wrong, Judged bool
}

// Local is what a node may do in a local state.
type Local[V space.Vector] struct {
	Combination uint64 // its part of the number of a combination of classes
	Own         []Move[V]
	Spending    int // so many of Own spend a fault
	// Single are messages whose arrival is one transition, which spends nothing; Idle are those of
	// them that change nothing.
	Single, Idle V
	// HasQuorums: some messages may only be taken together.
	HasQuorums bool
	// arrivals are what a message may do here: arrive, arrive and stay, and be lost. If quorum
	// transitions wait for it, it may only be lost. It is nil of a message that was not looked at.
	// Messages are those to the node, by their places among them.
	arrivals [][]Move[V]
	// known are the messages that were asked about, waits those for which quorum transitions wait,
	// gathers what these do with the messages that are under way.
	least        int // a quorum has so many messages at least
	known, waits V
	gathers      space.Index[V, []Move[V]]
}

// Moves remembers all moves, for one goroutine.
type Moves[V space.Vector] struct {
	// IsWide says that the number of some class does not fit into the number of a combination. Then
	// combinations have no numbers.
	IsWide bool

	layout *Layout[V]
	system *system.System
	reader *table.Reader
	nodes  [][]*Local[V] // by local state
	to     []Receiver    // of messages
	toNode []int32       // how many of them each node receives
	// classBits is how many bits a class has in the number of a combination.
	classBits uint
	isJudged  bool // there are properties
	// expander finds the sets of messages that quorum transitions may take.
	expander system.Expander
}

// Receiver is the node that a message is for, and its place among those for that node.
type Receiver struct{ Node, Place int32 }

// NewMoves knows nothing yet. If states are judged, moves say which of them lead to another class.
func NewMoves[V space.Vector](l *Layout[V], r *table.Reader, isJudged bool) *Moves[V] {
	y := l.system
	return &Moves[V]{layout: l, system: y, reader: r, nodes: make([][]*Local[V], y.Nodes),
		toNode: make([]int32, y.Nodes), classBits: uint(64 / y.Nodes), isJudged: isJudged,
		expander: system.NewExpander(y, r)}
}

// Local returns what a node may do in a local state.
func (t *Moves[V]) Local(node int, number table.Local) (*Local[V], error) {
	// Most local states were met before.
	if list := t.nodes[node]; int(number) < len(list) && list[number] != nil {
		return list[number], nil
	}
	return t.newLocal(node, number)
}

// Known is what Local has returned before.
func (t *Moves[V]) Known(node int, number table.Local) *Local[V] { return t.nodes[node][number] }

// newLocal finds out what a node may do in a local state.
func (t *Moves[V]) newLocal(node int, number table.Local) (*Local[V], error) {
	entries, err := t.reader.Own(node, number)
	if err != nil {
		return nil, err
	}
	here := t.reader.State(node, number)
	l := &Local[V]{HasQuorums: len(here.Quorums) > 0, Combination: t.combination(node, here.Class)}
	if l.HasQuorums {
		l.least = max(1, slices.Min(here.Quorums))
	}
	for i, e := range entries {
		step := system.Step{Kind: here.Own[i].Kind, Node: node, Index: i}
		spends, isAllowed := uint8(0), true
		if step.Kind == table.Crash {
			spends, isAllowed = t.spends(crashes, t.system.Faults.Crashes)
		}
		if !isAllowed {
			continue
		}
		if l.Own, err = t.outcomes(l.Own, e, step, number, nil, spends); err != nil {
			return nil, err
		}
	}
	// What spends a fault is never only counted.
	for i := range l.Own {
		if l.Own[i].Spends != 0 {
			l.Spending++
		}
	}
	for int(number) >= len(t.nodes[node]) {
		t.nodes[node] = append(t.nodes[node], nil)
	}
	t.nodes[node][number] = l
	return l, nil
}

// combination is the part that the class of a node has in the number of a combination.
func (t *Moves[V]) combination(node int, class uint32) uint64 {
	t.IsWide = t.IsWide || uint64(class)>>t.classBits != 0
	return uint64(class) << (uint(t.system.Nodes-1-node) * t.classBits)
}

// spends is what a fault costs, and whether there may be any.
func (t *Moves[V]) spends(fault uint8, bound int) (spends uint8, isAllowed bool) {
	if bound > 0 {
		return fault + 1, true
	}
	return 0, bound == system.Any
}

// Receiver is that of a message.
func (t *Moves[V]) Receiver(m table.Message) Receiver {
	for int(m) >= len(t.to) {
		node := t.reader.Message(table.Message(len(t.to))).To
		t.to = append(t.to, Receiver{int32(node), t.toNode[node]})
		t.toNode[node]++
	}
	return t.to[m]
}

// ArrivalsOf are what a message does, whose place among those to the node is given; nil if that is
// not known.
func (l *Local[V]) ArrivalsOf(place int32) []Move[V] {
	if int(place) < len(l.arrivals) {
		return l.arrivals[place]
	}
	return nil
}

// Arrival finds out what a message does in a local state of its receiver.
func (t *Moves[V]) Arrival(node int, number table.Local, m table.Message) ([]Move[V], error) {
	l, err := t.Local(node, number)
	if err != nil {
		return nil, err
	}
	place := t.Receiver(m).Place
	if list := l.ArrivalsOf(place); list != nil {
		return list, nil
	}
	e, err := t.reader.Deliver(number, m)
	if err != nil {
		return nil, err
	}
	step := system.Step{Kind: table.Deliver, Node: node, Message: m}
	gone := []table.Message{m}
	list, err := t.outcomes([]Move[V]{}, e, step, number, gone, 0)
	if err == nil && !t.system.Duplicating {
		list, err = t.faults(list, e, step, number, gone)
	}
	if err != nil {
		return nil, err
	}
	if n := int(t.toNode[node]) - len(l.arrivals); n > 0 {
		l.arrivals = append(l.arrivals, make([][]Move[V], n)...)
	}
	l.arrivals[place] = list
	f := t.layout.counter(int(m))
	if e.Quorums != 0 {
		l.waits[f.word] |= 1 << f.shift
	}
	if len(list) != 1 || list[0].Spends != 0 {
		return list, nil
	}
	l.Single[f.word] |= 1 << f.shift
	// A message that stays, and whose node stays as it is.
	var none V
	if o := list[0].Step.Outcome; o != nil && list[0].Add == none && len(o.Sent) == 0 && !list[0].Fails {
		l.Idle[f.word] |= 1 << f.shift
	}
	return list, nil
}

// faults appends what the network may do to a message.
func (t *Moves[V]) faults(list []Move[V], e *table.Entry, step system.Step, number table.Local,
	gone []table.Message) ([]Move[V], error) {
	var err error
	if spends, isAllowed := t.spends(duplicates, t.system.Faults.Duplicates); isAllowed {
		step.Fault = system.Duplicate
		if list, err = t.outcomes(list, e, step, number, nil, spends); err != nil {
			return nil, err
		}
	}
	if spends, isAllowed := t.spends(drops, t.system.Faults.Drops); isAllowed {
		step.Fault = system.Drop
		lost, err := t.newMove(step, number, gone, spends)
		if err != nil {
			return nil, err
		}
		list = append(list, lost)
	}
	return list, nil
}

// outcomes appends all ways in which an event may end.
func (t *Moves[V]) outcomes(list []Move[V], e *table.Entry, step system.Step, number table.Local,
	gone []table.Message, spends uint8) ([]Move[V], error) {
	for i := range e.Outcomes {
		o := &e.Outcomes[i]
		if t.system.Within != nil && o.Failure == "" && !t.system.Within(step.Node, o.Next) {
			continue
		}
		step.Choice, step.Outcome = i, o
		m, err := t.newMove(step, number, gone, spends)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// newMove computes what a step changes.
func (t *Moves[V]) newMove(step system.Step, number table.Local, gone []table.Message, spends uint8) (Move[V],
	error) {
	m := Move[V]{Spends: spends, Step: &step, Node: uint8(step.Node)}
	var sent []table.Message
	if o := step.Outcome; o != nil {
		if o.Failure != "" {
			m.Fails = true
			return m, nil
		}
		f := t.layout.Locals[step.Node]
		if uint64(o.Next) > f.most {
			return m, ErrNarrow
		}
		add(f, &m.Add, uint64(o.Next)-uint64(number))
		was, is := t.reader.State(step.Node, number), t.reader.State(step.Node, o.Next)
		m.Wrong = is.Failure != ""
		m.Judged = m.Wrong || t.isJudged && was.Class != is.Class
		m.Combination = t.combination(step.Node, is.Class) - t.combination(step.Node, was.Class)
		sent = o.Sent
	}
	if spends != 0 {
		add(t.layout.Left[spends-1], &m.Add, ^uint64(0))
	}
	return m, t.exchange(&m, gone, sent)
}

// exchange takes messages away, and adds others.
func (t *Moves[V]) exchange(m *Move[V], gone, sent []table.Message) error {
	changes := map[table.Message]int{}
	for _, x := range sent {
		if int(x) >= t.layout.messages {
			return ErrNarrow
		}
		changes[x]++
	}
	// In a duplicating network messages are a set, of which nothing is gone.
	if t.system.Duplicating {
		for x := range changes {
			f := t.layout.counter(int(x))
			m.Or[f.word] |= 1 << f.shift
		}
		return nil
	}
	for _, x := range gone {
		changes[x]--
	}
	for x, n := range changes {
		f := t.layout.counter(int(x))
		add(f, &m.Add, uint64(n))
		if n <= 0 {
			continue
		}
		// A counter whose highest bit is not set can be raised by half of what it holds.
		half := f.most/2 + 1
		if uint64(n) > half {
			return ErrCounter
		}
		m.Full[f.word] |= half << f.shift
	}
	return nil
}

// Waiting are the messages under way for which quorum transitions wait.
func (t *Moves[V]) Waiting(node int, number table.Local, l *Local[V], v *V) (waiting V, err error) {
	for word := range len(waiting) {
		present := t.layout.Present(v, word)
		if rest := present &^ l.known[word]; rest != 0 {
			if err := t.learn(node, number, word, rest); err != nil {
				return waiting, err
			}
			l.known[word] |= present
		}
		waiting[word] = present & l.waits[word]
	}
	return waiting, nil
}

// MayGather says whether there may be enough different messages for a quorum.
func (l *Local[V]) MayGather(layout *Layout[V], v *V) bool {
	unknown, count := uint64(0), 0
	for word := range len(*v) {
		present := layout.Present(v, word)
		unknown |= present &^ l.known[word]
		count += bits.OnesCount64(present & l.waits[word])
	}
	return unknown != 0 || count >= l.least
}

// Gathered returns the quorum transitions of a local state with messages that wait.
func (t *Moves[V]) Gathered(node int, number table.Local, l *Local[V], waiting *V) ([]Move[V], error) {
	var none V
	if *waiting == none {
		return nil, nil
	}
	if list := l.gathers.Find(waiting); list != nil {
		return *list, nil
	}
	// The same set of messages comes up in many states.
	list, err := t.newGathers(node, number, waiting)
	if err == nil {
		l.gathers.Put(waiting, list)
	}
	return list, err
}

// learn finds out for which messages of a word the quorum transitions of a local state wait.
func (t *Moves[V]) learn(node int, number table.Local, word int, rest uint64) error {
	for ; rest != 0; rest &= rest - 1 {
		if m := t.layout.Message(word, rest); int(t.Receiver(m).Node) == node {
			if _, err := t.Arrival(node, number, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// newGathers has the sets of messages found that quorum transitions may take.
func (t *Moves[V]) newGathers(node int, number table.Local, waiting *V) ([]Move[V], error) {
	x := &t.expander
	x.Cur = system.State{Locals: make([]table.Local, t.system.Nodes), Left: t.system.Faults}
	x.Cur.Locals[node] = number
	for word := range len(*waiting) {
		for rest := (*waiting)[word]; rest != 0; rest &= rest - 1 {
			x.Cur.Messages = append(x.Cur.Messages, t.layout.Message(word, rest))
		}
	}
	var list []Move[V]
	for quorum, size := range t.reader.State(node, number).Quorums {
		err := x.Gather(node, number, quorum, size, func(step system.Step) error {
			m, err := t.newMove(step, number, step.Set, 0)
			list = append(list, m)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}
