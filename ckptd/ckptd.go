// Package ckptd is the checkpoint daemon: it runs groups of peers in namespaces of their own, saves
// their state with CRIU, or in memory, and puts it back. Both ends are here: Client for the
// checker, Serve for the daemon's command.
//
// A daemon belongs to one checker, who has started it or has had a shared one start it
// (ServeShared, Dial). It is pid 1 of its own pid namespace, in its own
// mount and network namespaces, and keeps everything (images, scratch directories) on a
// tmpfs that only it can see. When it ends, in whatever way, the kernel ends everything
// below it: nothing is left to clean up. It ends when the checker does.
//
// The life of a group:
//
//	client, err := ckptd.Spawn(ctx, ckptd.Options{})
//	group, err := client.Start(ctx, peers.Group{...})  // its peers are ready
//	fd, err := group.Proxy().CreateSocket(ctx, 1)
//	err = group.Proxy().Connect(ctx, 1, address)
//	err = group.Quiesce(ctx, drain)
//	image, err := group.Checkpoint(ctx)                // the group goes on
//	err = group.Restore(ctx, image.ID)                 // back; Proxy() is another one
//	fd, err = group.Proxy().CreateSocket(ctx, 1)       // the same socket
//	err = client.Close()                               // ends everything
package ckptd

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/tandem-mc/tandem/ckptd/internal/daemon"
	"github.com/tandem-mc/tandem/ckptd/internal/shared"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
)

// Options say how to run a daemon. The zero value is ready to use.
type Options struct {
	Daemon string // file of tandem-ckptd; "" means beside this executable, or that itself
	Proxy  string // file of tandem-proxy; "" means likewise
	CRIU   string // file of criu; "" means what FindCRIU finds

	// Budget of memory for images and scratch directories, and of images. Over it, the
	// least useful images are dropped, but for the first one of each group.
	// Zero means the default.
	MaxBytes  int64
	MaxImages int

	// Backend is how groups are saved; "" means BackendCRIU.
	Backend string

	// Quiescence is how it is told that a group is quiescent: peers.MethodProcfs, MethodEBPF, or
	// QuiescenceAuto, which "" means, too.
	Quiescence string

	// Verify has every restored group compared with how it looked at its checkpoint, in
	// everything that the kernel shows of it. A difference is an error, and ends the group.
	// It takes some milliseconds.
	Verify bool

	// Log receives what the daemon and CRIU write to their standard error; may be nil.
	Log io.Writer
}

// QuiescenceAuto is peers.MethodEBPF where the kernel allows it, and else peers.MethodProcfs.
const QuiescenceAuto = "auto"

// Image is a physical checkpoint: a saved state of a group, its scratch directory included.
type Image struct {
	ID      string
	Bytes   int64         // in the store, without files that it shares with older images
	Took    time.Duration // to take, at the daemon
	Backend string        // what took it: BackendCRIU or BackendMemory
	Refusal string        // why it was not BackendMemory, where Options left the choice
	// Dropped names the images, of any group, that had to make room for it; of thousands, the first
	// ones.
	Dropped []string
}

// Defaults and limits of a daemon.
const (
	DefaultMaxBytes   = wire.DefaultMaxBytes
	DefaultMaxImages  = wire.DefaultMaxImages
	DefaultMaxClients = wire.DefaultMaxClients // of a shared daemon
	MaxGroups         = wire.MaxGroups
)

// Backends, for Options.
const (
	BackendCRIU = wire.BackendCRIU // by CRIU: any group
	// by forks that stay in memory: groups of simple processes; others are an error
	BackendMemory = wire.BackendMemory
	BackendAuto   = wire.BackendAuto // in memory as long as the group can be, and then by CRIU
)

// Errors that a caller may want to tell apart, with errors.Is. See also proxy.ErrDied
// and *peers.Died.
var (
	ErrDaemonDied   = wire.ErrDaemonDied
	ErrGroupDown    = wire.ErrGroupDown
	ErrDiffers      = wire.ErrDiffers // see Options.Verify
	ErrImageGone    = wire.ErrImageGone
	ErrNotStored    = wire.ErrNotStored // no budget, room or writing, or a copy was killed
	ErrNoRoom       = wire.ErrNoRoom    // within Options.MaxBytes and MaxImages
	ErrInvalid      = wire.ErrInvalid
	ErrNoCRIU       = wire.ErrNoCRIU
	ErrNotQuiescent = wire.ErrNotQuiescent
	ErrUnsavable    = wire.ErrUnsavable // see Group.Checkpoint
)

// What a daemon has, and how much each client of a shared one may have.
type (
	Status      = wire.Status
	GroupStatus = wire.GroupStatus
	Operations  = wire.Operations
	ImageStatus = wire.ImageStatus
	Limits      = wire.Limits
)

// Program is the name of the daemon's program.
const Program = "tandem-ckptd"

// Main is that program. Its arguments begin with the first flag, and what it returns is its exit
// code: 1 for every error, which it writes to standard error. It must be root, if only of a user
// namespace: it makes namespaces, mounts a tmpfs and starts CRIU. That it has pid 1 shows that it
// was started in a namespace of its own, so that all its children end with it.
func Main(args []string) (code int) {
	if err := runDaemon(args); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", Program, err)
		return 1
	}
	return 0
}

// Serve is the whole life of a daemon, which must be pid 1 of a fresh pid namespace, in fresh mount
// and network namespaces, with the channel to the checker as descriptor 3. It returns nil once the
// checker has closed its end; the caller must exit then, which ends all groups. With limits, a
// shared daemon asks for the status by descriptor 4.
func Serve(limits Limits) error { return daemon.Serve(limits) }

// ServeShared is the whole life of a shared daemon. It returns when it has been told to stop.
func ServeShared(o SharedOptions) error { return shared.Serve(o) }

// Wait says how time is to pass for a group: see Group.Pass.
type Wait struct {
	// Most is how long it is until the program's next timer. 0: it has none, and time passes to the
	// first timer of the peers that makes them do something. With Once it passes to the first
	// timer, whatever comes of it.
	Most time.Duration
	Once bool
	// Patience bounds the wait for peers that have the machine's clock. A timer that is due later
	// counts as none.
	Patience time.Duration
	Drain    func() (progress bool, err error) // as for Quiesce
	Shows    func() (bool, error)              // whether the peers have done something since the wait began
}

// Passed is how time has passed for a group.
type Passed struct {
	Time time.Duration // how far, at most Wait.Most
	Idle bool          // no timer is due that would be waited for
	Tie  bool          // a timer of the peers is due with that of the program, and has not ended yet
	Due  time.Duration // from then on, of the first timer that was not waited for; 0: there is none
	Peer int           // whose that is
}
