package protocol

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/show"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// explain turns a violation into what people read.
func (m *machine) explain(c global.Config, found *global.Violation) (*Violation, error) {
	v := &Violation{What: found.Failure, Steps: len(found.Steps)}
	if found.Property >= 0 {
		v.What = m.model.Properties[found.Property].name
	}
	var err error
	if v.Chart, err = m.chart(c.Table, found.First, found.Steps); err != nil {
		return nil, err
	}
	v.Run, err = encodeRun(m, c, found)
	return v, err
}

// chart draws the steps of a run, with what changes in the nodes.
func (m *machine) chart(t *table.Table, first []table.Local, steps []global.Step) (string, error) {
	names := make([]string, len(m.model.Nodes))
	for i := range names {
		names[i] = m.model.name(i)
	}
	// Where each node stands before the step.
	locals := slices.Clone(first)
	var lines []show.Step
	for _, s := range steps {
		if s.Fault == global.Part || s.Fault == global.Heal {
			s.Node = -1
		}
		line := show.Step{Node: s.Node, Text: m.describeStep(t, locals, s), Lost: s.Fault == global.Drop}
		for _, sent := range bySender(t, messagesOf(s)) {
			line.From = append(line.From, sent.From)
		}
		// A message that is lost changes no node.
		if s.Outcome != nil {
			notes, err := m.notes(t, s, locals[s.Node])
			if err != nil {
				return "", err
			}
			line.Notes = notes
			locals[s.Node] = s.Outcome.Next
		}
		lines = append(lines, line)
	}
	return show.Chart(names, lines), nil
}

// describeStep says what happens in a step.
func (m *machine) describeStep(t *table.Table, locals []table.Local, s global.Step) string {
	var text string
	switch {
	case s.Fault == global.Part:
		return "partition: " + m.names(^s.Cut) + " | " + m.names(s.Cut)
	case s.Fault == global.Heal:
		return "the partition heals"
	case s.Kind == table.Deliver:
		text = m.show(t.Message(s.Message).Image)
	case s.Kind == table.Gather:
		here := t.State(s.Node, locals[s.Node])
		text = m.describeOwn(s.Node, here.Image, s.Kind, s.Index) + ":"
		for _, sent := range bySender(t, s.Set) {
			text += " " + m.show(sent.Image)
		}
	default:
		// The index of a step is that of the event; timers and actions are numbered by themselves.
		here := t.State(s.Node, locals[s.Node])
		text = m.describeOwn(s.Node, here.Image, s.Kind, here.Own[s.Index].Index)
	}
	switch s.Fault {
	case global.Drop:
		text += " is lost"
	case global.Duplicate:
		text += ", which will come again"
	}
	if s.Outcome != nil && len(s.Outcome.Choices) > 0 {
		text += fmt.Sprintf(", choosing %v", s.Outcome.Choices)
	}
	return text
}

// names lists nodes that are given as bits.
func (m *machine) names(nodes uint64) string {
	var list []string
	for i := range m.model.Nodes {
		if nodes>>i&1 != 0 {
			list = append(list, m.model.name(i))
		}
	}
	return strings.Join(list, ", ")
}

// bySender are the messages of a set, of which each has another sender.
func bySender(t *table.Table, set []table.Message) []table.Sent {
	list := make([]table.Sent, len(set))
	for i, number := range set {
		list[i] = t.Message(number)
	}
	slices.SortFunc(list, func(a, b table.Sent) int { return a.From - b.From })
	return list
}

// notes list what a handler has done: changes of the node, messages, a failure.
func (m *machine) notes(t *table.Table, s global.Step, from table.Local) (notes []string, err error) {
	before, err := m.decode(s.Node, t.State(s.Node, from).Image)
	if err != nil {
		return nil, err
	}
	after, err := m.decode(s.Node, t.State(s.Node, s.Outcome.Next).Image)
	if err != nil {
		return nil, err
	}
	notes = show.Changes(summary(before.node), summary(after.node))
	for _, timer := range after.timers {
		// A timer that fires is gone, which the text of the step says.
		if !slices.Contains(before.timers, timer) {
			notes = append(notes, "sets timer "+m.show([]byte(timer)))
		}
	}
	for _, sent := range m.groupSent(t, s.Outcome.Sent) {
		notes = append(notes, "sends "+sent)
	}
	if s.Outcome.Failure != "" {
		notes = append(notes, s.Outcome.Failure)
	}
	return notes, nil
}

// summary is what charts show of a node: all of it, if the node does not say.
func summary(node Node) any {
	if s, ok := node.(Summarizer); ok {
		return s.Summary()
	}
	return node
}

// groupSent joins equal messages to several nodes.
func (m *machine) groupSent(t *table.Table, sent []table.Message) (groups []string) {
	var bodies []string
	list := make([]table.Sent, len(sent))
	for i, number := range sent {
		list[i] = t.Message(number)
	}
	// Numbers differ from search to search; the order of sending is kept where it counts.
	if m.model.Network != Ordered {
		slices.SortStableFunc(list, func(a, b table.Sent) int {
			return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(m.show(a.Image), m.show(b.Image)))
		})
	}
	for _, message := range list {
		body, to := m.show(message.Image), m.model.name(message.To)
		// A broadcast is one line.
		if i := slices.Index(bodies, body); i >= 0 {
			groups[i] += ", " + to
			continue
		}
		bodies = append(bodies, body)
		groups = append(groups, body+" to "+to)
	}
	return groups
}

// report is a violation as tests print it.
func (v *Violation) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", v.What)
	if v.Steps == 0 {
		b.WriteString("It is so at the start.\n")
	} else {
		b.WriteString(v.Chart)
	}
	fmt.Fprintf(&b, "\nTo run it again: protocol.Replay(t, model, %q)", v.Run)
	return b.String()
}
