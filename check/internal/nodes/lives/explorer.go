package lives

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pace"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// Mortal is what a node that may crash is in an execution: one of its lives.
type Mortal struct {
	// Disk is what the life has found, and Born when it began.
	Disk []byte
	Born time.Duration
	Was  Lives // those before, with so many inputs
	// Before is how many inputs the lives before had.
	Before int
	// Fate says when the crashes of the script come, where there is no pace, and Crashed when the
	// last one came. Points are those at which the node could crash in this life.
	Fate    pace.Timing
	Crashed int
	Points  Points
}

// Node is a node in an execution that follows a script, which is E.
type Node[E any] interface {
	// Life is its present life. Follows has the script and what the node has done, and says whether
	// that is the script's.
	Life() *Mortal
	Follows() (script, made []skeleton.Event, follows bool)
	// BeginsAnew has the node run again after an execution in which it has crashed, and says if
	// it does. Down is called wherever it is down.
	BeginsAnew(log *sut.Log, down func()) bool
	// Clone is a copy of a node that has just begun a life.
	Clone() E
}

// Explorer goes through the lives of a node in an exploration.
type Explorer[E Node[E]] struct {
	// Search runs executions of a life until one is enough, and says whether it was. Run runs one.
	Search func(begin func() E, enough func(E, *sut.Log, model.Outcome) bool) (bool, error)
	Run    func(n E, s sut.Schedule) (*sut.Log, error)
	// Look is called with each execution of each life, and says whether it is enough. Down is
	// called wherever the node is down; nil: nobody wants to know.
	Look func(E, *sut.Log, model.Outcome) bool
	Down func(E, *sut.Log)
	// All: lives are run only when all executions of the one before have been. Else the first life
	// that is enough is looked for.
	All  bool
	seen map[[sha256.Size]byte]bool // what lives have begun with
}

// Explore runs executions of a life, and of those that follow, until one is enough, and says
// whether it was.
func (x *Explorer[E]) Explore(begin func() E) (found bool, err error) {
	script, made, _ := begin().Follows()
	crash := Next(script, len(made))
	var ends []Life
	var failed error
	found, err = x.Search(begin, func(n E, log *sut.Log, o model.Outcome) bool {
		if x.Look(n, log, o) {
			return true
		}
		life, found := n.Life(), false
		for _, at := range life.Points.At(crash) {
			ends = append(ends, at.Ends(log.Events, life.Before))
		}
		if !x.All {
			found, failed = x.next(begin, ends)
			ends = nil
		}
		return found || failed != nil
	})
	if err = cmp.Or(failed, err); err == nil && !found {
		found, err = x.next(begin, ends)
	}
	return found, err
}

// next has a life end in crashes, and explores those that come after it.
func (x *Explorer[E]) next(begin func() E, ends []Life) (found bool, err error) {
	for _, end := range ends {
		n := begin()
		if x.isKnown(n, fmt.Appendf(nil, "%v", end)) {
			continue
		}
		log, err := x.Run(n, Schedule(n, end))
		if err != nil {
			return false, err
		}
		_, _, follows := n.Follows()
		if !follows && x.Look(n, log, 0) { // it closes other things than the script says
			return true, nil
		}
		down := func() {
			if x.Down != nil {
				x.Down(n, log)
			}
		}
		if !n.BeginsAnew(log, down) || x.isKnown(n, n.Life().Disk) {
			continue
		}
		if found, err = x.Explore(n.Clone); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// isKnown says whether a node has been where it is now, with something more, and notes that.
func (x *Explorer[E]) isKnown(n E, more []byte) bool {
	_, made, _ := n.Follows()
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", network.KeyOf(made), n.Life().Disk, more))
	if x.seen == nil {
		x.seen = map[[sha256.Size]byte]bool{}
	}
	was := x.seen[key]
	x.seen[key] = true
	return was
}

// Schedule has a node do what it does in a life that is known, if it can.
func Schedule[E Node[E]](n E, l Life) sut.Schedule {
	script, made, _ := n.Follows()
	if crash := Next(script, len(made)); crash != nil && l.Crash > 0 {
		n.Life().Fate = pace.Timing{crash.Name: l.Crash}
	}
	return sut.Schedule{Prefix: l.Choices}
}

// Again runs a node as it is known to go on, life by life, and then in any way.
func Again[E Node[E]](n E, known Lives, run func(n E, s sut.Schedule) (*sut.Log, error)) (*sut.Log, error) {
	for i := 0; ; i++ {
		var life Life
		if i < len(known) {
			life = known[i]
		}
		s := Schedule(n, life)
		s.Lenient = true
		log, err := run(n, s)
		if err != nil || !n.BeginsAnew(log, nil) {
			return log, err
		}
	}
}
