package server

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/userns"
	"github.com/tandem-mc/tandem/proxy/internal/protocol"
)

// enter mounts the group's tree, makes it the root directory and executes the proxy again. It
// returns only if that has failed. The group has a /proc of its own, which shows its processes by
// the IDs that they have in its namespace. A step that fails leaves a tree that is of no use; the
// namespace ends with the process.
func enter(c protocol.Config) error {
	if err := unix.Sethostname([]byte(c.Hostname)); err != nil {
		return fmt.Errorf("set the host name of the group: %w", err)
	}
	// From here on, mounts of the group are not seen outside, nor the other way round.
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE); err != nil {
		return err
	}
	if err := mount("proc", filepath.Join(c.Root, "proc"), "proc", 0); err != nil {
		return err
	}
	bind := uintptr(unix.MS_BIND)
	if userns.Unprivileged() { // what is mounted below is locked to it
		bind |= unix.MS_REC
	}
	for _, m := range c.Mounts {
		if err := mount(m.Source, filepath.Join(c.Root, m.Target), "", bind); err != nil {
			return err
		}
	}
	for _, p := range c.Peers {
		if p.Root == "" {
			continue
		}
		// It is the same file system, so that processes are seen alike everywhere.
		own := filepath.Join(c.Root, p.Root, "proc")
		if err := mount(filepath.Join(c.Root, "proc"), own, "", unix.MS_BIND); err != nil {
			return err
		}
	}
	if err := pivot(c.Root); err != nil {
		return err
	}
	if err := standardInput(); err != nil {
		return err
	}
	// The channel and the outputs survive the execution; stage "serve" closes them on its own.
	kept := []int{Channel}
	for _, p := range c.Peers {
		if p.Output != 0 {
			kept = append(kept, p.Output)
		}
	}
	for _, fd := range kept {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return fmt.Errorf("keep descriptor %d: %w", fd, err)
		}
	}
	err := unix.Exec(c.Executable, []string{c.Executable, StageServe, c.File}, os.Environ())
	return fmt.Errorf("execute %s inside the group: %w", c.Executable, err)
}

// mount is mount(2) with an error that says what it was about.
func mount(source, target, kind string, flags uintptr) error {
	if err := unix.Mount(source, target, kind, flags, ""); err != nil {
		return fmt.Errorf("mount %q on %s: %w", source, target, err)
	}
	return nil
}

// pivot makes root, a mount point, the root directory and lets go of the old one. Unlike after
// chroot(2) there is no way back.
func pivot(root string) error {
	if err := unix.Chdir(root); err != nil {
		return fmt.Errorf("enter %s: %w", root, err)
	}
	// With "." twice the old root is stacked over the new one: pivot_root(2), NOTES.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("make %s the root directory: %w", root, err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the old root directory: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("enter the new root directory: %w", err)
	}
	return nil
}

// standardInput replaces descriptor 0, which belongs to the old tree. As long as it was open, a
// checkpoint of the proxy would have a file that is not in the group.
func standardInput() error {
	fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/null of the group: %w", err)
	}
	if err := unix.Dup3(fd, 0, 0); err != nil {
		return fmt.Errorf("replace standard input: %w", err)
	}
	return nil
}
