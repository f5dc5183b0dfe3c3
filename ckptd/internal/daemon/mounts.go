package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/openfiles"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/internal/sys/userns"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// What is mounted for a group is planned here, and done by the proxy, in the group's own mount
// namespace. CRIU is given the same list, to find each mount by its name.

// planMounts decides the mounts of the group, outer ones first.
func (l *layout) planMounts(g peers.Group, scratch string) error {
	l.mounts = []proxy.Mount{
		{Source: paths.Devices, Target: "/dev"},
		{Source: l.directory, Target: paths.Run},
	}
	if err := l.planFileSystems(g); err != nil {
		return fmt.Errorf("show the peers other file systems of the machine: %w", err)
	}
	return l.planBinds(g.Binds, scratch)
}

// planFileSystems shows a group those file systems of the machine that it names, such as one at
// /home with a peer's program. Its root directory has none but that at /: each mount costs time in
// every checkpoint. A user namespace is given all of them, since it may not take them apart.
func (l *layout) planFileSystems(g peers.Group) error {
	if userns.Unprivileged() {
		return nil
	}
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return peers.ValidateTarget(m.Mountpoint) != nil || underSys(m.Mountpoint) ||
			!uses(g, m.Mountpoint), false
	})
	if err != nil {
		return err
	}
	at := make([]string, 0, len(mounts))
	for _, m := range mounts {
		at = append(at, m.Mountpoint)
	}
	slices.Sort(at)
	for _, place := range slices.Compact(at) { // of two at one place, only the upper one is seen
		info, err := os.Stat(place)
		if err != nil {
			return err
		}
		view, err := l.readOnly(place, info.IsDir(), len(l.mounts))
		if err != nil {
			return err
		}
		l.mounts = append(l.mounts, proxy.Mount{Source: view, Target: place})
		l.fileSystems = append(l.fileSystems, place)
	}
	return nil
}

// underSys tells what is about the kernel, and not a place for files.
func underSys(place string) bool { return place == "/sys" || strings.HasPrefix(place, "/sys/") }

// machineRoot is where the daemon sees a path of the group's that is not in the group's own
// directory: below paths.Root, which has the machine's root file system, or else in the daemon's
// own tree.
func (l *layout) machineRoot(path string) string {
	for _, place := range l.fileSystems {
		if strings.HasPrefix(path, place+"/") {
			return "/"
		}
	}
	return paths.Root
}

// planBinds decides what is bound for a group. A target may be a symbolic link, so places are
// compared where links lead: two binds over one place would hide each other.
func (l *layout) planBinds(binds map[string]string, scratch string) error {
	over := map[string]string{} // place → the target that leads there
	for _, target := range slices.Sorted(maps.Keys(binds)) {
		place, err := insideRoot(l.machineRoot(target), target)
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
		info, err := os.Stat(filepath.Join(l.machineRoot(place), place))
		if err != nil {
			return fmt.Errorf("bind over %s: %w", target, err)
		}
		source, err := l.bindSource(binds[target], scratch, len(l.mounts), info.IsDir())
		if err != nil {
			return fmt.Errorf("bind %s over %s: %w", binds[target], target, err)
		}
		l.mounts = append(l.mounts, proxy.Mount{Source: source, Target: place})
	}
	return nil
}

// insideRoot returns where a path leads, symbolic links followed, for who has the given root
// directory: a mount over a link that is absolute would be made outside. The kernel resolves the
// path with that root, so that no link leads out of it.
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
	below, ok := strings.CutPrefix(at, strings.TrimSuffix(root, "/"))
	if !ok || !strings.HasPrefix(below, "/") {
		return "", fmt.Errorf("%s is at %s, outside of %s", path, at, root)
	}
	return below, nil
}

