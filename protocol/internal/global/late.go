package global

import "github.com/tandem-mc/tandem/protocol/internal/space"

// A search in files learns at the end of a level which of the states that it has reached are new.
// That is too late for the proviso, which wants to know it of what the selected steps of a state
// lead to. So a level is gone through twice. The first pass visits the selected steps of all
// states. Of each state that may have to be expanded in full it notes which candidates it leads to.
// When the candidates are merged, the states are found that lead to nothing new. The second pass
// visits the rest of their steps. What that reaches is told apart from all else once more, and
// belongs to the same level.
//
// What is new is what no level up to the present one has. That depends neither on the order within
// the level nor on the second pass: what a selected step leads to is a candidate of the first one.
// So the states are those of a search in memory, which knows at once.

// pass is what a level is gone through for.
type pass uint8

const (
	onlyPass   pass = iota // it is known at once what is new, or nobody asks
	firstPass              // selected steps
	secondPass             // the rest
)

// late has the states of which a worker does not know whether they lead to new ones. What they lead
// to is in reached: that of each up to its end.
type late struct {
	states  []doubted
	reached []space.Ref
	settled int // so many of them are those of states; the others are those of cur
}

// doubted is a state, with the end of what it leads to.
type doubted struct {
	at  space.Ref
	end int
}

// bytes is what they take. Writing them down at the end of a chunk takes as much again of a state.
func (l *late) bytes() int64 { return int64(len(l.states))*(16+32) + int64(len(l.reached))*8 }

// reset forgets all doubts.
func (l *late) reset() { l.states, l.reached, l.settled = l.states[:0], l.reached[:0], 0 }
