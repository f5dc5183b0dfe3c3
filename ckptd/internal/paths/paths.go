// Package paths has the places of files: where the daemon has its own, and where groups find
// theirs.
package paths

import "github.com/tandem-mc/tandem/peers"

// Where the daemon keeps its things, on a tmpfs that no other process sees.
const (
	Base      = "/run/tandem"
	Root      = Base + "/root" // the machine's root, read-only
	Devices   = Base + "/dev"  // the machine's /dev, read-only
	Groups    = Base + "/groups"
	Images    = Base + "/images"
	Work      = Base + "/criu" // a tmpfs of its own, which neither images nor peers can fill
	ProxyFile = Base + "/tandem-proxy"
	ShimFile  = Base + "/nd.so"
)

// Where a group finds its own things. The same for every group: each has its own /run.
const (
	Run            = "/run"
	Scratch        = peers.ScratchDirectory
	ProxyDirectory = ".proxy" // in /run, no part of a checkpoint
	Hostname       = "tandem"
	Roots          = Run + "/roots" // root directories of peers from images
)

// Where a group finds the shim and its counters. They are no part of a checkpoint.
const (
	ShimInGroup     = Run + "/" + ProxyDirectory + "/nd.so"
	CountersInGroup = Run + "/" + ProxyDirectory + "/nd"
)

// Where the vDSO of peers whose behaviour is chosen is, for the daemon and for a group.
const (
	VdsoFile    = Base + "/vdso.so"
	VdsoInGroup = Run + "/" + ProxyDirectory + "/vdso.so"
)
