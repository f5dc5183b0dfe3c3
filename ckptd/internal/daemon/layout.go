package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// A group has a root directory like the machine's, read-only, with directories of its own over it:
// /run, /dev and those for temporary files. What the peers can write lies below the directory of
// the group, so that it is saved with each image, and goes back.

// layout is what a group sees of files that is not the machine's: its directory, and what is
// mounted over the machine's tree. It is made once, before the first incarnation, and used by all
// of them.
type layout struct {
	directory string // becomes /run of the group
	shim      *shimFiles
	mounts    []proxy.Mount // of the group, outer ones first
	views     []string      // read-only mounts of the daemon for this group
	// Where other file systems of the machine are shown than that of its root directory.
	fileSystems []string
	counters    *os.File // in which the peers' shim counts what they read
}

// make makes the group's /run with its scratch directory, files and the proxy. Everything is there,
// with its owner and its time, before the first peer starts: a peer would see when it was made.
func (l *layout) make(g peers.Group) error {
	owners, err := ownersOf(g.Peers)
	if err != nil {
		return fmt.Errorf("%w: %w", wire.ErrInvalid, err)
	}
	own := filepath.Join(l.directory, paths.ProxyDirectory)
	scratch := filepath.Join(l.directory, filepath.Base(paths.Scratch))
	if err := errors.Join(os.MkdirAll(own, 0o755), os.MkdirAll(scratch, 0o755)); err != nil {
		return err
	}
	if err := copyPrepared(g.Prepared, scratch); err != nil {
		return err
	}
	for _, f := range g.Files {
		below, err := f.Below(paths.Scratch)
		if err != nil {
			return fmt.Errorf("%w: file: %w", wire.ErrInvalid, err)
		}
		if err := writeFile(filepath.Join(scratch, below), f, g.FilesChanged()); err != nil {
			return err
		}
	}
	for _, p := range g.Peers {
		if below, ok := strings.CutPrefix(p.Directory, paths.Scratch+"/"); ok {
			if err := os.MkdirAll(filepath.Join(scratch, below), 0o755); err != nil {
				return fmt.Errorf("make the directory that peer %s is to run in: %w", p.Name, err)
			}
		}
	}
	if err := l.planMounts(g, scratch); err != nil {
		return err
	}
	if err := l.planTemporary(g); err != nil {
		return fmt.Errorf("give the peers directories for temporary files: %w", err)
	}
	// After everything is there that the peers are to own.
	if err := owners.give(scratch); err != nil {
		return fmt.Errorf("give the peers their files: %w", err)
	}
	if err := l.makeRoots(g); err != nil {
		return err
	}
	replaced := l.shim.replacements(g)
	if len(replaced) > 0 {
		if err := l.replaceRandom(own, g); err != nil {
			return fmt.Errorf("choose what the peers read of the random devices: %w", err)
		}
	}
	return l.installProxy(own, g, replaced)
}

// copyPrepared copies directories of the machine to their places in the scratch directory. A peer
// may write to its copy, and the next group begins with what was prepared.
func copyPrepared(prepared map[string]string, scratch string) error {
	for _, place := range slices.Sorted(maps.Keys(prepared)) {
		below, err := (peers.File{Path: place}).Below(paths.Scratch)
		if err != nil {
			return fmt.Errorf("%w: what is prepared: %w", wire.ErrInvalid, err)
		}
		to := filepath.Join(scratch, below)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if err := store.CopyTree(prepared[place], to); err != nil {
			return fmt.Errorf("copy what was prepared for %s: %w", place, err)
		}
	}
	return nil
}

// installProxy puts the proxy and its configuration into the group's /run. The configuration says
// how the peers are started, and as whom. Only root can read it: it may hold secrets of their
// environment.
func (l *layout) installProxy(own string, g peers.Group, replaced map[int]*proxy.VDSO) error {
	config := proxy.Config{
		Root:       paths.Root,
		Mounts:     l.mounts,
		Executable: filepath.Join(paths.Run, paths.ProxyDirectory, filepath.Base(paths.ProxyFile)),
		File:       filepath.Join(paths.Run, paths.ProxyDirectory, "config.json"),
		Hostname:   paths.Hostname,
	}
	var err error
	if l.counters, err = makeCounters(own); err == nil {
		err = l.shim.install(own, g)
	}
	if err != nil {
		return fmt.Errorf("put the shim of the peers in place: %w", err)
	}
	const firstOutput = proxy.Channel + 1
	for i, p := range g.Peers {
		who, err := p.Identity()
		if err != nil {
			return fmt.Errorf("%w: peer %s: %w", wire.ErrInvalid, p.Name, err)
		}
		config.Peers = append(config.Peers, proxy.Command{
			Name: p.Name, Args: p.Command, Env: p.Env, Dir: p.Directory, UID: who.UID, GID: who.GID,
			Groups: who.Groups, Root: rootOf(g, i),
			Output: firstOutput + i, SameAddresses: p.Choices > 0, OnDemand: p.IsClient(), VDSO: replaced[i],
		})
	}
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(own, "config.json"), text, 0o600),
		os.Link(paths.ProxyFile, filepath.Join(own, filepath.Base(paths.ProxyFile))))
}

// writeFile writes a file of the group, or makes a directory, with its mode and its time. The mode
// is set by a call of its own: the umask would change it.
func writeFile(path string, f peers.File, changed time.Time) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var err error
	if f.IsDirectory() {
		err = os.MkdirAll(path, 0o755)
	} else {
		err = os.WriteFile(path, f.Content, 0o600)
	}
	if err != nil {
		return err
	}
	if err := os.Chmod(path, f.Mode); err != nil {
		return err
	}
	// Peers tell when their files changed: that must not depend on when they were started.
	return os.Chtimes(path, changed, changed)
}

// close closes the counters, and takes away what the daemon has mounted for the group. What is
// still mounted must not be removed below: it is the machine's.
func (l *layout) close() error {
	if l.counters != nil {
		l.counters.Close()
	}
	for _, place := range l.views {
		if err := unix.Unmount(place, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", place, err)
		}
	}
	l.views = nil
	return nil
}

// remove removes the directory of the group, in which nothing is mounted any more. By then no
// process of the group is left.
func (l *layout) remove() error { return os.RemoveAll(l.directory) }
