// Package doctor says what this machine lacks for checks, and what to do about it. It looks at the
// Go distribution, at the kernel and the programs that checkpoints need, and at the programs of
// peers. It also runs the script that installs what is missing.
package doctor

import (
	"context"
	"fmt"
	"os"

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
}

// Examine looks at the machine, and at the programs of the profiles that are named. The findings
// come in a fixed order: Go, what checkpoints need, the profiles. A name that no profile has is an
// error. The last test takes a real checkpoint, which takes about a second.
func Examine(ctx context.Context, profiles []string) ([]Finding, error) {
	found, err := find(profiles)
	if err != nil {
		return nil, err
	}
	// Go comes first: without it, nothing else matters.
	findings := append([]Finding{goFinding(patchedGo(ctx))}, checkpoints(ctx, ckptd.Options{})...)
	for _, p := range found {
		findings = append(findings, programOf(p, exists))
	}
	return findings, nil
}

// Lacking says how many of the findings are not in order, as an error that says what to do; nil if
// all are. It is what `tandem doctor` ends with.
func Lacking(findings []Finding) error {
	lacking := 0
	for _, f := range findings {
		if !f.OK {
			lacking++
		}
	}
	if lacking == 0 {
		return nil
	}
	return fmt.Errorf("this machine lacks %d of %d things; `tandem doctor --fix`, as root, installs what "+
		"can be installed",
		lacking, len(findings))
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
	if err != nil {
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
