package online

import (
	"context"
	"errors"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/protocol"
)

// purse passes tokens on. What it does besides is for tests of errors.
type purse struct {
	Tokens int
	Fill   func(p *purse, env *protocol.Env)
}

type coin struct{}

func (p *purse) Receive(*protocol.Env, protocol.ID, any) { p.Tokens++ }

func (p *purse) Actions() []any {
	if p.Tokens == 0 {
		return nil
	}
	return []any{"pass"}
}

func (p *purse) Act(env *protocol.Env, _ any) {
	if p.Fill != nil {
		p.Fill(p, env)
		return
	}
	p.Tokens--
	env.Send(protocol.ID(env.Choose(env.Nodes())), coin{})
}

// purses has so many nodes with some tokens each.
func purses(nodes, tokens int) *protocol.Model {
	m := &protocol.Model{Properties: []protocol.Property{protocol.Always("no debts",
		func(_ protocol.ID, n protocol.Node) bool { return n.(*purse).Tokens < 0 },
		func(debts []bool) bool { return !slices.Contains(debts, true) })}}
	for range nodes {
		m.Nodes = append(m.Nodes, &purse{Tokens: tokens})
	}
	return m
}

// TestConsistent: snapshots of a system that passes tokens have all of them, at nodes and under
// way, and none twice, over UDP and in memory. What is lost is late for ever. If no late messages
// are kept, there are never too many.
func TestConsistent(t *testing.T) {
	const tokens, nodes = 5, 4
	for seed := range uint64(6) {
		for _, c := range []Config{{}, {Late: MaxLate}, {Late: MaxLate, Loss: 0.3}} {
			c.Model, c.Seed = purses(nodes, tokens), seed
			c.Pace, c.Every = 50*time.Microsecond, time.Millisecond
			c.Snapshots, c.Depths = 10, []int{1}
			if seed%2 == 0 {
				c.Transport = InMemory(nodes)
			}
			moved := 0
			c.Watch = func(r Result) {
				sum := len(r.Snapshot.Running.Messages)
				for _, n := range r.Snapshot.Nodes {
					sum += n.(*purse).Tokens
					if n.(*purse).Tokens != tokens {
						moved++
					}
				}
				if sum > nodes*tokens || c.Late > 0 && sum < nodes*tokens {
					t.Errorf("seed %d, loss %v: %d tokens of %d", seed, c.Loss, sum, nodes*tokens)
				}
			}
			r, err := Run(t.Context(), c)
			if err != nil || r.Violation != nil || r.Snapshots != 10 || moved == 0 {
				t.Fatalf("%v, error %v; %d purses had other tokens than at first", r, err, moved)
			}
			if (r.Lost > 0) != (c.Loss > 0) || r.Sent == 0 {
				t.Errorf("%v; lost is to be more than 0 if and only if there is a loss", r)
			}
		}
	}
}

// TestFailure: a handler that fails in the running system is a violation that has happened.
func TestFailure(t *testing.T) {
	m := purses(2, 1)
	m.Nodes[1].(*purse).Fill = func(p *purse, env *protocol.Env) { env.Assert(false, "too late") }
	r, err := Run(t.Context(), Config{Model: m, Pace: time.Microsecond, Every: time.Hour})
	want := `node 1, on call "pass": assertion failed: too late (online/online_test.go:`
	if err != nil || !r.Happened || !strings.Contains(r.Violation.What, want) ||
		!strings.Contains(r.String(), "has happened") {
		t.Fatalf("%v, error %v; want a failed assertion with its place", r, err)
	}
}

// TestHappened: a violation that is there in a snapshot is one that has happened, without a step.
func TestHappened(t *testing.T) {
	m := purses(1, 1)
	m.Nodes[0].(*purse).Fill = func(p *purse, env *protocol.Env) { p.Tokens = -1 }
	m.Faults.Drops = 1
	r, err := Run(t.Context(), Config{Model: m, Every: time.Millisecond, Pace: time.Microsecond,
		Bound: func(_ []protocol.Node, round int) bool { return round < 1 }})
	if err != nil || r.Violation == nil || r.Violation.What != "no debts" ||
		r.Happened != (r.Violation.Steps == 0) {
		t.Fatalf("%v, error %v; want a debt", r, err)
	}
}

// TestGlobal: a search from a snapshot may be breadth-first, with a shortest way to what is wrong.
func TestGlobal(t *testing.T) {
	m := purses(1, 2)
	m.Nodes[0].(*purse).Fill = func(p *purse, env *protocol.Env) { p.Tokens -= 3 }
	r, err := Run(t.Context(), Config{Model: m, Every: time.Microsecond, Pace: time.Hour, Global: true})
	if err != nil || r.Violation == nil || r.Violation.Steps != 1 || r.Happened || r.Searches != 1 ||
		!strings.Contains(r.String(), "predicted after 1 more steps: no debts") {
		t.Fatalf("%v, error %v; want a debt after one step", r, err)
	}
}

