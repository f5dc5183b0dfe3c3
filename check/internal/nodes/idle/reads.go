package idle

import (
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/dependence"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// Reads are found in the log: an operation that accesses what has arrived on a connection, or waits
// for it, is a read. If it gets data, an input says so before its transition is over. Anything else
// that becomes of it counts as in vain: it finds nothing, or the end, its deadline passes, another
// goroutine closes the connection, or the execution ends first.

// What a read is from that is from no connection, or from one to which nothing was delivered.
const (
	none    = -1
	unknown = -2
)

// Operations on a connection. Those that write, or end it, do not depend on what has arrived.
var (
	writing = []sut.Operation{sut.SocketWrite, sut.SocketShutdown, sut.SocketClose, sut.DescriptorClose}
	reading = []sut.Operation{sut.SocketRead, sut.SocketTry, sut.PollWait}
)

// scan is one way through an execution.
type scan struct {
	Execution
	queues map[uint64]int // connections, by the object that stands for what has arrived there
	read   int            // from what the last read is that has not got data yet
	inVain map[int]bool   // connections, or unknown
}

// readsInVain are the numbers of the connections from which something is read in vain.
func readsInVain(x Execution) map[int]bool {
	s := scan{Execution: x, queues: queues(x.Log.Events), read: none, inVain: map[int]bool{}}
	s.run()
	if s.inVain[unknown] {
		delete(s.inVain, unknown)
		delivered := map[int]bool{}
		for _, number := range s.queues {
			delivered[number] = true
		}
		for number := range x.Connections {
			if !delivered[number] { // it may be this one
				s.inVain[number] = true
			}
		}
	}
	return s.inVain
}

// queues finds out which object stands for what has arrived on a connection: whatever is delivered
// there accesses it.
func queues(events []sut.Event) map[uint64]int {
	found := map[uint64]int{}
	for i := 1; i < len(events); i++ {
		if events[i].Kind == sut.Delivered && events[i-1].Kind == sut.Accessed {
			found[events[i-1].Subject] = int(events[i].Subject)
		}
	}
	return found
}

// run goes through the log.
func (s *scan) run() {
	events, input, next := s.Log.Events, 0, 0
	for i := range events {
		switch e := &events[i]; e.Kind {
		case sut.Stepped, sut.Pending:
			s.end()
			s.read = s.from(e, e.Object) // it may be over without any access
		case sut.Ticked:
			s.end()
		case sut.Accessed:
			if from := s.from(e, e.Subject); from != none && !s.isAdded(i) {
				if from != s.read { // else it is the read that the transition has begun with
					s.end()
				}
				s.read = from
			}
		case sut.Exchanged:
			for ; next < len(s.Made) && s.Inputs[next] == input; next++ {
				if d := network.Did(&s.Made[next]); d.Kind == model.Receive && !d.End {
					s.read = none
				}
			}
			s.end()
			input++
		}
	}
	s.end()
}

// end ends the last read: it has got no data.
func (s *scan) end() {
	if s.read != none {
		s.inVain[s.read] = true
	}
	s.read = none
}

// from is the connection from which an operation on an object reads.
func (s *scan) from(e *sut.Event, object uint64) int {
	number, found := s.queues[object]
	switch {
	case slices.Contains(writing, e.Operation):
		return none
	case found && number < len(s.Connections):
		return number
	case slices.Contains(reading, e.Operation):
		return unknown
	}
	return none
}

// isAdded says whether an access is not the program's: it delivers something, or stands for what
// the environment decides by.
func (s *scan) isAdded(i int) bool {
	e := s.Log.Events
	return i+1 < len(e) && e[i+1].Kind == sut.Delivered ||
		dependence.IsAdded(model.ObjectID(e[i].Subject), s.Arrivals)
}
