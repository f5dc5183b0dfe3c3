package explore

import "github.com/tandem-mc/tandem/explore/internal/core"

// A schedule: what a worker is to execute.
type (
	Schedule   = core.Schedule
	Sleeper    = core.Sleeper
	Priorities = core.Priorities
	Limits     = core.Limits
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
