package protocol

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/alike"
	"github.com/tandem-mc/tandem/protocol/internal/image"
	"github.com/tandem-mc/tandem/protocol/internal/table"
	"github.com/tandem-mc/tandem/protocol/internal/timers"
)

// Alike nodes can be exchanged. A permutation of their IDs makes a state of a state, and a run of a
// run, if the nodes are alike indeed. So it is enough to visit one state of each orbit. This file
// renames states, events and effects. It tries whether handlers and properties are the same under
// other names. Which state of an orbit is visited is a matter of package alike.

// maxOrders is how many permutations of alike nodes there may be: those of eight.
const maxOrders = 40320

// checkAlike says what is wrong with the sets of alike nodes.
func (m *Model) checkAlike() error {
	// The product of the factorials is how many permutations there are.
	used, orders := map[ID]bool{}, 1
	for _, set := range m.Alike {
		for i, id := range set {
			switch {
			case id < 0 || int(id) >= len(m.Nodes):
				return fmt.Errorf("node %d of Alike does not exist: there are %d nodes, from 0", int(id),
					len(m.Nodes))
			case used[id]:
				return fmt.Errorf("%s is twice in Alike: name it once", m.name(int(id)))
			case reflect.TypeOf(m.Nodes[id]) != reflect.TypeOf(m.Nodes[set[0]]):
				return fmt.Errorf("%s and %s are of different types: put them into different sets of Alike",
					m.name(int(set[0])), m.name(int(id)))
			}
			used[id] = true
			// A set of n nodes multiplies it by 1, 2, ... n.
			if orders *= i + 1; orders > maxOrders {
				return fmt.Errorf("the nodes of Alike have more than %d orders: leave some out, one set of "+
					"8 is the most", maxOrders)
			}
		}
	}
	// What a node writes of itself is bytes, in which no ID can be told from another number.
	for i, n := range m.Nodes {
		if _, ok := n.(Stater); ok && len(m.Alike) > 0 {
			return fmt.Errorf("IDs cannot be found in what %s images by itself: leave out AppendState, or "+
				"Alike", m.name(i))
		}
	}
	return nil
}

// likeness renames the nodes of a machine, and tries whether they are alike.
type likeness struct{ *machine }

// alikeConfig is what a search has to know of alike nodes; nil if there are none.
func (m likeness) alikeConfig(t *table.Table) *alike.Config {
	c := &alike.Config{Table: t, Renamer: m, Ordered: m.model.Network == Ordered}
	for _, set := range m.model.Alike {
		var nodes []int
		for _, id := range set {
			nodes = append(nodes, int(id))
		}
		// A node alone has nothing to be exchanged with.
		slices.Sort(nodes)
		if len(nodes) > 1 {
			c.Sets = append(c.Sets, nodes)
		}
	}
	if len(c.Sets) == 0 {
		return nil
	}
	if t != nil {
		t.SetRenamer(m)
	}
	return c
}

// RenameState is that of alike.Renamer.
func (m likeness) RenameState(node int, state []byte, to []int, isMask bool) ([]byte, error) {
	l, err := m.decode(node, state)
	if err != nil {
		return nil, err
	}
	renaming := &image.Renaming{To: to, IsMask: isMask}
	// The order of the timers is another one now.
	for i, t := range l.timers {
		renamed, err := m.renameImage([]byte(t), renaming)
		if err != nil {
			return nil, err
		}
		l.timers[i] = string(renamed)
	}
	l.timers = timers.Sort(l.timers, m)
	return m.images.AppendRenamed(encodeHead(l), l.node, renaming)
}

// RenameMessage is that of alike.Renamer.
func (m likeness) RenameMessage(body []byte, to []int, isMask bool) ([]byte, error) {
	return m.renameImage(body, &image.Renaming{To: to, IsMask: isMask})
}

// renameImage replaces IDs in the image of a value.
func (m likeness) renameImage(data []byte, renaming *image.Renaming) ([]byte, error) {
	// The value has no IDs in its image that could be found without its type, so it is made anew.
	value, err := m.images.Decode(data)
	if err != nil {
		return nil, err
	}
	return m.images.AppendRenamed(nil, value, renaming)
}

// swaps are the exchanges of neighbours in each set.
func (m likeness) swaps() []alike.Exchange {
	c := m.alikeConfig(nil)
	if c == nil {
		return nil
	}
	return alike.Exchanges(c.Sets, len(m.model.Nodes))
}

// exchanged is the beginning of errors about two nodes that are not alike.
func (m likeness) exchanged(s alike.Exchange) string {
	return fmt.Sprintf("when %s and %s are exchanged", m.model.name(s.A), m.model.name(s.B))
}

// adviceAlike is what to do about them.
const adviceAlike = "keep IDs in values of type protocol.ID, with -1 for nobody, do not tell alike nodes " +
	"apart, or take them out of Alike"

