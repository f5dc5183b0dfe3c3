package text

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// Bounds of what is said of the connections.
const (
	maxConnectionsShown = 6
	maxUnanswered       = 4
)

// connection is what had gone over one by the end of an execution.
type connection struct {
	number, sent, got int
	address           string
	answered          int         // the last step in which something arrived, by index; -1: none
	unanswered        []int       // the steps since then in which the program sent something
	sentIn, gotIn     map[int]int // bytes, by step; sent are only those since the last answer
	ended             string      // by the peer, and how
	closed            bool        // by the program
}

// printConnections says what had gone over the connections to the peers by then: how much, the last
// answer, and what the peer had not answered. Connections that the program has closed are left out.
func printConnections(p *printer.Printer, c *report.Counterexample) {
	list := slices.DeleteFunc(connectionsOf(c.Steps), func(x connection) bool { return x.closed })
	if len(list) == 0 {
		return
	}
	p.Heading("Connections to peers")
	for i, x := range list {
		if i == maxConnectionsShown {
			p.Printf("  and %s more", textutil.CountOf(len(list)-i, "connection"))
			break
		}
		p.Print("  " + x.head())
		// An answer ends what was unanswered before: streams do not say to what they answer.
		if x.answered >= 0 {
			p.Print(withPlace("    it last sent "+bytesOf(x.gotIn, x.answered), sourceOf(c, x.answered), ""))
		}
		for j, step := range x.unanswered {
			if j == maxUnanswered {
				p.Print("    and in " + textutil.CountOf(len(x.unanswered)-j, "later step"))
				break
			}
			p.Print(withPlace("    the program sent "+bytesOf(x.sentIn, step)+
				": the peer had sent nothing since", sourceOf(c, step), ""))
		}
	}
}

// bytesOf is how much was sent in a step, one way.
func bytesOf(way map[int]int, step int) string {
	return fmt.Sprintf("%s in step %d", textutil.CountOf(way[step], "byte"), step+1)
}

// head says how much had gone over a connection.
func (x connection) head() string {
	name := fmt.Sprintf("connection %d", x.number)
	if x.address != "" {
		name += " to " + words.Printable(x.address)
	}
	text := fmt.Sprintf("%s: the peer received %s, and sent %s", name, textutil.CountOf(x.sent, "byte"),
		textutil.CountOf(x.got, "byte"))
	if x.ended != "" {
		text += "; " + x.ended
	}
	return text
}

// sourceOf is where the user's code makes a step; empty if it is a library's.
func sourceOf(c *report.Counterexample, step int) string {
	s, _ := stepOf(c, step)
	if s.Library != "" && textutil.PackageOf(s.Function) == s.Library {
		return ""
	}
	return words.Printable(s.Source)
}

// connectionsOf lists the connections of a schedule, in the order in which they were first used.
func connectionsOf(steps []report.Step) []connection {
	var list []connection
	at := func(number int) *connection {
		i := slices.IndexFunc(list, func(x connection) bool { return x.number == number })
		if i < 0 {
			i = len(list)
			list = append(list, connection{number: number, answered: -1, sentIn: map[int]int{},
				gotIn: map[int]int{}})
		}
		return &list[i]
	}
	for i, step := range steps {
		for _, m := range step.IO {
			if m.About == "" {
				at(m.Conn).note(i, m)
			}
		}
	}
	return list
}

// note takes a message of a step.
func (x *connection) note(step int, m report.Message) {
	switch address, connects := strings.CutPrefix(m.Event, "connect to "); {
	case connects:
		x.address = address
	// The peer cannot answer any more to what the program has closed.
	case m.ToPeer && m.Event == "close":
		x.closed = true
	case !m.ToPeer && m.Event != "":
		x.ended = fmt.Sprintf("then: %s, in step %d", words.Printable(m.Event), step+1)
	}
	if len(m.Data) == 0 {
		return
	}
	// Several messages of a step are one, each way.
	if m.ToPeer {
		x.sent += len(m.Data)
		x.sentIn[step] += len(m.Data)
		if n := len(x.unanswered); n == 0 || x.unanswered[n-1] != step {
			x.unanswered = append(x.unanswered, step)
		}
		return
	}
	x.got += len(m.Data)
	x.gotIn[step] += len(m.Data)
	x.answered, x.unanswered = step, nil
	clear(x.sentIn)
}
