package protocol

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/internal/testkit/garble"
)

// drawAddress draws an address as it is in a message: one side of it.
func drawAddress(t *rapid.T) Address {
	a := Address{Network: Network(rapid.IntRange(0, int(NetworkCount)-1).Draw(t, "network"))}
	if a.Network.IsUnix() {
		path := rapid.SliceOfN(rapid.Byte(), 1, MaxPath-1).Draw(t, "path")
		if a.Path = "/" + strings.ReplaceAll(string(path), "\x00", ""); rapid.Bool().Draw(t, "abstract") {
			a.Path = "\x00" + string(path)
		}
		return a
	}
	ip := netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "ip"))).Unmap()
	if a.OnlySix = rapid.Bool().Draw(t, "only six") && ip.Is6(); rapid.Bool().Draw(t, "IPv4") && !a.OnlySix {
		ip = netip.AddrFrom4([4]byte(ip.AsSlice()[:4]))
	}
	a.At = netip.AddrPortFrom(ip, rapid.Uint16().Draw(t, "port"))
	return a
}

// TestAddressesSurviveAsText: what String writes, ParseAddress reads.
func TestAddressesSurviveAsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAddress(t)
		if a.Network.IsDatagram() && rapid.Bool().Draw(t, "from") {
			from := drawAddress(t)
			if from.Network.IsUnix() == a.Network.IsUnix() && from.At.Addr().Is4() == a.At.Addr().Is4() {
				a.From, a.FromPath = from.At, from.Path
				if rapid.Bool().Draw(t, "unconnected") {
					a.At, a.Path = netip.AddrPort{}, ""
				}
			}
		}
		if got, err := ParseAddress(a.String()); err != nil || got != a {
			t.Fatalf("%+v is %q and that is %+v, %v", a, a.String(), got, err)
		}
	})
}

func TestAddressesAsText(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:80": "", "[::1]:80": "", "tcp6 [::]:80": "", "udp 127.0.0.1:53": "",
		"udp from 0.0.0.0:0":                   "",
		"udp 127.0.0.1:53 from 127.0.0.1:5000": "", "unix /run/x.sock": "", "unix @name": "",
		"unixpacket /x": "", "unixgram /x from /y": "",
		"udp:127.0.0.1:53": "udp 127.0.0.1:53", "unix:/run/x.sock": "unix /run/x.sock",
		"tcp:[::1]:80":            "[::1]:80",
		"tcp ::ffff:127.0.0.1:80": "error: not an IP address and port",
		"[::ffff:127.0.0.1]:80":   "127.0.0.1:80",
		"":                        "error: empty", "udp": "error: there is no address",
		"sctp 127.0.0.1:80": "error: not an IP address", "unix x.sock": "error: neither an absolute path",
		"unix @": "error: empty", "127.0.0.1:80 from 127.0.0.1:81": "error: only datagram sockets",
		"udp 127.0.0.1:80 from [::1]:80": "error: not of one family",
		"udp6 127.0.0.1:80":              "error: not one of IPv6", "[fe80::1%lo]:80": "error: zone",
		"127.0.0.1:80 81":                       "error: more than an address",
		"unix /" + strings.Repeat("x", MaxPath): "error: of at most 107",
		"unix6 /x":                              "error: not an IP address",
	} {
		a, err := ParseAddress(text)
		got := a.String()
		if err != nil {
			got = err.Error()
		}
		if wrong, isError := strings.CutPrefix(want, "error: "); isError != (err != nil) ||
			isError && !strings.Contains(got, wrong) || !isError && got != cmp.Or(want, text) {
			t.Errorf("%q is %q, want %q", text, got, cmp.Or(want, text))
		}
	}
}

func TestMessagesSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		op := Operation(rapid.IntRange(1, int(OpEnd)-1).Draw(t, "operation"))
		c := Request{op, rapid.Uint32().Draw(t, "sequence"), ID(rapid.Uint32().Draw(t, "id")),
			ID(rapid.Uint32().Draw(t, "new id")), drawAddress(t)}
		if got, err := DecodeRequest(c.Encode()); err != nil || got != c {
			t.Fatalf("%+v became %+v, %v", c, got, err)
		}
		r := Reply{op, c.Sequence, syscall.Errno(rapid.Uint32().Draw(t, "errno")),
			Refusal(rapid.IntRange(0, int(RefusalEnd)-1).Draw(t, "refusal")), c.Address}
		if got, err := DecodeReply(r.Encode()); err != nil || got != r {
			t.Fatalf("%+v became %+v, %v", r, got, err)
		}
		if _, err := DecodeRequest(r.Encode()); err == nil {
			t.Fatal("a reply was taken for a command")
		}
		if _, err := DecodeReply(c.Encode()); err == nil {
			t.Fatal("a command was taken for a reply")
		}
	})
}

