// Package storage is a register that is kept by several base objects, as a protocol to check: the
// regular one with a single writer, and the atomic one (Attiya, Bar-Noy, Dolev: "Sharing Memory
// Robustly in Message-Passing Systems", JACM 1995). Its bounds are those of "Efficient Model
// Checking of Fault-Tolerant Distributed Protocols" (Bokor, Kinder, Serafini, Suri; DSN 2011).
//
// The writer numbers its values. It stores each at all base objects, and is done when a majority
// has acknowledged. A reader asks all, and returns the latest value of a majority. If the register
// is to be atomic, it stores that value at a majority first.
//
// One step is the begin of an operation, the arrival of one message, or, with quorum transitions,
// that of a majority of answers.
//
// What a read may return depends on which operations have ended before it begins, wherever they
// were. No node knows that, so it is told: who has ended an operation says so to the readers, in a
// message (Ended) that is no part of the protocol. A reader that has it before its read begins may
// not return an older value. That misses nothing: if one operation ends before another begins,
// there is also a run in which the message arrives in between. The paper's property looks at all
// nodes instead. So the states here are more, by those in which such a message is under way.
package storage

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/examples/protocols/internal/tally"
	"github.com/tandem-mc/tandem/protocol"
)

// Config says how many nodes there are, and what is wanted of the register.
type Config struct {
	Objects, Readers int
	// Writes is how many values are written, and Reads how often each reader reads.
	Writes, Reads int
	// Atomic has readers store what they return.
	Atomic bool
	// NoInversions states that a read returns nothing older than a read that has ended before. It
	// holds if the register is atomic. Of a regular one it is wrong.
	NoInversions bool
	// Quorums has answers arrive in one step. Otherwise they are counted one by one.
	Quorums bool
}

// majority is how many base objects have to answer.
func (c *Config) majority() int { return c.Objects/2 + 1 }

// Begin is a call of the application: to write the next value, or to read.
type Begin struct{}

// The messages. A value is its number; zero is what the register has at first.
type (
	// Store asks a base object to keep a value, unless it has a later one.
	Store struct{ Value int }
	// Stored is the answer.
	Stored struct{ Value int }
	// Load asks for the value. Reads of one reader are numbered.
	Load struct{ Read int }
	// Loaded is the answer.
	Loaded struct{ Read, Value int }
	// Ended says that an operation has ended before now.
	Ended struct{ Value int }
)

// Object is a base object.
type Object struct{ Value int }

// Receive keeps a value, or says which it has.
func (o *Object) Receive(env *protocol.Env, from protocol.ID, message any) {
	switch m := message.(type) {
	case Store:
		o.Value = max(o.Value, m.Value)
		env.Send(from, Stored(m))
	case Load:
		env.Send(from, Loaded{m.Read, o.Value})
	}
}

// isAnswer says whether a message is one of a base object.
func isAnswer(message any) bool {
	switch message.(type) {
	case Stored, Loaded:
		return true
	}
	return false
}

// client is what writers and readers have in common. Base objects have the first numbers, and then
// the writer.
type client struct {
	Config *Config
	Tally  tally.Tally
}

// ask sends to all base objects.
func (c *client) ask(env *protocol.Env, message any) {
	for id := range protocol.ID(c.Config.Objects) {
		env.Send(id, message)
	}
}

// tell tells all readers but the node itself that an operation has ended.
func (c *client) tell(env *protocol.Env, value int) {
	for id := c.Config.Objects + 1; id < env.Nodes(); id++ {
		if protocol.ID(id) != env.ID() {
			env.Send(protocol.ID(id), Ended{value})
		}
	}
}

// stored waits until a value is stored.
func (c *client) stored(value int, then func(env *protocol.Env)) []tally.Wait {
	return []tally.Wait{{
		Name: "stored", Size: c.Config.majority(),
		For:    func(m any) bool { return m == Stored{value} },
		Handle: func(env *protocol.Env, _ []protocol.Message) { then(env) },
	}}
}

// Writer is the only one.
type Writer struct {
	Client client
	Value  int // the last one
	Busy   bool
}

// Actions are to write the next value, when the last one is written.
func (w *Writer) Actions() []any {
	if w.Busy || w.Value == w.Client.Config.Writes {
		return nil
	}
	return []any{Begin{}}
}

// Act begins to write.
func (w *Writer) Act(env *protocol.Env, _ any) {
	w.Value++
	w.Busy = true
	w.Client.ask(env, Store{w.Value})
}

func (w *Writer) waits() []tally.Wait {
	if !w.Busy {
		return nil
	}
	return w.Client.stored(w.Value, func(env *protocol.Env) {
		w.Busy = false
		w.Client.tell(env, w.Value)
	})
}

