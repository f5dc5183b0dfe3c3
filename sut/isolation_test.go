package sut_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	for _, scenario := range []string{"primitives", "memory", "timers", "random", "counter", "deadlock", "select"} {
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
					t.Fatalf("seed %d: %v, %q, want %q; %s%s", seed, log.Outcome, log.Stdout, test.want, log.Stderr, log.Message)
				}
			}
		})
	}
}

func TestHosts(t *testing.T) {
	w, err := sut.Start(program, sut.Options{Args: []string{"hosts"}, World: sut.World{Hosts: []string{"127.0.0.2 example.test", "::1 example.test"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	want := "[127.0.0.2 ::1] <nil>\n[127.0.0.1 ::1] <nil>\n[] lookup nowhere.test on 127.0.0.1:53: no such host\n"
	for seed := range uint64(5) {
		if log := run(t, w, sut.Schedule{Seed: seed}, nil); string(log.Stdout) != want {
			t.Errorf("seed %d: %v, %q, want %q; %s%s", seed, log.Outcome, log.Stdout, want, log.Stderr, log.Message)
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

func (failingPeers) Exchange(sut.Input) (sut.Answer, error) {
	return sut.Answer{}, fmt.Errorf("the peer is on fire")
}

// BenchmarkIsolation runs isolated executions of a program with thirty
// transitions, in place and forked in turn, so that the ratio is one of the
// same moments.
func BenchmarkIsolation(b *testing.B) {
	snapshot, fork := start(b, sut.Snapshot, "thirty"), start(b, sut.Fork, "thirty")
	var inPlace, forked time.Duration
	const batch = 100
	executions := 0
	for b.Loop() {
		inPlace += timeOf(b, snapshot, batch)
		forked += timeOf(b, fork, batch)
		executions += batch
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(executions)/inPlace.Seconds(), "snapshot-executions/s")
	b.ReportMetric(float64(executions)/forked.Seconds(), "fork-executions/s")
	b.ReportMetric(forked.Seconds()/inPlace.Seconds(), "fork/snapshot")
}

func timeOf(b *testing.B, w *sut.Worker, executions int) time.Duration {
	started := time.Now()
	for range executions {
		if n := len(choices(run(b, w, sut.Schedule{}, nil).Events)); n != 30 {
			b.Fatalf("%d transitions, want 30", n)
		}
	}
	return time.Since(started)
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
