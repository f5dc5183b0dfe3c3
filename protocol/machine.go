package protocol

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/tandem-mc/tandem/protocol/internal/alike"
	"github.com/tandem-mc/tandem/protocol/internal/image"
	"github.com/tandem-mc/tandem/protocol/internal/show"
	"github.com/tandem-mc/tandem/protocol/internal/table"
	"github.com/tandem-mc/tandem/protocol/internal/timers"
)

// machine runs the code of a model's nodes on images of them. It may be used by several goroutines
// at a time.
// A handler gets a node that was decoded for it, and messages that were decoded for it. So whatever
// it changes is its own. What it has made of the node is imaged when it returns.
type machine struct {
	model   *Model
	images  *image.Images
	initial [][]byte       // images of the nodes in the model
	begun   []table.Effect // of a system that runs already: what takes the place of the starts
	judge   *judge
	runs    atomic.Int64 // of handlers
	// exchanges are those of alike nodes; renamed is what was tried with them, and might have been.
	exchanges []alike.Exchange
	renamed   atomic.Int64
}

// newMachine checks a model, and images its nodes.
func newMachine(m *Model) (*machine, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	images, err := image.New(m.Constants...)
	if err != nil {
		return nil, err
	}
	images.SetRenamed(reflect.TypeFor[ID]())
	machine := &machine{model: m, images: images, judge: newJudge(m)}
	for i, node := range m.Nodes {
		state, err := machine.imageOf(node)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name(i), err)
		}
		machine.initial = append(machine.initial, state)
	}
	// Functions in messages that are under way are known as well.
	for i := range m.Nodes {
		if m.Running == nil {
			break
		}
		effect, err := begin(machine, i)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name(i), err)
		}
		machine.begun = append(machine.begun, effect)
	}
	// Functions of the nodes are known now. One that comes later may hold state.
	images.Seal()
	machine.exchanges = likeness{machine}.swaps()
	return machine, likeness{machine}.auditStart()
}

// localState is a local state: a node, with what is kept beside it.
type localState struct {
	node   Node
	down   bool
	timers []string // images, in the order of package timers
}

// imageOf is the image of a node alone.
func (m *machine) imageOf(node Node) ([]byte, error) {
	if s, ok := node.(Stater); ok {
		return s.AppendState(nil), nil
	}
	return m.images.Append(nil, node)
}

// encode writes whether the node is down, its timers, and the node.
func (m *machine) encode(l localState) ([]byte, error) {
	// The node comes last, so its image needs no length.
	node, err := m.imageOf(l.node)
	return append(encodeHead(l), node...), err
}

// decode makes a new node.
func (m *machine) decode(id int, state []byte) (l localState, err error) {
	l.down = state[0] == 1
	l.timers, state = timers.Read(state[1:])
	l.node, err = m.decodeNode(id, state)
	return l, err
}

// decodeNode makes a node from its image alone. One that images itself begins as a copy of the one
// in the model, which has what is no part of the state.
func (m *machine) decodeNode(id int, image []byte) (Node, error) {
	original := m.model.Nodes[id]
	if _, ok := original.(Stater); ok {
		// A shallow copy shares what is no part of the state.
		fresh := reflect.New(reflect.TypeOf(original).Elem())
		fresh.Elem().Set(reflect.ValueOf(original).Elem())
		return fresh.Interface().(Node), fresh.Interface().(Stater).SetState(image)
	}
	value, err := m.images.Decode(image)
	if err != nil {
		return nil, err
	}
	return value.(Node), nil
}

// maxOutcomes bounds in how many ways one handler may choose.
const maxOutcomes = 1 << 14

// Run is that of table.Handlers.
func (m *machine) Run(call table.Call) (effects []table.Effect, quorums uint64, err error) {
	// What a quorum transition waits for, or what comes to a node that is down, stays under way.
	if call.Kind == table.Deliver {
		quorums, isDown, err := m.waiting(call)
		if err == nil && (quorums != 0 || isDown) {
			err = likeness{m}.auditWaiting(call, quorums, isDown)
		}
		if err != nil || quorums != 0 || isDown {
			return nil, quorums, err
		}
	}
	if effects, err = m.runAll(call, true); err == nil {
		err = likeness{m}.auditAlike(call, effects)
	}
	return effects, 0, err
}

