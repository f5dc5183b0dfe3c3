package shared

import (
	"time"

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
)

// What commands and the page of status know of a shared daemon.

// Options say how to run a shared daemon. Zeros in them are the defaults. They hold for all
// clients.
type Options struct {
	Socket     string
	MaxClients int // at a time
	Limits     wire.Limits
}

// Status is what a shared daemon has. It is asked of all private daemons anew each time.
type Status struct {
	PID        int
	Since      time.Time
	Socket     string
	MaxClients int
	Clients    []wire.Status
}
