package ckptd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// temporaryDirectories are writable for everybody on any machine, and servers rely on that.
var temporaryDirectories = []string{"/tmp", "/var/tmp"}

// planTemporary gives the group directories for temporary files of its own, which are part of every checkpoint as its scratch
// directory is. A group that is started with something in the machine's keeps seeing that, read-only, and so does one that
// has something bound there.
func (h *hosted) planTemporary(g peers.Group) error {
	for _, target := range temporaryDirectories {
		at, err := os.Lstat(filepath.Join(rootDirectory, target))
		if err != nil || !at.IsDir() || uses(g, target) {
			continue
		}
		source := filepath.Join(h.directory, strings.ReplaceAll(target[1:], "/", "-"))
		if err := os.Mkdir(source, 0o700); err != nil {
			return err
		}
		if err := os.Chmod(source, 0o777|os.ModeSticky); err != nil {
			return err
		}
		if err := os.Chtimes(source, g.FilesChanged(), g.FilesChanged()); err != nil {
			return err
		}
		h.mounts = append(h.mounts, proxy.Mount{Source: source, Target: target})
	}
	return nil
}

// uses tells whether something is bound at or below a directory, or named there by a command or its environment.
func uses(g peers.Group, directory string) bool {
	below := directory + "/"
	for target := range g.Binds {
		if target == directory || strings.HasPrefix(target, below) {
			return true
		}
	}
	named := func(text string) bool { return strings.Contains(text, below) }
	return slices.ContainsFunc(g.Peers, func(p peers.Peer) bool {
		return slices.ContainsFunc(p.Command, named) || slices.ContainsFunc(p.Env, named) || named(p.Directory+"/")
	})
}
