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
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/proxy/internal/protocol"
	"github.com/tandem-mc/tandem/proxy/internal/server"
)

type (
	// ID names a socket of the group. The checker chooses it; it means the same socket before and
	// after a restore.
	ID = protocol.ID
	// Network is a transport, by the name that package net has for it.
	Network = protocol.Network
	// Address is where a socket of the group is, or what it talks to.
	Address = protocol.Address
	// Config tells a proxy what to set up before it serves. It travels as a JSON file.
	Config = protocol.Config
	// Mount puts a directory or file over a path inside the group.
	Mount = protocol.Mount
	// Command is how to start one peer.
	Command = protocol.Command
	// VDSO is a library that stands in for the one which the kernel maps into a program.
	VDSO = protocol.VDSO
	// Segment is a part of the file of a VDSO.
	Segment = protocol.Segment
)

// The transports over which a group can be reached.
const (
	TCP        = protocol.TCP
	UDP        = protocol.UDP        // datagrams
	Unix       = protocol.Unix       // a stream
	Unixgram   = protocol.Unixgram   // datagrams
	Unixpacket = protocol.Unixpacket // a connection that keeps the bounds of messages
)

// Limits of one proxy.
const (
	MaxSockets = protocol.MaxSockets // sockets open at a time
	MaxPeers   = protocol.MaxPeers   // peers in a group
	MaxMounts  = protocol.MaxMounts  // mounts of a group, beside root, /proc and /dev
	MaxPath    = protocol.MaxPath    // bytes of the name of a Unix socket
)

// Channel is the descriptor of the command channel in the proxy.
const Channel = server.Channel

// Arguments of the two stages that the proxy runs through; see Run.
const (
	StageMount = server.StageMount
	StageServe = server.StageServe
)

// Filters is how many seccomp filters a peer has.
const Filters = server.Filters

// ParseAddress reads what Address.String writes. A colon may take the place of the blank after the
// network.
func ParseAddress(text string) (Address, error) { return protocol.ParseAddress(text) }

// AddressOf is where a socket is, as a system call tells it: Address.At or Address.Path.
func AddressOf(n Network, from unix.Sockaddr) Address { return protocol.AddressOf(n, from) }

// Program is the name of the proxy's program.
const Program = "tandem-proxy"

// Main is that program, which has two arguments: those of Run. What it returns is its exit code: 2
// where it is started in a wrong way, and 1 where it fails later. Errors go to standard error. The
// caller has locked the main goroutine to the first thread while packages were initialised, see
// Run.
func Main(args []string) (code int) {
	if len(args) != 2 || os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, Program+": started by tandem-ckptd as pid 1 of a peer group, not by hand")
		return 2
	}
	if err := Run(args[0], args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", Program, err)
		return 1
	}
	return 0
}

// Run is the whole life of a proxy, which must be pid 1 of fresh namespaces (pid, mount, UTS) with
// the channel as descriptor Channel and its output on descriptors 1 and 2. It goes through two
// stages. StageMount makes the group's file tree, enters it and executes the proxy again from
// there, so that nothing of the old tree is held open. StageServe starts the peers and serves until
// the channel ends.
//
// Run returns nil once the checker is gone or was told an error, and an error that it could not be
// told. It must be called on the process's first thread, which then has all its children.
func Run(stage, file string) error { return server.Run(stage, file) }

// ErrDied is in the chain of every error that a call returns because the proxy is gone.
var ErrDied = errors.New("the proxy of the peer group died")

// Commands are the five commands that a Client sends to the proxy.
//
// An error that the kernel reported for the socket operation itself is a *SocketError,
// which wraps the syscall.Errno. Any other error means that the command was not carried
// out: the context ended, the proxy died (ErrDied) or refused the command.
// Descriptors are non-blocking and close-on-exec; the caller closes them.
type Commands interface {
	// CreateSocket makes a TCP/IPv4 socket, or returns the one that id names already.
	CreateSocket(ctx context.Context, id ID) (fd int, err error)
	// CreateSocketFor makes a socket of the network and family of an address, or returns the one
	// that id names already.
	CreateSocketFor(ctx context.Context, id ID, of Address) (fd int, err error)
	// Connect is ConnectTo over TCP.
	Connect(ctx context.Context, id ID, to netip.AddrPort) error
	// ConnectTo connects the socket and waits for the outcome. The local port follows from id alone
	// where it is free: the peers see the same address in every execution. A Unix socket of a
	// process that is not of the group is refused.
	ConnectTo(ctx context.Context, id ID, to Address) error
	// Bind is BindTo over TCP.
	Bind(ctx context.Context, id ID, at netip.AddrPort) error
	// BindTo binds the socket to an address of the group, of which port 0 is one that follows from
	// id, and listens on it if it is one for connections. Of a datagram socket it is its From.
	BindTo(ctx context.Context, id ID, at Address) error
	// Accept waits for a connection to the listening socket id and names it newID.
	Accept(ctx context.Context, id, newID ID) (fd int, from netip.AddrPort, err error)
	// Close closes the proxy's descriptor. The connection ends when the checker has
	// closed its duplicates, too.
	Close(ctx context.Context, id ID) error
}

var _ Commands = (*Client)(nil)
