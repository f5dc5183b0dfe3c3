package core

import "github.com/tandem-mc/tandem/internal/model"

// The vocabulary of package model, by the names that it has there.
type (
	GoroutineID = model.GoroutineID
	ObjectID    = model.ObjectID
	Action      = model.Action
	Access      = model.Access
	AccessKind  = model.AccessKind
	Outcome     = model.Outcome
	StateKey    = model.StateKey
	NamedState  = model.NamedState
)

// StateObject is what all transitions access where states are asked for.
const StateObject = model.StateObject

// The kinds of access.
const (
	Read        = model.Read
	Write       = model.Write
	Commute     = model.Commute
	AccessKinds = model.AccessKinds
)

// The wait conditions of an object, as bits of Access.Ready and Need.Mask.
const (
	ReadyExclusive = model.ReadyExclusive
	ReadyShared    = model.ReadyShared
	ReadySend      = model.ReadySend
	ReadyReceive   = model.ReadyReceive
	ReadyPartner   = model.ReadyPartner
	ReadyMasks     = model.ReadyMasks
	CountsWaiting  = model.CountsWaiting
)

// The outcomes of an execution.
const (
	Completed       = model.Completed
	Deadlock        = model.Deadlock
	Panicked        = model.Panicked
	Exited          = model.Exited
	AssertionFailed = model.AssertionFailed
	Leaked          = model.Leaked
	DataRace        = model.DataRace
	Redundant       = model.Redundant
	StepLimit       = model.StepLimit
	Livelock        = model.Livelock
	Outcomes        = model.Outcomes
)

// The verdicts.
const (
	Unknown  = model.Unknown
	Holds    = model.Holds
	Violated = model.Violated
)
