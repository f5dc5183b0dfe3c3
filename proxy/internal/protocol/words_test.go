package protocol

import (
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOperationsInWords: each operation and refusal has words of its own, and others have their
// numbers.
func TestOperationsInWords(t *testing.T) {
	seen := map[string]bool{}
	for op := OpCreateSocket; op < OpEnd; op++ {
		if text := op.String(); text == "" || strings.Contains(text, "operation") || seen[text] {
			t.Errorf("operation %d is %q", op, text)
		} else {
			seen[text] = true
		}
	}
	for r := Accepted; r < RefusalEnd; r++ {
		if text := r.String(); text == "" || strings.Contains(text, "refusal") || seen[text] {
			t.Errorf("refusal %d is %q", r, text)
		} else {
			seen[text] = true
		}
	}
	for want, got := range map[string]string{
		"operation 0": Operation(0).String(), "operation 8": OpEnd.String(),
		"operation 255": Operation(255).String(),
		"refusal 9":     RefusalEnd.String(), "network 5": NetworkCount.String(),
		"connect of socket 7": Request{Op: OpConnect, ID: 7}.String(),
		"start of peer 2":     Request{Op: OpStart, ID: 2}.String(),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestAddressesWithoutTheirNetworks: where the kind of a socket is known, its address says only
// where it is.
func TestAddressesWithoutTheirNetworks(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:80": "127.0.0.1:80", "tcp6 [::]:80": "[::]:80", "udp 127.0.0.1:53": "127.0.0.1:53",
		"udp 127.0.0.1:53 from 127.0.0.1:5000": "127.0.0.1:53", "unix /run/x": "/run/x", "unix @x": "@x",
		"unixgram \"/a\\x20b\"": `"/a\x20b"`,
	} {
		a, err := ParseAddress(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Text(); got != want {
			t.Errorf("%s is at %q, want %q", address, got, want)
		}
	}
}

// TestAddressesThatCannotBe: what is wrong with an address is said, whoever made it.
func TestAddressesThatCannotBe(t *testing.T) {
	at := netip.MustParseAddrPort("127.0.0.1:80")
	for want, a := range map[string]Address{
		"network 7 is unknown":                    {Network: 7, At: at},
		"udp: there is no address":                {Network: UDP},
		"unix: only datagram sockets have a from": {Network: Unix, Path: "/a", FromPath: "/b"},
		"tcp: only datagram sockets have a from":  {At: at, From: at},
		"an address with a zone":                  {At: netip.MustParseAddrPort("[fe80::1%lo]:80")},
		"unixgram6 with an address that is not":   {Network: Unixgram, Path: "/a", OnlySix: true},
		"tcp6 with an address that is not":        {At: at, OnlySix: true},
		"the two addresses are not of one family": {Network: UDP, At: at,
			From: netip.MustParseAddrPort("[::1]:1")},
	} {
		if err := a.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", a, err, want)
		}
	}
	for _, text := range []string{"unix \"/a", "udp 127.0.0.1:53 from nowhere", "udp from", "unix", "from"} {
		if a, err := ParseAddress(text); err == nil {
			t.Errorf("%q is %+v", text, a)
		}
	}
}

// TestFamilies: the family of a socket is that of its address.
func TestFamilies(t *testing.T) {
	for text, want := range map[string]int{
		"127.0.0.1:80": unix.AF_INET, "[::1]:80": unix.AF_INET6, "udp 0.0.0.0:1": unix.AF_INET,
		"unix /x": unix.AF_UNIX, "unixpacket @x": unix.AF_UNIX,
	} {
		a, err := ParseAddress(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Domain(); got != want {
			t.Errorf("%s is of family %d, want %d", text, got, want)
		}
	}
}
