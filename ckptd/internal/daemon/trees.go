package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/internal/sys/userns"
)

// In a user namespace that takes no privilege, the mounts of the machine are locked together: one
// cannot be bound without those below it, which would show what they hide, and the options of none
// can be taken back: mount_namespaces(7). So a view there is of a whole tree.

// openTree makes a view of everything that is mounted at and below a directory or file, as it is
// now. It belongs nowhere yet.
func openTree(source string) (int, error) {
	tree, err := unix.OpenTree(unix.AT_FDCWD, source,
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("bind %s with all that is mounted below it: %w", source, err)
	}
	return tree, nil
}

// attachTree makes such a view read-only, and mounts it at a place. It closes the view. Older ways
// to make mounts read-only take one at a time, and all options of each again: those that are locked
// would have to be known.
func attachTree(tree int, place string) error {
	defer unix.Close(tree)
	readOnly := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, readOnly)
	if errors.Is(err, unix.ENOSYS) {
		err = fmt.Errorf("%w: run as root, or on Linux 5.12 or later", err)
	}
	if err != nil {
		return fmt.Errorf("make what is to be at %s read-only for the groups: %w", place, err)
	}
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, place, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount a view at %s: %w", place, err)
	}
	return nil
}

// bindTree is BindReadOnly for a whole tree.
func bindTree(source, place string) error {
	tree, err := openTree(source)
	if err != nil {
		return err
	}
	return attachTree(tree, place)
}

// viewMachine makes views of what groups see of the machine, before the daemon has a tree of its
// own over that. The returned function mounts them at their places. What a peer wrote to the
// machine's files would not go back with it.
func viewMachine() (attach func() error, err error) {
	places := map[string]string{"/": paths.Root, "/dev": paths.Devices}
	if !userns.Unprivileged() {
		return func() (err error) {
			for source, place := range places {
				err = errors.Join(err, BindReadOnly(source, place))
			}
			return err
		}, nil
	}
	trees := map[int]string{}
	for source, place := range places {
		tree, err := openTree(source)
		if err != nil {
			return nil, err // which ends the daemon, and with it the other one
		}
		trees[tree] = place
	}
	return func() error {
		for tree, place := range trees {
			err = errors.Join(err, attachTree(tree, place))
		}
		return errors.Join(err, hide())
	}, nil
}

// hidden are places that the groups of root see as empty directories, since those have a view of
// the root file system alone. What is there is the machine's and changes, or would not go back.
var hidden = []string{
	filepath.Join(paths.Root, "sys"),
	filepath.Join(paths.Devices, "shm"), filepath.Join(paths.Devices, "pts"),
	filepath.Join(paths.Devices, "mqueue"), filepath.Join(paths.Devices, "hugepages"),
}

// hide mounts an empty directory over each of those that are there.
func hide() error {
	for _, place := range hidden {
		if info, err := os.Stat(place); err != nil || !info.IsDir() {
			continue
		}
		if err := unix.Mount("tandem", place, "tmpfs", unix.MS_RDONLY, "size=4k,mode=0755"); err != nil {
			return fmt.Errorf("mount tmpfs on %s: %w", place, err)
		}
	}
	return nil
}
