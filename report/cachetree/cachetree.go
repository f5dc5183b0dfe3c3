// Package cachetree tells the inputs and answers of an I/O cache in words. What a message is may
// depend on all that came before it on its connection, so the tree is told from the top.
package cachetree

import (
	"fmt"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/wire"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// Bounds of what is said of a place.
const (
	maxLines = 4   // that tell the input, or the answer
	maxText  = 120 // characters of a line
)

// Describe fills in what each place of a tree was given and what the peers did: its messages, in
// order. Connections are named if there are several.
func Describe(tree *report.CacheTree, messages [][]report.Message) {
	// The number of a connection says nothing where there is only one.
	several := false
	below := make([]int, len(tree.Places)) // places right below, which are still to come
	for i, p := range tree.Places {
		if p.Parent >= 0 {
			below[p.Parent]++
		}
		for _, m := range messages[i] {
			several = several || m.Conn > 0
		}
	}
	// What is known of the streams goes down the tree. Each branch but the last gets a copy.
	streams := make([]wire.Decoders, len(tree.Places))
	for i := range tree.Places {
		p, known := &tree.Places[i], wire.Decoders{}
		if above := p.Parent; above >= 0 {
			known = streams[above]
			if below[above]--; below[above] > 0 {
				known = known.Clone()
			} else {
				streams[above] = nil
			}
		}
		p.Sent, p.Got = describe(known, messages[i], several)
		if below[i] > 0 {
			streams[i] = known
		}
	}
}

// describe tells the messages of a place.
func describe(streams wire.Decoders, messages []report.Message, several bool) (sent, got []string) {
	// The order between what was sent and what was got is lost: an input comes before its answer.
	for _, m := range messages {
		about := ""
		switch {
		case m.About != "":
			about = m.About + ": "
		case several:
			about = fmt.Sprintf("connection %d: ", m.Conn)
		}
		for _, line := range streams.Describe(m) {
			line = words.Fit(words.Printable(about)+line, maxText)
			if m.ToPeer {
				sent = append(sent, line)
			} else {
				got = append(got, line)
			}
		}
	}
	return bounded(sent), bounded(got)
}

// bounded cuts a list, and counts what is left out.
func bounded(lines []string) []string {
	more := len(lines) - maxLines
	if more <= 0 {
		return lines
	}
	return append(lines[:maxLines:maxLines], "and "+textutil.CountOf(more, "more line"))
}
