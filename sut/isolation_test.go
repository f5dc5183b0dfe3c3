package sut_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/sut"
)

// TestMemoryIsPutBack runs a program that changes all kinds of memory, ever new
// pages among them, and looks at what it finds.
func TestMemoryIsPutBack(t *testing.T) {
	w := start(t, sut.Snapshot, "memory")
	for seed := range uint64(300) {
		log := run(t, w, sut.Schedule{Seed: seed + 1}, nil)
		if log.Outcome != sut.Completed {
			t.Fatalf("execution %d: %v: %s", seed, log.Outcome, log.Stderr)
		}
	}
}

// TestSnapshotEqualsFork is the cross-check of the two kinds of isolation.
func TestSnapshotEqualsFork(t *testing.T) {
	for _, scenario := range []string{"primitives", "memory", "timers", "random", "counter", "deadlock",
		"select"} {
		snapshot, fork := start(t, sut.Snapshot, scenario), start(t, sut.Fork, scenario)
		for seed := range uint64(30) {
			s := sut.Schedule{Seed: seed + 1}
			a := copyLog(run(t, snapshot, s, nil))
			b := copyLog(run(t, fork, s, nil))
			if diff := cmp.Diff(a, b); diff != "" {
				t.Fatalf("%s, seed %d: snapshot and fork differ:\n%s", scenario, seed+1, diff)
			}
		}
	}
}

func copyLog(l *sut.Log) sut.Log {
	c := *l
	c.Events = slices.Clone(l.Events)
	return c
}

// TestDeterminism: the same schedule gives the same log, in one process and in
// another.
func TestDeterminism(t *testing.T) {
	for _, scenario := range []string{"primitives", "random", "memory", "timers"} {
		one, other := start(t, sut.Snapshot, scenario), start(t, sut.Snapshot, scenario)
		for seed := range uint64(20) {
			s := sut.Schedule{Seed: seed + 1}
			want := copyLog(run(t, one, s, nil))
			for i := range 10 {
				w := one
				if i%2 == 1 {
					w = other
				}
				if diff := cmp.Diff(want, copyLog(run(t, w, s, nil))); diff != "" {
					t.Fatalf("%s, seed %d, repetition %d differs:\n%s", scenario, seed+1, i, diff)
				}
			}
		}
	}
}

// TestTraces: the trace of a panic, with the addresses of arguments and of the environment, is the
// same in each process. Arguments that are not needed any more are not printed.
func TestTraces(t *testing.T) {
	traces := map[string]bool{}
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork, sut.Snapshot, sut.Fork} {
		log := run(t, start(t, isolation, "traced"), sut.Schedule{}, nil)
		trace := string(log.Stderr)
		if log.Outcome != sut.Panicked || !strings.Contains(trace, "main.traced({0x") ||
			!strings.Contains(trace, "main.fail(_)") {
			t.Fatalf("%v, %s", log.Outcome, trace)
		}
		traces[trace] = true
	}
	if len(traces) != 1 {
		t.Errorf("there are %d different traces: %v", len(traces), traces)
	}
}

func TestSockets(t *testing.T) {
	tests := []struct {
		scenario string
		peers    *echoServer
		want     string
	}{
		{"echo", &echoServer{}, "600000 EOF 127.0.0.1 127.0.0.1:7777"},
		{"echo", &echoServer{refuse: 111}, "dial tcp 127.0.0.1:7777: connect: connection refused"},
		{"deadline", &echoServer{silent: true}, "true 1m0s true <nil> <nil>"},
		{"closereader", &echoServer{silent: true}, "true"},
	}
	for _, test := range tests {
		t.Run(test.scenario, func(t *testing.T) {
			w := start(t, sut.Snapshot, test.scenario)
			for seed := range uint64(20) {
				peers := *test.peers
				log := run(t, w, sut.Schedule{Seed: seed}, &peers)
				if log.Outcome != sut.Completed || string(log.Stdout) != test.want {
					t.Fatalf("seed %d: %v, %q, want %q; %s%s", seed, log.Outcome, log.Stdout, test.want,
						log.Stderr, log.Message)
				}
			}
		})
	}
}

func TestHosts(t *testing.T) {
	w, err := sut.Start(program, sut.Options{Args: []string{"hosts"},
		Environment: sut.Environment{Machine: sut.Machine{
			Hosts: []string{"127.0.0.2 example.test", "::1 example.test"}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	want := "[127.0.0.2 ::1] <nil>\n[127.0.0.1 ::1] <nil>\n[] lookup nowhere.test on 127.0.0.1:53: no " +
		"such host\n"
	for seed := range uint64(5) {
		if log := run(t, w, sut.Schedule{Seed: seed}, nil); string(log.Stdout) != want {
			t.Errorf("seed %d: %v, %q, want %q; %s%s", seed, log.Outcome, log.Stdout, want, log.Stderr,
				log.Message)
		}
	}
}

func TestPeersThatFail(t *testing.T) {
	w := start(t, sut.Snapshot, "echo")
	_, err := w.Run(sut.Schedule{}, failingPeers{})
	if err == nil || err.Error() != "the peer is on fire" {
		t.Errorf("error %v, want that of the peers", err)
	}
	log := run(t, start(t, sut.Snapshot, "echo"), sut.Schedule{}, nil)
	if want := "dial tcp 127.0.0.1:7777: connect: connection refused"; string(log.Stdout) != want {
		t.Errorf("without peers a program that connects says %q, want %q", log.Stdout, want)
	}
}

type failingPeers struct{}

func (failingPeers) Exchange(model.Input) (model.Answer, error) {
	return model.Answer{}, fmt.Errorf("the peer is on fire")
}

// BenchmarkExchange is what an input to the peers and its answer cost, as the
// program sees it, if the checker answers at once.
func BenchmarkExchange(b *testing.B) {
	w := start(b, sut.Snapshot, "exchanges")
	n := 0
	for b.Loop() {
		if log := run(b, w, sut.Schedule{}, &echoServer{}); log.Outcome != sut.Completed {
			b.Fatalf("%v: %s", log.Outcome, log.Stderr)
		}
		n += 1000
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/exchange")
}

// TestKeeperEnds: the process that keeps the pages of the snapshot does not outlive
// the worker, whose death it is told of.
func TestKeeperEnds(t *testing.T) {
	w := start(t, sut.Snapshot, "memory")
	run(t, w, sut.Schedule{}, nil)
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", w.Pid(), w.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	keeper, err := strconv.Atoi(strings.TrimSpace(string(list)))
	if err != nil {
		t.Fatalf("the worker has children %q, want one", list)
	}
	fd, err := unix.PidfdOpen(keeper, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if n, err := sys.Poll(poll, 60_000); err != nil || n != 1 {
		t.Errorf("the keeper goes on: %v", err)
	}
}