func TestBadMessages(t *testing.T) {
	good := Request{Op: OpConnect, Sequence: 1, ID: 2}.Encode()
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	for want, b := range map[string][]byte{
		"a message of 0 bytes, not 16 to 143":   nil,
		"a message of 15 bytes, not 16 to 143":  good[:15],
		"a message of 144 bytes, not 16 to 143": append(bytes.Clone(good), make([]byte, 128)...),
		"an address of 1 bytes":                 append(bytes.Clone(good), 0),
		"an address of network 5 with flags 0x0": append(bytes.Clone(good),
			append([]byte{5, 0}, make([]byte, 18)...)...),
		"an address of tcp with flags 0x4": append(bytes.Clone(good),
			append([]byte{0, 4}, make([]byte, 18)...)...),
		"a path on udp": append(bytes.Clone(good),
			append([]byte{1, 0}, make([]byte, 19)...)...),
		"an IP address on unix": append(bytes.Clone(good),
			append([]byte{2, 1}, make([]byte, 19)...)...),
		"the address :: with flags 0x1": append(bytes.Clone(good),
			append([]byte{0, 1}, make([]byte, 18)...)...),
		"it begins with 0xff50":                    change(0, 0xff),
		"version 9 of the protocol, not 2: tandem": change(2, 9),
		"no command has number 0":                  change(3, 0),
		"no command has number 8":                  change(3, 8),
	} {
		if _, err := DecodeRequest(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%x: %v, want %q", b, err, want)
		}
	}
	refused := Reply{Op: OpBind}.Encode()
	refused[15] = byte(RefusalEnd)
	if _, err := DecodeReply(refused); err == nil ||
		!strings.Contains(err.Error(), "no refusal has number 9") {
		t.Errorf("%v", err)
	}
}

// decoder is tested with bad messages: by fuzzing, and in every run of the tests by some that are
// always the same.
type decoder struct {
	good       [][]byte
	allocation int // bytes for a message, on average of some
	try        func(t testing.TB, message []byte)
}

func (d decoder) fuzz(f *testing.F) {
	for _, b := range d.good {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { d.try(t, b) })
}

var decoders = map[string]decoder{
	"message": {[][]byte{
		Request{Op: OpAccept, Sequence: 7, ID: 1, NewID: 2}.Encode(),
		Reply{Op: OpConnect, Sequence: 7, Errno: syscall.ECONNREFUSED}.Encode(),
		Request{Op: OpCreateSocket, Sequence: 7, ID: 1,
			Address: Address{Network: UDP, At: netip.MustParseAddrPort("[::]:0"), OnlySix: true}}.Encode(),
		Request{Op: OpConnect, Sequence: 7, ID: 1,
			Address: Address{At: netip.MustParseAddrPort("127.0.0.1:80")}}.Encode(),
		Request{Op: OpBind, Sequence: 7, ID: 1,
			Address: Address{Network: Unix, Path: "/run/x.sock"}}.Encode(),
		Reply{Op: OpAccept, Sequence: 7, Address: Address{At: netip.MustParseAddrPort("[::1]:80")}}.Encode(),
	}, 1 << 10, tryMessage},
	"hello": {[][]byte{[]byte(`{"Peers":[2,3]}`), []byte(`{"Error":"no such file"}`)}, 4 << 10, tryHello},
	"visit": {[][]byte{
		[]byte("S"), []byte("L"), []byte("R\x00\x00\x00\x65"), []byte("R"), []byte("F\x00\x00\x00\x65"),
		[]byte("l\x00\x00\x00\x65"), []byte("E"), []byte("A\x00\x00\x00\x01"),
		[]byte("s\x00\x00\x00\x01\x00\x00\x00\x02"), []byte("d"), []byte("dwrong"), {},
		append([]byte{VisitAdopt}, make([]byte, 4*MaxRights)...),
	}, 8 << 10, tryVisit},
}

func FuzzDecode(f *testing.F)      { decoders["message"].fuzz(f) }
func FuzzDecodeHello(f *testing.F) { decoders["hello"].fuzz(f) }
func FuzzDecodeVisit(f *testing.F) { decoders["visit"].fuzz(f) }

func TestGarbledMessages(t *testing.T) {
	for name, d := range decoders {
		t.Run(name, func(t *testing.T) { garble.Run(t, d.good, d.allocation, d.try) })
	}
}

func tryMessage(t testing.TB, b []byte) {
	if c, err := DecodeRequest(b); err == nil && !bytes.Equal(c.Encode(), b) {
		t.Errorf("%x is decoded to %+v, which is encoded as %x", b, c, c.Encode())
	}
	if r, err := DecodeReply(b); err == nil && !bytes.Equal(r.Encode(), b) {
		t.Errorf("%x is decoded to %+v, which is encoded as %x", b, r, r.Encode())
	}
}

func tryHello(t testing.TB, b []byte) {
	pids, err := DecodeHello(b)
	for _, pid := range pids {
		if err != nil || pid <= 1 {
			t.Errorf("%q: pid %d, %v", b, pid, err)
		}
	}
}

func tryVisit(t testing.TB, b []byte) {
	m, err := DecodeVisit(b)
	if err != nil {
		return
	}
	again := []byte{m.Kind}
	if m.Kind == VisitLast || m.Kind == VisitReap || m.Kind == VisitFrom {
		again = binary.BigEndian.AppendUint32(again, uint32(m.PID))
	}
	for _, id := range m.IDs {
		again = binary.BigEndian.AppendUint32(again, uint32(id))
	}
	if again = append(again, m.Text...); !bytes.Equal(again, b) {
		t.Errorf("%q became %q", b, again)
	}
	if len(m.IDs) > MaxRights || m.Outcome() == nil != (len(b) == 1 && b[0] == VisitDone) {
		t.Errorf("%q has %d ids, outcome %v", b, len(m.IDs), m.Outcome())
	}
}

// TestLongHello: of an error that does not fit into a message, the beginning arrives, whatever is
// in it.
func TestLongHello(t *testing.T) {
	for _, text := range []string{strings.Repeat("<", 10_000), strings.Repeat("\x01", 900),
		strings.Repeat("\u00e9", 5000)} {
		b, err := EncodeHello(Hello{Error: "start peer x: " + text})
		if err != nil || len(b) > MaxHello {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
		if _, err := DecodeHello(b); err == nil ||
			!strings.HasPrefix(err.Error(), "start peer x: "+text[:400]) {
			t.Errorf("%v", err)
		}
	}
}
