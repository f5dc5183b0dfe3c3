package sut_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/sut"
)

// TestFidelity runs a program that prints what it sees of the network, once on
// the kernel's sockets and once under control.
func TestFidelity(t *testing.T) {
	dir := t.TempDir()
	native := filepath.Join(dir, "native")
	if out, err := exec.Command("go", "build", "-o", native, "./testdata/fidelity").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, err := exec.Command(native).Output()
	if err != nil {
		t.Fatal(err)
	}
	controlled, err := build(dir, "./testdata/fidelity")
	if err != nil {
		t.Fatal(err)
	}
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
		w, err := sut.Start(controlled, sut.Options{Isolation: isolation})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		for seed := range uint64(5) {
			log := run(t, w, sut.Schedule{Seed: seed}, nil)
			if log.Outcome != sut.Completed {
				t.Errorf("seed %d: %v %s\n%s", seed, log.Outcome, log.Message, log.Stderr)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(log.Stdout), "\n")); diff != "" {
				t.Errorf("seed %d: natively (-) and under control (+) it sees:\n%s", seed, diff)
			}
		}
	}
}
