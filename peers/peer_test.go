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
		if err := (Group{Peers: []Peer{p}}).Validate(); err == nil ||
			!strings.Contains(err.Error(), "peer curl: "+says) {
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
	if !client.Waits(proxy.Address{Network: proxy.Unixgram, Path: ScratchDirectory + "/socket"}) ||
		client.Waits(proxy.Address{Network: proxy.Unix, Path: "/socket"}) ||
		client.Waits(proxy.Address{}) {
		t.Error("a Unix socket")
	}
	in := Group{Peers: []Peer{{
		Name: "curl", Command: []string{"curl", "http://{sut}/{scratch}"}, After: "listen 80",
		Expect: "exit 1", Choices: 3, Behaviour: 2,
	}}}.In("/s").Peers[0]
	if in.Command[1] != "http://127.0.0.1//s" || in.After != "listen 80" || in.Expect != "exit 1" ||
		in.Choices != 3 || in.Behaviour != 2 {
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

func TestAddresses(t *testing.T) {
	p := Peer{Listen: "127.0.0.1:80 [::1]:81 udp:127.0.0.1:53 unix:{scratch}/socket unix:@abstract"}
	all, err := p.Addresses()
	if err != nil || len(all) != 5 {
		t.Fatalf("%v, %v", all, err)
	}
	for i, want := range []proxy.Address{
		{At: netip.MustParseAddrPort("127.0.0.1:80")},
		{At: netip.MustParseAddrPort("[::1]:81")},
		{Network: proxy.UDP, At: netip.MustParseAddrPort("127.0.0.1:53")},
		{Network: proxy.Unix, Path: ScratchDirectory + "/socket"},
		{Network: proxy.Unix, Path: "\x00abstract"},
	} {
		if all[i] != want {
			t.Errorf("%v, want %v", all[i], want)
		}
	}
	if !(Group{Peers: []Peer{p}}).ServesNames() ||
		(Group{Peers: []Peer{{Listen: "127.0.0.1:80"}}}).ServesNames() {
		t.Error("who listens on port 53 serves names")
	}
	for listen, want := range map[string]string{
		"127.0.0.1":       "write 127.0.0.1:2222",
		"127.0.0.1:0":     "there is no port",
		"10.0.0.1:80":     "no network but loopback",
		"[0::1]:80":       `write listen "[0::1]:80" as [::1]:80`,
		"http://x":        "write 127.0.0.1:2222",
		"unix:":           "write 127.0.0.1:2222",
		"127.0.0.1:70000": "write 127.0.0.1:2222",
	} {
		if _, err := (Peer{Listen: listen}).Addresses(); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", listen, err, want)
		}
	}
}

func TestWhatClientsWaitFor(t *testing.T) {
	for after, want := range map[string]struct {
		says  string
		port  uint16
		waits bool
	}{
		"listen 80":             {"on port 80", 80, true},
		"listen udp:53":         {"on port 53 of UDP", 53, true},
		"listen unix:/run/x":    {"at unix /run/x", 0, false},
		"listen unix:@abstract": {"at unix @abstract", 0, false},
	} {
		p := Peer{After: after}
		port, waits := p.WaitsFor()
		if got := p.Awaited(); got != want.says || port != want.port || waits != want.waits {
			t.Errorf("%s: %q, port %d, %t; want %+v", after, got, port, waits, want)
		}
	}
}

// FuzzAddresses: what is accepted is written as it was read.
func FuzzAddresses(f *testing.F) {
	f.Add("127.0.0.1:80 udp:127.0.0.1:53", "listen 80")
	f.Add("[::1]:81 unix:{scratch}/socket", "listen unix:@abstract")
	f.Fuzz(func(t *testing.T, listen, after string) {
		p := Peer{Listen: listen, After: after}
		all, err := p.Addresses()
		if err == nil && len(all) != len(strings.Fields(listen)) {
			t.Errorf("%q: %v", listen, all)
		}
		for i, a := range all {
			if text := strings.Fields(listen)[i]; !a.Network.IsUnix() && written(a) != text {
				t.Errorf("%q was read as %v", text, a)
			}
		}
		p.Awaited()
		p.WaitsFor()
	})
}
