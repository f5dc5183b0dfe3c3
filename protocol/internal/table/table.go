// Package table remembers what handlers do. A handler runs once for each local state and event; all
// searches walk the table. Local states and messages are numbered as they are met.
//
// That is the idea of LMC, section 4: what a node does depends on its local state and the event
// only, and there are far fewer of these pairs than global states. The table knows images, and no
// Go values; it has handlers run through an interface. It is filled on demand, by all workers.
package table

import (
	"encoding/binary"
	"slices"
	"sync"
)

// Local is the number of a local state among those of its node, Message that of a message.
type (
	Local   uint32
	Message uint32
)

// Kind is what an event is.
type Kind uint8

// The kinds of events. All but the last five are own events of a local state: they need no message.
const (
	Timeout Kind = iota // a timer fires
	Act                 // the application calls
	Crash
	Restart
	Start   // before everything else
	Deliver // of one message
	Gather  // delivery of a set of messages to a quorum transition
	// These are no events: something was renamed.
	RenamedState
	RenamedMessage
	kinds
)

// Call is one event for a handler to run.
type Call struct {
	Node  int
	State []byte // before; nil for Start
	Kind  Kind
	// Index is that of a timer, action or quorum transition in the local state.
	Index int
	// Messages are those delivered.
	Messages []Sent
}

// Sent is a message: from whom, to whom, and its image.
type Sent struct {
	From, To int
	Image    []byte
}

// Effect is one way in which a call may end.
type Effect struct {
	Choices []int // what was chosen on the way
	Options []int // how many values there were each time
	State   []byte
	Sent    []Sent
	// Failure says what went wrong: a panic or a failed assertion; then State is as it was then.
	Failure string
}

// Description is what a local state says of itself.
type Description struct {
	// Own are its events that need no message.
	Own []Own
	// Quorums are how many messages each of its quorum transitions takes; zero is any number.
	Quorums []int
	// Class is the same for local states of a node that no property tells apart.
	Class uint32
	// Failure is a local assertion that fails; empty if none does.
	Failure string
}

// Own is an event that needs no message.
type Own struct {
	Kind  Kind
	Index int
}

// Handlers run the code of the nodes. They are called by several goroutines at a time.
type Handlers interface {
	// Run runs a handler, once for each way in which its choices can be made. Which quorum
	// transitions take the message of a Deliver is told first; where one does, the handler does not
	// run.
	Run(call Call) (effects []Effect, quorums uint64, err error)
	// Describe looks at a local state.
	Describe(node int, state []byte) (Description, error)
	// Enough says whether a quorum transition accepts exactly this set of messages.
	Enough(call Call) (bool, error)
}

// Outcome is an Effect with numbers.
type Outcome struct {
	Choices []int
	Next    Local
	Sent    []Message // sorted; a number may come more than once
	Failure string
}

// Entry is what happens in a local state at an event. It does not change any more.
type Entry struct {
	Outcomes []Outcome
	// Quorums has a bit for each quorum transition that waits for this message. Then there is no
	// outcome.
	Quorums uint64

	sent [][]Message // by outcome, in the order in which they were sent
}

// LocalState is a local state of a node. It does not change any more.
type LocalState struct {
	Node  int
	Image []byte
	Description
}

// Table is shared by all goroutines of a search.
type Table struct {
	handlers Handlers
	ordered  bool // what a handler sends stays in its order
	renamer  Renamer

	mu       sync.Mutex
	locals   [][]*LocalState // by node
	byImage  []map[string]Local
	messages []Sent
	numbers  map[string]Message
	entries  map[key]*Entry
	sets     map[string]*Entry
	records  []record // entries in the order in which they were made
}

// key is a local state of a node with an event.
type key struct {
	node  int
	local Local
	kind  Kind
	event uint32
}

// New returns an empty table for a number of nodes. Ordered says that messages sent by one handler
// are kept in their order.
func New(nodes int, ordered bool, h Handlers) *Table {
	t := &Table{
		handlers: h, ordered: ordered, locals: make([][]*LocalState, nodes),
		byImage: make([]map[string]Local, nodes),
		numbers: map[string]Message{}, entries: map[key]*Entry{}, sets: map[string]*Entry{},
	}
	for i := range t.byImage {
		t.byImage[i] = map[string]Local{}
	}
	return t
}

// Start returns how a node may begin.
func (t *Table) Start(node int) (*Entry, error) {
	return t.entry(key{node: node, kind: Start}, func() (Call, error) {
		return Call{Node: node, Kind: Start},
			nil
	})
}

