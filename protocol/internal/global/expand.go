package global

import "github.com/tandem-mc/tandem/protocol/internal/table"

// Step is a transition from one global state to the next.
type Step struct {
	Fault   Fault
	Kind    table.Kind
	Node    int
	Message table.Message // of Deliver, and of faults
	// Index is that of an own event of the local state, or of a quorum transition.
	Index int
	Set   []table.Message // of Gather
	// Choice is the number of the outcome.
	Choice int
	// Cut are the nodes, as bits, that a partition parts from node 0.
	Cut uint64
	// Outcome is what the handler did; nil if none ran.
	Outcome *table.Outcome
}

// Fault is what the network does wrong in a step.
type Fault uint8

// The faults. A message that is duplicated is delivered, and stays.
const (
	NoFault Fault = iota
	Drop
	Duplicate
	Part // the nodes are cut into two groups
	Heal
)

// expander finds the transitions from a state, cur. Next is the state after one of them. Both are
// reused, so a transition costs no memory.
type expander struct {
	config    *Config
	reader    *table.Reader
	cur, next state
	gone      []int // the index of a message that is delivered
}

// expand calls visit for each transition from cur. Next is then the state that it leads to. The
// order is always the same for the same numbers of local states and messages. The transitions are
//
//   - own events of each node: timers, actions, a crash or restart
//   - quorum transitions, with each set of messages that they accept
//   - partitions of the nodes, and their end
//   - the arrival of each message: once, and, as faults, once more, or not at all
func (w *expander) expand(visit func(Step) error) error {
	return w.expandNodes(^uint64(0), visit)
}

// partition parts the nodes in all ways, or heals the partition.
func (w *expander) partition(visit func(Step) error) error {
	if w.cur.cut != 0 {
		w.move(0, w.cur.locals[0], nil, nil)
		w.next.cut = 0
		return visit(Step{Fault: Heal})
	}
	if w.cur.left.Partitions == 0 {
		return nil
	}
	// Node 0 is always on the same side: the other half would be the same cuts again.
	for cut := uint64(2); cut < 1<<w.config.Nodes; cut += 2 {
		w.move(0, w.cur.locals[0], nil, nil)
		w.next.cut, w.next.left.Partitions = cut, spent(w.cur.left.Partitions)
		// What is under way between the sides is lost at once.
		w.next.messages = w.uncut(w.next.messages[:0], w.cur.messages, cut)
		if err := visit(Step{Fault: Part, Cut: cut}); err != nil {
			return err
		}
	}
	return nil
}