// TestStopped: the end of the context ends the run, without an error.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Run(ctx, Config{Model: purses(2, 1), Every: time.Microsecond, Depths: []int{1},
		Watch: func(r Result) {
			if r.Snapshots == 3 {
				cancel()
			}
		}})
	if err != nil || r.Violation != nil || r.Snapshots < 3 || !strings.Contains(r.String(), "nothing found") {
		t.Fatalf("%v, error %v; want the end after three snapshots", r, err)
	}
}

// TestErrors: what is wrong with a configuration, a model or the network is an error that says so.
func TestErrors(t *testing.T) {
	taken, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := ListenUDP("127.0.0.1:0", taken.LocalAddr().String()); err == nil ||
		!strings.Contains(err.Error(), "node 1 cannot listen at "+taken.LocalAddr().String()) {
		t.Errorf("error %v for a port that is taken", err)
	}
	filled := func(fill func(*purse, *protocol.Env)) *protocol.Model {
		m := purses(1, 1)
		m.Nodes[0].(*purse).Fill = fill
		return m
	}
	for want, c := range map[string]Config{
		"there is no model": {},
		"an ordered network": {Model: &protocol.Model{Nodes: []protocol.Node{&purse{}},
			Network: protocol.Ordered}},
		"a share of 2":   {Model: purses(1, 1), Loss: 2},
		"a share of NaN": {Model: purses(1, 1), Loss: math.NaN()},
		"is negative":    {Model: purses(1, 1), Every: -1},
		"65 late":        {Model: purses(1, 1), Late: 65},
		"has no nodes":   {Model: &protocol.Model{}},
		"fit into a datagram of 65507": {Model: filled(func(_ *purse, env *protocol.Env) {
			env.Send(0, strings.Repeat("x", MaxDatagram))
		})},
		"a message has no image: chan int": {Model: filled(func(_ *purse, env *protocol.Env) {
			env.Send(0, make(chan int))
		})},
	} {
		c.Pace = max(c.Pace, time.Microsecond)
		if r, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, error %v; want %q", r, err, want)
		}
	}
}

// TestClosed: a transport that somebody else closes is an error of the run.
func TestClosed(t *testing.T) {
	transport := InMemory(1)
	if err := transport.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := Run(t.Context(), Config{Model: purses(1, 1), Transport: transport})
	if !errors.Is(err, errClosed) {
		t.Errorf("error %v; want that of a closed transport", err)
	}
}

// TestUnderWay: of the messages between two nodes those are under way that were sent and have not
// arrived, of the last ones that are remembered. A message that comes again is not new.
func TestUnderWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		late := rapid.IntRange(0, MaxLate).Draw(t, "late")
		var out outgoing
		var in incoming
		var open []uint64 // sent, and not arrived
		for range rapid.IntRange(0, 3*MaxLate).Draw(t, "messages") {
			open = append(open, out.add(protocol.Packet{Image: []byte{byte(out.count)}}, late))
			if i := rapid.IntRange(0, 2*len(open)).Draw(t, "arrives"); i < len(open) {
				isOld := open[i]+MaxLate < in.next
				if in.add(open[i]) == isOld || in.add(open[i]) {
					t.Fatalf("message %d, of which %d is the next", open[i], in.next)
				}
				open = slices.Delete(open, i, i+1)
			}
		}
		var want []byte
		for _, number := range open {
			if number+uint64(late) >= out.count {
				want = append(want, byte(number))
			}
		}
		var got []byte
		kept := in.clone()
		for _, p := range underWay(&out, &kept) {
			got = append(got, p.Image...)
		}
		if !slices.Equal(got, want) || len(out.last) > late || len(in.arrived) > MaxLate+1 {
			t.Fatalf("%v are under way, want %v", got, want)
		}
	})
}

// FuzzDatagram: bytes that are a datagram are what it is written as, and name a node that there is.
func FuzzDatagram(f *testing.F) {
	f.Add(datagram{1, 2, 2, 300, []byte("image")}.append(nil), uint64(1))
	f.Add([]byte("no datagram"), uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, key uint64) {
		d, err := decodeDatagram(data, key, 3)
		if err != nil {
			return
		}
		again, err := decodeDatagram(d.append(nil), key, 3)
		if err != nil || d.from < 0 || d.from > 2 || again.from != d.from || again.epoch != d.epoch ||
			again.number != d.number || string(again.image) != string(d.image) {
			t.Errorf("%+v, error %v; it was %+v", again, err, d)
		}
	})
}
