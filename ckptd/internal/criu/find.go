package criu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
)

// minVersion is the oldest version that can dump TCP sockets on Linux 6.16 and later. An older one
// saves a group without a word and cannot bring it back.
const minVersion = "4.2"

// InstallHint says how to get a CRIU, and NamedHint what to do about one that was named.
const (
	InstallHint = "run `tandem doctor --fix` as root, which installs it"
	NamedHint   = "unset TANDEM_CRIU, or have it name a CRIU " + minVersion + " or later"
)

// Find looks for a CRIU that is new enough: $TANDEM_CRIU if that is set, else /usr/local/sbin/criu
// and then PATH. The error wraps ErrNoCRIU. A CRIU that is named and does not do is an error, even
// where another one would.
func Find() (path, version string, err error) {
	if file := os.Getenv("TANDEM_CRIU"); file != "" {
		version, err = Version(file)
		if err != nil {
			return "", "", fmt.Errorf("the environment variable TANDEM_CRIU: %w: %s", err, NamedHint)
		}
		return file, version, nil
	}
	var errs []error
	for _, file := range []string{"/usr/local/sbin/criu", "criu"} {
		path, err := exec.LookPath(file)
		if err != nil {
			continue
		}
		if version, err = Version(path); err == nil {
			return path, version, nil
		}
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return "", "", fmt.Errorf("%w: %s", errors.Join(errs...), InstallHint)
	}
	return "", "", fmt.Errorf("%w: it is not installed: %s", wire.ErrNoCRIU, InstallHint)
}

// Version asks a CRIU for its version; the error wraps ErrNoCRIU where it is none or too old. It is
// asked by running it, which also shows that it can run here.
func Version(file string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, file, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s does not run: %w", wire.ErrNoCRIU, file, err)
	}
	for line := range strings.Lines(string(out)) {
		if rest, ok := strings.CutPrefix(line, "Version:"); ok {
			version := strings.TrimSpace(rest)
			if isOlder(version, minVersion) {
				return "", fmt.Errorf(
					"%w: %s is version %s, and before %s no TCP socket can be checkpointed on Linux 6.16 "+
						"and later",
					wire.ErrNoCRIU, file, version, minVersion)
			}
			return version, nil
		}
	}
	return "", fmt.Errorf("%w: %s --version says %.80q, no version", wire.ErrNoCRIU, file, out)
}

// isOlder compares versions by their numbers; one that is not made of numbers counts as old. A
// number that is missing counts as 0.
func isOlder(version, than string) bool {
	a, b := strings.Split(version, "."), strings.Split(than, ".")
	for i := range b {
		want, _ := strconv.Atoi(b[i])
		have := 0
		if i < len(a) {
			n, err := strconv.Atoi(a[i])
			if err != nil {
				return true
			}
			have = n
		}
		if have != want {
			return have < want
		}
	}
	return false
}