// expandNodes visits the transitions of some nodes only, which are given as bits. The arrival of a
// message is a transition of its receiver.
func (w *expander) expandNodes(nodes uint64, visit func(Step) error) error {
	// What nodes do by themselves comes first, then messages in the order of the state.
	for node, local := range w.cur.locals {
		if nodes>>node&1 == 0 {
			continue
		}
		if err := w.ownEvents(node, local, visit); err != nil {
			return err
		}
	}
	if w.config.Faults.Partitions != 0 {
		if err := w.partition(visit); err != nil {
			return err
		}
	}
	for i, m := range w.cur.messages {
		if nodes>>w.reader.Message(m).To&1 != 0 && w.canArrive(i) {
			if err := w.arrival(i, m, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// canArrive says whether a message is a first one of its kind: the head of its channel, or the
// first of several that are equal.
func (w *expander) canArrive(i int) bool {
	messages := w.cur.messages
	switch {
	case i == 0:
		return true
	case w.config.Ordered:
		return w.channel(messages[i]) != w.channel(messages[i-1])
	}
	return messages[i] != messages[i-1]
}

// ownEvents are those that need no message, and quorum transitions.
func (w *expander) ownEvents(node int, local table.Local, visit func(Step) error) error {
	entries, err := w.reader.Own(node, local)
	if err != nil {
		return err
	}
	here := w.reader.State(node, local)
	for i, e := range entries {
		kind := here.Own[i].Kind
		// The table knows of all crashes; how many there may be is a matter of the run.
		if kind == table.Crash && w.cur.left.Crashes == 0 {
			continue
		}
		step := Step{Kind: kind, Node: node, Index: i}
		if err := w.outcomes(e, step, nil, visit); err != nil {
			return err
		}
	}
	for quorum, size := range here.Quorums {
		if err := w.gather(node, local, quorum, size, visit); err != nil {
			return err
		}
	}
	return nil
}

// arrival delivers a message, once or once more, or loses it.
func (w *expander) arrival(i int, m table.Message, visit func(Step) error) error {
	node := w.reader.Message(m).To
	e, err := w.reader.Deliver(w.cur.locals[node], m)
	if err != nil {
		return err
	}
	step := Step{Kind: table.Deliver, Node: node, Message: m}
	gone := append(w.gone[:0], i)
	w.gone = gone
	if err := w.outcomes(e, step, gone, visit); err != nil {
		return err
	}
	// What stays anyway need not be duplicated, and is never lost for good.
	if w.config.Duplicating {
		return nil
	}
	if w.cur.left.Duplicates != 0 {
		step.Fault = Duplicate
		if err := w.outcomes(e, step, nil, visit); err != nil {
			return err
		}
	}
	if w.cur.left.Drops != 0 {
		w.move(node, w.cur.locals[node], gone, nil)
		w.next.left.Drops = spent(w.cur.left.Drops)
		return visit(Step{Fault: Drop, Kind: table.Deliver, Node: node, Message: m})
	}
	return nil
}

// outcomes visits all ways in which an event may end.
func (w *expander) outcomes(e *table.Entry, step Step, gone []int, visit func(Step) error) error {
	for i := range e.Outcomes {
		o := &e.Outcomes[i]
		if w.config.Within != nil && o.Failure == "" && !w.config.Within(step.Node, o.Next) {
			continue
		}
		step.Choice, step.Outcome = i, o
		w.move(step.Node, o.Next, gone, o.Sent)
		if step.Fault == Duplicate {
			w.next.left.Duplicates = spent(w.cur.left.Duplicates)
		}
		if step.Kind == table.Crash {
			w.next.left.Crashes = spent(w.cur.left.Crashes)
		}
		if err := visit(step); err != nil {
			return err
		}
	}
	return nil
}

// gather tries all sets of messages of different senders at a quorum transition.
func (w *expander) gather(node int, local table.Local, quorum, size int, visit func(Step) error) error {
	// A message is a candidate if the quorum transition waits for it in this local state.
	var candidates []int // indices of messages
	for i, m := range w.cur.messages {
		if w.reader.Message(m).To != node || !w.canArrive(i) {
			continue
		}
		e, err := w.reader.Deliver(local, m)
		if err != nil {
			return err
		}
		if e.Quorums>>quorum&1 != 0 {
			candidates = append(candidates, i)
		}
	}
	var try func(from int, chosen []int) error
	try = func(from int, chosen []int) error {
		if len(chosen) > 0 && (size == 0 || len(chosen) == size) {
			if err := w.gathered(node, local, quorum, chosen, visit); err != nil {
				return err
			}
		}
		if size > 0 && len(chosen) == size {
			return nil
		}
		for i := from; i < len(candidates); i++ {
			if w.isNewSender(chosen, candidates[i]) {
				// Sets are tried in the order of their messages, so each comes once.
				longer := append(chosen[:len(chosen):len(chosen)], candidates[i])
				if err := try(i+1, longer); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return try(0, nil)
}

// isNewSender says whether none of the chosen messages is of the same sender.
func (w *expander) isNewSender(chosen []int, i int) bool {
	from := w.reader.Message(w.cur.messages[i]).From
	for _, j := range chosen {
		if w.reader.Message(w.cur.messages[j]).From == from {
			return false
		}
	}
	return true
}

// gathered delivers a set of messages. In an ordered network all of them are heads of channels.
func (w *expander) gathered(node int, local table.Local, quorum int, chosen []int,
	visit func(Step) error) error {
	set := make([]table.Message, len(chosen))
	for i, j := range chosen {
		set[i] = w.cur.messages[j]
	}
	e, err := w.reader.Gather(node, local, quorum, set)
	if err != nil {
		return err
	}
	return w.outcomes(e, Step{Kind: table.Gather, Node: node, Index: quorum, Set: set}, chosen, visit)
}