// auditStart wants the nodes to be alike at the start.
func (m likeness) auditStart() error {
	// A node that is not in the set may refer to those that are, as a list of members does. It has
	// to become itself.
	for _, s := range m.exchanges {
		for node, state := range m.initial {
			renamed, err := m.renameImage(state, &image.Renaming{To: s.To})
			if err != nil {
				return err
			}
			if other := s.To[node]; !bytes.Equal(renamed, m.initial[other]) {
				head := []byte{0, 0}
				return fmt.Errorf("%s is something else at the start %s: %s; %s", m.model.name(other),
					m.exchanged(s), m.stateDifference(other, append(head, m.initial[other]...),
						append(head, renamed...)), adviceAlike)
			}
		}
	}
	return nil
}

// So many events are tried with all exchanges, and those that follow with one each. In the end
// they are a sample.
const (
	firstSwapped  = 64
	secondSwapped = 4096
)

// sampleSwaps are the exchanges to try with an event, a local state or a message that waits.
func (m likeness) sampleSwaps() []alike.Exchange {
	if len(m.exchanges) == 0 {
		return nil
	}
	n := m.renamed.Add(1)
	switch {
	case n <= firstSwapped:
		return m.exchanges
	case n > secondSwapped && n%sampleEvery != 0:
		return nil
	}
	// The numbers of a sample have a common factor, which the exchanges may have as well.
	i := int(n+n/sampleEvery) % len(m.exchanges)
	return m.exchanges[i : i+1]
}

// auditAlike wants a handler to do the same for other names of alike nodes. A node that keeps an ID
// in a number is found here: the number stays as it was.
func (m likeness) auditAlike(call table.Call, effects []table.Effect) error {
	for _, s := range m.sampleSwaps() {
		// One side: the event is renamed, and its handler runs.
		other, err := m.renameCall(call, s)
		if err != nil {
			return err
		}
		found, err := m.runAll(other, false)
		if err != nil {
			return err
		}
		// The other side: the handler has run, and its effects are renamed.
		var wanted []table.Effect
		for _, e := range effects {
			if e, err = m.renameEffect(call.Node, e, s); err != nil {
				return err
			}
			wanted = append(wanted, e)
		}
		if what := m.effectDifference(other.Node, wanted, found); what != "" {
			return fmt.Errorf("%s, %s: it does something else %s: %s%s; %s", m.model.name(call.Node),
				m.describeCall(call), m.exchanged(s), what, m.handlerLine(call), adviceAlike)
		}
	}
	return nil
}

// renameCall is the same event for other names: that of the renamed node in its renamed state, with
// renamed messages. A quorum transition keeps its number, so it has to be listed at the same place.
func (m likeness) renameCall(call table.Call, s alike.Exchange) (table.Call, error) {
	other, err := call, error(nil)
	other.Node = s.To[call.Node]
	if call.Kind != table.Start {
		if other.State, err = m.RenameState(call.Node, call.State, s.To, false); err != nil {
			return other, err
		}
	}
	// Messages keep their order, which is that of numbers, and means nothing.
	other.Messages = slices.Clone(call.Messages)
	for i := range other.Messages {
		if other.Messages[i], err = m.renameSent(call.Messages[i], s); err != nil {
			return other, err
		}
	}
	// Timers and actions are numbered in an order that names may change.
	if call.Kind == table.Timeout || call.Kind == table.Act {
		other.Index, err = m.renameIndex(call, other, s)
	}
	return other, err
}

// renameSent is a message with other names.
func (m likeness) renameSent(sent table.Sent, s alike.Exchange) (table.Sent, error) {
	body, err := m.RenameMessage(sent.Image, s.To, false)
	return table.Sent{From: s.To[sent.From], To: s.To[sent.To], Image: body}, err
}

// renameIndex finds the timer or action of a call among those for other names.
func (m likeness) renameIndex(call, other table.Call, s alike.Exchange) (int, error) {
	before, err := m.ownImages(call, nil)
	if err != nil {
		return 0, err
	}
	renamed, err := m.ownImages(call, &image.Renaming{To: s.To})
	if err != nil {
		return 0, err
	}
	list, err := m.ownImages(other, nil)
	if err != nil {
		return 0, err
	}
	// The same timers and actions are there, if the nodes are alike; maybe in another order.
	i := slices.Index(list, renamed[call.Index])
	if i < 0 || len(list) != len(before) {
		return 0, fmt.Errorf("%s, %s: it can do something else %s: there is no such timer or action; %s",
			m.model.name(call.Node), m.describeCall(call), m.exchanged(s), adviceAlike)
	}
	return i, nil
}

