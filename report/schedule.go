package report

import (
	"fmt"
	"strings"

	"github.com/tandem-mc/tandem/internal/textutil"
)

// A turn of a goroutine that has more than maxQuiet rows in a row without anything to be seen
// outside is shown by its first and last quietEnds rows.
const (
	maxQuiet  = 9
	quietEnds = 3
)

// maxRows bounds the rows of a schedule; the middle of a longer one is left out.
const maxRows = 400

// maxMessages bounds the lines that tell the messages of one step.
const maxMessages = 20

// maxJoined bounds the different operations in a row.
const maxJoined = 3

// row is one line of the schedule with the messages that belong to it: one step or several that
// were folded.
type row struct {
	first, last int // indices of steps
	goroutine   int
	operations  []repeated
	object      string
	source      string
	function    string
	kind        Kind
	restored    string
	preempts    bool
	messages    []string
	omission    string // instead of all the above: what was left out here
}

// repeated is an operation that was done several times in a row.
type repeated struct {
	name  string
	times int
}

// quiet says whether nothing happens in the row that another process can notice.
func (r row) quiet() bool {
	return len(r.messages) == 0 && r.restored == "" && (r.kind == Synchronisation || r.kind == Channel)
}

func (p *printer) schedule(c *Counterexample) {
	p.heading("Schedule: " + c.Size().String())
	if c.Shrunk != nil {
		p.line(plain, "  "+c.Shrunk.String())
	}
	rows := rowsOf(c.Steps)
	if !p.options.Unfold {
		rows = shorten(fold(rows))
	}
	names := map[int]string{}
	for _, g := range c.Goroutines {
		names[g.ID] = printable(g.Name) + "  " + shortFunction(g.Function)
	}
	names[Clock] = "clock"
	last := Clock // goroutine that ran before
	margin := strings.Repeat(" ", numberWidth)
	indents := map[int]string{}
	for i, r := range rows {
		if r.omission != "" {
			p.line(dim, margin+r.omission)
			continue
		}
		indent, ok := indents[r.goroutine]
		if !ok {
			indent = strings.Repeat(" ", indentWidth*min(len(indents), maxIndents))
			indents[r.goroutine] = indent
		}
		if i == 0 || rows[i-1].goroutine != r.goroutine || rows[i-1].omission != "" {
			name, ok := names[r.goroutine]
			if !ok {
				name = fmt.Sprintf("goroutine %d", r.goroutine)
			}
			if r.preempts && last != Clock {
				name += "  (preempts " + nameOf(c.Goroutines, last) + ")"
			}
			p.line(bold, fit(margin+indent+name, width))
		}
		p.row(r, indent+"  ")
		if r.goroutine != Clock {
			last = r.goroutine
		}
	}
}

func nameOf(goroutines []Goroutine, id int) string {
	for _, g := range goroutines {
		if g.ID == id {
			return printable(g.Name)
		}
	}
	return fmt.Sprintf("goroutine %d", id)
}

// Size is how complicated the schedule is.
func (c *Counterexample) Size() (s Size) {
	s.Transitions = len(c.Steps)
	for _, step := range c.Steps {
		if step.Preempts {
			s.Preemptions++
		}
	}
	return s
}

// String is "1 preemption in 88 transitions".
func (s Size) String() string {
	return textutil.CountOf(s.Preemptions, "preemption") + " in " +
		textutil.CountOf(s.Transitions, "transition")
}

// String says how much simpler the counterexample has become.
func (s Shrinking) String() string {
	in := textutil.CountOf(s.Executions, "execution")
	if s.Before == s.After {
		return "no simpler one was found in " + in
	}
	return fmt.Sprintf("shrunk from %s, in %s", s.Before, in)
}

func (p *printer) row(r row, indent string) {
	if r.restored != "" {
		p.line(yellow, fit(strings.Repeat(" ", numberWidth)+"  === "+printable(r.restored), width))
	}
	number := fmt.Sprint(r.first + 1)
	if r.last > r.first {
		number = fmt.Sprintf("%d-%d", r.first+1, r.last+1)
	}
	text := fmt.Sprintf("%*s  %s%s %s", numberWidth-2, number, indent, r.what(), printable(r.object))
	source := printable(r.source)
	if r.function != "" {
		source += " " + r.function
	}
	p.line(plain, pad(text, sourceColumn-1)+" "+fit(source, width-sourceColumn))
	for _, message := range r.messages {
		p.line(cyan, fit(strings.Repeat(" ", numberWidth)+indent+"  "+message, width))
	}
}

