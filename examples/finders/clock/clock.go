// Package clock has programs that rely on how time passes: that work takes less time than a timer,
// that a sleep is long enough, or that a timer will never get in the way. On a busy machine none of
// that is certain.
package clock

import (
	"slices"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

// Bugs are the programs of this package.
func Bugs() []bug.Bug { return slices.Concat(tooSoonBugs, leftBehindBugs, idleBugs) }

// The classes of the bugs.
const (
	tooSoon    = "time: a timer is faster than work"
	leftBehind = "time: work that outlives main"
	idle       = "time: a timer that wakes nobody"
)