// ownImages are the images of the timers or actions of a call's node.
func (m likeness) ownImages(call table.Call, renaming *image.Renaming) (list []string, err error) {
	l, err := m.decode(call.Node, call.State)
	if err != nil {
		return nil, err
	}
	// Timers are kept as images, actions are asked for.
	if call.Kind == table.Timeout {
		for _, t := range l.timers {
			renamed, err := m.renameImage([]byte(t), renaming)
			if err != nil {
				return nil, err
			}
			list = append(list, string(renamed))
		}
		return list, nil
	}
	for _, action := range l.node.(Actor).Actions() {
		renamed, err := m.images.AppendRenamed(nil, action, renaming)
		if err != nil {
			return nil, err
		}
		list = append(list, string(renamed))
	}
	return list, nil
}

// renameEffect is what a handler of a node should do for other names.
func (m likeness) renameEffect(node int, e table.Effect, s alike.Exchange) (renamed table.Effect, err error) {
	// What a handler panics with may name a node, so only that it does is compared.
	renamed.Failure = e.Failure
	if renamed.State, err = m.RenameState(node, e.State, s.To, false); err != nil {
		return renamed, err
	}
	for _, sent := range e.Sent {
		if sent, err = m.renameSent(sent, s); err != nil {
			return renamed, err
		}
		renamed.Sent = append(renamed.Sent, sent)
	}
	return renamed, nil
}

// effectDifference says what is in one of two lists of effects only; empty if nothing is. What was
// chosen to get there does not count.
func (m likeness) effectDifference(node int, wanted, found []table.Effect) string {
	for _, list := range [][]table.Effect{wanted, found} {
		for i := range list {
			list[i].Options, list[i].Choices = nil, nil
			// Only messages between the same nodes have an order, and only in an ordered network.
			slices.SortStableFunc(list[i].Sent, func(a, b table.Sent) int { return cmp.Compare(a.To, b.To) })
		}
	}
	missing := func(list, in []table.Effect) *table.Effect {
		for i := range list {
			isSame := func(e table.Effect) bool { return m.difference(node, list[i], e) == "" }
			if !slices.ContainsFunc(in, isSame) {
				return &list[i]
			}
		}
		return nil
	}
	// A pair is wanted that can be compared, so that the error can name a field.
	a, b := missing(wanted, found), missing(found, wanted)
	switch {
	case a == nil && b == nil:
		return ""
	case a == nil:
		a = &wanted[0]
	case b == nil:
		b = &found[0]
	}
	return m.difference(node, *b, *a)
}

// auditWaiting wants the same of what a message waits for.
func (m likeness) auditWaiting(call table.Call, quorums uint64, isDown bool) error {
	for _, s := range m.sampleSwaps() {
		other, err := m.renameCall(call, s)
		if err != nil {
			return err
		}
		waits, down, err := m.waiting(other)
		if err != nil {
			return err
		}
		// Quorum transitions may be listed in an order of IDs, so only their number counts.
		if bits.OnesCount64(waits) != bits.OnesCount64(quorums) || down != isDown {
			return fmt.Errorf("%s, %s: another number of quorum transitions waits for it %s; %s",
				m.model.name(call.Node), m.describeCall(call), m.exchanged(s), adviceAlike)
		}
	}
	return nil
}

// auditDescription wants the same of what a local state says of itself: how much it may do, and
// whether an assertion fails. Classes differ, since they have the views of one node.
func (m likeness) auditDescription(node int, state []byte, d table.Description) error {
	for _, s := range m.sampleSwaps() {
		renamed, err := m.RenameState(node, state, s.To, false)
		if err != nil {
			return err
		}
		other, err := m.describe(s.To[node], renamed)
		if err != nil {
			return err
		}
		// What the events do is compared when they run.
		switch {
		case len(d.Own) != len(other.Own) || len(d.Quorums) != len(other.Quorums):
			return fmt.Errorf("%s: Actions or Quorums lists something else %s; %s", m.model.name(node),
				m.exchanged(s), adviceAlike)
		case (d.Failure == "") != (other.Failure == ""):
			return fmt.Errorf("%s: assertion %q is something else %s; state it without naming one of them",
				m.model.name(node), d.Failure+other.Failure, m.exchanged(s))
		}
	}
	return nil
}

// explainAsymmetry names the property that tells alike nodes apart, and the nodes that show it. The
// search has compared the judgement of a state with that of the state in which they are exchanged.
func (m likeness) explainAsymmetry(err error) error {
	// The search knows numbers only.
	var found *alike.AsymmetryError
	if !errors.As(err, &found) {
		return err
	}
	return fmt.Errorf("property %q is something else %s; state it without naming one of them, or take them "+
		"out of Alike", m.model.Properties[found.Property].name, m.exchanged(m.exchanges[found.Swap]))
}

// encodeHead writes what is kept beside a node.
func encodeHead(l localState) []byte {
	state := []byte{0}
	if l.down {
		state[0] = 1
	}
	return timers.Append(state, l.timers)
}