// runAll runs a handler once for each way to choose. A sample runs again if it is audited.
func (m *machine) runAll(call table.Call, isAudited bool) (effects []table.Effect, err error) {
	for plan := []int(nil); ; {
		effect, env, err := m.run(call, plan)
		// Each way to choose may be a sample.
		if err == nil && isAudited && m.isSample() {
			err = m.audit(call, plan, effect)
		}
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", m.model.name(call.Node), m.describeCall(call), err)
		}
		effects = append(effects, effect)
		if len(effects) > maxOutcomes {
			return nil, fmt.Errorf("%s, %s: more than %d ways to choose: use smaller ranges in Choose",
				m.model.name(call.Node), m.describeCall(call), maxOutcomes)
		}
		if plan = table.NextPlan(env.chosen, env.options); plan == nil {
			return effects, nil
		}
	}
}

// waiting says which quorum transitions wait for a message, and whether the node is down.
func (m *machine) waiting(call table.Call) (quorums uint64, isDown bool, err error) {
	if _, ok := m.model.Nodes[call.Node].(Quorate); !ok {
		return 0, call.State[0] == 1, nil
	}
	l, err := m.decode(call.Node, call.State)
	if err != nil || l.down {
		return 0, l.down, err
	}
	for i, q := range l.node.(Quorate).Quorums() {
		// Waits may keep or change the message, so each gets one of its own.
		body, err := m.images.Decode(call.Messages[0].Image)
		if err != nil {
			return 0, false, err
		}
		if q.Waits(ID(call.Messages[0].From), body) {
			quorums |= 1 << i
		}
	}
	return quorums, false, nil
}

// run runs a handler once.
func (m *machine) run(call table.Call, plan []int) (effect table.Effect, env *Env, err error) {
	return m.runIn(&Env{plan: plan}, call)
}

// runIn runs a handler once. The Env has what it is to choose; the rest is filled in.
func (m *machine) runIn(env *Env, call table.Call) (effect table.Effect, _ *Env, err error) {
	m.runs.Add(1)
	state := call.State
	if call.Kind == table.Start && m.begun != nil {
		return m.begun[call.Node], env, nil
	}
	if call.Kind == table.Start {
		// Up, and without timers.
		state = append([]byte{0, 0}, m.initial[call.Node]...)
	}
	l, err := m.decode(call.Node, state)
	if err != nil {
		return effect, nil, err
	}
	env.id, env.machine, env.timers = ID(call.Node), m, l.timers
	if call.Kind == table.Start && m.model.LateStart {
		l.down = true
	} else {
		effect.Failure = m.guarded(env, func() { err = m.handle(&l, env, call) })
	}
	// An error of the model has unwound the handler like a panic.
	if env.err != nil {
		return effect, env, env.err
	}
	if err != nil {
		return effect, env, err
	}
	l.timers = env.timers
	effect.Choices, effect.Options, effect.Sent = env.chosen, env.options, env.sent
	// After a panic the state is what the handler has left behind. It is shown in the chart.
	effect.State, err = m.encode(l)
	return effect, env, err
}

// guarded calls a handler, and returns what it panics with.
func (m *machine) guarded(env *Env, handler func()) (failure string) {
	defer func() {
		// A nil p is a handler that has returned. Any other ends the handler, and is a violation.
		p := recover()
		if p == nil || env.err != nil {
			return
		}
		text, isAssertion := p.(failedAssertion)
		failure = string(text)
		if !isAssertion {
			failure = fmt.Sprintf("panic: %v", p)
		}
		if line := show.PanicLine(); line != "" {
			failure += " (" + line + ")"
		}
	}()
	handler()
	return ""
}

// errMethod is of an event whose method the node has lost, since its type has changed.
var errMethod = errors.New("the type of the node has changed: keep it, and change what it points to")

