package skeleton

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strconv"
)

// Name names an event of a system. The events of one stream of a component happen one after the
// other: a direction of a connection, say, or what is accepted at an address. N counts them from 1.
type Name struct {
	Component int
	Stream    string
	N         int
}

func (n Name) compare(m Name) int {
	return cmp.Or(cmp.Compare(n.Component, m.Component), cmp.Compare(n.Stream, m.Stream),
		cmp.Compare(n.N, m.N))
}

// Label says what an event does. Labels are compared with ==, and equal ones have equal keys. They
// mean nothing else to the package.
type Label interface{ Key() string }

// Nobody is where an event goes that nobody receives. Everybody is where one goes that any other
// component may receive, each as often as it likes: a state that all can find out.
const (
	Nobody    = -1
	Everybody = -2
)

// Event is something that a component does and others can notice, or that it takes from others.
type Event struct {
	Name
	// Label is what it does.
	Label Label
	// To is the component that receives it, or Nobody, or Everybody.
	To int
	// From is, of a receive, what it receives. Without N it is an event that sends.
	From Name
	// Got is, of a receive, the label of that. It says all that a component can learn by it. Others
	// have none.
	Got Label
	// Past has the last event before it of each stream of its component, its own stream included,
	// sorted. Before means: in every execution with this partial order.
	Past []Name
	// Tick is, of the k-th advance of the common clock, k; 0: it is none. All components that have
	// not ended by then take part, each with an event that has all it did before in its Past, and
	// is in that of all it does after. These happen at once, when nobody can do anything else.
	Tick int
	// Waited is, of a Tick, what the component waited for in the execution that was run: Waits of
	// Local just before. It makes no difference between events. nil: it is not known.
	Waited Label
}

// receives says whether an event takes something from another component.
func (e *Event) receives() bool { return e.From.N > 0 }

// Local is what one component does in an execution: a local skeleton.
type Local struct {
	Events []Event // sorted by name
	// Ended: it does no more.
	Ended bool
	// Waits is, of a component that has ended, what it waits for; nil: it is gone. One that waits
	// goes on if the clock advances.
	Waits Label
}

// ticks is how often the clock has advanced for the component.
func ticks(events []Event) (n int) {
	for i := range events {
		n = max(n, events[i].Tick)
	}
	return n
}

// Arrival is what is sent to a component. It can be received once the events After of the component
// have happened, since they are before it in every execution.
type Arrival struct {
	Send  Event
	After []Name
	// Knows has those arrivals to Everybody that are before this one, in the order of names.
	Knows []Name
}

// Global is what all components do in an execution: a global skeleton, or a part of one in which
// every event has all that is before it.
type Global []Local

// normal sorts the events. It changes a copy.
func (l Local) normal() Local {
	l.Events = slices.SortedFunc(slices.Values(l.Events),
		func(a, b Event) int { return a.Name.compare(b.Name) })
	return l
}

// normal sorts the events of all components.
func (g Global) normal() Global {
	sorted := make(Global, len(g))
	for c := range g {
		sorted[c] = g[c].normal()
	}
	return sorted
}

// keyOf joins texts so that no two lists give the same.
func keyOf(parts ...string) string {
	n := 0
	for _, part := range parts {
		n += len(part) + 5
	}
	b := make([]byte, 0, n)
	for _, part := range parts {
		b = append(append(strconv.AppendInt(b, int64(len(part)), 10), ':'), part...)
	}
	return string(b)
}

// hashOf is short, and the same for no other key.
func hashOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return string(sum[:])
}

// The keys hold all that makes two events, skeletons or branches different. Those of more than one
// event are hashes: there are many of them, and each would have its events once more.

func keyOfLabel(l Label) string {
	if l == nil {
		return ""
	}
	return l.Key()
}

func (n Name) key() string { return keyOf(strconv.Itoa(n.Component), n.Stream, strconv.Itoa(n.N)) }

func keyOfNames(names []Name) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = n.key()
	}
	return keyOf(parts...)
}

// Equal reports whether two events are the same, with the same before them. What a component has
// waited for is internal to it, so Waited does not count.
func (e *Event) Equal(f *Event) bool {
	return e.Name == f.Name && e.Label == f.Label && e.To == f.To && e.From == f.From && e.Got == f.Got &&
		e.Tick == f.Tick && slices.Equal(e.Past, f.Past)
}

// Precedes says whether an event is before another one of the same component.
func Precedes(e, f *Event) bool {
	return Includes(f.Past, e.Name)
}

func (e *Event) key() string {
	return keyOf(e.Name.key(), e.Label.Key(), strconv.Itoa(e.To), e.From.key(), keyOfLabel(e.Got),
		keyOfNames(e.Past), strconv.Itoa(e.Tick))
}

func (l Local) key() string {
	parts := []string{strconv.FormatBool(l.Ended), keyOfLabel(l.Waits)}
	for i := range l.Events {
		parts = append(parts, l.Events[i].key())
	}
	return hashOf(keyOf(parts...))
}

func (g Global) key() string {
	parts := make([]string, len(g))
	for c := range g {
		parts[c] = g[c].key()
	}
	return hashOf(keyOf(parts...))
}

func (b *Branch) key() string {
	event := ""
	if b.Event != nil {
		event = b.Event.key()
	}
	return hashOf(keyOf(strconv.Itoa(b.Component), Local{Events: b.Before, Waits: b.Waits}.key(), event))
}

func exploreKey(component int, l Local, arrivals []Arrival) string {
	parts := []string{strconv.Itoa(component), l.key()}
	for _, a := range arrivals {
		parts = append(parts, a.Send.Name.key(), a.Send.Label.Key(), keyOfNames(a.After),
			keyOfNames(a.Knows))
	}
	return "explore " + hashOf(keyOf(parts...))
}
