package protocol

// ID names a socket of the group. The checker chooses it; it means the same socket
// before and after a restore.
type ID uint32

// Limits of one proxy.
const (
	MaxSockets = 4096 // sockets open at a time
	MaxPeers   = 64   // peers in a group
	MaxMounts  = 256  // mounts of a group, beside root, /proc and /dev
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
	// Root is a directory of the group that is its root directory; empty: that of the group.
	// Args[0], Dir and VDSO are looked up below it.
	Root string `json:",omitempty"`
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

// VDSO is a library that stands in for the one which the kernel maps into a program: it
// makes the time and random numbers of programs that do not use the C library. Addresses
// are relative to where it is mapped; what is mapped is whole pages.
type VDSO struct {
	File     string // as seen from inside the group
	Size     uint64
	Segments []Segment
	State    uint64 // address of Key and Start, 8 bytes each
	Key      uint64 // what random numbers follow from
	Start    int64  // when the clock starts, in seconds of Unix time
}

// Segment is a part of the file of a VDSO.
type Segment struct {
	Address, Offset, Size uint64
	Writable              bool
}
