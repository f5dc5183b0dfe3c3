// Package rows makes the rows of a schedule from the steps of a counterexample: neighbours that
// belong together are joined, and long stretches are folded.
package rows

import (
	"fmt"
	"strings"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/wire"
	"github.com/tandem-mc/tandem/report/internal/words"
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

// Row is one line of the schedule with the messages that belong to it: one step or several that
// were folded. The counts of steps begin with 0 here; what is printed begins with 1.
type Row struct {
	First, Last int // indices of steps
	Goroutine   int
	Object      string
	Source      string
	Function    string
	Restored    string // see report.Step
	Preempts    bool   // see report.Step
	Cached      bool   // see report.Step
	Library     string // see report.Step
	Key         bool   // see report.Step
	Messages    []string
	Summary     string   // instead of operations: what the steps are that were folded
	Outputs     []string // lines that the program and the peers printed, each with the name
	Omission    string   // instead of all the above: what was left out here

	operations  []repeated
	kind        report.Kind
	calledByOwn bool // the source is the user's, though the operation is in a library
}

// repeated is an operation that was done several times in a row.
type repeated struct {
	name, source string
	times        int
}

// quiet says whether nothing happens in the row that another process can notice.
func (r Row) quiet() bool {
	return len(r.Messages)+len(r.Outputs) == 0 && r.Restored == "" && r.Summary == "" && !r.Key &&
		(r.kind == report.Synchronisation || r.kind == report.Channel)
}

// NameOf is the name of a goroutine, printable. One that is not listed is called by its number.
func NameOf(goroutines []report.Goroutine, id int) string {
	for _, g := range goroutines {
		if g.ID == id {
			return words.Printable(g.Name)
		}
	}
	return fmt.Sprintf("goroutine %d", id)
}

// What lists the operations: "lock, unlock", "atomic load x3".
func (r Row) What() string {
	var names []string
	for _, operation := range r.operations {
		name := words.Printable(operation.name)
		if operation.times > 1 {
			name += fmt.Sprintf(" x%d", operation.times)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// Done is what is done to what: "lock, unlock mutex 3", "atomic load counter 1 x3".
func (r Row) Done() string {
	what, object := r.What(), words.Printable(r.Object)
	if len(r.operations) == 1 && r.operations[0].times > 1 && object != "" {
		one := r.operations[0]
		return fmt.Sprintf("%s %s x%d", words.Printable(one.name), object, one.times)
	}
	return strings.TrimRight(what+" "+object, " ")
}

// Of makes a row of every step, decodes the messages, and joins neighbours that do something to the
// same object in the same function: a critical section reads best in one row. Messages are decoded
// in the order of the steps, since a decoder needs all that came before on its connection.
func Of(steps []report.Step) []Row {
	var rows []Row
	streams := wire.Decoders{}
	for i, step := range steps {
		// Who calls a library is known by the function: that of Source is the library's, unless the
		// user's code is around it.
		r := Row{
			First: i, Last: i, Goroutine: step.Goroutine,
			operations: []repeated{{step.Operation, step.Source, 1}},
			Object:     step.Object, Source: step.Source, Function: words.BareFunction(step.Function),
			kind: step.Kind, Restored: step.Restored, Preempts: step.Preempts, Cached: step.Cached,
			Library: step.Library, Key: step.Key, Messages: messagesOf(step, streams),
			calledByOwn: step.Library != "" && step.Function != "" &&
				textutil.PackageOf(step.Function) != step.Library,
		}
		if len(rows) == 0 || !joins(rows[len(rows)-1], r) || !join(&rows[len(rows)-1], r) {
			rows = append(rows, r)
		}
	}
	return rows
}

// messagesOf writes the messages of a step, with the connection, the direction, and at the first
// of them who answered.
func messagesOf(step report.Step, streams wire.Decoders) []string {
	var lines []string
	for _, message := range step.IO {
		direction := "<-"
		if message.ToPeer {
			direction = "->"
		}
		for _, line := range streams.Describe(message) {
			about := fmt.Sprintf("connection %d", message.Conn)
			if message.About != "" {
				about = words.Printable(message.About)
			}
			lines = append(lines, fmt.Sprintf("%s %s: %s", direction, about, line))
		}
	}
	if more := len(lines) - maxMessages; more > 0 {
		lines = append(lines[:maxMessages], "and "+textutil.CountOf(more, "more message"))
	}
	return lines
}

// joins reports whether two rows become one: nothing is seen of them outside, and they are about
// the same object, in the same function. An empty object says nothing, so rows without one stay
// apart, unless they are at no place either and do the same: time passes, again.
func joins(a, b Row) bool {
	if a.passesAs(b) {
		return true
	}
	return (a.quiet() || a.Key) && (b.quiet() || b.Key) && len(a.Messages)+len(b.Messages) == 0 &&
		a.Goroutine == b.Goroutine && a.Object == b.Object && a.Object != "" && a.Function == b.Function &&
		a.Library == b.Library && (a.Library == "" || a.Source == b.Source) && a.kind == b.kind &&
		len(a.Outputs) == 0
}

// passesAs reports whether two rows are at no place, about nothing, and do the same.
func (r Row) passesAs(b Row) bool {
	for _, x := range []Row{r, b} {
		if !x.quiet() || x.Object+x.Source+x.Function+x.Library != "" || x.Preempts || x.Cached {
			return false
		}
	}
	return r.Goroutine == b.Goroutine && r.kind == b.kind && len(r.operations) == 1 &&
		r.operations[0].name == b.operations[0].name
}

// join adds the step b to the row a and says whether it belongs there. A row has at most maxJoined
// different operations; the same one again at the same place only counts. A row ends where its
// first operation comes again: another critical section begins, whose lines are others.
func join(a *Row, b Row) bool {
	last, next := &a.operations[len(a.operations)-1], b.operations[0]
	switch {
	case a.passesAs(b): // the numbers of the steps say how often
	case last.name == next.name && last.source == next.source:
		last.times++
		a.Key = a.Key || b.Key
	case len(a.operations) < maxJoined && a.operations[0].name != next.name:
		a.operations = append(a.operations, next)
		a.Key = a.Key || b.Key
	default:
		return false
	}
	a.Last = b.Last
	return true
}

// Fold replaces the middle of long quiet stretches of one goroutine by one row. Rows at the
// beginning and end of a stretch stay, since they show how the goroutine came there and where it
// went. The given slice is not changed.
func Fold(rows []Row) []Row {
	var folded []Row
	for len(rows) > 0 {
		// As many rows from here are quiet, and of one goroutine.
		n := 0
		for n < len(rows) && rows[n].quiet() && rows[n].Goroutine == rows[0].Goroutine {
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

// foldedRow stands for the rows that it replaces, and says how many operations they were.
func foldedRow(rows []Row) Row {
	first, last := rows[0], rows[len(rows)-1]
	return Row{
		First: first.First, Last: last.Last, Goroutine: first.Goroutine, kind: first.kind,
		operations: []repeated{{times: 1,
			name: "... " + textutil.CountOf(last.Last-first.First+1, "operation")}},
	}
}

// Shorten leaves out the middle of a schedule of more than maxRows rows. The end tells more than
// the beginning and gets three quarters of the room.
func Shorten(rows []Row) []Row {
	if len(rows) <= maxRows {
		return rows
	}
	head, tail := rows[:maxRows/4], rows[len(rows)-maxRows*3/4:]
	omission := fmt.Sprintf("... steps %d to %d are left out", head[len(head)-1].Last+2, tail[0].First)
	return append(append(append([]Row(nil), head...), Row{Omission: omission}), tail...)
}
