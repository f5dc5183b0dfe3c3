package protocol

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/show"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// Replay runs one run of a model again, and draws its chart. The test fails if the run still
// violates something, or if the model has changed so that there is no such run.
func Replay(t TB, m *Model, run string) {
	t.Helper()
	v, err := replay(m, run)
	switch {
	case err != nil:
		t.Fatalf("protocol: %v", err)
	case v.What != "":
		v.Chart = v.Details
		t.Errorf("violated: %s", v.report())
	default:
		t.Logf("this run violates nothing any more:\n%s", v.Details)
	}
}

// A run is the number of its first state, and then of each step, in base 36. They are numbered in
// the order of their texts, which do not depend on what a search has met before.

// encodeRun is the reverse of replay.
func encodeRun(m *machine, c global.Config, found *global.Violation) (string, error) {
	if found.Start == nil {
		return "", nil // a node fails at the start, in any run
	}
	// The table has all states and messages of the run already, with their numbers.
	w := newWalker(m, c)
	var parts []string
	err := w.start(func(choices []choice) (int, error) {
		return w.add(&parts, choices, func(x choice) bool { return bytes.Equal(x.state, found.Start) })
	})
	for i := 0; err == nil && i < len(found.Steps); i++ {
		want := found.Steps[i]
		err = w.step(func(choices []choice) (int, error) {
			return w.add(&parts, choices, func(x choice) bool { return isSame(x.step, want) })
		})
	}
	return strings.Join(parts, "."), err
}

// isSame says whether two steps from one state are the same.
func isSame(a, b system.Step) bool {
	return a.Kind == b.Kind && a.Fault == b.Fault && a.Node == b.Node && a.Message == b.Message &&
		a.Index == b.Index && a.Choice == b.Choice && a.Cut == b.Cut && slices.Equal(a.Set, b.Set)
}

// choice is a first state, or a step, where a run goes on. The text is what it is sorted by, which
// has no numbers of the table in it.
type choice struct {
	text   string
	state  []byte
	locals []table.Local
	step   system.Step
}

// walker goes through a run.
type walker struct {
	machine *machine
	table   *table.Table
	walk    *global.Walk
	state   []byte
	first   []table.Local
	steps   []system.Step
}

// newWalker stands nowhere. It judges nothing on the way, since a run may pass by other violations.
func newWalker(m *machine, c global.Config) *walker {
	c.Judge, c.JudgeEnd, c.Stop = nil, nil, nil
	return &walker{machine: m, table: c.Table, walk: global.NewWalk(c)}
}

// add notes which of the choices is meant.
func (w *walker) add(parts *[]string, choices []choice, isMeant func(choice) bool) (int, error) {
	// The walk finds the same steps as the search did, if it is right.
	i := slices.IndexFunc(choices, isMeant)
	if i < 0 {
		return 0, fmt.Errorf("step %d of a run cannot be found again: this is an error in the package",
			len(*parts))
	}
	*parts = append(*parts, strconv.FormatInt(int64(i), 36))
	return i, nil
}

// start stands at a first state, which pick chooses.
func (w *walker) start(pick func([]choice) (int, error)) error {
	choices, err := w.firstChoices()
	if err != nil {
		return err
	}
	// Where the walker stands does not change if nothing is picked.
	i, err := pick(choices)
	if err == nil {
		w.state, w.first = choices[i].state, choices[i].locals
	}
	return err
}

// firstChoices are the first states, sorted. There are several if nodes choose at the start.
func (w *walker) firstChoices() (choices []choice, err error) {
	states, err := w.walk.First()
	if err != nil {
		return nil, err
	}
	for _, state := range states {
		locals, numbers := w.walk.Look(state)
		nodes, messages, err := w.look(locals, numbers)
		if err != nil {
			return nil, err
		}
		text := strings.Join(slices.Concat(nodes, messages), "\n")
		choices = append(choices, choice{text: text, state: state, locals: locals})
	}
	return sorted(choices), nil
}

// look writes what a state is made of: a line for each node, and one for each message. Lines of
// messages do not depend on their numbers.
func (w *walker) look(locals []table.Local, numbers []table.Message) (nodes, messages []string, err error) {
	for node, l := range locals {
		decoded, err := w.machine.decode(node, w.table.State(node, l).Image)
		if err != nil {
			return nil, nil, err
		}
		line := w.machine.model.name(node) + ": " + show.Value(summary(decoded.node))
		for _, timer := range decoded.timers {
			line += ", timer " + w.machine.show([]byte(timer))
		}
		if decoded.down {
			line += ", down"
		}
		nodes = append(nodes, line)
	}
	for _, number := range numbers {
		sent := w.table.Message(number)
		messages = append(messages, fmt.Sprintf("%s, from %s to %s", w.machine.show(sent.Image),
			w.machine.model.name(sent.From), w.machine.model.name(sent.To)))
	}
	// An ordered network has its order.
	if w.machine.model.Network != Ordered {
		slices.Sort(messages)
	}
	return nodes, messages, nil
}

