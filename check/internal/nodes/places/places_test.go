package places_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/places"
)

// TestPlaces: who is at an address, and which addresses and names nodes have.
func TestPlaces(t *testing.T) {
	p, err := places.New([]places.Given{{Name: "a", Listen: "10.0.0.1:7000 10.0.0.5:8000"},
		{Name: "b", Listen: "10.0.0.102"}, {Name: "c"}, {Name: "d", Listen: "127.0.0.1:7000"}})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"10.0.0.1:7000": "0 1", "10.0.0.5:8000": "0 1", // where it is said to listen
		"10.0.0.5:7000": "0 0", // not said, and the port is: it is not there
		"10.0.0.5:9000": "0 2", "10.0.0.102:7000": "1 2", "10.0.0.103:1": "2 2", "10.0.0.104:1": "3 2",
		"127.0.0.1:7000": "3 1", "127.0.0.1:7001": "0 0", "10.0.0.9:7000": "0 0", "unix @x": "0 0",
	} {
		node, found := p.At(address)
		if got := fmt.Sprint(node, found); got != want {
			t.Errorf("at %s is %s, want %s", address, got, want)
		}
	}
	hosts := []string{"10.0.0.1 a", "10.0.0.5 a", "10.0.0.102 b", "10.0.0.103 c", "127.0.0.1 d"}
	if got := p.Hosts(nil); !slices.Equal(got, hosts) {
		t.Errorf("hosts %q, want %q", got, hosts)
	}
	if got := p.Hosts([]string{"10.0.0.1 x b"}); slices.Contains(got, "10.0.0.102 b") || len(got) != 4 {
		t.Errorf("hosts %q, and b is known already", got)
	}
	sources := map[string]string{"10.0.0.9": "10.0.0.1", "127.0.0.1": "127.0.0.1", "fd00::1": "::1"}
	for to, want := range sources {
		if got := p.Source(0, netip.MustParseAddr(to)); got.String() != want {
			t.Errorf("from %s to %s, want %s", got, to, want)
		}
	}
	own := map[string]bool{"0.0.0.0:9000": true, "[::]:9000": true, "tcp6 [::]:9000": true,
		"0.0.0.0:7000": false, "127.0.0.1:9000": false, "10.0.0.1:9000": true}
	for listener, want := range own {
		if p.IsOwn(0, listener) != want {
			t.Errorf("a listener at %s is reached unsaid: %t, want %t", listener, !want, want)
		}
	}
}

// TestSharedLoopback: nodes without addresses of their own have different ports, and no addresses.
func TestSharedLoopback(t *testing.T) {
	p, err := places.New([]places.Given{{Name: "a", Listen: "127.0.0.1:7000"}, {Name: "b"}, {Name: "c"}})
	if err != nil {
		t.Fatal(err)
	}
	var last uint16
	for i := range 3 {
		first, n := p.Ports(i)
		if first <= last || n < 1000 || int(first)+n > 61000 || p.Own(i) != nil ||
			p.IsOwn(i, "0.0.0.0:9000") {
			t.Errorf("node %d has %d ports from %d on, and the addresses %v", i, n, first, p.Own(i))
		}
		last = first + uint16(n) - 1
	}
}

// TestNoPlaces: two nodes cannot have one address.
func TestNoPlaces(t *testing.T) {
	for listen, want := range map[string]string{
		"10.0.0.1:7000 10.0.0.2:7000|10.0.0.2:7000": "nodes a and b both listen at 10.0.0.2:7000",
		"10.0.0.1:7000|10.0.0.1:7001":               "nodes a and b both have the address 10.0.0.1",
		"[::ffff:127.0.0.1]:7000|127.0.0.1:7000":    "nodes a and b both listen at 127.0.0.1:7000",
		"nowhere|":                                  "node a: \"nowhere\" is no IP address",
	} {
		a, b, _ := strings.Cut(listen, "|")
		_, err := places.New([]places.Given{{Name: "a", Listen: a}, {Name: "b", Listen: b}})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", listen, err, want)
		}
	}
}
