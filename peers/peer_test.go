package peers

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/proxy"
)

func TestClientDescriptions(t *testing.T) {
	client := Peer{Name: "curl", Command: []string{"curl"}, After: "listen 8080", Expect: "exit 0"}
	if err := (Group{Peers: []Peer{client}}).Validate(); err != nil {
		t.Error(err)
	}
	for says, change := range map[string]func(*Peer){
		`after "listen" is not listen and a port`:         func(p *Peer) { p.After = "listen" },
		`after "listen 0" is not listen and a port`:       func(p *Peer) { p.After = "listen 0" },
		`after "listen 65536" is not listen and a port`:   func(p *Peer) { p.After = "listen 65536" },
		`after "connect 80" is not listen and a port`:     func(p *Peer) { p.After = "connect 80" },
		`expect "exit" is not exit and a status`:          func(p *Peer) { p.Expect = "exit" },
		`expect "exit 256" is not exit and a status`:      func(p *Peer) { p.Expect = "exit 256" },
		`it listens at 127.0.0.1:1, and is to be started`: func(p *Peer) { p.Listen = "127.0.0.1:1" },
		`only a client is expected to end`:                func(p *Peer) { p.After = "" },
	} {
		p := client
		change(&p)
		if err := (Group{Peers: []Peer{p}}).Validate(); err == nil || !strings.Contains(err.Error(), "peer curl: "+says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
	for port, waits := range map[uint16]bool{8080: true, 80: false} {
		at := proxy.Address{At: netip.AddrPortFrom(netip.IPv6Loopback(), port)}
		udp := at
		udp.Network = proxy.UDP
		if client.Waits(at) != waits || client.Waits(udp) || (Peer{}).Waits(at) {
			t.Errorf("port %d", port)
		}
		client := client
		client.After = "listen udp:8080"
		if client.Waits(udp) != waits || client.Waits(at) {
			t.Errorf("port %d of UDP", port)
		}
	}
	client.After = "listen unix:{scratch}/socket"
	if !client.Waits(proxy.Address{Network: proxy.Unixgram, Path: ScratchDirectory + "/socket"}) || client.Waits(proxy.Address{Network: proxy.Unix, Path: "/socket"}) || client.Waits(proxy.Address{}) {
		t.Error("a Unix socket")
	}
	in := Group{Peers: []Peer{{Name: "curl", Command: []string{"curl", "http://{sut}/{scratch}"}, After: "listen 80", Expect: "exit 1", Choices: 3, Behaviour: 2}}}.In("/s").Peers[0]
	if in.Command[1] != "http://127.0.0.1//s" || in.After != "listen 80" || in.Expect != "exit 1" || in.Choices != 3 || in.Behaviour != 2 {
		t.Errorf("%+v", in)
	}
}

func TestExpectedEnds(t *testing.T) {
	for _, c := range []struct {
		expect string
		status unix.WaitStatus
		says   string
	}{
		{"", 0x100, ""}, {"exit 0", 0, ""}, {"exit 3", 0x300, ""}, {"", 9, ""},
		{"exit 0", 0x1600, "peer curl exited with status 22, and exit 0 is expected"},
		{"exit 0", 9, "peer curl was killed by signal 9 (killed), and exit 0 is expected"},
	} {
		if got := (Peer{Name: "curl", Expect: c.expect}).Contradicts(c.status); got != c.says {
			t.Errorf("%q, %#x: %q, want %q", c.expect, c.status, got, c.says)
		}
	}
}

// TestArrivals: every order of the clients is that of one behaviour.
func TestArrivals(t *testing.T) {
	server := Peer{Name: "server", Choices: 2}
	client := Peer{After: "listen 80"}
	g := Group{Peers: []Peer{client, server, client, client}, AnyArrival: true}
	if n := g.Behaviours(); n != 12 {
		t.Fatalf("%d behaviours, want two of the server by six orders", n)
	}
	seen := map[string]bool{}
	for n := range 12 {
		b := g.Behaving(n)
		seen[fmt.Sprint(b.Peers[1].Behaviour, b.Arrivals())] = true
	}
	if first := g.Behaving(0).Arrivals(); len(seen) != 12 || !slices.Equal(first, []int{0, 2, 3}) {
		t.Errorf("%d different ones, the first %v: %v", len(seen), first, seen)
	}
	g.AnyArrival = false
	if n := g.Behaviours(); n != 2 {
		t.Errorf("%d behaviours without other orders, want 2", n)
	}
	g.AnyArrival, g.Peers = true, slices.Repeat([]Peer{client}, 20)
	if n := g.Behaviours(); n <= MaxChoices {
		t.Errorf("20 clients have %d orders, want more than %d", n, MaxChoices)
	}
}