// Own returns what happens at one of a local state's own events.
func (t *Table) Own(node int, local Local, index int) (*Entry, error) {
	own := t.State(node, local).Own[index]
	return t.entry(key{node, local, own.Kind, uint32(own.Index)}, func() (Call, error) {
		return Call{Node: node, State: t.State(node, local).Image, Kind: own.Kind, Index: own.Index}, nil
	})
}

// Deliver returns what happens when a message arrives.
func (t *Table) Deliver(local Local, m Message) (*Entry, error) {
	sent := t.Message(m)
	return t.entry(key{sent.To, local, Deliver, uint32(m)}, func() (Call, error) {
		return Call{Node: sent.To, State: t.State(sent.To, local).Image, Kind: Deliver,
			Messages: []Sent{sent}}, nil
	})
}

// Gather returns what happens when a set of messages arrives at a quorum transition. There is no
// outcome if the set is not accepted. Messages are in ascending order, or, in a state of an ordered
// network, in that of their channels. The handler gets them by sender. So a set in another order is
// an entry of its own, with equal outcomes.
func (t *Table) Gather(node int, local Local, quorum int, set []Message) (*Entry, error) {
	name := nameOfSet(node, local, quorum, set)
	t.mu.Lock()
	e := t.sets[name]
	t.mu.Unlock()
	if e != nil {
		return e, nil
	}
	call := Call{Node: node, State: t.State(node, local).Image, Kind: Gather, Index: quorum}
	for _, m := range set {
		call.Messages = append(call.Messages, t.Message(m))
	}
	r := &record{entry: &Entry{}}
	// A set that is not accepted is remembered as well.
	enough, err := t.handlers.Enough(call)
	if err == nil && enough {
		r, err = t.run(call)
	}
	if err != nil {
		return nil, err
	}
	r.call, r.set = key{node, local, Gather, uint32(quorum)}, slices.Clone(set)
	t.mu.Lock()
	defer t.mu.Unlock()
	// Both have the same outcomes.
	if earlier := t.sets[name]; earlier != nil {
		return earlier, nil
	}
	t.remember(r)
	return r.entry, nil
}

// nameOfSet is the name of the delivery of a set: its node, state, quorum and messages.
func nameOfSet(node int, local Local, quorum int, set []Message) string {
	name := make([]byte, 0, 16)
	for _, n := range []uint64{uint64(node), uint64(local), uint64(quorum)} {
		name = binary.AppendUvarint(name, n)
	}
	for _, m := range set {
		name = binary.AppendUvarint(name, uint64(m))
	}
	return string(name)
}

// entry looks an event up, or has its handler run. Two goroutines may run it at the same time; the
// first result stays.
func (t *Table) entry(k key, call func() (Call, error)) (*Entry, error) {
	t.mu.Lock()
	e := t.entries[k]
	t.mu.Unlock()
	if e != nil {
		return e, nil
	}
	c, err := call()
	if err != nil {
		return nil, err
	}
	r, err := t.run(c)
	if err != nil {
		return nil, err
	}
	r.call = k
	t.mu.Lock()
	defer t.mu.Unlock()
	// Both have the same outcomes.
	if earlier := t.entries[k]; earlier != nil {
		return earlier, nil
	}
	t.remember(r)
	return r.entry, nil
}

// effectsOf runs a handler. If the order of messages does not count, it may be that of a map, and
// another one in the next run. So they are sorted before they get numbers. Then these mean the same
// to who runs the handler again: another process, or one that reads the table later.
func (t *Table) effectsOf(c Call) (effects []Effect, quorums uint64, err error) {
	effects, quorums, err = t.handlers.Run(c)
	for i := range effects {
		if !t.ordered {
			effects[i].Sent = sorted(t.handlers, effects[i].Sent)
		}
	}
	return effects, quorums, err
}

// run runs a handler, and numbers what comes of it. Equal outcomes are one.
func (t *Table) run(c Call) (*record, error) {
	effects, quorums, err := t.effectsOf(c)
	if err != nil {
		return nil, err
	}
	r := &record{entry: &Entry{Quorums: quorums}}
	for i := range effects {
		next, err := t.Local(c.Node, effects[i].State)
		if err != nil {
			return nil, err
		}
		var sent []Message
		for _, s := range effects[i].Sent {
			sent = append(sent, t.Number(s))
		}
		// Choices that lead to the same are one transition.
		if outcome := t.outcome(&effects[i], next, sent); !r.entry.has(outcome) {
			r.entry.Outcomes = append(r.entry.Outcomes, outcome)
			r.entry.sent = append(r.entry.sent, sent)
		}
	}
	return r, nil
}

// outcome is an effect with its numbers. Messages are in the order in which they were sent.
func (t *Table) outcome(e *Effect, next Local, sent []Message) Outcome {
	if !t.ordered {
		sent = slices.Sorted(slices.Values(sent))
	}
	return Outcome{Choices: e.Choices, Failure: e.Failure, Next: next, Sent: sent}
}