// bindSource returns the path of what is to be bound, as the daemon sees it. What does not belong
// to the scratch directory, and so would not go back, is made read-only by a mount of the daemon:
// CRIU passes on the flags of the mount that it finds. The kinds must agree: a directory cannot be
// mounted over a file.
func (l *layout) bindSource(source, scratch string, number int, wantDirectory bool) (string, error) {
	// It goes back with the group, so it may be written to.
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
	return l.readOnly(source, wantDirectory, number)
}

// readOnly makes a read-only view of a directory or file of the machine, which ends with the group.
func (l *layout) readOnly(source string, isDirectory bool, number int) (place string, err error) {
	place = filepath.Join(l.directory, paths.ProxyDirectory, fmt.Sprintf("bind%d", number))
	if isDirectory {
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
	l.views = append(l.views, place)
	return place, nil
}

// replaceRandom puts a file of chosen bytes in the place of the random devices. Not every machine
// has both, and a mount needs a place.
func (l *layout) replaceRandom(own string, g peers.Group) error {
	file := filepath.Join(own, "random")
	if err := writeRandom(file, g); err != nil {
		return err
	}
	for _, device := range []string{"/dev/random", "/dev/urandom"} {
		there := filepath.Join(paths.Devices, strings.TrimPrefix(device, "/dev"))
		if _, err := os.Stat(there); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		l.mounts = append(l.mounts, proxy.Mount{Source: file, Target: device})
		for i := range g.Peers {
			if root := rootOf(g, i); root != "" {
				l.mounts = append(l.mounts, proxy.Mount{Source: file, Target: root + device})
			}
		}
	}
	return nil
}

// temporaryDirectories are writable for everybody on any machine, and servers rely on that. What
// peers leave there must go back with them.
var temporaryDirectories = []string{"/tmp", "/var/tmp"}

// planTemporary gives the group directories for temporary files of its own, which are part of every
// checkpoint as its scratch directory is. A group that is started with something in the machine's
// keeps seeing that, read-only, and so does one that has something bound there.
func (l *layout) planTemporary(g peers.Group) error {
	for _, target := range temporaryDirectories {
		at, err := os.Lstat(filepath.Join(paths.Root, target))
		if err != nil || !at.IsDir() || uses(g, target) {
			continue
		}
		source := filepath.Join(l.directory, strings.ReplaceAll(target[1:], "/", "-"))
		if err := os.Mkdir(source, 0o700); err != nil {
			return err
		}
		if err := os.Chmod(source, 0o777|os.ModeSticky); err != nil {
			return err
		}
		if err := os.Chtimes(source, g.FilesChanged(), g.FilesChanged()); err != nil {
			return err
		}
		l.mounts = append(l.mounts, proxy.Mount{Source: source, Target: target})
	}
	return nil
}

// uses tells whether something is bound at or below a directory, or named there by a command or its
// environment. A text that names the directory itself, without anything below it, does not count:
// many programs have it in their environment.
func uses(g peers.Group, directory string) bool {
	below := directory + "/"
	for target := range g.Binds {
		if target == directory || strings.HasPrefix(target, below) {
			return true
		}
	}
	named := func(text string) bool { return strings.Contains(text, below) }
	return slices.ContainsFunc(g.Peers, func(p peers.Peer) bool {
		return p.Image.Digest == "" && (slices.ContainsFunc(p.Command, named) || slices.ContainsFunc(p.Env,
			named) ||
			named(p.Directory+"/"))
	})
}

// BindReadOnly makes a read-only view of a directory or file at another place. A bind mount takes
// the flags of what it is bound from; read-only is a second step. If it fails, the first one is
// undone.
func BindReadOnly(source, place string) error {
	if userns.Unprivileged() {
		return bindTree(source, place)
	}
	if err := unix.Mount(source, place, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s to %s: %w", source, place, err)
	}
	if err := unix.Mount("", place, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		err = fmt.Errorf("make the view of %s for the groups read-only: %w", source, err)
		return errors.Join(err, unix.Unmount(place, unix.MNT_DETACH))
	}
	return nil
}