// handle calls the method for an event.
func (m *machine) handle(l *localState, env *Env, call table.Call) error {
	switch call.Kind {
	case table.Start, table.Restart:
		l.down = false
		if s, ok := l.node.(Starter); ok {
			s.Start(env)
		}
	case table.Crash:
		// What was set or planned is volatile, even if the node says nothing of it.
		l.node.(Restarter).Crash()
		l.down, env.timers = true, nil
	case table.Timeout:
		value, err := m.images.Decode([]byte(env.timers[call.Index]))
		if err != nil {
			return err
		}
		env.timers = append(env.timers[:call.Index:call.Index], env.timers[call.Index+1:]...)
		l.node.(Timed).Timeout(env, value)
	case table.Act:
		// The list is that of the state, so an index names the same action each time.
		actor := l.node.(Actor)
		actor.Act(env, actor.Actions()[call.Index])
	case table.Deliver:
		body, err := m.images.Decode(call.Messages[0].Image)
		if err != nil {
			return err
		}
		l.node.Receive(env, ID(call.Messages[0].From), body)
	case table.Gather:
		set, err := m.messages(call)
		if err != nil {
			return err
		}
		l.node.(Quorate).Quorums()[call.Index].Handle(env, set)
	default:
		return errMethod
	}
	return nil
}

// messages decodes the messages of a call, in the order of their senders, which all differ.
func (m *machine) messages(call table.Call) (set []Message, err error) {
	for _, sent := range call.Messages {
		body, err := m.images.Decode(sent.Image)
		if err != nil {
			return nil, err
		}
		set = append(set, Message{ID(sent.From), body})
	}
	slices.SortFunc(set, func(a, b Message) int { return int(a.From - b.From) })
	return set, nil
}

// Enough is that of table.Handlers.
func (m *machine) Enough(call table.Call) (bool, error) {
	l, err := m.decode(call.Node, call.State)
	if err != nil {
		return false, err
	}
	q := l.node.(Quorate).Quorums()[call.Index]
	if q.Enough == nil {
		return true, nil
	}
	set, err := m.messages(call)
	return err == nil && q.Enough(set), err
}

// Describe is that of table.Handlers.
func (m *machine) Describe(node int, state []byte) (d table.Description, err error) {
	if d, err = m.describe(node, state); err == nil {
		err = likeness{m}.auditDescription(node, state, d)
	}
	return d, err
}

// describe looks at a local state.
func (m *machine) describe(node int, state []byte) (d table.Description, err error) {
	l, err := m.decode(node, state)
	if err != nil {
		return d, err
	}
	// Each timer that is set may fire.
	for i := range l.timers {
		d.Own = append(d.Own, table.Own{Kind: table.Timeout, Index: i})
	}
	if l.down {
		d.Own = append(d.Own, table.Own{Kind: table.Restart})
	} else if err := m.describeUp(&d, node, l.node); err != nil {
		return d, err
	}
	if d.Class, d.Failure, err = m.judge.classify(m.images, ID(node), l.node); err != nil {
		return d, err
	}
	// Actions, quorums and views have all been asked by now.
	if m.isSample() {
		err = m.auditViews(node, state, l)
	}
	return d, err
}

// describeUp is what a node that is up may do by itself.
func (m *machine) describeUp(d *table.Description, id int, node Node) error {
	if a, ok := node.(Actor); ok {
		for i := range a.Actions() {
			d.Own = append(d.Own, table.Own{Kind: table.Act, Index: i})
		}
	}
	if _, ok := node.(Restarter); ok && m.model.Faults.Crashes != 0 {
		d.Own = append(d.Own, table.Own{Kind: table.Crash})
	}
	q, ok := node.(Quorate)
	if !ok {
		return nil
	}
	// What is wrong with a quorum is said before any message comes to it.
	for _, quorum := range q.Quorums() {
		d.Quorums = append(d.Quorums, quorum.Size)
		if quorum.Size == 0 && quorum.Enough == nil || quorum.Waits == nil || quorum.Handle == nil {
			return fmt.Errorf("%s: quorum transition %q lacks a part: set Waits, Handle, and Size or Enough",
				m.model.name(id), quorum.Name)
		}
	}
	if len(d.Quorums) > maxProperties {
		return fmt.Errorf("%s has %d quorum transitions: join some, %d are the most", m.model.name(id),
			len(d.Quorums), maxProperties)
	}
	return nil
}
