package protocol

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// TestSidesOfAnAddress: where a socket is to be, and what it talks to. IPv4 is not shown as mapped
// into IPv6.
func TestSidesOfAnAddress(t *testing.T) {
	for _, test := range []struct{ address, own, other string }{
		{"127.0.0.1:80", "127.0.0.1:80", "127.0.0.1:80"},
		{"udp 127.0.0.1:53", "udp 0.0.0.0:0", "udp 127.0.0.1:53"},
		{"udp [::1]:53", "udp [::]:0", "udp [::1]:53"},
		{"udp 127.0.0.1:53 from 127.0.0.1:5000", "udp 127.0.0.1:5000", "udp 127.0.0.1:53"},
		{"unix /run/x", "unix /run/x", "unix /run/x"},
		{"unixgram /run/x from /run/y", "unixgram /run/y", "unixgram /run/x"},
		{"unixgram from @y", "unixgram @y", "unixgram"},
	} {
		a, err := ParseAddress(test.address)
		if err != nil {
			t.Fatal(err)
		}
		if own, other := a.Own().String(), a.Other().String(); own != test.own || other != test.other {
			t.Errorf("%s: it is at %q and talks to %q, want %q and %q",
				a, own, other, test.own, test.other)
		}
	}
	mapped := Address{At: netip.MustParseAddrPort("[::ffff:127.0.0.1]:80")}
	if got := mapped.Own().String(); got != "127.0.0.1:80" {
		t.Errorf("IPv4 as IPv6 is %s", got)
	}
}

// TestAddressesSurviveSystemCalls: what the kernel is told, it tells, for one of the five networks
// as for another.
func TestAddressesSurviveSystemCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAddress(t)
		a.OnlySix = false // which is an option of the socket, and no part of its address
		if got := AddressOf(a.Network, a.Sockaddr()); got != a {
			t.Fatalf("%v became %v", a, got)
		}
	})
	for network, want := range map[Network][2]int{
		TCP:        {unix.AF_INET6, unix.SOCK_STREAM},
		UDP:        {unix.AF_INET6, unix.SOCK_DGRAM},
		Unix:       {unix.AF_UNIX, unix.SOCK_STREAM},
		Unixgram:   {unix.AF_UNIX, unix.SOCK_DGRAM},
		Unixpacket: {unix.AF_UNIX, unix.SOCK_SEQPACKET},
	} {
		a := Address{Network: network, At: netip.MustParseAddrPort("[::1]:80")}
		if got := [2]int{a.Domain(), a.Kind()}; got != want {
			t.Errorf("%v: a socket of %v, want %v", network, got, want)
		}
		if network.IsDatagram() != (want[1] == unix.SOCK_DGRAM) ||
			network.KeepsBounds() != (want[1] != unix.SOCK_STREAM) {
			t.Errorf("%v: what it does with messages does not fit its kind", network)
		}
	}
}

// TestSocketsWithoutName: a Unix socket that was not bound is nowhere.
func TestSocketsWithoutName(t *testing.T) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	at, err := unix.Getsockname(fd)
	if got := AddressOf(Unixgram, at); err != nil || got != (Address{Network: Unixgram}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// FuzzParseAddress: what is understood can be written, and means the same when it is read again.
func FuzzParseAddress(f *testing.F) {
	for _, text := range []string{
		"127.0.0.1:80", "tcp6 [::]:80", "udp:127.0.0.1:53", "udp 127.0.0.1:53 from 127.0.0.1:5000",
		"unix @name", `unix "/a\x20b"`, "unixgram /x from /y", "udp from [::]:0",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddress(text)
		if err != nil {
			return
		}
		if again, err := ParseAddress(a.String()); err != nil || a != again {
			t.Errorf("%q is %+v, which is written as %q: %+v, %v", text, a, a.String(), again, err)
		}
	})
}
