// Package kernels has small programs with the bugs of real ones: those of the families conc-bugs,
// inspect, parsec, splash2 and radbench of SCTBench. Each is what is left of a server, a compressor
// or a numeric program when all is taken away that its bug does not need. They were written anew.
package kernels

import (
	"slices"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

// Bugs are the programs of this package.
func Bugs() []bug.Bug { return slices.Concat(toolBugs, phaseBugs, pipelineBugs, engineBugs) }

// The classes of the bugs.
const (
	atomicity = "atomicity violation"
	order     = "order violation"
	lockOrder = "lock order"
	waiting   = "missed or missing wake-up"
	dataRace  = "data race"
)
