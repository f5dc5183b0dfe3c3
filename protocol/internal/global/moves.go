package global

import (
	"math/bits"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// move is a transition of one node, as a change of vectors: add and then or. It is the same for all
// states in which the node has the same local state.
type move[V space.Vector] struct {
	add, or V
	// full are the highest bits of the counters that are raised. Where one is set, it might
	// overflow.
	full V
	// combination is what it adds to the number of the combination of classes.
	combination uint64
	step        *Step
	node        uint8
	// spends is the fault that the move takes from those that are left, plus one; zero if there is
	// no bound.
	spends uint8
	// fails says that the handler has failed, wrong that an assertion of the node does, judged that
	// a new state has to be looked at.
	fails, wrong, judged bool
}

// local is what a node may do in a local state.
type local[V space.Vector] struct {
	combination uint64 // its part of the number of a combination of classes
	own         []move[V]
	spending    int // so many of own spend a fault
	// arrivals are what a message may do here: arrive, arrive and stay, and be lost. If quorum
	// transitions wait for it, it may only be lost. It is nil of a message that was not looked at.
	// Messages are those to the node, by their places among them.
	arrivals [][]move[V]
	// single are messages whose arrival is one transition, which spends nothing; idle are those of
	// them that change nothing.
	single, idle V
	// known are the messages that were asked about, waits those for which quorum transitions wait,
	// gathers what these do with the messages that are under way.
	hasQuorums   bool
	least        int // a quorum has so many messages at least
	known, waits V
	gathers      space.Index[V, []move[V]]
}

// moves remembers all moves, for one goroutine.
type moves[V space.Vector] struct {
	layout *layout[V]
	config *Config
	reader *table.Reader
	nodes  [][]*local[V] // by local state
	to     []receiver    // of messages
	toNode []int32       // how many of them each node receives
	// classBits is how many bits a class has in the number of a combination; isWide says that some
	// class has more.
	classBits uint
	isWide    bool
	// expander finds the sets of messages that quorum transitions may take.
	expander expander
}

// receiver is the node that a message is for, and its place among those for that node.
type receiver struct{ node, place int32 }

// newMoves knows nothing yet.
func newMoves[V space.Vector](l *layout[V], r *table.Reader) *moves[V] {
	return &moves[V]{layout: l, config: l.config, reader: r, nodes: make([][]*local[V], l.config.Nodes),
		toNode: make([]int32, l.config.Nodes), classBits: uint(64 / l.config.Nodes),
		expander: expander{config: l.config, reader: r}}
}

// local returns what a node may do in a local state.
func (t *moves[V]) local(node int, number table.Local) (*local[V], error) {
	// Most local states were met before.
	if list := t.nodes[node]; int(number) < len(list) && list[number] != nil {
		return list[number], nil
	}
	return t.newLocal(node, number)
}

// newLocal finds out what a node may do in a local state.
func (t *moves[V]) newLocal(node int, number table.Local) (*local[V], error) {
	entries, err := t.reader.Own(node, number)
	if err != nil {
		return nil, err
	}
	here := t.reader.State(node, number)
	l := &local[V]{hasQuorums: len(here.Quorums) > 0, combination: t.combination(node, here.Class)}
	if l.hasQuorums {
		l.least = max(1, slices.Min(here.Quorums))
	}
	for i, e := range entries {
		step := Step{Kind: here.Own[i].Kind, Node: node, Index: i}
		spends, isAllowed := uint8(0), true
		if step.Kind == table.Crash {
			spends, isAllowed = t.spends(crashes, t.config.Faults.Crashes)
		}
		if !isAllowed {
			continue
		}
		if l.own, err = t.outcomes(l.own, e, step, number, nil, spends); err != nil {
			return nil, err
		}
	}
	// What spends a fault is never only counted.
	for i := range l.own {
		if l.own[i].spends != 0 {
			l.spending++
		}
	}
	for int(number) >= len(t.nodes[node]) {
		t.nodes[node] = append(t.nodes[node], nil)
	}
	t.nodes[node][number] = l
	return l, nil
}

// combination is the part that the class of a node has in the number of a combination.
func (t *moves[V]) combination(node int, class uint32) uint64 {
	t.isWide = t.isWide || uint64(class)>>t.classBits != 0
	return uint64(class) << (uint(t.config.Nodes-1-node) * t.classBits)
}

// spends is what a fault costs, and whether there may be any.
func (t *moves[V]) spends(fault uint8, bound int) (spends uint8, isAllowed bool) {
	if bound > 0 {
		return fault + 1, true
	}
	return 0, bound == Any
}

// receiver is that of a message.
func (t *moves[V]) receiver(m table.Message) receiver {
	for int(m) >= len(t.to) {
		node := t.reader.Message(table.Message(len(t.to))).To
		t.to = append(t.to, receiver{int32(node), t.toNode[node]})
		t.toNode[node]++
	}
	return t.to[m]
}

// arrivalsOf are what a message does, whose place among those to the node is given; nil if that is
// not known.
func (l *local[V]) arrivalsOf(place int32) []move[V] {
	if int(place) < len(l.arrivals) {
		return l.arrivals[place]
	}
	return nil
}

// arrival finds out what a message does in a local state of its receiver.
func (t *moves[V]) arrival(node int, number table.Local, m table.Message) ([]move[V], error) {
	l, err := t.local(node, number)
	if err != nil {
		return nil, err
	}
	place := t.receiver(m).place
	if list := l.arrivalsOf(place); list != nil {
		return list, nil
	}
	e, err := t.reader.Deliver(number, m)
	if err != nil {
		return nil, err
	}
	step := Step{Kind: table.Deliver, Node: node, Message: m}
	gone := []table.Message{m}
	list, err := t.outcomes([]move[V]{}, e, step, number, gone, 0)
	if err == nil && !t.config.Duplicating {
		list, err = t.faults(list, e, step, number, gone)
	}
	if err != nil {
		return nil, err
	}
	if n := int(t.toNode[node]) - len(l.arrivals); n > 0 {
		l.arrivals = append(l.arrivals, make([][]move[V], n)...)
	}
	l.arrivals[place] = list
	f := t.layout.counter(int(m))
	if e.Quorums != 0 {
		l.waits[f.word] |= 1 << f.shift
	}
	if len(list) != 1 || list[0].spends != 0 {
		return list, nil
	}
	l.single[f.word] |= 1 << f.shift
	// A message that stays, and whose node stays as it is.
	var none V
	if o := list[0].step.Outcome; o != nil && list[0].add == none && len(o.Sent) == 0 && !list[0].fails {
		l.idle[f.word] |= 1 << f.shift
	}
	return list, nil
}

// faults appends what the network may do to a message.
func (t *moves[V]) faults(list []move[V], e *table.Entry, step Step, number table.Local,
	gone []table.Message) ([]move[V], error) {
	var err error
	if spends, isAllowed := t.spends(duplicates, t.config.Faults.Duplicates); isAllowed {
		step.Fault = Duplicate
		if list, err = t.outcomes(list, e, step, number, nil, spends); err != nil {
			return nil, err
		}
	}
	if spends, isAllowed := t.spends(drops, t.config.Faults.Drops); isAllowed {
		step.Fault = Drop
		lost, err := t.newMove(step, number, gone, spends)
		if err != nil {
			return nil, err
		}
		list = append(list, lost)
	}
	return list, nil
}

// outcomes appends all ways in which an event may end.
func (t *moves[V]) outcomes(list []move[V], e *table.Entry, step Step, number table.Local,
	gone []table.Message, spends uint8) ([]move[V], error) {
	for i := range e.Outcomes {
		o := &e.Outcomes[i]
		if t.config.Within != nil && o.Failure == "" && !t.config.Within(step.Node, o.Next) {
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
func (t *moves[V]) newMove(step Step, number table.Local, gone []table.Message, spends uint8) (move[V],
	error) {
	m := move[V]{spends: spends, step: &step, node: uint8(step.Node)}
	var sent []table.Message
	if o := step.Outcome; o != nil {
		if o.Failure != "" {
			m.fails = true
			return m, nil
		}
		f := t.layout.locals[step.Node]
		if uint64(o.Next) > f.most {
			return m, errNarrow
		}
		add(f, &m.add, uint64(o.Next)-uint64(number))
		was, is := t.reader.State(step.Node, number), t.reader.State(step.Node, o.Next)
		m.wrong = is.Failure != ""
		m.judged = m.wrong || t.config.Judge != nil && was.Class != is.Class
		m.combination = t.combination(step.Node, is.Class) - t.combination(step.Node, was.Class)
		sent = o.Sent
	}
	if spends != 0 {
		add(t.layout.left[spends-1], &m.add, ^uint64(0))
	}
	return m, t.exchange(&m, gone, sent)
}

// exchange takes messages away, and adds others.
func (t *moves[V]) exchange(m *move[V], gone, sent []table.Message) error {
	changes := map[table.Message]int{}
	for _, x := range sent {
		if int(x) >= t.layout.messages {
			return errNarrow
		}
		changes[x]++
	}
	// In a duplicating network messages are a set, of which nothing is gone.
	if t.config.Duplicating {
		for x := range changes {
			f := t.layout.counter(int(x))
			m.or[f.word] |= 1 << f.shift
		}
		return nil
	}
	for _, x := range gone {
		changes[x]--
	}
	for x, n := range changes {
		f := t.layout.counter(int(x))
		add(f, &m.add, uint64(n))
		if n <= 0 {
			continue
		}
		// A counter whose highest bit is not set can be raised by half of what it holds.
		half := f.most/2 + 1
		if uint64(n) > half {
			return errCounter
		}
		m.full[f.word] |= half << f.shift
	}
	return nil
}

// waiting are the messages under way for which quorum transitions wait.
func (t *moves[V]) waiting(node int, number table.Local, l *local[V], v *V) (waiting V, err error) {
	for word := range len(waiting) {
		present := t.layout.present(v, word)
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

// mayGather says whether there may be enough different messages for a quorum.
func (l *local[V]) mayGather(layout *layout[V], v *V) bool {
	unknown, count := uint64(0), 0
	for word := range len(*v) {
		present := layout.present(v, word)
		unknown |= present &^ l.known[word]
		count += bits.OnesCount64(present & l.waits[word])
	}
	return unknown != 0 || count >= l.least
}

// gathered returns the quorum transitions of a local state with messages that wait.
func (t *moves[V]) gathered(node int, number table.Local, l *local[V], waiting *V) ([]move[V], error) {
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
func (t *moves[V]) learn(node int, number table.Local, word int, rest uint64) error {
	for ; rest != 0; rest &= rest - 1 {
		if m := t.layout.message(word, rest); int(t.receiver(m).node) == node {
			if _, err := t.arrival(node, number, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// newGathers has the sets of messages found that quorum transitions may take.
func (t *moves[V]) newGathers(node int, number table.Local, waiting *V) ([]move[V], error) {
	x := &t.expander
	x.cur = state{locals: make([]table.Local, t.config.Nodes), left: t.config.Faults}
	x.cur.locals[node] = number
	for word := range len(*waiting) {
		for rest := (*waiting)[word]; rest != 0; rest &= rest - 1 {
			x.cur.messages = append(x.cur.messages, t.layout.message(word, rest))
		}
	}
	var list []move[V]
	for quorum, size := range t.reader.State(node, number).Quorums {
		err := x.gather(node, number, quorum, size, func(step Step) error {
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
