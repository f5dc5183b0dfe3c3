package protocol

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-mc/tandem/protocol/internal/system"
)

// Position is a state of a model, and how it was reached.
type Position struct {
	// Run is the run to it, as a text for Replay. It is empty before the first state is chosen.
	Run   string
	Chart string
	// Nodes are the local states, in one line each; Messages those that are under way.
	Nodes    []string
	Messages []string
	// Steps are all that may happen next. Before the first state they are the first states.
	Steps []NextStep
	// Violated is what is violated here; empty if nothing is.
	Violated string
}

// NextStep is a step from a Position.
type NextStep struct {
	// Node is the name of the node that takes it; empty if none does.
	Node, Text string
	// Run leads to the position after it.
	Run string
}

// Look goes to where a run leads, and looks around: it is for walking through a model by hand
// (package explorer). An error says that the model has no such run.
func Look(m *Model, run string) (*Position, error) {
	machine, err := newMachine(m)
	if err != nil {
		return nil, err
	}
	c := newConfig(machine)
	w := newWalker(machine, c)
	p := &Position{Run: run}
	// Before the first state only a start can have failed.
	if run == "" {
		failed, err := w.startFailure()
		if err != nil {
			return nil, err
		}
		p.Violated = failed.What
	} else if err := w.follow(run); err != nil {
		return nil, err
	} else if p.Violated, err = w.verdict(c); err != nil {
		return nil, err
	}
	if err := w.describe(p); err != nil {
		return nil, err
	}
	// A step that has failed ends the run.
	if n := len(w.steps); n > 0 && w.steps[n-1].Outcome != nil && w.steps[n-1].Outcome.Failure != "" {
		return p, nil
	}
	return p, w.next(p)
}

// describe fills in what a position is.
func (w *walker) describe(p *Position) (err error) {
	if p.Run == "" {
		return nil
	}
	var v Violation
	if err = w.machine.draw(&v, w.table, w.first, w.steps); err != nil {
		return err
	}
	p.Chart = v.Details
	p.Nodes, p.Messages, err = w.look(w.walk.Look(w.state))
	return err
}

// next lists the steps, in the order in which runs number them.
func (w *walker) next(p *Position) error {
	if p.Run == "" {
		choices, err := w.firstChoices()
		for i, x := range choices {
			p.Steps = append(p.Steps, NextStep{Text: x.text, Run: strconv.FormatInt(int64(i), 36)})
		}
		return err
	}
	// The number of a step is its place among all, in base 36.
	choices, err := w.stepChoices()
	if err != nil {
		return err
	}
	locals, _ := w.walk.Look(w.state)
	for i, x := range choices {
		s := NextStep{Text: w.machine.describeStep(w.table, locals, x.step) + w.senders(x.step),
			Run: p.Run + "." + strconv.FormatInt(int64(i), 36)}
		// The network does its part alone.
		if x.step.Fault != system.Part && x.step.Fault != system.Heal {
			s.Node = w.machine.model.name(x.step.Node)
		}
		p.Steps = append(p.Steps, s)
	}
	return nil
}

// senders says whose messages arrive in a step. Equal messages of different nodes are different
// steps. It is empty if none arrives.
func (w *walker) senders(s system.Step) string {
	var names []string
	for _, message := range messagesOf(s) {
		names = append(names, w.machine.model.name(w.table.Message(message).From))
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return ", from " + strings.Join(names, ", ")
}
