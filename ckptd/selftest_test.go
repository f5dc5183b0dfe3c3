package ckptd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOfThisMachine: what checkpoints take is there, and one is taken.
func TestOfThisMachine(t *testing.T) {
	daemon, err := FindPrograms(binaries)
	if err != nil || daemon != binaries.Daemon {
		t.Errorf("%q, %v", daemon, err)
	}
	library, err := FindShim(testContext(t))
	if err == nil {
		_, err = os.Stat(library)
	}
	path, version, errCRIU := FindCRIU("")
	if err := errors.Join(err, errCRIU, TryPacketFilter(), SelfTest(testContext(t), binaries)); err != nil {
		t.Errorf("%v\n(these tests need a machine that scripts/setup.sh has prepared)", err)
	}
	if again, same, err := FindCRIU(path); again != path || same != version || err != nil {
		t.Errorf("%q, %q, %v", again, same, err)
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
			_, _, errFind := FindCRIU("")
			o := binaries
			o.CRIU = test.file
			_, errSpawn := Spawn(testContext(t), o)
			for advice, err := range map[string]error{NamedCRIU: errFind, InstallCRIU: errSpawn} {
				if !errors.Is(err, ErrNoCRIU) || !strings.Contains(err.Error(), test.want) ||
					!strings.Contains(err.Error(), advice) {
					t.Errorf("%v\nwant ErrNoCRIU, %q and what to do", err, test.want)
				}
			}
		})
	}
}

func TestFindCRIUTakesTheOneOfTheEnvironment(t *testing.T) {
	file := script(t, "echo Version: 99.1")
	t.Setenv("TANDEM_CRIU", file)
	path, version, err := FindCRIU("")
	if path != file || version != "99.1" || err != nil {
		t.Errorf("%q, %q, %v", path, version, err)
	}
}

func TestSpawnWithoutPrograms(t *testing.T) {
	_, err := Spawn(testContext(t), Options{Daemon: "/nonexistent/tandem-ckptd"})
	if err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("%v", err)
	}
}
