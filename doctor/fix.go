package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/scripts"
)

// Fix installs what can be installed on Debian: what checks need, and the programs of the profiles
// that are named. It needs root. What the installer prints goes to out. It changes the machine, and
// may be called again.
func Fix(ctx context.Context, profiles []string, out io.Writer) error {
	found, err := find(profiles)
	if err != nil {
		return err
	}
	// Names are checked before, so that a misspelt one is found without root.
	if os.Geteuid() != 0 {
		return errors.New("installing needs root: run `tandem doctor --fix` as root")
	}
	return runScripts(ctx, packagesOf(found), out)
}

// packagesOf are Debian's packages for these profiles. Those without one have to be got in another
// way, which their advice says.
func packagesOf(profiles []peers.Profile) (names []string) {
	for _, p := range profiles {
		if p.Package != "" {
			names = append(names, p.Package)
		}
	}
	return names
}

// runScripts unpacks the scripts that this binary carries and runs setup.sh. They are removed
// afterwards. The error is only that it has failed: what, the scripts have said.
func runScripts(ctx context.Context, packages []string, out io.Writer) error {
	dir, err := os.MkdirTemp("", "tandem-setup-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, scripts.Files); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "sh", append([]string{filepath.Join(dir, "setup.sh")}, packages...)...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("setting this machine up: %w; what failed is said above", err)
	}
	return nil
}
