package system

import "github.com/tandem-mc/tandem/protocol/internal/table"

// Expander finds the transitions from a state, Cur. Next is the state after one of them. Both are
// reused, so a transition costs no memory. It is for one goroutine.
type Expander struct {
	Reader    *table.Reader
	Cur, Next State
	system    *System
	gone      []int // the index of a message that is delivered
}

// NewExpander has no state yet.
func NewExpander(y *System, r *table.Reader) Expander { return Expander{Reader: r, system: y} }

// Expand calls visit for each transition from Cur. Next is then the state that it leads to. The
// order is always the same for the same numbers of local states and messages. The transitions are
//
//   - own events of each node: timers, actions, a crash or restart
//   - quorum transitions, with each set of messages that they accept
//   - partitions of the nodes, and their end
//   - the arrival of each message: once, and, as faults, once more, or not at all
func (x *Expander) Expand(visit func(Step) error) error {
	return x.ExpandNodes(^uint64(0), visit)
}

// partition parts the nodes in all ways, or heals the partition.
func (x *Expander) partition(visit func(Step) error) error {
	if x.Cur.Cut != 0 {
		x.move(0, x.Cur.Locals[0], nil, nil)
		x.Next.Cut = 0
		return visit(Step{Fault: Heal})
	}
	if x.Cur.Left.Partitions == 0 {
		return nil
	}
	// Node 0 is always on the same side: the other half would be the same cuts again.
	for cut := uint64(2); cut < 1<<x.system.Nodes; cut += 2 {
		x.move(0, x.Cur.Locals[0], nil, nil)
		x.Next.Cut, x.Next.Left.Partitions = cut, spent(x.Cur.Left.Partitions)
		// What is under way between the sides is lost at once.
		x.Next.Messages = x.uncut(x.Next.Messages[:0], x.Cur.Messages, cut)
		if err := visit(Step{Fault: Part, Cut: cut}); err != nil {
			return err
		}
	}
	return nil
}

// ExpandNodes visits the transitions of some nodes only, which are given as bits. The arrival of a
// message is a transition of its receiver.
func (x *Expander) ExpandNodes(nodes uint64, visit func(Step) error) error {
	// What nodes do by themselves comes first, then messages in the order of the state.
	for node, local := range x.Cur.Locals {
		if nodes>>node&1 == 0 {
			continue
		}
		if err := x.ownEvents(node, local, visit); err != nil {
			return err
		}
	}
	if x.system.Faults.Partitions != 0 {
		if err := x.partition(visit); err != nil {
			return err
		}
	}
	for i, m := range x.Cur.Messages {
		if nodes>>x.Reader.Message(m).To&1 != 0 && x.CanArrive(i) {
			if err := x.arrival(i, m, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// CanArrive says whether a message is a first one of its kind: the head of its channel, or the
// first of several that are equal.
func (x *Expander) CanArrive(i int) bool {
	messages := x.Cur.Messages
	switch {
	case i == 0:
		return true
	case x.system.Ordered:
		return x.channel(messages[i]) != x.channel(messages[i-1])
	}
	return messages[i] != messages[i-1]
}

// ownEvents are those that need no message, and quorum transitions.
func (x *Expander) ownEvents(node int, local table.Local, visit func(Step) error) error {
	entries, err := x.Reader.Own(node, local)
	if err != nil {
		return err
	}
	here := x.Reader.State(node, local)
	for i, e := range entries {
		kind := here.Own[i].Kind
		// The table knows of all crashes; how many there may be is a matter of the run.
		if kind == table.Crash && x.Cur.Left.Crashes == 0 {
			continue
		}
		step := Step{Kind: kind, Node: node, Index: i}
		if err := x.outcomes(e, step, nil, visit); err != nil {
			return err
		}
	}
	for quorum, size := range here.Quorums {
		if err := x.Gather(node, local, quorum, size, visit); err != nil {
			return err
		}
	}
	return nil
}

// arrival delivers a message, once or once more, or loses it.
func (x *Expander) arrival(i int, m table.Message, visit func(Step) error) error {
	node := x.Reader.Message(m).To
	e, err := x.Reader.Deliver(x.Cur.Locals[node], m)
	if err != nil {
		return err
	}
	step := Step{Kind: table.Deliver, Node: node, Message: m}
	gone := append(x.gone[:0], i)
	x.gone = gone
	if err := x.outcomes(e, step, gone, visit); err != nil {
		return err
	}
	// What stays anyway need not be duplicated, and is never lost for good.
	if x.system.Duplicating {
		return nil
	}
	if x.Cur.Left.Duplicates != 0 {
		step.Fault = Duplicate
		if err := x.outcomes(e, step, nil, visit); err != nil {
			return err
		}
	}
	if x.Cur.Left.Drops != 0 {
		x.move(node, x.Cur.Locals[node], gone, nil)
		x.Next.Left.Drops = spent(x.Cur.Left.Drops)
		return visit(Step{Fault: Drop, Kind: table.Deliver, Node: node, Message: m})
	}
	return nil
}

// outcomes visits all ways in which an event may end.
func (x *Expander) outcomes(e *table.Entry, step Step, gone []int, visit func(Step) error) error {
	for i := range e.Outcomes {
		o := &e.Outcomes[i]
		if x.system.Within != nil && o.Failure == "" && !x.system.Within(step.Node, o.Next) {
			continue
		}
		step.Choice, step.Outcome = i, o
		x.move(step.Node, o.Next, gone, o.Sent)
		if step.Fault == Duplicate {
			x.Next.Left.Duplicates = spent(x.Cur.Left.Duplicates)
		}
		if step.Kind == table.Crash {
			x.Next.Left.Crashes = spent(x.Cur.Left.Crashes)
		}
		if err := visit(step); err != nil {
			return err
		}
	}
	return nil
}

// Gather tries all sets of messages of different senders at a quorum transition.
func (x *Expander) Gather(node int, local table.Local, quorum, size int, visit func(Step) error) error {
	// A message is a candidate if the quorum transition waits for it in this local state.
	var candidates []int // indices of messages
	for i, m := range x.Cur.Messages {
		if x.Reader.Message(m).To != node || !x.CanArrive(i) {
			continue
		}
		e, err := x.Reader.Deliver(local, m)
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
			if err := x.gathered(node, local, quorum, chosen, visit); err != nil {
				return err
			}
		}
		if size > 0 && len(chosen) == size {
			return nil
		}
		for i := from; i < len(candidates); i++ {
			if x.isNewSender(chosen, candidates[i]) {
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
func (x *Expander) isNewSender(chosen []int, i int) bool {
	from := x.Reader.Message(x.Cur.Messages[i]).From
	for _, j := range chosen {
		if x.Reader.Message(x.Cur.Messages[j]).From == from {
			return false
		}
	}
	return true
}

// gathered delivers a set of messages. In an ordered network all of them are heads of channels.
func (x *Expander) gathered(node int, local table.Local, quorum int, chosen []int,
	visit func(Step) error) error {
	set := make([]table.Message, len(chosen))
	for i, j := range chosen {
		set[i] = x.Cur.Messages[j]
	}
	e, err := x.Reader.Gather(node, local, quorum, set)
	if err != nil {
		return err
	}
	return x.outcomes(e, Step{Kind: table.Gather, Node: node, Index: quorum, Set: set}, chosen, visit)
}
