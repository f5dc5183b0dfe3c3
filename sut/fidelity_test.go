package sut_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/sut"
)

// native runs a program of testdata on the machine itself and returns what it prints.
func native(t *testing.T, name string, args ...string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("go", "build", "-ldflags=-w", "-o", file,
		"./testdata/"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(file, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(out), "\n")
}

// compare runs a program under control, with several schedules each twice, and
// compares what it prints with want, and the two logs.
func compare(t *testing.T, p *sut.Program, seeds int, want []string, args ...string) {
	t.Helper()
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
		w, err := sut.Start(p, sut.Options{Isolation: isolation, Args: args})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		for seed := range uint64(seeds) {
			log := copyLog(run(t, w, sut.Schedule{Seed: seed}, nil))
			if log.Outcome != sut.Completed {
				t.Errorf("seed %d: %v %s\n%s", seed, log.Outcome, log.Message, log.Stderr)
			}
			if diff := cmp.Diff(want, strings.Split(string(log.Stdout), "\n")); diff != "" {
				t.Errorf("seed %d: natively (-) and under control (+) it sees:\n%s", seed, diff)
			}
			if diff := cmp.Diff(log, copyLog(run(t, w, sut.Schedule{Seed: seed}, nil))); diff != "" {
				t.Fatalf("seed %d: two executions of one schedule differ:\n%s", seed, diff)
			}
		}
	}
}

// TestFidelity runs a program that prints what it sees of the network, once on
// the kernel's sockets and once under control.
func TestFidelity(t *testing.T) {
	want := native(t, "fidelity")
	if len(want) < 60 {
		t.Fatalf("only %d lines", len(want))
	}
	p, err := build(t.TempDir(), "./testdata/fidelity")
	if err != nil {
		t.Fatal(err)
	}
	compare(t, p, 4, want)
}

// TestServers has servers and their clients in one program.
func TestServers(t *testing.T) {
	p, err := build(t.TempDir(), "./testdata/servers")
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range []string{"http", "https", "ssh"} {
		compare(t, p, 2, native(t, "servers", scenario), scenario)
	}
}
