package sut_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// lineClients are peers that connect, each to send a line, and end when their connection
// is closed.
type lineClients struct {
	lines   []string // one for each client
	errno   int      // of listen
	failure string   // when the first has ended
	bulk    int      // bytes that each sends after its line

	left   int
	inputs []string
}

func (p *lineClients) Exchange(in model.Input) (model.Answer, error) {
	p.inputs = append(p.inputs, fmt.Sprintf("%d %d %s%s", in.Kind, in.Conn, in.Addr, in.Data))
	var a model.Answer
	switch in.Kind {
	case model.Listen:
		p.left, a.Refused = len(p.lines), p.errno
		for i, line := range p.lines {
			data := line + strings.Repeat("x", p.bulk)
			a.Opened = append(a.Opened, 0)
			a.Deliveries = append(a.Deliveries, model.Delivery{Conn: 1 + i, Data: []byte(data)})
		}
		if a.First = 1; p.errno != 0 {
			a.Opened, a.Deliveries = nil, nil
		}
	case model.Connect: // they are clients only
		a.Refused = int(unix.ECONNREFUSED)
	case model.Close:
		if in.Conn > 0 {
			p.left--
		}
		if p.left < len(p.lines) {
			a.Failure = p.failure
		}
	}
	a.Clients = p.left
	return a, nil
}

func startServer(t *testing.T, isolation sut.Isolation, args ...string) *sut.Worker {
	t.Helper()
	w, err := sut.Start(program, sut.Options{Args: args, Isolation: isolation,
		Environment: sut.Environment{Clients: 2}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// TestClients has clients that connect to a program which listens, in all ways in which it can.
func TestClients(t *testing.T) {
	for _, c := range []struct{ listen, printed, toPeers string }{
		{":8080", "[::]:8080", "[::]:8080"},        // for both families
		{"0.0.0.0:8080", "[::]:8080", "[::]:8080"}, // so package net has it
		{"127.0.0.1:8080", "127.0.0.1:8080", "127.0.0.1:8080"},
	} {
		for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
			w := startServer(t, isolation, "serve", c.listen)
			for seed := range uint64(6) {
				peers := &lineClients{lines: []string{"a\n", "b\n"}}
				log := run(t, w, sut.Schedule{Seed: seed}, peers)
				got := strings.Split(strings.TrimSpace(string(log.Stdout)), "\n")
				slices.Sort(got)
				slices.Sort(peers.inputs)
				want := []string{
					`127.0.0.1:8080 127.0.0.1:32769: "a\n", <nil>`,
					`127.0.0.1:8080 127.0.0.1:32770: "b\n", <nil>`, "at " + c.printed,
					"2 1 A\n", "2 2 B\n", "4 1 ", "4 2 ", "6 0 " + c.toPeers,
				}
				if diff := cmp.Diff(want, append(got, peers.inputs...)); log.Outcome != sut.Completed ||
					diff != "" {
					t.Errorf("%s, seed %d: %v %s; printed, and inputs to the peers:\n%s", c.listen, seed,
						log.Outcome, log.Message, diff)
				}
			}
		}
	}
	log := run(t, startServer(t, sut.Snapshot, "serve", "[::1]:8080"), sut.Schedule{},
		&lineClients{lines: []string{"a\n"}})
	if log.Outcome != sut.Completed {
		t.Errorf("on ::1: %v", log.Outcome)
	}
}

// TestClientsAndOwn has a client in the program beside that of the peers.
func TestClientsAndOwn(t *testing.T) {
	w := startServer(t, sut.Snapshot, "serve both")
	for seed := range uint64(10) {
		log := run(t, w, sut.Schedule{Seed: seed}, &lineClients{lines: []string{"a\n"}})
		if out := string(log.Stdout); log.Outcome != sut.Completed ||
			!strings.Contains(out, `own: "OWN\n", <nil>`) || !strings.Contains(out, `"a\n"`) {
			t.Errorf("seed %d: %v\n%s%s", seed, log.Outcome, out, log.Stderr)
		}
	}
}

// TestListenerCloses: what nobody has accepted ends with the listener.
func TestListenerCloses(t *testing.T) {
	w := startServer(t, sut.Snapshot, "serve one")
	peers := &lineClients{lines: []string{"a\n", "b\n"}}
	log := run(t, w, sut.Schedule{}, peers)
	want := []string{"6 0 [::]:8080", "4 0 ", "4 2 ", "2 1 A\n", "4 1 "}
	if diff := cmp.Diff(want, peers.inputs); log.Outcome != sut.Completed || diff != "" {
		t.Errorf("%v %s\n%s", log.Outcome, log.Stderr, diff)
	}
}

// TestWaitingClients: a server is idle when its clients have ended, and stuck while they wait.
func TestWaitingClients(t *testing.T) {
	for _, c := range []struct {
		scenario string
		peers    *lineClients
		want     sut.Outcome
		says     string
	}{
		{"serve", &lineClients{}, sut.Completed, ""},
		{"serve stuck", &lineClients{lines: []string{"a\n"}}, sut.Deadlock, ""},
		{"serve", &lineClients{lines: []string{"a\n"}, failure: "the client is not content"},
			sut.AssertionFailed, "the client is not content"},
		{"serve", &lineClients{lines: []string{"a\n"}, bulk: 1 << 20}, sut.Completed, ""},
		{"serve", &lineClients{errno: 98}, sut.Completed, ""}, // it says so and returns
	} {
		log := run(t, startServer(t, sut.Snapshot, c.scenario, ":8080"), sut.Schedule{}, c.peers)
		if log.Outcome != c.want || log.Message != c.says {
			t.Errorf("%s, %+v: %v %q, want %v %q", c.scenario, c.peers.lines, log.Outcome, log.Message,
				c.want, c.says)
		}
		if c.peers.errno != 0 && !strings.Contains(string(log.Stdout), "address already in use") {
			t.Errorf("listen was refused: %s", log.Stdout)
		}
	}
	w := start(t, sut.Snapshot, "serve", ":8080") // there are no clients: peers are not told
	peers := &lineClients{}
	if log := run(t, w, sut.Schedule{}, peers); log.Outcome != sut.Deadlock || len(peers.inputs) > 0 {
		t.Errorf("without clients: %v, inputs %q", log.Outcome, peers.inputs)
	}
}
