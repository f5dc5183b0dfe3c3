package watch

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/proxy"
)

// lines are those of a file of /proc/net.
func lines(text ...string) (all [][]byte) {
	for _, s := range text {
		all = append(all, []byte(s))
	}
	return all
}

func TestUDPSocketsAreFound(t *testing.T) {
	four := "  12: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0   0 4242 2"
	six := "  13: 00000000000000000000000000000000:0036 00000000000000000000000000000000:0000 07"
	all := lines(four, six, "", "nonsense", "14: 0100007F:")
	for at, want := range map[string]bool{
		"127.0.0.1:53": true, "127.0.0.1:54": true, "[::1]:54": true, // the socket of IPv6 has all addresses
		"127.0.0.2:53": false, "[::1]:53": false, "127.0.0.1:55": false,
	} {
		if got := hasUDP(all, netip.MustParseAddrPort(at)); got != want {
			t.Errorf("%s: %t", at, got)
		}
	}
}

func TestUnixSocketsAreFound(t *testing.T) {
	all := lines(
		"0000000000000000: 00000002 00000000 00010000 0001 01 100 /run/tandem/listens",
		"0000000000000000: 00000002 00000000 00000000 0001 03 101 /run/tandem/connected",
		"0000000000000000: 00000002 00000000 00000000 0002 01 102 /run/tandem/datagrams",
		"0000000000000000: 00000002 00000000 00010000 0005 01    103 @abstract",
		"0000000000000000: 00000002 00000000 00010000 0001 01 104 relative",
		"0000000000000000: 00000002 00000000 00010000 0001 01 105",
		"0000000000000000: 00000002 00000000 00000000 0002 01 106", // bound to nothing
		"short",
	)
	for _, test := range []struct {
		network proxy.Network
		path    string
		want    bool
	}{
		{proxy.Unix, "/run/tandem/listens", true},
		{proxy.Unix, "/run/tandem/connected", false}, // nobody listens there
		{proxy.Unixgram, "/run/tandem/datagrams", true},
		{proxy.Unix, "/run/tandem/datagrams", false},
		{proxy.Unixgram, "/run/tandem/others", false},
		{proxy.Unixpacket, "\x00abstract", true},
		{proxy.Unix, "\x00abstract", false},
		{proxy.Unix, "/any/where/relative", true}, // where it is, only its process knows
		{proxy.Unix, "/none", false},
	} {
		if got := hasUnix(all, proxy.Address{Network: test.network, Path: test.path}); got != test.want {
			t.Errorf("%v %q: %t", test.network, test.path, got)
		}
	}
}

// TestOwnListeners: a listener looks at the real files of this process, where nobody has such
// sockets.
func TestOwnListeners(t *testing.T) {
	l := listeners{proxy: os.Getpid()}
	for _, at := range []proxy.Address{
		{Network: proxy.UDP, At: netip.MustParseAddrPort("127.0.0.1:1")},
		{Network: proxy.Unix, Path: "/no/such/socket"},
		{At: netip.MustParseAddrPort("127.0.0.1:1")},
	} {
		if has, err := l.has(at); has || err != nil {
			t.Errorf("%v: %t, %v", at, has, err)
		}
	}
	l.proxy = 1<<22 + 1 // no process
	if has, err := l.has(proxy.Address{Network: proxy.Unix, Path: "/x"}); has || err != nil {
		t.Errorf("of no process: %t, %v", has, err)
	}
}

// TestProcAddresses: what is written as the kernel does is read again.
func TestProcAddresses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{4, 16}).Draw(t, "size")
		b := rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "address")
		port := rapid.Uint16().Draw(t, "port")
		var text strings.Builder
		for i := 0; i < len(b); i += 4 { // words in the byte order of this machine
			for k := 3; k >= 0; k-- {
				const digits = "0123456789ABCDEF"
				text.WriteByte(digits[b[i+k]>>4])
				text.WriteByte(digits[b[i+k]&15])
			}
		}
		a, _ := netip.AddrFromSlice(b)
		want := netip.AddrPortFrom(a.Unmap(), port)
		got, err := parseProcAddress(text.String() + ":" + strings.ToUpper(hex16(port)))
		if err != nil || got != want {
			t.Fatalf("%s: %v, want %v: %v", text.String(), got, want, err)
		}
	})
}

func hex16(n uint16) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[n>>12], digits[n>>8&15], digits[n>>4&15], digits[n&15]})
}

// FuzzListeners: whatever the files hold, nothing breaks.
func FuzzListeners(f *testing.F) {
	f.Add("  12: 0100007F:0035 00000000:0000 07", "/run/tandem/listens")
	f.Add("0000000000000000: 00000002 00000000 00010000 0001 01 104 relative", "/a/relative")
	f.Fuzz(func(t *testing.T, line, path string) {
		hasUDP(lines(line), netip.MustParseAddrPort("127.0.0.1:53"))
		hasUnix(lines(line), proxy.Address{Network: proxy.Unix, Path: path})
	})
}
