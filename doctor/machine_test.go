package doctor

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd"
)

// built are the programs that checkpoints take, as this source makes them.
func built(t *testing.T) (o ckptd.Options) {
	t.Helper()
	directory := t.TempDir()
	o.Daemon, o.Proxy = filepath.Join(directory, "tandem-ckptd"), filepath.Join(directory, "tandem-proxy")
	for file, source := range map[string]string{o.Daemon: "../cmd/ckptd", o.Proxy: "../cmd/proxy"} {
		build := exec.Command("go", "build", "-o", file, source)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", source, err, out)
		}
	}
	return o
}

// TestThisMachine lacks nothing, and a checkpoint is taken.
func TestThisMachine(t *testing.T) {
	for _, f := range checkpoints(t.Context(), built(t)) {
		if !f.OK || f.Fix != "" || f.Detail == "" {
			t.Errorf("%+v\n(this test needs a machine that scripts/setup.sh has prepared)", f)
		}
	}
}

// TestLackingMachine: what is missing is said, with what to do, and no checkpoint is tried then.
func TestLackingMachine(t *testing.T) {
	t.Setenv("TANDEM_CRIU", "/nonexistent/criu")
	findings := checkpoints(t.Context(), ckptd.Options{Daemon: "/nonexistent/tandem-ckptd"})
	for name, want := range map[string]string{
		"tandem-ckptd, tandem-proxy": "/nonexistent/tandem-ckptd",
		"CRIU":                       "/nonexistent/criu does not run",
		"checkpoint":                 "not tried: tandem-ckptd, tandem-proxy is not in order",
	} {
		at := slices.IndexFunc(findings, func(f Finding) bool { return f.Name == name })
		if at < 0 || findings[at].OK || !strings.Contains(findings[at].Detail, want) ||
			findings[at].Fix == "" {
			t.Errorf("%s: %+v", name, findings)
		}
	}
}

// TestFailedSelfTest says why, and what to look at.
func TestFailedSelfTest(t *testing.T) {
	f := selfTest(t.Context(), ckptd.Options{Daemon: "/nonexistent/tandem-ckptd"}, nil)
	if f.OK || !strings.Contains(f.Detail, "make build") || !strings.Contains(f.Fix, "criu check") {
		t.Errorf("%+v", f)
	}
}

func TestNoPacketFilter(t *testing.T) {
	f := packetFilter(unix.EOPNOTSUPP)
	if f.OK || !strings.Contains(f.Detail, "operation not supported") ||
		!strings.Contains(f.Detail, "closed their end") || !strings.Contains(f.Fix, "nf_tables") {
		t.Errorf("%+v", f)
	}
}

// TestReleases are told apart by their numbers.
func TestReleases(t *testing.T) {
	for release, want := range map[string]bool{"6.18.44-cloud": true, "5.10.0": true, "5.10-rc1": true,
		"6.1": true, "5.9.16": false, "4.19.0": false, "": false, "x": false, "6": false} {
		if got := newEnough(release); got != want {
			t.Errorf("%q is new enough: %t", release, got)
		}
	}
}

// TestMissingCapabilities are named, in the order of their names.
func TestMissingCapabilities(t *testing.T) {
	if got := lacking(^uint64(0)); len(got) > 0 {
		t.Errorf("%v", got)
	}
	all := ^uint64(0) &^ (1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_KILL | 1<<unix.CAP_SYS_RESOURCE)
	if got := lacking(all); !slices.Equal(got, []string{"CAP_KILL", "CAP_SYS_ADMIN"}) {
		t.Errorf("%v", got)
	}
}
