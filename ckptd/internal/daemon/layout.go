package daemon

import (
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/openfiles"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/shim"
	"github.com/tandem-mc/tandem/proxy"
)

// layOut makes the group's /run with its scratch directory, files and the proxy.
func (h *groupHost) layOut(g peers.Group) error {
	owners, err := ownersOf(g.Peers)
	if err != nil {
		return fmt.Errorf("%w: %w", wire.ErrInvalid, err)
	}
	own := filepath.Join(h.directory, paths.ProxyDirectory)
	scratch := filepath.Join(h.directory, filepath.Base(paths.Scratch))
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

// installProxy puts the proxy and its configuration into the group's /run.
func (h *groupHost) installProxy(own string, g peers.Group, replaced map[int]*proxy.VDSO) error {
	config := proxy.Config{
		Root:       paths.Root,
		Mounts:     h.mounts,
		Executable: filepath.Join(paths.Run, paths.ProxyDirectory, filepath.Base(paths.ProxyFile)),
		File:       filepath.Join(paths.Run, paths.ProxyDirectory, "config.json"),
		Hostname:   paths.Hostname,
	}
	if err := h.installShim(own, g.Peers, g.ClockStart()); err != nil {
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
			Groups: who.Groups,
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
func (h *groupHost) planMounts(binds map[string]string, scratch string) error {
	h.mounts = []proxy.Mount{
		{Source: paths.Devices, Target: "/dev"},
		{Source: h.directory, Target: paths.Run},
	}
	over := map[string]string{} // place → the target that leads there
	for _, target := range slices.Sorted(maps.Keys(binds)) {
		place, err := insideRoot(paths.Root, target)
		if err != nil {
			return fmt.Errorf(
				"bind over %s: this machine does not have it: bind a directory above it, or create it: %w",
				target, err)
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
		info, err := os.Stat(filepath.Join(paths.Root, place))
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
	fd, err := openfiles.OpenBelow(top, path, unix.O_PATH, 0, false)
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
func (h *groupHost) bindSource(source, scratch string, number int, wantDirectory bool) (string, error) {
	if rest, ok := strings.CutPrefix(source, paths.Scratch); ok {
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
	place := filepath.Join(h.directory, paths.ProxyDirectory, fmt.Sprintf("bind%d", number))
	if wantDirectory {
		err = os.Mkdir(place, 0o755)
	} else {
		err = os.WriteFile(place, nil, 0o600)
	}
	if err != nil {
		return "", err
	}
	if err := BindReadOnly(source, place); err != nil {
		return "", err
	}
	h.views = append(h.views, place)
	return place, nil
}

// Peers whose behaviour is chosen get another vDSO, and random devices that are files of
// chosen bytes, for what does not go through the library that is preloaded into them: static
// programs, those of Go, direct system calls, and what the C library does for itself.

// randomBytes is how much can be read of a random device.
const randomBytes = 1 << 20

// readVDSO learns how to map a VDSO, and where what is to be put in place is.
func readVDSO(file string) (*proxy.VDSO, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	v := &proxy.VDSO{File: paths.VdsoInGroup}
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		const page = 4096
		s := proxy.Segment{Address: p.Vaddr &^ (page - 1), Offset: p.Off &^ (page - 1),
			Writable: p.Flags&elf.PF_W != 0}
		s.Size = (p.Vaddr+p.Memsz+page-1)&^(page-1) - s.Address
		v.Segments = append(v.Segments, s)
		v.Size = max(v.Size, s.Address+s.Size)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	for _, s := range symbols {
		if s.Name == "tandem_state" {
			v.State = s.Value
		}
	}
	if v.State == 0 {
		return nil, fmt.Errorf("%s is not the vDSO of the shim", file)
	}
	return v, nil
}

// replacements says which peers get another vDSO: those that are chosen.
func (h *groupHost) replacements(g peers.Group) (map[int]*proxy.VDSO, error) {
	all := map[int]*proxy.VDSO{}
	for i, p := range g.Peers {
		if p.Choices == 0 || !h.daemon.hasShim {
			continue
		}
		v := *h.daemon.vdso
		v.Key, v.Start = key(p.Behaviour, i), g.ClockStart().Unix()
		all[i] = &v
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, h.chooseDevices(g)
}

// key makes a number that differs in many bits from those of other behaviours and peers.
func key(behaviour, peer int) uint64 {
	return rand.NewPCG(uint64(behaviour), uint64(peer)).Uint64()
}

// chooseDevices puts a file of chosen bytes in the place of the random devices.
func (h *groupHost) chooseDevices(g peers.Group) error {
	seed := uint64(0)
	for i, p := range g.Peers {
		seed ^= key(p.Behaviour, i)
	}
	source := rand.NewPCG(seed, 0)
	b := make([]byte, 0, randomBytes)
	for len(b) < randomBytes {
		b = binary.LittleEndian.AppendUint64(b, source.Uint64())
	}
	file := filepath.Join(h.directory, paths.ProxyDirectory, "random")
	if err := os.WriteFile(file, b, 0o444); err != nil {
		return err
	}
	for _, device := range []string{"/dev/random", "/dev/urandom"} {
		if _, err := os.Stat(filepath.Join(paths.Devices, device[len("/dev"):])); errors.Is(err,
			fs.ErrNotExist) {
			continue
		}
		h.mounts = append(h.mounts, proxy.Mount{Source: file, Target: device})
	}
	return nil
}

// takeShim copies the shim to where groups are made.
func (d *daemon) takeShim(s shim.Libraries) (err error) {
	for to, from := range map[string]string{paths.ShimFile: s.Library, paths.VdsoFile: s.VDSO} {
		if err := errors.Join(store.CopyContent(from, to), os.Chmod(to, 0o755)); err != nil {
			return err
		}
	}
	d.hasShim = true
	d.vdso, err = readVDSO(paths.VdsoFile)
	return err
}

// installShim puts the shim and the file of its counters into the directory of the proxy, and the
// shim into the environment of the peers.
func (h *groupHost) installShim(own string, started []peers.Peer, start time.Time) error {
	counters, err := os.OpenFile(filepath.Join(own, filepath.Base(paths.CountersInGroup)),
		os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	h.counters = counters
	if err := counters.Chmod(0o666); err != nil { // a peer may become another user
		return err
	}
	if err := counters.Truncate(shim.CountersSize); err != nil {
		return err
	}
	if !h.daemon.hasShim {
		return nil
	}
	for i := range started {
		started[i].Env = shim.Environment(started[i], i, paths.ShimInGroup, paths.CountersInGroup, start)
	}
	return errors.Join(
		os.Link(paths.ShimFile, filepath.Join(own, filepath.Base(paths.ShimInGroup))),
		os.Link(paths.VdsoFile, filepath.Join(own, filepath.Base(paths.VdsoInGroup))))
}

// temporaryDirectories are writable for everybody on any machine, and servers rely on that.
var temporaryDirectories = []string{"/tmp", "/var/tmp"}

// planTemporary gives the group directories for temporary files of its own, which are part of every
// checkpoint as its scratch directory is. A group that is started with something in the machine's
// keeps seeing that, read-only, and so does one that has something bound there.
func (h *groupHost) planTemporary(g peers.Group) error {
	for _, target := range temporaryDirectories {
		at, err := os.Lstat(filepath.Join(paths.Root, target))
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

// uses tells whether something is bound at or below a directory, or named there by a command or its
// environment.
func uses(g peers.Group, directory string) bool {
	below := directory + "/"
	for target := range g.Binds {
		if target == directory || strings.HasPrefix(target, below) {
			return true
		}
	}
	named := func(text string) bool { return strings.Contains(text, below) }
	return slices.ContainsFunc(g.Peers, func(p peers.Peer) bool {
		return slices.ContainsFunc(p.Command, named) || slices.ContainsFunc(p.Env, named) ||
			named(p.Directory+"/")
	})
}
