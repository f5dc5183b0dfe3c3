package protocol

import (
	"fmt"

	"github.com/tandem-mc/tandem/protocol/internal/table"
	"github.com/tandem-mc/tandem/protocol/internal/timers"
)

// Env is what a handler does to the world. It is valid during one call of a handler, for the
// goroutine that was called.
// What it does takes effect when the handler returns: a handler is one step, and nothing comes
// between its sends. If it panics, that is a violation.
type Env struct {
	id      ID
	machine *machine
	sent    []table.Sent
	timers  []string // their images, in the order of package timers
	// plan are the first choices; chosen are all of them, with how many values there were.
	plan    []int
	chosen  []int
	options []int
	choose  func(n int) int // beyond the plan; nil: 0
	err     error           // what ends the check
}

// failedAssertion is a panic of Assert.
type failedAssertion string

// ID is the node that the handler belongs to.
func (e *Env) ID() ID { return e.id }

// Nodes is how many nodes there are. They have the numbers from 0.
func (e *Env) Nodes() int { return len(e.machine.model.Nodes) }

// Send sends a message. It is copied at once, so it may be changed afterwards. A node may send to
// itself. A node that does not exist is a panic.
func (e *Env) Send(to ID, message any) {
	if to < 0 || int(to) >= e.Nodes() {
		panic(fmt.Sprintf("a message is sent to node %d: there are %d nodes, from 0", int(to), e.Nodes()))
	}
	image, err := e.machine.images.Append(nil, message)
	if err != nil {
		e.fail(fmt.Errorf("a message has no image: %w", err))
	}
	e.sent = append(e.sent, table.Sent{From: int(e.id), To: int(to), Image: image})
}

// Broadcast sends a message to all other nodes.
func (e *Env) Broadcast(message any) {
	for to := range ID(e.Nodes()) {
		if to != e.id {
			e.Send(to, message)
		}
	}
}

// SetTimer sets a timer, which is any value. If an equal one is set, nothing changes. The node must
// be Timed.
func (e *Env) SetTimer(value any) {
	e.timers = timers.Set(e.timers, e.imageOfTimer(value), e.machine)
}

// StopTimer makes a timer one that is not set; it need not have been.
func (e *Env) StopTimer(value any) {
	e.timers = timers.Stop(e.timers, e.imageOfTimer(value), e.machine)
}

// imageOfTimer is what a timer is known by. Timers that are equal have equal images.
func (e *Env) imageOfTimer(value any) string {
	if _, ok := e.machine.model.Nodes[e.id].(Timed); !ok {
		panic(fmt.Sprintf("a timer of node %d: it has no method Timeout, so give it one", int(e.id)))
	}
	image, err := e.machine.images.Append(nil, value)
	if err != nil {
		e.fail(fmt.Errorf("a timer has no image: %w", err))
	}
	return string(image)
}

// fail ends the handler and the check.
func (e *Env) fail(err error) {
	e.err = err
	panic(err)
}

// Choose returns a number from 0 to n-1. All of them are explored.
func (e *Env) Choose(n int) int {
	if n < 1 {
		panic(fmt.Sprintf("Choose(%d): there must be a value to choose", n))
	}
	choice := 0
	if i := len(e.chosen); i < len(e.plan) {
		choice = e.plan[i]
	} else if e.choose != nil {
		choice = e.choose(n)
	}
	e.chosen = append(e.chosen, choice)
	e.options = append(e.options, n)
	return choice
}

// Assert states that a condition holds. If it does not, the run is a violation.
func (e *Env) Assert(condition bool, args ...any) {
	if condition {
		return
	}
	text := "an assertion failed"
	if len(args) > 0 {
		text = "assertion failed: " + fmt.Sprint(args...)
	}
	panic(failedAssertion(text))
}
