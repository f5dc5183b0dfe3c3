package ckptd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/criu"
)

func TestProbeOfThisMachine(t *testing.T) {
	for _, f := range probe(testContext(t), binaries) {
		if !f.OK || f.Fix != "" || f.Detail == "" {
			t.Errorf("%+v\n(these tests need a machine that scripts/setup.sh has prepared)", f)
		}
	}
}

func TestNoPacketFilter(t *testing.T) {
	f := findingOfFilter(unix.EOPNOTSUPP)
	if f.OK || !strings.Contains(f.Detail, "operation not supported") ||
		!strings.Contains(f.Detail, "closed their end") || !strings.Contains(f.Fix, "nf_tables") {
		t.Errorf("%+v", f)
	}
}

// script makes an executable shell script.
func script(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "criu")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestUnusableCRIU(t *testing.T) {
	for name, test := range map[string]struct{ file, want string }{
		"missing":   {"/nonexistent/criu", "does not run"},
		"failing":   {script(t, "exit 3"), "exit status 3"},
		"too old":   {script(t, "echo Version: 4.1.1"), "is version 4.1.1, and before 4.2"},
		"something": {script(t, "echo hello"), `says "hello\n", no version`},
		"nonsense":  {script(t, "echo Version: unknown"), "is version unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TANDEM_CRIU", test.file)
			_, _, errFind := criu.Find()
			o := binaries
			o.CRIU = test.file
			_, errSpawn := Spawn(testContext(t), o)
			for _, err := range []error{errFind, errSpawn} {
				if !errors.Is(err, ErrNoCRIU) || !strings.Contains(err.Error(), test.want) ||
					!strings.Contains(err.Error(), "tandem doctor --fix") {
					t.Errorf("%v\nwant ErrNoCRIU, %q and what to do", err, test.want)
				}
			}
			findings := probe(testContext(t), o)
			last := findings[len(findings)-1]
			if last.OK || !strings.Contains(last.Detail, "CRIU") || last.Fix == "" {
				t.Errorf("the self-test says %+v", last)
			}
		})
	}
}

func TestFindCRIUTakesTheOneOfTheEnvironment(t *testing.T) {
	file := script(t, "echo Version: 99.1")
	t.Setenv("TANDEM_CRIU", file)
	path, version, err := criu.Find()
	if path != file || version != "99.1" || err != nil {
		t.Errorf("%q, %q, %v", path, version, err)
	}
}

func TestVersions(t *testing.T) {
	for version, old := range map[string]bool{
		"4.2": false, "4.2.1": false, "4.10": false, "5": false, "5.0": false,
		"4.1.1": true, "4": true, "3.99": true, "": true, "x": true, "4.x": true,
	} {
		if criu.OlderThan(version, "4.2") != old {
			t.Errorf("%q older than 4.2: %t, want %t", version, !old, old)
		}
	}
	for release, want := range map[string]string{"6.18.44-fc": "6.18.44", "6.1.0": "6.1.0", "": "", "x": ""} {
		if got := releaseNumbers(release); got != want {
			t.Errorf("numbers of release %q: %q, want %q", release, got, want)
		}
	}
}

func TestSpawnWithoutPrograms(t *testing.T) {
	_, err := Spawn(testContext(t), Options{Daemon: "/nonexistent/tandem-ckptd"})
	if err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("%v", err)
	}
}