// step goes one step, which pick chooses.
func (w *walker) step(pick func([]choice) (int, error)) error {
	choices, err := w.stepChoices()
	if err != nil {
		return err
	}
	i, err := pick(choices)
	if err == nil {
		w.state = choices[i].state
		w.steps = append(w.steps, choices[i].step)
	}
	return err
}

// stepChoices are the steps from where the walker stands, sorted.
func (w *walker) stepChoices() (choices []choice, err error) {
	steps, states, err := w.walk.Steps(w.state)
	if err != nil {
		return nil, err
	}
	// The text of a step depends on where it begins.
	locals, _ := w.walk.Look(w.state)
	for i, s := range steps {
		text := fmt.Sprintf("%d %d %s", s.Node, s.Kind, w.machine.describeStep(w.table, locals, s))
		// Equal messages of different senders are different steps.
		for _, sent := range table.BySender(w.table, messagesOf(s)) {
			text += fmt.Sprintf(" %d", sent.From)
		}
		choices = append(choices, choice{text: text, state: states[i], step: s})
	}
	return sorted(choices), nil
}

// sorted sorts choices by their texts.
func sorted(choices []choice) []choice {
	slices.SortStableFunc(choices, func(a, b choice) int { return cmp.Compare(a.text, b.text) })
	return choices
}

// messagesOf are the messages that arrive in a step.
func messagesOf(s system.Step) []table.Message {
	switch s.Kind {
	case table.Deliver:
		return []table.Message{s.Message}
	case table.Gather:
		return s.Set
	}
	return nil // of a partition, too
}

// replay follows a run. What of the result is empty if nothing is violated at its end.
func replay(m *Model, run string) (*Violation, error) {
	machine, err := newMachine(m)
	if err != nil {
		return nil, err
	}
	c := newConfig(machine)
	w := newWalker(machine, c)
	if run == "" {
		return w.startFailure()
	}
	if err := w.follow(run); err != nil {
		return nil, err
	}
	v := &Violation{Steps: len(w.steps), Run: run}
	if err = machine.draw(v, c.Table, w.first, w.steps); err != nil {
		return nil, err
	}
	v.What, err = w.verdict(c)
	return v, err
}

// follow goes through a run. It ends where its text ends, wherever that is in the model.
func (w *walker) follow(run string) error {
	parts := strings.Split(run, ".")
	at := 0
	pick := func(choices []choice) (int, error) {
		// A text from another version of the model may have any numbers, and any letters.
		n, err := strconv.ParseInt(parts[at], 36, 32)
		if err != nil || n < 0 || int(n) >= len(choices) {
			return 0, fmt.Errorf("the run %q has no part %d in this model: take one that this version of "+
				"the model has printed", run, at)
		}
		at++
		return int(n), nil
	}
	err := w.start(pick)
	for err == nil && at < len(parts) {
		err = w.step(pick)
	}
	return err
}

// startFailure is a violation before the first step.
func (w *walker) startFailure() (*Violation, error) {
	v := &Violation{}
	for node := range w.machine.model.Nodes {
		e, err := w.table.Start(node)
		if err != nil {
			return nil, err
		}
		for _, o := range e.Outcomes {
			v.What = cmp.Or(v.What, o.Failure, w.table.State(node, o.Next).Failure)
		}
	}
	return v, nil
}

// verdict says what is violated in the last step, or at its end.
func (w *walker) verdict(c global.Config) (string, error) {
	// A failure in the last step comes before what holds after it.
	if n := len(w.steps); n > 0 && w.steps[n-1].Outcome != nil && w.steps[n-1].Outcome.Failure != "" {
		return w.steps[n-1].Outcome.Failure, nil
	}
	locals, _ := w.walk.Look(w.state)
	classes := make([]uint32, len(locals))
	for node, l := range locals {
		here := w.table.State(node, l)
		if here.Failure != "" {
			return here.Failure, nil
		}
		classes[node] = here.Class
	}
	properties := w.machine.model.Properties
	if c.Judge != nil {
		if j := c.Judge(classes); j.Violated >= 0 {
			return properties[j.Violated].name, nil
		}
	}
	// Eventually is about states in which nothing can happen any more.
	steps, _, err := w.walk.Steps(w.state)
	if err != nil || len(steps) > 0 || c.JudgeEnd == nil {
		return "", err
	}
	if i := c.JudgeEnd(classes); i >= 0 {
		return properties[i].name, nil
	}
	return "", nil
}
