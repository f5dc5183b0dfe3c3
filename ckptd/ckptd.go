// Package ckptd is the checkpoint daemon: it runs groups of peers in namespaces of their
// own, saves their state with CRIU, or in memory, and puts it back. Both ends are here: Client for the
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
	"errors"
	"fmt"
	"io"
	"time"
)

// Options say how to run a daemon. The zero value is ready to use.
type Options struct {
	Daemon string // file of tandem-ckptd; "" means beside this executable
	Proxy  string // file of tandem-proxy; "" means beside this executable
	CRIU   string // file of criu; "" means what FindCRIU finds

	// Budget of memory for images and scratch directories, and of images. Over it, the
	// least useful images are dropped (usefulness.go), but for the first one of each group.
	// Zero means the default.
	MaxBytes  int64
	MaxImages int

	// Backend is how groups are saved; "" means BackendCRIU.
	Backend string

	// Quiescence is how it is told that a group is quiescent: peers.MethodProcfs, MethodEBPF, or QuiescenceAuto,
	// which "" means, too.
	Quiescence string

	// Verify has every restored group compared with how it looked at its checkpoint, in
	// everything that the kernel shows of it. A difference is an error, and ends the group.
	// It takes some milliseconds.
	Verify bool

	// Log receives what the daemon and CRIU write to their standard error; may be nil.
	Log io.Writer
}

// Defaults and limits of a daemon.
const (
	DefaultMaxBytes  = 1 << 30
	DefaultMaxImages = 4096
	MaxGroups        = 64

	DefaultMaxClients = 16 // of a shared daemon
)

// Backends, for Options.
const (
	BackendCRIU   = "criu"   // by CRIU: any group
	BackendMemory = "memory" // by forks that stay in memory: groups of simple processes; others are an error
	BackendAuto   = "auto"   // in memory as long as the group can be, and then by CRIU
)

// QuiescenceAuto is peers.MethodEBPF where the kernel allows it, and else peers.MethodProcfs.
const QuiescenceAuto = "auto"

// Errors that a caller may want to tell apart, with errors.Is. See also proxy.ErrDied
// and *peers.Died.
var (
	ErrDaemonDied   = errors.New("the checkpoint daemon tandem-ckptd died")
	ErrGroupDown    = errors.New("the peer group is not running")
	ErrDiffers      = errors.New("the peer group differs from how it was saved") // see Options.Verify
	ErrImageGone    = errors.New("there is no such image (any more)")
	ErrNotStored    = errors.New("the image cannot be stored")                // no budget, no room, or no writing
	ErrNoRoom       = fmt.Errorf("%w: there is no room for it", ErrNotStored) // within Options.MaxBytes and MaxImages
	ErrInvalid      = errors.New("invalid request")
	ErrNoCRIU       = errors.New("no usable CRIU")
	ErrNotQuiescent = errors.New("the peer group is not quiescent")
	ErrUnsavable    = errors.New("the peer group cannot be saved as it is now") // see Group.Checkpoint
)

// Image is a physical checkpoint: a saved state of a group, its scratch directory included.
type Image struct {
	ID      string
	Bytes   int64         // in the store, without files that it shares with older images
	Took    time.Duration // to take, at the daemon
	Backend string        // what took it: BackendCRIU or BackendMemory
	Refusal string        // why it was not BackendMemory, where Options left the choice
	// Dropped names the images, of any group, that had to make room for it; of thousands, the first ones.
	Dropped []string
}

// Finding is one thing that the machine has or lacks; see Probe.
type Finding struct {
	Name   string
	OK     bool
	Detail string
	Fix    string // what to do about it; empty where OK
}