// has says whether an outcome leads to the same as one of the entry.
func (e *Entry) has(outcome Outcome) bool {
	return slices.ContainsFunc(e.Outcomes, func(o Outcome) bool {
		return o.Next == outcome.Next && o.Failure == outcome.Failure && slices.Equal(o.Sent, outcome.Sent)
	})
}

// Local numbers a local state.
func (t *Table) Local(node int, image []byte) (Local, error) {
	t.mu.Lock()
	n, ok := t.byImage[node][string(image)]
	t.mu.Unlock()
	if ok {
		return n, nil
	}
	description, err := t.handlers.Describe(node, image)
	if err != nil {
		return 0, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n, ok = t.byImage[node][string(image)]; ok {
		return n, nil
	}
	n = Local(len(t.locals[node]))
	t.locals[node] = append(t.locals[node], &LocalState{node, image, description})
	t.byImage[node][string(image)] = n
	return n, nil
}

// Number numbers a message.
func (t *Table) Number(sent Sent) Message {
	name := nameOf(sent)
	t.mu.Lock()
	defer t.mu.Unlock()
	n, ok := t.numbers[name]
	if !ok {
		n = Message(len(t.messages))
		t.messages = append(t.messages, sent)
		t.numbers[name] = n
	}
	return n
}

// nameOf is what messages differ in. Equal bodies of different senders are different messages.
func nameOf(sent Sent) string {
	name := binary.AppendUvarint(nil, uint64(sent.From))
	return string(append(binary.AppendUvarint(name, uint64(sent.To)), sent.Image...))
}

// State returns a local state.
func (t *Table) State(node int, local Local) *LocalState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.locals[node][local]
}

// Message returns a message.
func (t *Table) Message(m Message) Sent {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.messages[m]
}

// Senders are the senders of all messages, by number.
func (t *Table) Senders() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	senders := make([]int, len(t.messages))
	for i, m := range t.messages {
		senders[i] = m.From
	}
	return senders
}

// Numbers says how many local states each node has, and how many messages there are.
func (t *Table) Numbers() (locals []int, messages int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, list := range t.locals {
		locals = append(locals, len(list))
	}
	return locals, len(t.messages)
}

// Sizes says how much there is: local states, messages, and events whose handlers have run, without
// the start.
func (t *Table) Sizes() (locals, messages, handlers int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, list := range t.locals {
		locals += len(list)
	}
	for k, e := range t.entries {
		if k.kind != Start && e.Quorums == 0 {
			handlers++
		}
	}
	for _, e := range t.sets {
		if len(e.Outcomes) > 0 {
			handlers++
		}
	}
	return locals, len(t.messages), handlers
}

// SetRenamer is called before anything is renamed.
func (t *Table) SetRenamer(r Renamer) { t.renamer = r }

// RenameState numbers what a local state becomes if nodes have other names.
func (t *Table) RenameState(node int, l Local, to []int) (Local, error) {
	image, err := t.renamer.RenameState(node, t.State(node, l).Image, to, false)
	if err != nil {
		return 0, err
	}
	// Most of what is renamed is known: some run comes to it by itself.
	t.mu.Lock()
	n, isKnown := t.byImage[to[node]][string(image)]
	t.mu.Unlock()
	if isKnown {
		return n, nil
	}
	if n, err = t.Local(to[node], image); err == nil {
		t.renamed(key{node: node, local: l, kind: RenamedState}, to, Outcome{Next: n}, nil)
	}
	return n, err
}

// RenameMessage numbers what a message becomes if nodes have other names.
func (t *Table) RenameMessage(m Message, to []int) (Message, error) {
	sent, err := t.renameSent(t.Message(m), to)
	if err != nil {
		return 0, err
	}
	t.mu.Lock()
	n, isKnown := t.numbers[nameOf(sent)]
	t.mu.Unlock()
	if isKnown {
		return n, nil
	}
	n = t.Number(sent)
	t.renamed(key{kind: RenamedMessage, event: uint32(m)}, to, Outcome{}, []Message{n})
	return n, nil
}

// renameSent is a message with other names.
func (t *Table) renameSent(sent Sent, to []int) (Sent, error) {
	body, err := t.renamer.RenameMessage(sent.Image, to, false)
	return Sent{From: to[sent.From], To: to[sent.To], Image: body}, err
}

// renamed notes what was new. The names stand where other entries have a set of messages.
func (t *Table) renamed(k key, to []int, o Outcome, sent []Message) {
	r := record{call: k, entry: &Entry{Outcomes: []Outcome{o}, sent: [][]Message{sent}}}
	for _, n := range to {
		r.set = append(r.set, Message(n))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records = append(t.records, r)
}
