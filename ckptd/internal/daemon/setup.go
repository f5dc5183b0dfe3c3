package daemon

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/criu"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/shim"
)

// The daemon begins in namespaces of its own that still show the machine's files. It makes its own
// places over them, on a tmpfs that nobody else sees and that ends with it.

// setUp makes the daemon's own file tree. It happens once, before anything else, and what it has
// made ends with the mount namespace of the daemon.
func (d *daemon) setUp(s *wire.Setup) error {
	if s == nil || s.MaxBytes <= 0 || s.MaxImages <= 0 || d.store != nil {
		return fmt.Errorf("%w: the set-up is incomplete or repeated", wire.ErrInvalid)
	}
	// The daemon of a client of a shared one has no more than that one allows.
	if l := d.limits; l != (wire.Limits{}) {
		s.MaxBytes, s.MaxImages = min(s.MaxBytes, l.MaxBytes), min(s.MaxImages, l.MaxImages)
	}
	if err := mountOwnTree(s.MaxBytes); err != nil {
		return err
	}
	if err := netns.SmallHashTables(); err != nil {
		return fmt.Errorf("make the hash tables of the groups small: %w", err)
	}
	if err := store.CopyContent(s.Proxy, paths.ProxyFile); err != nil {
		return fmt.Errorf("copy the proxy: %w", err)
	}
	if err := os.Chmod(paths.ProxyFile, 0o755); err != nil {
		return err
	}
	if s.Shim != (shim.Libraries{}) {
		if err := d.shim.copyFrom(s.Shim); err != nil {
			return fmt.Errorf("copy the shim of the peers: %w", err)
		}
	}
	d.verify = s.Verify
	d.policy.criu, d.noCRIU = &criu.Runner{File: s.CRIU, Reaper: d.reaper}, s.NoCRIU
	d.policy.alone = s.Alone
	// Copies live in a network of their own: in the group's they would keep its addresses in use.
	if s.Backend != wire.BackendCRIU {
		var err error
		d.copies, err = netns.New()
		d.inMemory = err == nil
		d.always = s.Backend == wire.BackendMemory || s.CRIU == ""
		if err != nil && d.always {
			return fmt.Errorf("prepare the memory backend: %w", err)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "tandem-ckptd: all groups are saved by CRIU:", err)
		}
	}
	d.store = &store.Store{
		Directory: paths.Images, MaxBytes: s.MaxBytes, MaxImages: s.MaxImages,
		Used: func() (int64, error) { return store.BytesUsed(paths.Images) },
		Free: func() (int64, error) { return store.BytesFree(paths.Images) },
	}
	return nil
}

// mountOwnTree makes the daemon's own /proc and /run, the latter with room for a store of so many
// bytes. Everything is private to the daemon: nothing of it shows on the machine, and mounts of the
// machine that come later do not show here.
func mountOwnTree(maxBytes int64) error {
	// While an image is written the store holds one more than its budget.
	size := fmt.Sprintf("size=%d", maxBytes+maxBytes/2+2*peers.MaxContent)
	attach, err := viewMachine()
	if err != nil {
		return err
	}
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
		data                 string
	}{
		{target: "/", flags: unix.MS_REC | unix.MS_PRIVATE},
		{source: "proc", target: "/proc", kind: "proc"},
		// CRIU keeps what it learns about the kernel in /run, if that is a tmpfs. What access times
		// are for: see stamps.
		{source: "tandem", target: paths.Run, kind: "tmpfs", flags: unix.MS_STRICTATIME,
			data: size + ",mode=0755"},
	} {
		if err := unix.Mount(m.source, m.target, m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.kind, m.target, err)
		}
	}
	for _, directory := range []string{paths.Root, paths.Devices, paths.Groups, paths.Images, paths.Work} {
		if err := os.MkdirAll(directory, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount("tandem", paths.Work, "tmpfs", 0, "size=16m,mode=0700"); err != nil {
		return fmt.Errorf("mount tmpfs on %s: %w", paths.Work, err)
	}
	return attach()
}
