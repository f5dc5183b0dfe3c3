package explore

import (
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
)

// The log of an execution: what a worker has executed.
type (
	Execution   = core.Execution
	Estimated   = core.Estimated
	Transition  = core.Transition
	Alternative = core.Alternative
	Pending     = core.Pending
	Action      = core.Action
	GoroutineID = core.GoroutineID
	ObjectID    = core.ObjectID
	Access      = core.Access
	AccessKind  = core.AccessKind
	Need        = core.Need
	Outcome     = core.Outcome
)

// The kinds of access.
const (
	Read    = core.Read
	Write   = core.Write
	Commute = core.Commute
)

// The wait conditions of an object, as bits of Access.Ready and Need.Mask.
const (
	ReadyExclusive = core.ReadyExclusive
	ReadyShared    = core.ReadyShared
	ReadySend      = core.ReadySend
	ReadyReceive   = core.ReadyReceive
	ReadyPartner   = core.ReadyPartner
	CountsWaiting  = core.CountsWaiting
)

// The outcomes of an execution.
const (
	Completed       = core.Completed
	Deadlock        = core.Deadlock
	Panicked        = core.Panicked
	Exited          = core.Exited
	AssertionFailed = core.AssertionFailed
	Leaked          = core.Leaked
	DataRace        = core.DataRace
	Redundant       = core.Redundant
	StepLimit       = core.StepLimit
	Livelock        = core.Livelock
)

// Errors of Search.Report.
type (
	DivergenceError = core.DivergenceError
	LogError        = core.LogError
)

// Fingerprint returns a hash of the partial order (Mazurkiewicz trace) that an
// execution is a linearization of: the same for executions that differ only in
// the order of independent transitions, and (but for collisions) different for
// others. It does not depend on the values of ObjectIDs. The log must be one that
// Report would accept; else Fingerprint panics.
func Fingerprint(e Execution) uint64 { return trace.Fingerprint(e) }
