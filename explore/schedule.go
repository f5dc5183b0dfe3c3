package explore

import "github.com/tandem-mc/tandem/explore/internal/core"

// A schedule: what a worker is to execute.
type (
	Schedule   = core.Schedule
	Sleeper    = core.Sleeper
	Priorities = core.Priorities
	Limits     = core.Limits
	Hold       = core.Hold
	Order      = core.Order
	Weight     = core.Weight
	Rare       = core.Rare
	RareKind   = core.RareKind
)

// The rare events.
const (
	NetworkFault  = core.NetworkFault
	ShortRead     = core.ShortRead
	ShortWrite    = core.ShortWrite
	EarlyTimer    = core.EarlyTimer
	SignalArrival = core.SignalArrival
	RareKinds     = core.RareKinds
	MaxRare       = core.MaxRare // in one schedule
)

// The orders.
const (
	Uniform      = core.Uniform
	PartialOrder = core.PartialOrder
	Walk         = core.Walk
	Orders       = core.Orders
)

// The greatest lengths of lists of a schedule.
const (
	MaxHolds   = core.MaxHolds
	MaxWeights = core.MaxWeights
	MaxObjects = core.MaxObjects
)
