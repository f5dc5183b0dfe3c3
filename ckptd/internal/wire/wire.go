package wire

import (
	"errors"
	"fmt"
)

// Defaults and limits of a daemon.
const (
	DefaultMaxBytes  = 1 << 30
	DefaultMaxImages = 4096
	MaxGroups        = 64

	DefaultMaxClients = 16 // of a shared daemon
)

// Backends, for Options.
const (
	BackendCRIU = "criu" // by CRIU: any group
	// by forks that stay in memory: groups of simple processes; others are an error
	BackendMemory = "memory"
	BackendAuto   = "auto" // in memory as long as the group can be, and then by CRIU
)

// Errors that a caller may want to tell apart, with errors.Is. See also proxy.ErrDied
// and *peers.Died.
var (
	ErrDaemonDied = errors.New("the checkpoint daemon tandem-ckptd died")
	ErrGroupDown  = errors.New("the peer group is not running")
	// see Options.Verify
	ErrDiffers   = errors.New("the peer group differs from how it was saved")
	ErrImageGone = errors.New("there is no such image (any more)")
	// no budget, no room, no writing, or a copy that was killed while it was made
	ErrNotStored = errors.New("the image cannot be stored")
	// within Options.MaxBytes and MaxImages
	ErrNoRoom       = fmt.Errorf("%w: there is no room for it", ErrNotStored)
	ErrInvalid      = errors.New("invalid request")
	ErrNoCRIU       = errors.New("no usable CRIU")
	ErrNotQuiescent = errors.New("the peer group is not quiescent")
	// see Group.Checkpoint
	ErrUnsavable = errors.New("the peer group cannot be saved as it is now")
)

// TextOf keeps the text of an error, and not what it is.
func TextOf(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(err.Error())
}
