package global

import (
	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// move is a transition of one node, as a change of vectors: add and then or. It is the same for all
// states in which the node has the same local state.
type move struct {
	add, or space.Vector
	// full are the highest bits of the counters that are raised. Where one is set, it might
	// overflow.
	full space.Vector
	// spends is the fault that the move takes from those that are left, plus one; zero if there is
	// no bound.
	spends uint8
	// fails says that the handler has failed, judged that a new state has to be looked at.
	fails, judged bool
	step          *Step
}

// delivery is what a message may do in a local state: arrive, arrive and stay, and be lost. If
// quorum transitions wait for it, they have a bit each, and it may only be lost.
type delivery struct {
	moves   []move
	quorums uint64
}

// ownMoves are what a local state does by itself.
type ownMoves struct {
	moves   []move
	quorums bool // there are quorum transitions
	// known are the messages that were asked about, waits those for which quorum transitions wait.
	known, waits space.Vector
}

// gatherKey is a local state of a node, and the messages for which its quorum transitions wait.
type gatherKey struct {
	node    int
	local   table.Local
	waiting space.Vector
}

// moves remembers all moves, for one goroutine.
type moves struct {
	layout     *layout
	config     *Config
	reader     *table.Reader
	owns       [][]*ownMoves // by node and local state
	deliveries [][]*delivery // by message and local state of its receiver
	to         []int         // the receivers of messages
	gathers    map[gatherKey][]move
	// expander finds the sets of messages that quorum transitions may take.
	expander expander
}

// init prepares moves that know nothing.
func (t *moves) init() {
	t.owns = make([][]*ownMoves, t.config.Nodes)
	t.deliveries = make([][]*delivery, t.layout.messages)
	t.to = make([]int, t.layout.messages)
	t.gathers = map[gatherKey][]move{}
	t.expander = expander{config: t.config, reader: t.reader}
}

// own returns what a local state does by itself.
func (t *moves) own(node int, local table.Local) (*ownMoves, error) {
	if list := t.owns[node]; int(local) < len(list) && list[local] != nil {
		return list[local], nil
	}
	entries, err := t.reader.Own(node, local)
	if err != nil {
		return nil, err
	}
	here := t.reader.State(node, local)
	own := &ownMoves{quorums: len(here.Quorums) > 0}
	for i, e := range entries {
		step := Step{Kind: here.Own[i].Kind, Node: node, Index: i}
		spends, isAllowed := uint8(0), true
		if step.Kind == table.Crash {
			spends, isAllowed = t.spends(crashes, t.config.Faults.Crashes)
		}
		if !isAllowed {
			continue
		}
		if own.moves, err = t.outcomes(own.moves, e, step, local, nil, spends); err != nil {
			return nil, err
		}
	}
	t.owns[node] = put(t.owns[node], local, own)
	return own, nil
}

// put puts a value into a list that is as long as it has to be.
func put[T any](list []*T, local table.Local, value *T) []*T {
	for int(local) >= len(list) {
		list = append(list, nil)
	}
	list[local] = value
	return list
}

// spends is what a fault costs, and whether there may be any.
func (t *moves) spends(fault uint8, bound int) (spends uint8, isAllowed bool) {
	if bound > 0 {
		return fault + 1, true
	}
	return 0, bound == Any
}

// delivery returns what a message does in the local state of its receiver.
func (t *moves) delivery(m table.Message, locals []table.Local) (*delivery, error) {
	// Most of them are known.
	list := t.deliveries[m]
	if local := int(locals[t.to[m]]); local < len(list) && list[local] != nil {
		return list[local], nil
	}
	node := t.reader.Message(m).To
	return t.newDelivery(node, locals[node], m)
}

// newDelivery looks a delivery up in the table.
func (t *moves) newDelivery(node int, local table.Local, m table.Message) (*delivery, error) {
	if list := t.deliveries[m]; int(local) < len(list) && list[local] != nil {
		return list[local], nil
	}
	e, err := t.reader.Deliver(local, m)
	if err != nil {
		return nil, err
	}
	t.to[m] = node
	d := &delivery{quorums: e.Quorums}
	step := Step{Kind: table.Deliver, Node: node, Message: m}
	gone := []table.Message{m}
	if d.moves, err = t.outcomes(d.moves, e, step, local, gone, 0); err != nil {
		return nil, err
	}
	if !t.config.Duplicating {
		if d.moves, err = t.faults(d.moves, e, step, local, gone); err != nil {
			return nil, err
		}
	}
	t.deliveries[m] = put(t.deliveries[m], local, d)
	return d, nil
}

// faults appends what the network may do to a message.
func (t *moves) faults(list []move, e *table.Entry, step Step, local table.Local,
	gone []table.Message) ([]move, error) {
	var err error
	if spends, isAllowed := t.spends(duplicates, t.config.Faults.Duplicates); isAllowed {
		step.Fault = Duplicate
		if list, err = t.outcomes(list, e, step, local, nil, spends); err != nil {
			return nil, err
		}
	}
	if spends, isAllowed := t.spends(drops, t.config.Faults.Drops); isAllowed {
		step.Fault = Drop
		lost, err := t.newMove(step, local, gone, spends)
		if err != nil {
			return nil, err
		}
		list = append(list, lost)
	}
	return list, nil
}

// outcomes appends all ways in which an event may end.
func (t *moves) outcomes(list []move, e *table.Entry, step Step, local table.Local,
	gone []table.Message, spends uint8) ([]move, error) {
	for i := range e.Outcomes {
		step.Choice, step.Outcome = i, &e.Outcomes[i]
		m, err := t.newMove(step, local, gone, spends)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// newMove computes what a step changes.
func (t *moves) newMove(step Step, local table.Local, gone []table.Message, spends uint8) (move, error) {
	m := move{spends: spends, step: &step}
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
		f.add(&m.add, uint64(o.Next)-uint64(local))
		was, is := t.reader.State(step.Node, local), t.reader.State(step.Node, o.Next)
		m.judged = is.Failure != "" || t.config.Judge != nil && was.Class != is.Class
		sent = o.Sent
	}
	if spends != 0 {
		t.layout.left[spends-1].add(&m.add, ^uint64(0))
	}
	return m, t.exchange(&m, gone, sent)
}

// exchange takes messages away, and adds others.
func (t *moves) exchange(m *move, gone, sent []table.Message) error {
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
		f.add(&m.add, uint64(n))
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

// gathered returns the quorum transitions of a local state with the messages that are under way.
func (t *moves) gathered(node int, local table.Local, own *ownMoves, v *space.Vector) ([]move, error) {
	key := gatherKey{node: node, local: local}
	isAny := uint64(0)
	for word := range t.layout.words {
		present := t.layout.present(v, word)
		if own.known[word]&present != present {
			if err := t.learn(node, local, own, word, present); err != nil {
				return nil, err
			}
		}
		key.waiting[word] = present & own.waits[word]
		isAny |= key.waiting[word]
	}
	if isAny == 0 {
		return nil, nil
	}
	list, ok := t.gathers[key]
	if ok {
		return list, nil
	}
	list, err := t.newGathers(&key)
	if err == nil {
		t.gathers[key] = list
	}
	return list, err
}

// learn finds out for which messages of a word the quorum transitions of a local state wait.
func (t *moves) learn(node int, local table.Local, own *ownMoves, word int, present uint64) error {
	for rest := present &^ own.known[word]; rest != 0; rest &= rest - 1 {
		m := t.layout.message(word, rest)
		if t.reader.Message(m).To == node {
			d, err := t.newDelivery(node, local, m)
			if err != nil {
				return err
			}
			if d.quorums != 0 {
				own.waits[word] |= rest & -rest
			}
		}
		own.known[word] |= rest & -rest
	}
	return nil
}

// newGathers has the sets of messages found that quorum transitions may take.
func (t *moves) newGathers(key *gatherKey) ([]move, error) {
	x := &t.expander
	x.cur = state{locals: make([]table.Local, t.config.Nodes), left: t.config.Faults}
	x.cur.locals[key.node] = key.local
	for word, rest := range key.waiting {
		for ; rest != 0; rest &= rest - 1 {
			x.cur.messages = append(x.cur.messages, t.layout.message(word, rest))
		}
	}
	var list []move
	for quorum, size := range t.reader.State(key.node, key.local).Quorums {
		err := x.gather(key.node, key.local, quorum, size, func(step Step) error {
			m, err := t.newMove(step, key.local, step.Set, 0)
			list = append(list, m)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}
