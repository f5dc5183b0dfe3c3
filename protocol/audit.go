package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"

	"github.com/tandem-mc/tandem/protocol/internal/image"
	"github.com/tandem-mc/tandem/protocol/internal/orphan"
	"github.com/tandem-mc/tandem/protocol/internal/show"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// A sample of handlers runs once more, to catch those that depend on something else than their
// arguments: the order of a map, the time, random numbers, variables of packages.
const (
	firstSamples = 512 // so many run twice in any case
	sampleEvery  = 16
	// sampleTimes is how often a handler of the sample runs again. Small maps often have the same
	// order several times.
	sampleTimes = 3
)

// isSample says whether what has just run belongs to the sample.
func (m *machine) isSample() bool {
	n := m.runs.Load()
	return n <= firstSamples || n%sampleEvery == 0
}

// audit runs a handler again, and compares.
func (m *machine) audit(call table.Call, plan []int, first table.Effect) error {
	what := ""
	err := orphan.Watch(strconv.FormatInt(m.runs.Load(), 10), func() error {
		for i := 0; i < sampleTimes && what == ""; i++ {
			again, _, err := m.run(call, plan)
			if err != nil {
				return err
			}
			what = m.difference(call.Node, first, again)
		}
		return nil
	})
	if err != nil {
		return err
	}
	// A goroutine that is left explains a difference, so that is said first.
	if what != "" {
		return fmt.Errorf("a second run from the same state does something else: %s%s; look for the "+
			"order of a map, time, random numbers, or variables outside of the node",
			what, m.handlerLine(call))
	}
	// A function in the node may hold the node of the model.
	state, err := m.imageOf(m.model.Nodes[call.Node])
	if err == nil && !bytes.Equal(state, m.initial[call.Node]) {
		before, err := m.decodeNode(call.Node, m.initial[call.Node])
		if err != nil {
			return err
		}
		return fmt.Errorf("it has changed the node in the model, and not its copy: %s%s; a function in "+
			"the node holds the node, so take the node as an argument", show.First(show.Changes(before,
			m.model.Nodes[call.Node])),
			m.handlerLine(call))
	}
	return err
}

// difference says in what two effects differ; empty if in nothing. Texts of panics may have
// addresses.
func (m *machine) difference(node int, a, b table.Effect) string {
	switch {
	case (a.Failure == "") != (b.Failure == ""):
		return "it panics only once: " + a.Failure + b.Failure
	case !slices.Equal(a.Options, b.Options):
		return fmt.Sprintf("it chooses from %v values, and then from %v", a.Options, b.Options)
	case !bytes.Equal(a.State, b.State):
		return m.stateDifference(node, a.State, b.State)
	}
	// The order in which messages are sent counts in an ordered network only.
	x, y := slices.Clone(a.Sent), slices.Clone(b.Sent)
	if m.model.Network != Ordered {
		slices.SortFunc(x, table.CompareSent)
		slices.SortFunc(y, table.CompareSent)
	}
	if slices.EqualFunc(x, y, func(a, b table.Sent) bool { return table.CompareSent(a, b) == 0 }) {
		return ""
	}
	for i := range max(len(x), len(y)) {
		if i >= len(x) || i >= len(y) || table.CompareSent(x[i], y[i]) != 0 {
			return fmt.Sprintf("it sends %s, and then %s", m.describeSent(x, i), m.describeSent(y, i))
		}
	}
	return ""
}

// describeSent writes a message of a list, or that there is none.
func (m *machine) describeSent(list []table.Sent, i int) string {
	if i >= len(list) {
		return "nothing more"
	}
	return fmt.Sprintf("%s to %s", m.show(list[i].Image), m.model.name(list[i].To))
}

// stateDifference is the first field in which two states of a node differ.
func (m *machine) stateDifference(node int, a, b []byte) string {
	x, errX := m.decode(node, a)
	y, errY := m.decode(node, b)
	if err := errors.Join(errX, errY); err != nil {
		return err.Error()
	}
	if changes := show.Changes(x.node, y.node); len(changes) > 0 {
		return changes[0]
	}
	return "its timers, or how its memory is shared"
}

// auditViews wants a node to be as it was after its questions: actions, quorums and views change
// nothing. Where the bytes of a node differ after it was only asked, something has written to it.
// If that were let pass, what a property looks at would depend on the order of the questions.
func (m *machine) auditViews(node int, state []byte, l localState) error {
	after, err := m.encode(l)
	if err != nil || bytes.Equal(after, state) {
		return err
	}
	return fmt.Errorf("%s: Actions, Quorums or a view of a property changes the node: %s; have it "+
		"change a copy", m.model.name(node), m.stateDifference(node, state, after))
}

// handlerLine is where the handler of a call is declared, as a clause.
func (m *machine) handlerLine(call table.Call) string {
	names := map[table.Kind]string{table.Timeout: "Timeout", table.Act: "Act", table.Crash: "Crash",
		table.Restart: "Start", table.Start: "Start", table.Deliver: "Receive", table.Gather: "Quorums"}
	method, ok := reflect.TypeOf(m.model.Nodes[call.Node]).MethodByName(names[call.Kind])
	if !ok {
		return ""
	}
	pc := method.Func.Pointer()
	// The method of the type, and not of a value: that one would be a wrapper.
	file, line := runtime.FuncForPC(pc).FileLine(pc)
	return fmt.Sprintf(", in %s (%s:%d)", method.Name, show.ShortPath(file), line)
}

// show writes the value of an image.
func (m *machine) show(image []byte) string {
	value, err := m.images.Decode(image)
	if err != nil {
		return err.Error()
	}
	return show.Value(value)
}

// TypedText tells values apart, and is the same in all processes. It leaves out nothing, unlike
// what people are shown.
func (m *machine) TypedText(data []byte) string {
	value, _ := m.images.Decode(data)
	text, _ := image.AppendNamed(m.images, nil, value) // it has an image
	return string(text)
}

// describeCall says which event a handler runs for.
func (m *machine) describeCall(call table.Call) string {
	switch call.Kind {
	case table.Deliver:
		return "on " + m.show(call.Messages[0].Image)
	case table.Start:
		return "at the start"
	}
	return "on " + m.describeOwn(call.Node, call.State, call.Kind, call.Index)
}

// describeOwn says what an event is that needs no message.
func (m *machine) describeOwn(node int, state []byte, kind table.Kind, index int) string {
	switch kind {
	case table.Crash:
		return "crash"
	case table.Restart:
		return "start"
	}
	l, err := m.decode(node, state)
	switch {
	case err != nil:
		return err.Error()
	case kind == table.Timeout:
		return "timer " + m.show([]byte(l.timers[index]))
	case kind == table.Act:
		return "call " + show.Value(l.node.(Actor).Actions()[index])
	}
	return "quorum " + l.node.(Quorate).Quorums()[index].Name
}