// Receive counts answers.
func (w *Writer) Receive(env *protocol.Env, from protocol.ID, message any) {
	w.Client.Tally.Count(env, w.waits(), from, message)
}

// Quorums takes a majority of answers at once.
func (w *Writer) Quorums() []protocol.Quorum {
	return w.Client.Tally.Transitions(w.waits(), isAnswer)
}

// Phase is what a reader is about.
type Phase int

// The phases.
const (
	Idle Phase = iota
	Loading
	Storing
)

func (p Phase) String() string { return [...]string{"idle", "loading", "storing"}[p] }

// Reader is one that reads.
type Reader struct {
	Client client
	Phase  Phase
	Reads  int // how many have begun
	Value  int // what the last read has loaded
	// Known is what was written or read before now, as far as the reader was told.
	Known int
	// Oldest is what was known when the read has begun.
	Oldest int
	// Returned is what the reads have returned, and Stale whether one was too old.
	Returned []int
	Stale    bool
}

// Actions are to read.
func (r *Reader) Actions() []any {
	if r.Phase != Idle || r.Reads == r.Client.Config.Reads {
		return nil
	}
	return []any{Begin{}}
}

// Act begins to read.
func (r *Reader) Act(env *protocol.Env, _ any) {
	r.Reads++
	r.Phase, r.Oldest = Loading, r.Known
	r.Client.ask(env, Load{r.Reads})
}

func (r *Reader) waits() []tally.Wait {
	switch r.Phase {
	case Loading:
		return []tally.Wait{{
			Name: "loaded", Size: r.Client.Config.majority(),
			For: func(m any) bool {
				loaded, ok := m.(Loaded)
				return ok && loaded.Read == r.Reads
			},
			Handle: r.loaded,
		}}
	case Storing:
		return r.Client.stored(r.Value, r.end)
	}
	return nil
}

// loaded has a majority of values.
func (r *Reader) loaded(env *protocol.Env, set []protocol.Message) {
	latest := slices.MaxFunc(set, func(a, b protocol.Message) int {
		return cmp.Compare(a.Body.(Loaded).Value, b.Body.(Loaded).Value)
	})
	r.Value = latest.Body.(Loaded).Value
	if !r.Client.Config.Atomic {
		r.end(env)
		return
	}
	r.Phase = Storing
	r.Client.ask(env, Store{r.Value})
}

// end returns the value that was read.
func (r *Reader) end(env *protocol.Env) {
	r.Phase = Idle
	r.Returned = append(r.Returned, r.Value)
	r.Stale = r.Stale || r.Value < r.Oldest
	if r.Client.Config.NoInversions {
		r.Known = max(r.Known, r.Value)
		r.Client.tell(env, r.Value)
	}
	// What no later read looks at is forgotten, so that there are fewer states.
	r.Value, r.Oldest = 0, 0
	if r.Reads == r.Client.Config.Reads {
		r.Known = 0
	}
}

// Receive counts answers, and takes note of operations that have ended before a read begins.
func (r *Reader) Receive(env *protocol.Env, from protocol.ID, message any) {
	m, ok := message.(Ended)
	switch {
	case !ok:
		r.Client.Tally.Count(env, r.waits(), from, message)
	case r.Reads < r.Client.Config.Reads:
		r.Known = max(r.Known, m.Value)
	}
}

// Quorums takes a majority of answers at once.
func (r *Reader) Quorums() []protocol.Quorum {
	return r.Client.Tally.Transitions(r.waits(), isAnswer)
}

// Model has the base objects first, then the writer and the readers.
func Model(c Config) *protocol.Model {
	m := &protocol.Model{
		Constants: []any{&c},
		Properties: []protocol.Property{
			protocol.Assertion("no read returns what was too old when it began",
				func(_ protocol.ID, node protocol.Node) bool {
					r, ok := node.(*Reader)
					return !ok || !r.Stale
				}),
			protocol.Sometimes("the last value is read", latest, func(values []int) bool {
				return slices.Max(values) == c.Writes
			}),
		},
	}
	for i := range c.Objects {
		m.Nodes = append(m.Nodes, &Object{})
		m.Names = append(m.Names, fmt.Sprint("object ", i+1))
	}
	m.Nodes = append(m.Nodes, &Writer{Client: client{&c, tally.New(c.Quorums)}})
	m.Names = append(m.Names, "writer")
	for i := range c.Readers {
		m.Nodes = append(m.Nodes, &Reader{Client: client{&c, tally.New(c.Quorums)}})
		m.Names = append(m.Names, fmt.Sprint("reader ", i+1))
	}
	return m
}

// latest is the view of a property: the latest value that a node has read.
func latest(_ protocol.ID, node protocol.Node) int {
	if r, ok := node.(*Reader); ok {
		return slices.Max(append([]int{0}, r.Returned...))
	}
	return 0
}
