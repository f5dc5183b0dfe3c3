package doctor

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/peers"
)

func TestProgramOfAProfile(t *testing.T) {
	packaged := peers.Profile{Name: "redis", Program: "/usr/bin/redis-server", Package: "redis-server"}
	unpackaged := peers.Profile{Name: "thttpd", Program: "/opt/thttpd", Advice: "build it from source"}
	own := peers.Profile{Name: "go"}
	everything := func(string) bool { return true }
	nothing := func(string) bool { return false }
	for _, c := range []struct {
		name  string
		p     peers.Profile
		there func(string) bool
		want  Finding
	}{
		{"installed", packaged, everything, Finding{Name: "redis", OK: true, Detail: "installed"}},
		{"in a package", packaged, nothing, Finding{
			Name: "redis", Detail: "no /usr/bin/redis-server", Installable: true,
			Fix: "`tandem doctor --fix redis` installs Debian's package redis-server",
		}},
		{"in no package", unpackaged, nothing,
			Finding{Name: "thttpd", Detail: "no /opt/thttpd", Fix: "build it from source"}},
		{"of the user", own, nothing, Finding{Name: "go", OK: true, Detail: "runs a program of yours"}},
	} {
		if d := cmp.Diff(c.want, programOf(c.p, c.there)); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, d)
		}
	}
}

func TestGoFinding(t *testing.T) {
	if f := goFinding("go1.26, patched in /x", nil); !f.OK || f.Detail != "go1.26, patched in /x" ||
		f.Fix != "" {
		t.Errorf("found: %+v", f)
	}
	if f := goFinding("", errors.New("no go in PATH")); f.OK || f.Detail != "no go in PATH" || f.Fix == "" {
		t.Errorf("missing: %+v", f)
	}
}

func TestLacking(t *testing.T) {
	good, bad := Finding{Name: "a", OK: true}, Finding{Name: "b"}
	installable := Finding{Name: "c", Installable: true}
	for _, c := range []struct {
		findings []Finding
		want     string // empty: no error
	}{
		{nil, ""},
		{[]Finding{good, good}, ""},
		{[]Finding{good, bad, bad}, "this machine lacks 2 of 3 things"},
		{[]Finding{bad, installable},
			"this machine lacks 2 of 2 things; `tandem doctor --fix`, as root, installs 1 of them"},
	} {
		err := Lacking(c.findings)
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.findings, err, c.want)
		}
	}
}

// TestSummary: each part is ready, or what it lacks is named.
func TestSummary(t *testing.T) {
	findings := []Finding{{Name: "Go", OK: true}, {Name: "CRIU", Part: WithPeers},
		{Name: "root", OK: true, Part: WithPeers}, {Name: "a, b", Part: WithPeers},
		{Name: "user namespaces", OK: true, Part: InMemory}}
	for part, want := range map[Part]string{Alone: "Programs alone: ready",
		WithPeers: "With peers: lacks CRIU; a, b", InMemory: "With peers, in memory: ready"} {
		if got := Summary(findings, part); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestWithoutPrivilege: who is not root is told to be, where a look needs that. What can be
// installed is lacking all the same.
func TestWithoutPrivilege(t *testing.T) {
	made := func() []Finding {
		return []Finding{{Name: "packet filter", Fix: "run a kernel with X"},
			{Name: "CRIU", Fix: "install it", Installable: true}, {Name: "checkpoint", OK: true}}
	}
	if got := withoutPrivilege(made(), 0); !cmp.Equal(got, made()) {
		t.Errorf("for root: %+v", got)
	}
	want := made()
	want[0].Fix = "run as root: without, nobody can tell more"
	if diff := cmp.Diff(want, withoutPrivilege(made(), 1000)); diff != "" {
		t.Errorf("for another user (-want +got):\n%s", diff)
	}
}

func TestUnknownProfile(t *testing.T) {
	const want = `there is no profile "redsi"`
	_, examineError := Examine(t.Context(), []string{"redsi"})
	_, stateError := ProfileState("redsi")
	fixError := Fix(t.Context(), []string{"redsi"}, nil)
	for _, err := range []error{examineError, stateError, fixError} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestEveryProfileHasAState: a profile whose program is missing has a way to get it.
func TestEveryProfileHasAState(t *testing.T) {
	list := Profiles()
	if len(list) < 10 || !slices.IsSortedFunc(list,
		func(a, b Profile) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("%d profiles, or out of order", len(list))
	}
	for _, p := range peers.Profiles() {
		f := programOf(p, func(string) bool { return false })
		if !f.OK && f.Fix == "" {
			t.Errorf("%s: %s, and nothing says what to do", p.Name, f.Detail)
		}
		if text, err := ProfileState(p.Name); err != nil || !strings.HasSuffix(text, ".") {
			t.Errorf("%s: %q, %v", p.Name, text, err)
		}
	}
}
