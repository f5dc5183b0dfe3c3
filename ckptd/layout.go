package ckptd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// layOut makes the group's /run with its scratch directory, files and the proxy.
func (h *hosted) layOut(g peers.Group) error {
	owners, err := ownersOf(g.Peers)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	own := filepath.Join(h.directory, proxyDirectory)
	scratch := filepath.Join(h.directory, filepath.Base(scratchDirectory))
	if err := errors.Join(os.MkdirAll(own, 0o755), os.MkdirAll(scratch, 0o755)); err != nil {
		return err
	}
	if err := copyPrepared(g.Prepared, scratch); err != nil {
		return err
	}
	for _, f := range g.Files {
		below, err := f.Below(scratchDirectory)
		if err != nil {
			return fmt.Errorf("%w: file: %w", ErrInvalid, err)
		}
		if err := writeFile(filepath.Join(scratch, below), f, g.FilesChanged()); err != nil {
			return err
		}
	}
	for _, p := range g.Peers {
		if below, ok := strings.CutPrefix(p.Directory, scratchDirectory+"/"); ok {
			if err := os.MkdirAll(filepath.Join(scratch, below), 0o755); err != nil {
				return fmt.Errorf("make the directory that peer %s is to run in: %w", p.Name, err)
			}
		}
	}
	if err := h.planMounts(g.Binds, scratch); err != nil {
		return err
	}
	if err := h.planTemporary(g); err != nil {
		return fmt.Errorf("give the peers directories for temporary files: %w", err)
	}
	if err := owners.give(scratch); err != nil {
		return fmt.Errorf("give the peers their files: %w", err)
	}
	replaced, err := h.replacements(g)
	if err != nil {
		return fmt.Errorf("choose what the peers read of the random devices: %w", err)
	}
	return h.installProxy(own, g, replaced)
}

// copyPrepared copies directories of the machine to their places in the scratch directory.
func copyPrepared(prepared map[string]string, scratch string) error {
	for _, place := range slices.Sorted(maps.Keys(prepared)) {
		below, err := (peers.File{Path: place}).Below(scratchDirectory)
		if err != nil {
			return fmt.Errorf("%w: what is prepared: %w", ErrInvalid, err)
		}
		to := filepath.Join(scratch, below)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if err := copyTree(prepared[place], to); err != nil {
			return fmt.Errorf("copy what was prepared for %s: %w", place, err)
		}
	}
	return nil
}

// installProxy puts the proxy and its configuration into the group's /run.
func (h *hosted) installProxy(own string, g peers.Group, replaced map[int]*proxy.VDSO) error {
	config := proxy.Config{
		Root:       rootDirectory,
		Mounts:     h.mounts,
		Executable: filepath.Join(runDirectory, proxyDirectory, filepath.Base(proxyFile)),
		File:       filepath.Join(runDirectory, proxyDirectory, "config.json"),
		Hostname:   hostname,
	}
	if err := h.installShim(own, g.Peers, g.ClockStart()); err != nil {
		return fmt.Errorf("put the shim of the peers in place: %w", err)
	}
	const firstOutput = proxy.Channel + 1
	for i, p := range g.Peers {
		who, err := p.Identity()
		if err != nil {
			return fmt.Errorf("%w: peer %s: %w", ErrInvalid, p.Name, err)
		}
		config.Peers = append(config.Peers, proxy.Command{
			Name: p.Name, Args: p.Command, Env: p.Env, Dir: p.Directory, UID: who.UID, GID: who.GID, Groups: who.Groups,
			Output: firstOutput + i, SameAddresses: p.Choices > 0, OnDemand: p.IsClient(), VDSO: replaced[i],
		})
	}
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(own, "config.json"), text, 0o600),
		os.Link(proxyFile, filepath.Join(own, filepath.Base(proxyFile))))
}

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

// planMounts decides the mounts of the group, outer ones first.
func (h *hosted) planMounts(binds map[string]string, scratch string) error {
	h.mounts = []proxy.Mount{
		{Source: devicesDirectory, Target: "/dev"},
		{Source: h.directory, Target: runDirectory},
	}
	over := map[string]string{} // place → the target that leads there
	for _, target := range slices.Sorted(maps.Keys(binds)) {
		place, err := insideRoot(rootDirectory, target)
		if err != nil {
			return fmt.Errorf("bind over %s: this machine does not have it: bind a directory above it, or create it: %w", target, err)
		}
		if err := peers.ValidateTarget(place); err != nil {
			return fmt.Errorf("bind over %s, which leads to %s: %w", target, place, err)
		}
		if other, taken := over[place]; taken {
			return fmt.Errorf("bind over %s and %s: both are %s: name one of them", other, target, place)
		}
		over[place] = target
	}
	for _, place := range slices.Sorted(maps.Keys(over)) {
		target := over[place]
		info, err := os.Stat(filepath.Join(rootDirectory, place))
		if err != nil {
			return fmt.Errorf("bind over %s: %w", target, err)
		}
		source, err := h.bindSource(binds[target], scratch, len(h.mounts), info.IsDir())
		if err != nil {
			return fmt.Errorf("bind %s over %s: %w", binds[target], target, err)
		}
		h.mounts = append(h.mounts, proxy.Mount{Source: source, Target: place})
	}
	return nil
}

// insideRoot returns where a path leads, symbolic links followed, for who has the given root
// directory: a mount over a link that is absolute would be made outside.
func insideRoot(root, path string) (string, error) {
	top, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", &fs.PathError{Op: "open", Path: root, Err: err}
	}
	defer unix.Close(top)
	fd, err := openBelow(top, path, unix.O_PATH, 0, false)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return "", err
	}
	below, ok := strings.CutPrefix(at, root)
	if !ok || !strings.HasPrefix(below, "/") {
		return "", fmt.Errorf("%s is at %s, outside of %s", path, at, root)
	}
	return below, nil
}

// bindSource returns the path of what is to be bound, as the daemon sees it. What does
// not belong to the scratch directory, and so would not go back, is made read-only by a
// mount of the daemon: CRIU passes on the flags of the mount that it finds.
func (h *hosted) bindSource(source, scratch string, number int, wantDirectory bool) (string, error) {
	if rest, ok := strings.CutPrefix(source, scratchDirectory); ok {
		source = filepath.Join(scratch, rest)
		if wantDirectory {
			return source, os.MkdirAll(source, 0o755)
		}
		_, err := os.Stat(source)
		return source, err
	}
	info, err := os.Stat(source)
	if err != nil {
		return "", err
	}
	if info.IsDir() != wantDirectory {
		return "", errors.New("one is a directory, the other is not")
	}
	place := filepath.Join(h.directory, proxyDirectory, fmt.Sprintf("bind%d", number))
	if wantDirectory {
		err = os.Mkdir(place, 0o755)
	} else {
		err = os.WriteFile(place, nil, 0o600)
	}
	if err != nil {
		return "", err
	}
	if err := bindReadOnly(source, place); err != nil {
		return "", err
	}
	h.views = append(h.views, place)
	return place, nil
}