// what lists the operations: "lock, unlock", "atomic load x3".
func (r row) what() string {
	var names []string
	for _, operation := range r.operations {
		name := printable(operation.name)
		if operation.times > 1 {
			name += fmt.Sprintf(" x%d", operation.times)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// rowsOf makes a row of every step, decodes the messages, and joins neighbours that do something to
// the same object in the same function: a critical section reads best in one row.
func rowsOf(steps []Step) []row {
	var rows []row
	streams := decoders{}
	for i, step := range steps {
		r := row{
			first: i, last: i, goroutine: step.Goroutine, operations: []repeated{{step.Operation, 1}},
			object: step.Object, source: step.Source, function: bareFunction(step.Function), kind: step.Kind,
			restored: step.Restored, preempts: step.Preempts,
			messages: messagesOf(step, streams),
		}
		if len(rows) == 0 || !joins(rows[len(rows)-1], r) || !join(&rows[len(rows)-1], r) {
			rows = append(rows, r)
		}
	}
	return rows
}

// messagesOf writes the messages of a step, with the connection, the direction, and at the first of
// them who answered.
func messagesOf(step Step, streams decoders) []string {
	var lines []string
	for _, message := range step.IO {
		direction := "<-"
		if message.ToPeer {
			direction = "->"
		}
		for _, line := range streams.describe(message) {
			about := fmt.Sprintf("connection %d", message.Conn)
			if message.About != "" {
				about = printable(message.About)
			}
			lines = append(lines, fmt.Sprintf("%s %s: %s", direction, about, line))
		}
	}
	if len(lines) > 0 && step.Cached {
		lines[0] += "  [answered by the cache]"
	}
	if more := len(lines) - maxMessages; more > 0 {
		lines = append(lines[:maxMessages], "and "+textutil.CountOf(more, "more message"))
	}
	return lines
}

func joins(a, b row) bool {
	return a.quiet() && b.quiet() && a.goroutine == b.goroutine && a.object == b.object &&
		a.object != "" && a.function == b.function
}

// join adds the step b to the row a and says whether there was room for it.
func join(a *row, b row) bool {
	last := &a.operations[len(a.operations)-1]
	switch {
	case last.name == b.operations[0].name:
		last.times++
	case len(a.operations) < maxJoined:
		a.operations = append(a.operations, b.operations[0])
	default:
		return false
	}
	a.last = b.last
	return true
}

// fold replaces the middle of long quiet stretches of one goroutine by one row.
func fold(rows []row) []row {
	var folded []row
	for len(rows) > 0 {
		n := 0
		for n < len(rows) && rows[n].quiet() && rows[n].goroutine == rows[0].goroutine {
			n++
		}
		if n <= maxQuiet {
			n = max(n, 1)
			folded = append(folded, rows[:n]...)
		} else {
			middle := rows[quietEnds : n-quietEnds]
			folded = append(append(folded, rows[:quietEnds]...), foldedRow(middle))
			folded = append(folded, rows[n-quietEnds:n]...)
		}
		rows = rows[n:]
	}
	return folded
}

func foldedRow(rows []row) row {
	first, last := rows[0], rows[len(rows)-1]
	return row{
		first: first.first, last: last.last, goroutine: first.goroutine, kind: first.kind,
		operations: []repeated{{"... " + textutil.CountOf(last.last-first.first+1, "operation"), 1}},
	}
}

// shorten leaves out the middle of a schedule of more than maxRows rows. The end tells more than
// the beginning and gets three quarters of the room.
func shorten(rows []row) []row {
	if len(rows) <= maxRows {
		return rows
	}
	head, tail := rows[:maxRows/4], rows[len(rows)-maxRows*3/4:]
	omission := fmt.Sprintf("... steps %d to %d are left out", head[len(head)-1].last+2, tail[0].first)
	return append(append(append([]row(nil), head...), row{omission: omission}), tail...)
}
