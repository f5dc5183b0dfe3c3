// Package doctor says what this machine lacks for checks, and what to do about it. It looks at the
// Go distribution, at the kernel and the programs that checkpoints need, and at the programs of
// peers. It also runs the script that installs what is missing.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/sut"
)

// Finding is one thing that the machine has or lacks.
type Finding struct {
	Name   string
	OK     bool
	Detail string
	Fix    string // what to do about it; empty where OK
	Part   Part   // what needs it
	// Installable says that the function Fix gets it.
	Installable bool
}

// Part is a kind of checks, which needs things of its own.
type Part int

// The parts, in the order of their findings. Peers in memory need no CRIU, and no root where the
// kernel allows user namespaces. They also need what WithPeers looks at before root.
const (
	Alone Part = iota
	WithPeers
	InMemory
)

// parts are what a summary begins with.
var parts = [...]string{Alone: "Programs alone", WithPeers: "With peers", InMemory: "With peers, in memory"}

// Examine looks at the machine, and at the programs of the profiles that are named. The findings
// come in a fixed order: what programs alone need, what checkpoints need, the profiles. A name that
// no profile has is an error. The last test takes a real checkpoint, which takes about a second.
func Examine(ctx context.Context, profiles []string) ([]Finding, error) {
	found, err := find(profiles)
	if err != nil {
		return nil, err
	}
	// Go comes first: without it, nothing else matters.
	findings := []Finding{goFinding(patchedGo(ctx)), scratch()}
	withPeers := checkpoints(ctx, ckptd.Options{})
	inMemory := memory(ctx, ckptd.Options{}, withPeers, os.Geteuid())
	for _, p := range found {
		withPeers = append(withPeers, programOf(p, exists))
	}
	for _, f := range withPeers {
		f.Part = WithPeers
		findings = append(findings, f)
	}
	for _, f := range inMemory {
		f.Part = InMemory
		findings = append(findings, f)
	}
	return findings, nil
}

// Summary says in a line whether checks of a kind are ready to be made.
func Summary(findings []Finding, part Part) string {
	var lacking []string
	for _, f := range findings {
		if f.Part == part && !f.OK {
			lacking = append(lacking, f.Name)
		}
	}
	if len(lacking) == 0 {
		return parts[part] + ": ready"
	}
	return parts[part] + ": lacks " + strings.Join(lacking, "; ")
}

// Lacking says how many of the findings are not in order, as an error that says what to do; nil if
// all are. It is what `tandem doctor` ends with.
func Lacking(findings []Finding) error {
	lacking, installable := 0, 0
	for _, f := range findings {
		if !f.OK {
			lacking++
		}
		if !f.OK && f.Installable {
			installable++
		}
	}
	switch {
	case lacking == 0:
		return nil
	case installable == 0: // then it would change nothing
		return fmt.Errorf("this machine lacks %d of %d things: see above what to do", lacking, len(findings))
	}
	return fmt.Errorf("this machine lacks %d of %d things; `tandem doctor --fix`, as root, installs %d of "+
		"them", lacking, len(findings), installable)
}

// scratch sees whether temporary files can be made, as programs are built there.
func scratch() Finding {
	f := Finding{Name: "temporary files", OK: true, Detail: os.TempDir()}
	dir, err := os.MkdirTemp("", "tandem-doctor-")
	if err == nil {
		err = os.Remove(dir)
	}
	if err != nil {
		f.OK, f.Detail = false, err.Error()
		f.Fix = "set TMPDIR to a directory that you can write to"
	}
	return f
}

// find returns the profiles of these names. The order stays. The error is that of the first name
// that there is not.
func find(names []string) (list []peers.Profile, err error) {
	for _, name := range names {
		p, err := peers.FindProfile(name)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// patchedGo makes sure that the Go distribution in use can be patched, and says where the copy is.
// It makes that copy where there is none yet.
func patchedGo(ctx context.Context) (string, error) {
	t, err := sut.UserToolchain(ctx, ".")
	if err != nil {
		return "", err
	}
	return t.Version + ", patched in " + t.Root, nil
}

// goFinding puts into words whether a Go distribution can be patched.
func goFinding(detail string, err error) Finding {
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS),
		strings.Contains(err.Error(), "XDG_CACHE_HOME"): // it has no other name
		return Finding{Name: "Go", Detail: err.Error(),
			Fix: "set HOME, or set XDG_CACHE_HOME to a directory that you can write to"}
	default:
		return Finding{Name: "Go", Detail: err.Error(),
			Fix: "install a supported release of Go and put it in PATH"}
	}
	return Finding{Name: "Go", OK: true, Detail: detail}
}

// exists reports whether there is a file of this name. A file that cannot be looked at is not
// there.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
