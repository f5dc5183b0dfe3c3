package check

import "github.com/tandem-mc/tandem/ckptd"

// SharedDaemon is a checkpoint daemon that several checks use at the same time.
type SharedDaemon = ckptd.SharedDaemon

// DefaultDaemon is the shared daemon that is meant where nothing is said.
func DefaultDaemon() SharedDaemon { return ckptd.DefaultDaemon() }
