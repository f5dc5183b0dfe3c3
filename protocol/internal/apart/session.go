// Package apart has several processes search the global states of one model together, breadth
// first. The result is that of a search by one: the same states, transitions and depth, and a
// shortest run to a violation. It does not depend on how many processes there are, nor on what
// divides states among them, nor on processes that are lost on the way.
//
// # Parts
//
// A partition function says to which part a state belongs. A part is a process with an exact set of
// its own states. It expands those, and sends the others that it reaches to the parts that they
// belong to, in batches. It remembers what it has sent, so each state is sent at most once by each
// part. There are no other shared data: who asks whether a state is new is the one who knows.
//
// # Numbers
//
// States consist of numbers of local states and messages, and each process gives its own. So the
// entries of the sender's table come with its batches. The receiver makes the same entries in its
// own table, by running the same handlers, and then knows what the numbers stand for. Nothing rests
// on hashes: they only say to whom a state belongs. They are made of texts, which are the same in
// all processes. Two states with the same text belong to the same part, and stay two states.
//
// The functions are those of StEAM (Edelkamp, Jabbar, Sulewski: "Distributed Verification of
// Multi-threaded C++ Programs", PDMC 2007) that depend on the state only: the hash of all of it, or
// of some nodes, or its estimate. With slices by depth a state would have several owners.
//
// # Levels
//
// The front leads, and has no states. It has all parts do one level after the other. A part that
// has expanded its states of a level says how many batches it has sent to each of the others. With
// the next level, the front tells these numbers to all. A part begins the level when it has got so
// many. So nothing is under way when the last level turns out to be empty.
//
// # What may be lost
//
// All that a part does follows from the messages that it gets. So a process that is lost is
// replaced by another one, which gets the same messages, and does the same. Now and then a part
// saves a checkpoint (checkpoint.go). Another process goes on with the last one, and needs only the
// messages behind it. It need not send what was sent before: the front has gone on since.
// Batches carry the number of the process, and the front says whose count, so those of a process
// that was lost in the middle of a level are no harm, and neither is a message that comes twice.
// The front adds up, and tells its sums with each level. So another front can go on.
//
// # Reduction
//
// A part may expand only some transitions of a state. What is selected follows from the state and
// the table, so it is the same in all processes (Session.Config). In a cycle of states a transition
// must not be left out for ever. If a state is not expanded in full, one that it leads to belongs
// to the same part, which expands it in the next level (global.Share). So states on a way of such
// states are expanded later and later, and each way ends at one that is expanded in full. Where all
// runs end there is no cycle, and the result is that of a search by one. Elsewhere only the verdict
// is, since a part does not know which states of others are new.
//
// # The run to a violation
//
// A level in which a violation is met is done to its end, and the least violation is taken, in an
// order of what it is. Then the front asks level by level, back to the start, for a state that
// leads to the last one. Again it takes the least one. It goes along this run by itself in the end,
// with a table that has met nothing else.
package apart

import (
	"fmt"
	"sync"
	"time"

	"github.com/tandem-mc/tandem/protocol/internal/global"
)

// Session is what one process has to do with searches that several processes do together. It is the
// front, or a part. All of them run the same program, and come to the same searches one after the
// other.
type Session struct {
	Transport Transport
	IsFront   bool
	// Own is the number of the part, Process that of the process.
	Own       int
	Process   uint64
	Parts     int
	Partition Partition
	// Last is what another front has sent last of levels; nil: there was none. Ends are what it has
	// sent of searches that have ended.
	Last []byte
	Ends [][]byte
	// Saved is what a part begins with (Transport.Start); nil: nothing.
	Saved []byte
	// Every is the least time between two checkpoints of a part; zero: there are none. Always has
	// one at each level, for tests.
	Every  time.Duration
	Always bool
	// Batch is how many bytes of states are sent together; 0: as many as fit a message.
	Batch int
	// IsOther has this process choose other names of alike nodes than others, for tests.
	IsOther bool

	mu       sync.Mutex
	searches int
	// processes are those of the parts, for the front; zero: none has been started yet. They stay
	// parts from search to search.
	processes []uint64
}

// Next counts a search.
func (s *Session) Next() (search int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.searches++
	return s.searches
}

// Config is that of a search of a model. Model is the same in all processes.
func (s *Session) Config(c global.Config, t *Texts, model string) (Config, error) {
	if s.IsOther && c.Alike != nil {
		c.Alike.Seed = s.Process
	}
	// Of what is equally good, what comes first is selected. So the order of all numbers has to be
	// the same in all processes.
	if c.Select != nil {
		numbering, err := t.numbering()
		if err != nil {
			return Config{}, err
		}
		model += fmt.Sprintf("; reduced, with the numbers %x", numbering)
	}
	return Config{Global: c, Names: t, Parts: s.Parts, Partition: s.Partition, Batch: s.Batch,
		Every: s.Every, Always: s.Always, Model: model}, nil
}

// lastOf is Last, if it is of a search.
func (s *Session) lastOf(search int) []byte {
	if _, n, _, err := decode(s.Last); err == nil && n == search {
		return s.Last
	}
	return nil
}

// EndOf is the result of a search that another front has ended; nil: there is none. That one may
// have been lost before it forgot what was sent of the search, so this one does.
func (s *Session) EndOf(search int) (result []byte, err error) {
	for _, m := range s.Ends {
		if k, n, data, err := decode(m); err == nil && k == kindEnd && n == search {
			result = data
		}
	}
	if result != nil && s.IsFront && s.lastOf(search) != nil {
		err = s.Transport.Forget()
	}
	return result, err
}
