package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// An extracted image is arranged so that a group can have it: in what each peer has a copy of, and
// in what they share.

// programDirectories are not written to by what is run. They are most of an image.
var programDirectories = []string{"bin", "boot", "lib", "lib32", "lib64", "libx32", "opt", "sbin", "usr",
	"var/lib/dpkg", "var/lib/apt"}

// Bounds of a directory that each group has a copy of.
const (
	maxCopiedBytes = 64 << 20
	maxCopiedFiles = 4096
)

// arrange moves to the directory shared what peers can share, and makes what every root directory
// has to have.
func arrange(t *tree, whole string, d Description) (a Tree, err error) {
	own := t.directory
	if err := complete(t, whole, d.Directory); err != nil {
		return a, err
	}
	// What is missing is made first, so that the rest can count on it.
	// Where things are is found out while all of them are there.
	library := findLibrary(t)
	if err := copyLists(t, whole); err != nil {
		return a, err
	}
	volumes, err := makeVolumes(t, d.Volumes)
	if err != nil {
		return a, err
	}
	// A large directory at the top is most likely what the program reads, such as a model or a set
	// of pages. The image may name a part of it as a volume all the same.
	candidates := slices.Clone(programDirectories)
	entries, err := os.ReadDir(own)
	if err != nil {
		return a, err
	}
	for _, e := range entries {
		if e.IsDir() && !slices.Contains(candidates, e.Name()) && isLarge(filepath.Join(own, e.Name())) {
			candidates = append(candidates, e.Name())
		}
	}
	for _, name := range candidates {
		at, err := t.resolve(name)
		// A link, or not there.
		if err != nil || at != name || slices.Contains(volumes, name) {
			continue
		}
		moved, err := share(own, whole, name)
		if err != nil {
			return a, err
		}
		if moved {
			a.Shared = append(a.Shared, name)
		}
	}
	// A volume outside of the shared directories is a part of what each peer has for itself
	// already.
	isShared := func(below string) bool {
		return slices.ContainsFunc(a.Shared, func(s string) bool {
			return strings.HasPrefix(below+"/",
				s+"/")
		})
	}
	// The path is relative as long as the tree has not been moved to its place.
	if library != "" {
		a.Library = filepath.Join("own", library)
		if isShared(library) {
			a.Library = filepath.Join("shared", library)
		}
	}
	a.Volumes = slices.DeleteFunc(volumes, func(v string) bool { return !isShared(v) })
	return a, nil
}

// complete makes what every root directory has, whether the image has it or not. What the image has
// in /run goes to a directory of its own, since /run is that of the group.
func complete(t *tree, whole, working string) error {
	// An image may have a link at that place, which would lead elsewhere in a group.
	run, place := filepath.Join(t.directory, "run"), filepath.Join(whole, "run")
	info, err := os.Lstat(run)
	if err == nil && info.IsDir() {
		err = os.Rename(run, place)
	} else {
		err = os.Mkdir(place, 0o755)
	}
	if err != nil {
		return err
	}
	// Whatever an image has there would be hidden. What is mounted needs a directory, and not a
	// link.
	for _, name := range []string{"dev", "proc", "run", "sys"} {
		place := filepath.Join(t.directory, name)
		if err := errors.Join(os.RemoveAll(place), os.Mkdir(place, 0o755), os.Chtimes(place, made,
			made)); err != nil {
			return err
		}
	}
	// Everybody may write to it, as on any machine.
	if _, err := t.resolve("tmp"); err != nil {
		place := filepath.Join(t.directory, "tmp")
		err := errors.Join(os.RemoveAll(place), os.Mkdir(place, 0o755), unix.Chmod(place, 0o1777),
			os.Chtimes(place, made, made))
		if err != nil {
			return err
		}
	}
	// Engines make the working directory, too, where an image does not have it.
	for _, name := range []string{"etc", working} {
		fd, err := t.makeDirectory(name, map[string]bool{})
		if err != nil {
			return err
		}
		unix.Close(fd)
	}
	return nameLocalhost(t)
}

// nameLocalhost writes /etc/hosts where an image has none, or an empty one, as engines do.
func nameLocalhost(t *tree) error {
	if text, err := t.read("etc/hosts"); err == nil && len(text) > 0 {
		return nil
	}
	// It may be a link, or a pipe: what is there goes, and is not written to.
	etc, err := t.open("etc", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(etc)
	if err := removeAt(etc, "hosts"); err != nil {
		return err
	}
	if err := writeFile(etc, "hosts", strings.NewReader("127.0.0.1 localhost\n::1 localhost\n")); err != nil {
		return err
	}
	return errors.Join(unix.Fchmodat(etc, "hosts", 0o644, 0), setTime(etc, "hosts", made))
}

// copyLists copies the lists of users and groups, which may be links, for LookUp.
func copyLists(t *tree, whole string) error {
	for _, list := range []string{"passwd", "group"} {
		text, err := t.read("etc/" + list)
		if err == nil {
			err = os.WriteFile(filepath.Join(whole, list), text, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// makeVolumes makes the volumes that are not there, and says where they are.
func makeVolumes(t *tree, all []string) (volumes []string, err error) {
	const most = 32
	if len(all) > most {
		return nil, fmt.Errorf("it has %d volumes, allowed are %d: build it with fewer", len(all), most)
	}
	for _, name := range all {
		fd, err := t.makeDirectory(name, map[string]bool{})
		if err != nil {
			return nil, err
		}
		unix.Close(fd)
		// A volume may be behind a link, such as one from /var/run. It is mounted where it leads
		// to.
		at, err := t.resolve(name)
		if err != nil {
			return nil, err
		}
		volumes = append(volumes, at)
	}
	slices.Sort(volumes)
	return slices.Compact(volumes), nil
}

// findLibrary finds the C library of GNU, where distributions have it; empty if there is none.
func findLibrary(t *tree) string {
	for _, directory := range []string{"lib/x86_64-linux-gnu", "lib64", "lib", "usr/lib/x86_64-linux-gnu",
		"usr/lib64", "usr/lib"} {
		if at, err := t.resolve(directory + "/libc.so.6"); err == nil {
			return at
		}
	}
	return ""
}

// share moves a directory, and leaves an empty one like it in its place.
func share(own, whole, name string) (bool, error) {
	from, to := filepath.Join(own, name), filepath.Join(whole, "shared", name)
	info, err := os.Lstat(from)
	if err != nil || !info.IsDir() {
		return false, nil
	}
	var st unix.Stat_t
	if err := unix.Lstat(from, &st); err != nil {
		return false, err
	}
	// Programs can see when the directory above was changed, so its time is put back, too.
	parent := filepath.Dir(from)
	above, err := os.Lstat(parent)
	if err != nil {
		return false, err
	}
	err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.Rename(from, to), os.Mkdir(from, 0o755))
	if err == nil {
		err = errors.Join(os.Lchown(from, int(st.Uid), int(st.Gid)), unix.Chmod(from, st.Mode&0o7777),
			os.Chtimes(from, info.ModTime(), info.ModTime()), os.Chtimes(parent, above.ModTime(),
				above.ModTime()))
	}
	return err == nil, err
}

// isLarge tells whether a directory holds more than each group should have a copy of.
func isLarge(directory string) bool {
	bytes, files := int64(0), 0
	// The walk ends at the bound: there may be far more than that.
	err := filepath.WalkDir(directory, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() {
			bytes += info.Size()
		}
		if files++; files > maxCopiedFiles || bytes > maxCopiedBytes {
			// Ends the walk.
			return fs.ErrInvalid
		}
		return nil
	})
	return err != nil
}
