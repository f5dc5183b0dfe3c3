package page

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/wire"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// Bounds of what belongs to steps.
const (
	maxLines   = 20       // that tell the messages of one step
	maxKept    = 16 << 10 // bytes of one message
	maxData    = 1 << 20  // bytes of all messages
	maxPrinted = 40       // lines that are printed in one step
	maxText    = 300      // characters of a line
)

// notes puts what belongs to steps below them: restores, then messages, then what was printed.
// Messages of steps that are left out are decoded, too, since a decoder needs all that came before
// on its connection.
func (b *builder) notes(c *report.Counterexample) {
	outputs := slices.Clone(c.Outputs)
	slices.SortStableFunc(outputs, func(x, y report.Output) int { return x.Step - y.Step })
	// One decoder for each connection goes through all steps.
	streams := wire.Decoders{}
	printed := make([][]report.Output, len(b.steps))
	for _, o := range outputs {
		if i := b.shownAt(o.Step); i >= 0 {
			printed[i] = append(printed[i], o)
		}
	}
	shown := 0
	for i := range c.Steps {
		s := &c.Steps[i]
		// Steps that are shown have increasing numbers.
		visible := shown < len(b.numbers) && b.numbers[shown] == i
		if visible && s.Restored != "" {
			b.note(shown, Restored, b.restoredLane(), "restored: "+s.Restored, nil)
		}
		b.messages(s, shown, visible, streams)
		if visible {
			shown++
		}
	}
	b.peers.join(c.Outputs)
	b.outputs(printed)
	b.sortNotes()
}

// shownAt is where a step of the counterexample is on the page; one that is left out, or of which
// the number is not known, is at the next one, or the last one.
func (b *builder) shownAt(step int) int {
	// The numbers are in order.
	i, _ := slices.BinarySearch(b.numbers, step)
	return min(i, len(b.numbers)-1)
}

// restoredLane is the lane of the peers that were restored: the group is restored as a whole.
func (b *builder) restoredLane() int {
	if len(b.page.Lanes) > b.peers.first {
		return b.peers.first
	}
	return b.peers.named("peer")
}

// note adds a line below a step. Data are those of a message.
func (b *builder) note(step, kind, lane int, text string, data []byte) {
	// What there is no room for is counted.
	kept := min(len(data), maxKept, maxData-len(b.page.Data))
	// One number for each column.
	n := &b.page.Notes
	n.Step, n.Kind, n.Lane = append(n.Step, step), append(n.Kind, kind), append(n.Lane, lane)
	n.Text = append(n.Text, b.string(words.Fit(text, maxText)))
	n.Size, n.Kept = append(n.Size, len(data)), append(n.Kept, kept)
	b.page.Data = append(b.page.Data, data[:kept]...)
}

// messages adds the messages of a step, decoded.
func (b *builder) messages(s *report.Step, at int, visible bool, streams wire.Decoders) {
	written := 0
	for _, m := range s.IO {
		lines, lane := streams.Describe(m), b.peers.of(m)
		kind, about := FromPeer, fmt.Sprintf("connection %d", m.Conn)
		if m.ToPeer {
			kind = ToPeer
		}
		if m.About != "" {
			about = m.About
		}
		// Only the first line of a message has its bytes.
		data := m.Data
		for _, line := range lines {
			if written++; visible && written <= maxLines {
				b.note(at, kind, lane, about+": "+line, data)
			}
			data = nil
		}
	}
	if more := written - maxLines; visible && more > 0 {
		b.note(at, FromPeer, b.restoredLane(), "and "+textutil.CountOf(more, "more line"), nil)
	}
}

// outputs adds what was printed. What the program itself has printed is in the lane of its step.
func (b *builder) outputs(printed [][]report.Output) {
	for i, list := range printed {
		// The bound is that of all peers together.
		left := maxPrinted
		for _, o := range list {
			lane, name := b.page.Lane[i], "the program"
			if o.Peer != "" {
				lane, name = b.peers.named(o.Peer), o.Peer
			}
			lines := bytes.Split(bytes.TrimRight(o.Text, "\r\n"), []byte("\n"))
			if more := len(lines) - left; more > 0 {
				b.note(i, Output, lane, fmt.Sprintf("%s: ... %s before", name, textutil.CountOf(more,
					"line")), nil)
				lines = lines[more:] // the last ones say most
			}
			for _, line := range lines {
				text := strings.ReplaceAll(strings.TrimRight(string(line), "\r"), "\t", "    ")
				b.note(i, Output, lane, name+": "+text, nil)
			}
			left = max(left-len(lines), 0)
		}
	}
}

// sortNotes puts the notes into the order of the steps. The bytes of messages stay in their order,
// since outputs have none.
func (b *builder) sortNotes() {
	n := &b.page.Notes
	// What belongs to one step stays in its order: restores, messages, outputs.
	order := make([]int, len(n.Step))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return n.Step[x] - n.Step[y] })
	for _, column := range []*[]int{&n.Step, &n.Kind, &n.Lane, &n.Text, &n.Size, &n.Kept} {
		sorted := make([]int, len(order))
		for i, from := range order {
			sorted[i] = (*column)[from]
		}
		*column = sorted
	}
}
