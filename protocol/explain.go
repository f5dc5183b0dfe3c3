package protocol

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/page"
	"github.com/tandem-mc/tandem/protocol/internal/show"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// explain turns a violation into what people read.
func (m *machine) explain(c global.Config, found *global.Violation) (*Violation, error) {
	v := &Violation{What: found.Failure, Steps: len(found.Steps)}
	if found.Property >= 0 {
		v.What = m.model.Properties[found.Property].name
	}
	err := m.draw(v, c.Table, found.First, found.Steps)
	if err != nil {
		return nil, err
	}
	v.Run, err = encodeRun(m, c, found)
	return v, err
}

// draw draws the steps of a run, with what changes in the nodes.
func (m *machine) draw(v *Violation, t *table.Table, first []table.Local, steps []system.Step) error {
	chart, err := m.chart(t, first, steps)
	if err != nil {
		return err
	}
	lines := make([]show.Step, len(chart.Steps))
	for i, s := range chart.Steps {
		lines[i] = s.Step
	}
	v.page = chart
	v.Details = show.Chart(chart.Names, lines)
	// A chart that fits a screen says all.
	if v.Chart = v.Details; strings.Count(v.Chart, "\n") > show.Screen {
		v.Chart = show.Fold(chart.Names, lines)
	}
	chart.Text = v.Details
	return nil
}

// chart is what a page shows of a run.
func (m *machine) chart(t *table.Table, first []table.Local, steps []system.Step) (*page.Chart, error) {
	chart := &page.Chart{}
	for i, l := range first {
		fields, err := m.fields(t, i, l)
		if err != nil {
			return nil, err
		}
		chart.Names, chart.First = append(chart.Names, m.model.name(i)), append(chart.First, fields)
	}
	// Where each node stands before the step.
	locals := slices.Clone(first)
	for _, s := range steps {
		if s.Fault == system.Part || s.Fault == system.Heal {
			s.Node = -1
		}
		line := show.Step{Node: s.Node, Text: m.describeStep(t, locals, s), Lost: s.Fault == system.Drop}
		for _, sent := range table.BySender(t, messagesOf(s)) {
			line.From = append(line.From, sent.From)
		}
		step := page.Step{Step: line}
		// A message that is lost changes no node.
		if s.Outcome != nil {
			var err error
			if step.Notes, err = m.notes(t, s, locals[s.Node]); err != nil {
				return nil, err
			}
			locals[s.Node] = s.Outcome.Next
			if step.After, err = m.fields(t, s.Node, s.Outcome.Next); err != nil {
				return nil, err
			}
		}
		chart.Steps = append(chart.Steps, step)
	}
	return chart, nil
}

// fields are all that a node keeps in a local state: of a Summarizer its summary, and then its
// whole.
func (m *machine) fields(t *table.Table, node int, l table.Local) ([]show.Field, error) {
	return m.fieldsOf(node, t.State(node, l).Image)
}

// fieldsOf is fields of the image of a local state.
func (m *machine) fieldsOf(node int, image []byte) (list []show.Field, err error) {
	here, err := m.decode(node, image)
	if err != nil {
		return nil, err
	}
	if here.down {
		list = append(list, show.Field{Path: "down", Value: "true"})
	}
	for _, timer := range here.timers {
		list = append(list, show.Field{Path: "timer " + m.show([]byte(timer)), Value: "set"})
	}
	if s, ok := here.node.(Summarizer); ok {
		for _, f := range show.Fields(s.Summary()) {
			list = append(list, show.Field{Path: "summary." + f.Path, Value: f.Value})
		}
	}
	return append(list, show.Fields(here.node)...), nil
}

// HTML writes the chart as a page: one file, which needs no network. A step that is chosen shows
// all that each node keeps, before and after it.
func (v *Violation) HTML(w io.Writer) error {
	if v.page == nil {
		return page.Write(w, &page.Chart{What: v.What, Run: v.Run})
	}
	chart := *v.page
	chart.What, chart.Run = v.What, v.Run
	return page.Write(w, &chart)
}

// writeHTML writes the page into a file.
func (v *Violation) writeHTML(name string) error {
	var b bytes.Buffer
	if err := v.HTML(&b); err != nil {
		return err
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("the chart of %q, run %s, cannot be written: %w; name another file in "+
			"Options.HTML", v.What, v.Run, err)
	}
	return nil
}

// describeStep says what happens in a step.
func (m *machine) describeStep(t *table.Table, locals []table.Local, s system.Step) string {
	var text string
	switch {
	case s.Fault == system.Part:
		return "partition: " + m.names(^s.Cut) + " | " + m.names(s.Cut)
	case s.Fault == system.Heal:
		return "the partition heals"
	case s.Kind == table.Deliver:
		text = m.show(t.Message(s.Message).Image)
	case s.Kind == table.Gather:
		here := t.State(s.Node, locals[s.Node])
		text = m.describeOwn(s.Node, here.Image, s.Kind, s.Index) + ":"
		for _, sent := range table.BySender(t, s.Set) {
			text += " " + m.show(sent.Image)
		}
	default:
		// The index of a step is that of the event; timers and actions are numbered by themselves.
		here := t.State(s.Node, locals[s.Node])
		text = m.describeOwn(s.Node, here.Image, s.Kind, here.Own[s.Index].Index)
	}
	switch s.Fault {
	case system.Drop:
		text += " is lost"
	case system.Duplicate:
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

// notes list what a handler has done: changes of the node, messages, a failure.
func (m *machine) notes(t *table.Table, s system.Step, from table.Local) (notes []string, err error) {
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
	if v.Chart != v.Details {
		b.WriteString("\nThe chart is folded. Replay draws all of it.\n")
	}
	fmt.Fprintf(&b, "\nTo run it again: protocol.Replay(t, model, %q)", v.Run)
	return b.String()
}
