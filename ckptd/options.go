package ckptd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/tandem-mc/tandem/ckptd/internal/criu"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys/userns"
	"github.com/tandem-mc/tandem/peers/shim"
	"github.com/tandem-mc/tandem/proxy"
)

// What Options leave open is decided in the client: where the programs are, which CRIU is used, and
// what the budget is. The daemon gets an answer to everything, and none of the client's
// environment.

// complete checks the options and fills in their defaults. What can be found wrong here is not left
// to the daemon.
func (o *Options) complete() (wire.Setup, error) {
	var s wire.Setup
	var err error
	if s.Proxy, err = programFile(o.Proxy, proxy.Program); err != nil {
		return s, err
	}
	if s.MaxBytes = o.MaxBytes; s.MaxBytes == 0 {
		s.MaxBytes = DefaultMaxBytes
	}
	s.Verify = o.Verify
	if s.MaxImages = o.MaxImages; s.MaxImages == 0 {
		s.MaxImages = DefaultMaxImages
	}
	if s.Backend = o.Backend; s.Backend == "" {
		s.Backend = BackendCRIU
	}
	if !slices.Contains([]string{BackendCRIU, BackendMemory, BackendAuto}, s.Backend) {
		return s, fmt.Errorf("there is no backend %.64q: choose %s, %s or %s", o.Backend, BackendAuto,
			BackendCRIU, BackendMemory)
	}
	if err := o.chooseCRIU(&s); err != nil {
		return s, err
	}
	if s.MaxBytes < 0 || s.MaxImages < 0 {
		return s, fmt.Errorf("a budget of %d bytes or %d images is negative", o.MaxBytes, o.MaxImages)
	}
	return s, nil
}

// chooseCRIU finds the CRIU that is to be used. Without one, groups that memory holds run all the
// same: only where nothing but CRIU may save them is it an error. Otherwise why there is none is
// said when a group would need it.
func (o *Options) chooseCRIU(s *wire.Setup) error {
	file, err := o.CRIU, error(nil)
	// CRIU takes privilege over the machine: what a user namespace gives is not enough.
	if unprivileged() {
		if s.Backend == BackendCRIU {
			return fmt.Errorf("%w: user %d cannot use it: run as root", ErrNoCRIU, os.Geteuid())
		}
		// Memory that was asked for is to hold the peers, or say why not.
		s.NoCRIU, s.Alone = "it takes root: run as root", s.Backend == BackendAuto
		return nil
	}
	if file == "" {
		file, _, err = criu.Find()
	} else if _, err = criu.Version(file); err != nil {
		err = fmt.Errorf("%w: %s", err, criu.InstallHint)
	}
	if err == nil {
		s.CRIU, err = filepath.Abs(file)
	}
	if err != nil && s.Backend != BackendCRIU {
		s.CRIU, s.NoCRIU = "", err.Error()
		return nil
	}
	return err
}

// unprivileged reports whether peers run in a user namespace that takes no privilege. That is so
// for an ordinary user, and for one who is root in such a namespace already.
func unprivileged() bool { return os.Geteuid() != 0 || userns.Unprivileged() }

// findShim finds the shim of the peers. They can do without, but then nobody knows what they read.
func findShim(ctx context.Context) (shim.Libraries, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return shim.Libraries{}, fmt.Errorf("a place for the shim of the peers: %w", err)
	}
	return shim.Find(ctx, filepath.Join(cache, "tandem", "shim"))
}

// allInOne is the main package that is the daemon and the proxy, too, where it is started by their
// names. These are smaller, and start in less time, but this is one file to install.
const allInOne = "github.com/tandem-mc/tandem/cmd/tandem"

// containsPrograms reports whether this executable is the daemon and the proxy, too.
func containsPrograms() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && info.Path == allInOne
}

// programFile is the path of a program that is named, or else is installed beside this one. Where
// there is none, it is this executable if that is the program, too. The daemon runs in another
// directory, so the path is made absolute.
func programFile(file, name string) (string, error) {
	if file == "" {
		self, err := os.Executable()
		if err != nil {
			return "", err
		}
		file = filepath.Join(filepath.Dir(self), name)
		if _, err := exec.LookPath(file); err != nil && containsPrograms() {
			return self, nil
		}
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	if _, err := exec.LookPath(file); err != nil {
		return "", fmt.Errorf("%s is missing: build it with `make build`: %w", name, err)
	}
	return file, nil
}
