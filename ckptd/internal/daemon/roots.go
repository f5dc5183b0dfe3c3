package daemon

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/image"
	"github.com/tandem-mc/tandem/proxy"
)

// A peer from an image has a root directory of its own, below /run of the group. So all that it
// writes there is part of every checkpoint. To copy a whole image for each group would take long,
// and to compare it at each checkpoint longer: what is shared of it is mounted read-only from where
// it was extracted. /proc, /dev and /run are those of the group.
//
// An overlay would not do: a restore puts files back, and below a mounted overlay none may change.

// rootOf is the root directory of a peer as the group sees it; empty: it is that of the group.
func rootOf(g peers.Group, i int) string {
	if g.Peers[i].Image.Digest == "" {
		return ""
	}
	return filepath.Join(paths.Roots, strconv.Itoa(i))
}

// makeRoots makes the root directories of the peers that have one of their own.
func (l *layout) makeRoots(g peers.Group) error {
	for i, p := range g.Peers {
		root := rootOf(g, i)
		if root == "" {
			continue
		}
		tree, ok := g.Trees[p.Image.Digest]
		if !ok {
			return fmt.Errorf("%w: the image of peer %s was not extracted", wire.ErrInvalid, p.Name)
		}
		if err := l.makeRoot(root, tree); err != nil {
			return fmt.Errorf("give peer %s the files of its image: %w", p.Name, err)
		}
	}
	if n := len(l.mounts); n > proxy.MaxMounts {
		return fmt.Errorf("%w: the images and binds of the peers take %d mounts, allowed are %d: "+
			"give fewer peers images", wire.ErrInvalid, n, proxy.MaxMounts)
	}
	return nil
}

// makeRoot copies what an image has of its own, and mounts the rest. A mount comes after that of
// the directory in which it is.
func (l *layout) makeRoot(root string, tree image.Tree) error {
	// The group cannot be seen yet: its tree is made where the daemon has it.
	directory := l.behind(root)
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	if err := store.CopyTree(tree.Own(), directory); err != nil {
		return err
	}
	if err := mergeRun(tree.Run(), l.directory); err != nil {
		return err
	}
	l.mounts = append(l.mounts, proxy.Mount{Source: paths.Devices, Target: root + "/dev"},
		proxy.Mount{Source: l.directory, Target: root + paths.Run})
	for _, shared := range tree.Shared {
		source, err := l.readOnly(tree.SharedAt(shared), true, len(l.mounts))
		if err != nil {
			return err
		}
		l.mounts = append(l.mounts, proxy.Mount{Source: source, Target: filepath.Join(root, shared)})
	}
	// Volumes of the image are for what its program writes.
	for n, volume := range tree.Volumes {
		// It lies beside the root directory, and so goes back with the group.
		source := fmt.Sprintf("%s-volume%d", directory, n)
		if err := os.Mkdir(source, 0o755); err != nil {
			return err
		}
		if err := store.CopyTree(tree.SharedAt(volume), source); err != nil {
			return err
		}
		l.mounts = append(l.mounts, proxy.Mount{Source: source, Target: filepath.Join(root, volume)})
	}
	return nil
}

// behind is where the daemon sees a path below /run of the group.
func (l *layout) behind(path string) string {
	return filepath.Join(l.directory, strings.TrimPrefix(path, paths.Run))
}

// mergeRun copies what an image has in /run to that of the group, in which all peers find it.
// What is there already stays as it is.
func mergeRun(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		place := filepath.Join(to, e.Name())
		if _, err := os.Lstat(place); !errors.Is(err, fs.ErrNotExist) || !e.IsDir() {
			continue
		}
		if err := os.Mkdir(place, 0o755); err != nil {
			return err
		}
		if err := store.CopyTree(filepath.Join(from, e.Name()), place); err != nil {
			return err
		}
	}
	return nil
}

// loads tells whether programs with a C library can load the shim: that is of glibc, and as old as
// what the shim was built with or newer. Others end at once when they are to load it.
func (s *shimFiles) loads(library string) bool {
	text, err := os.ReadFile(library)
	if err != nil {
		return false
	}
	for _, version := range s.versions {
		if !bytes.Contains(text, []byte(version+"\x00")) {
			return false
		}
	}
	return true
}

// versionsOf are the versions of the C library that a library needs.
func versionsOf(file string) (all []string, err error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	symbols, err := f.ImportedSymbols()
	for _, s := range symbols {
		if s.Version != "" {
			all = append(all, s.Version)
		}
	}
	return all, err
}
