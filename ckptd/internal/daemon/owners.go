package daemon

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/peers"
)

// Files of the group are written by the daemon, as root. Servers that run as another user want to
// read their configuration, and to write below their own directories; some refuse to start where
// others could.

// owners says to whom what is in the scratch directory belongs before the peers start. Peers run as
// different users, each of which expects its own files to be its own.
type owners struct {
	// byPeer are the identities of the peers by their names: each has the entry of its name at the
	// top.
	byPeer map[string]peers.Identity
	// common is who has the rest: the user of all those peers that are not root's. Where these have
	// different users it is root, and everybody may write.
	common peers.Identity
	shared bool
}

// ownersOf finds out whose the files are, from the identities of the peers: where all that are not
// root's have the same user, everything is that one's.
func ownersOf(all []peers.Peer) (o owners, err error) {
	o.byPeer = map[string]peers.Identity{}
	for _, p := range all {
		if o.byPeer[p.Name], err = p.Identity(); err != nil {
			return o, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.byPeer)) {
		who := o.byPeer[name]
		switch {
		case who.UID == 0 && who.GID == 0 || o.shared:
		case o.common.UID == 0 && o.common.GID == 0:
			o.common = who
		case o.common.UID != who.UID || o.common.GID != who.GID:
			o.common, o.shared = peers.Identity{}, true
		}
	}
	return o, nil
}

// of returns who has a path below the scratch directory. Only the first name of the path counts.
func (o owners) of(below string) peers.Identity {
	top, _, _ := strings.Cut(below, "/")
	if who, ok := o.byPeer[top]; ok {
		return who
	}
	return o.common
}

// give gives everything in the scratch directory to its owner. Times and modes stay. Where
// everything is root's already there is nothing to do.
func (o owners) give(scratch string) error {
	if o.common.UID == 0 && o.common.GID == 0 && !o.shared {
		return nil
	}
	if o.shared {
		if err := os.Chmod(scratch, 0o777|fs.ModeSticky); err != nil {
			return err
		}
	}
	// Links are given, too, and not what they lead to.
	return filepath.WalkDir(scratch, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(scratch, path)
		if err != nil {
			return err
		}
		who := o.of(below)
		return os.Lchown(path, int(who.UID), int(who.GID))
	})
}
