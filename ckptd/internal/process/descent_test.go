package process

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// statusOf is a status with what a child must have in common with its parent.
func statusOf(session, group int, more string) procfs.Status {
	lines := "Seccomp_filters:\t1\nUmask:\t0022\n"
	for _, field := range statusOfAll {
		if field != "Umask:" {
			lines += field + "\t0\n"
		}
	}
	return procfs.Status(more + lines + fmt.Sprintf("NSsid:\t900\t%d\nNSpgid:\t900\t%d\n", session, group))
}

// TestHeritage: a child may lead its session or process group, or be in its parent's. It has all
// else in common with its parent, but for the umask.
func TestHeritage(t *testing.T) {
	const child, parent = 20, 10
	const groups, all = "Gid:\t0\t0\t0\t0\n", "CapEff:\tff\n"
	parents := statusOf(parent, parent, groups+all)
	with := func(session, group int, more string) procfs.Status {
		return statusOf(session, group, more+groups+all)
	}
	for name, test := range map[string]struct {
		own  procfs.Status
		want string // in the refusal; "": none
	}{
		"in its parent's":      {with(parent, parent, ""), ""},
		"leads a group":        {with(parent, child, ""), ""},
		"leads a session":      {with(child, child, ""), ""},
		"with another umask":   {with(parent, parent, "Umask:\t0077\n"), ""},
		"in a third group":     {with(parent, 30, ""), "neither its own nor its parent's"},
		"in a third session":   {with(30, 30, ""), "neither its own nor its parent's"},
		"with other rights":    {with(parent, parent, "CapEff:\t1\n"), "another CapEff than its parent"},
		"with another user":    {with(parent, parent, "Uid:\t33\n"), "another Uid than its parent"},
		"with its own filters": {with(parent, parent, "Seccomp_filters:\t2\n"), "another Seccomp"},
		"with a saved group":   {with(parent, parent, "Gid:\t0\t0\t43\t0\n"), ""},
		"with another group":   {with(parent, parent, "Gid:\t0\t43\t43\t43\n"), "another Gid"},
		"with more groups":     {with(parent, parent, "Groups:\t4 43 \n"), ""},
		"with groups and rights": {with(parent, parent, "Groups:\t4\nCapPrm:\t1\n"),
			"another CapPrm than its parent"},
		"with groups and filters": {with(parent, parent, "Gid:\t0\t0\t43\t0\nSeccomp:\t2\n"),
			"another Seccomp than its parent"},
		"who may not set them": {with(parent, parent, "Groups:\t4\nCapEff:\t0\n"), "another"},
	} {
		d := &descent{}
		err := d.examineStatus(7, child, test.own, parents)
		if test.want == "" && err != nil || test.want != "" &&
			(!errors.Is(err, incarnation.ErrRefused) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if want := uint64(0o22); name != "with another umask" && err == nil && d.umask != want {
			t.Errorf("%s: umask %#o", name, d.umask)
		}
	}
}

// TestKindsOfMemory that a fork does not carry over are refused by the status alone.
func TestKindsOfMemory(t *testing.T) {
	for text, want := range map[string]string{
		"VmLck:\t0 kB\nHugetlbPages:\t0 kB\n": "",
		"VmLck:\t4 kB\n":                      "is locked",
		"HugetlbPages:\t2048 kB\n":            "has huge pages",
		"x86_Thread_features:\tshstk wrss\n":  "is a shadow stack",
	} {
		err := examineKinds(7, procfs.Status(text))
		if want == "" && err != nil || want != "" &&
			(!errors.Is(err, incarnation.ErrRefused) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
