// Package proxy holds both ends of the command channel of a peer group.
//
// The proxy is pid 1 of the group's pid namespace. It owns the group's end of every
// connection of the system under test, so that those sockets are part of a checkpoint,
// and hands duplicates of them to the checker. The checker is not part of a checkpoint:
// after a restore it asks for the descriptors again. The five commands are those of
// Leungwattanakit et al., "Model Checking Distributed Systems by Combining Caching and
// Process Checkpointing", ASE 2011, section III.
package proxy

import (
	"context"
	"errors"
	"net/netip"
)

// ErrDied is in the chain of every error that a call returns because the proxy is gone.
var ErrDied = errors.New("the proxy of the peer group died")

// ID names a socket of the group. The checker chooses it; it means the same socket
// before and after a restore.
type ID uint32

// Commands are the five commands that a Client sends to the proxy.
//
// An error that the kernel reported for the socket operation itself is a *SocketError,
// which wraps the syscall.Errno. Any other error means that the command was not carried
// out: the context ended, the proxy died (ErrDied) or refused the command.
// Descriptors are non-blocking and close-on-exec; the caller closes them.
type Commands interface {
	// CreateSocket makes a TCP/IPv4 socket, or returns the one that id names already.
	CreateSocket(ctx context.Context, id ID) (fd int, err error)
	// CreateSocketFor makes a socket of the network and family of an address, or returns the one that id names already.
	CreateSocketFor(ctx context.Context, id ID, of Address) (fd int, err error)
	// Connect is ConnectTo over TCP.
	Connect(ctx context.Context, id ID, to netip.AddrPort) error
	// ConnectTo connects the socket and waits for the outcome. The local port follows from
	// id alone where it is free: the peers see the same address in every execution. A Unix socket of a process
	// that is not of the group is refused.
	ConnectTo(ctx context.Context, id ID, to Address) error
	// Bind is BindTo over TCP.
	Bind(ctx context.Context, id ID, at netip.AddrPort) error
	// BindTo binds the socket to an address of the group, of which port 0 is one that follows from id,
	// and listens on it if it is one for connections. Of a datagram socket it is its From.
	BindTo(ctx context.Context, id ID, at Address) error
	// Accept waits for a connection to the listening socket id and names it newID.
	Accept(ctx context.Context, id, newID ID) (fd int, from netip.AddrPort, err error)
	// Close closes the proxy's descriptor. The connection ends when the checker has
	// closed its duplicates, too.
	Close(ctx context.Context, id ID) error
}

var _ Commands = (*Client)(nil)

// Limits of one proxy.
const (
	MaxSockets = 4096 // sockets open at a time
	MaxPeers   = 64   // peers in a group
	MaxMounts  = 64   // mounts of a group, beside root, /proc and /dev
)

// Config tells a proxy what to set up before it serves. It travels as a JSON file.
type Config struct {
	// Root is a mount point that becomes the root directory of the group.
	Root string
	// Mounts are made below Root, in this order.
	Mounts []Mount
	// Executable is the proxy's own file and File this configuration, both as seen
	// from inside the new root.
	Executable, File string
	// Hostname of the group's UTS namespace.
	Hostname string
	// Peers are started in this order, but for those OnDemand.
	Peers []Command
}

// Mount puts the directory or file Source over Target, a path inside the group. It is
// read-only where the mount that Source belongs to is.
type Mount struct {
	Source, Target string
}

// Command is how to start one peer.
type Command struct {
	Name string
	Args []string // Args[0] is looked up in the PATH of Env
	Env  []string
	Dir  string // where it runs
	// UID, GID and Groups are what it runs as.
	UID    uint32   `json:",omitempty"`
	GID    uint32   `json:",omitempty"`
	Groups []uint32 `json:",omitempty"`
	// SameAddresses turns off the randomization of the address space.
	SameAddresses bool
	// OnDemand has it started by Client.Start and not with the group.
	OnDemand bool `json:",omitempty"`
	// Output is the descriptor, in the proxy, that becomes its standard output and error;
	// 0: it has the proxy's own.
	Output int `json:",omitempty"`
	// VDSO, if there is one, takes the place of the kernel's.
	VDSO *VDSO `json:",omitempty"`
}
