package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/internal/sys/userns"
)

// needsForMemory are the findings about peers that also hold for those in memory.
var needsForMemory = []string{"Linux", "/proc", "tandem-ckptd, tandem-proxy"}

// memory finds out whether peers can be run and saved in memory by this user: without root, that
// takes a user namespace. It saves a connection and brings it back.
func memory(ctx context.Context, o ckptd.Options, found []Finding, uid int) []Finding {
	for _, f := range found {
		if !f.OK && slices.Contains(needsForMemory, f.Name) {
			return []Finding{{Name: "checkpoint in memory",
				Detail: "not tried: " + f.Name + " is not in order", Fix: "see " + f.Name}}
		}
	}
	o.Backend = ckptd.BackendMemory
	return inMemory(ckptd.SelfTest(ctx, o), uid)
}

// inMemory puts into words what has come of that for a user.
func inMemory(err error, uid int) (findings []Finding) {
	var forbidden *userns.Forbidden
	if errors.As(err, &forbidden) {
		return []Finding{{Name: "user namespaces", Fix: forbidden.Advice,
			Detail: fmt.Sprintf("%s: %v", forbidden.Why, forbidden.Err)}}
	}
	if uid != 0 && err == nil {
		findings = append(findings, Finding{Name: "user namespaces", OK: true,
			Detail: fmt.Sprintf("user %d may make one; no other users and groups exist in it", uid)})
	}
	f := Finding{Name: "checkpoint in memory", OK: true,
		Detail: "a TCP connection in namespaces was saved in memory, brought back and went on"}
	if err != nil {
		f.OK, f.Detail, f.Fix = false, err.Error(), "run as root; a container needs to be privileged"
	}
	return append(findings, f)
}
