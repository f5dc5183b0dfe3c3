package proxy

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/proxy/garble"
)

func drawAddress(t *rapid.T) netip.AddrPort {
	ip := [4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "ip"))
	return netip.AddrPortFrom(netip.AddrFrom4(ip), rapid.Uint16().Draw(t, "port"))
}

func TestMessagesSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		op := operation(rapid.IntRange(1, int(opEnd)-1).Draw(t, "operation"))
		c := command{op, rapid.Uint32().Draw(t, "sequence"), ID(rapid.Uint32().Draw(t, "id")), ID(rapid.Uint32().Draw(t, "new id")), drawAddress(t)}
		if got, err := decodeCommand(c.encode()); err != nil || got != c {
			t.Fatalf("%+v became %+v, %v", c, got, err)
		}
		r := reply{op, c.sequence, syscall.Errno(rapid.Uint32().Draw(t, "errno")), refusal(rapid.IntRange(0, int(refusalEnd)-1).Draw(t, "refusal")), c.address}
		if got, err := decodeReply(r.encode()); err != nil || got != r {
			t.Fatalf("%+v became %+v, %v", r, got, err)
		}
		if _, err := decodeCommand(r.encode()); err == nil {
			t.Fatal("a reply was taken for a command")
		}
		if _, err := decodeReply(c.encode()); err == nil {
			t.Fatal("a command was taken for a reply")
		}
	})
}

func TestBadMessages(t *testing.T) {
	good := command{op: opConnect, sequence: 1, id: 2}.encode()
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	for want, b := range map[string][]byte{
		"a message of 0 bytes, not 22":             nil,
		"a message of 21 bytes, not 22":            good[:21],
		"a message of 23 bytes, not 22":            append(bytes.Clone(good), 0),
		"it begins with 0xff50":                    change(0, 0xff),
		"version 9 of the protocol, not 1: tandem": change(2, 9),
		"no command has number 0":                  change(3, 0),
		"no command has number 8":                  change(3, 8),
	} {
		if _, err := decodeCommand(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%x: %v, want %q", b, err, want)
		}
	}
	refused := reply{op: opBind}.encode()
	refused[15] = byte(refusalEnd)
	if _, err := decodeReply(refused); err == nil || !strings.Contains(err.Error(), "no refusal has number 8") {
		t.Errorf("%v", err)
	}
}

// decoder is tested with bad messages: by fuzzing, and in every run of the tests by some that are always the same.
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
		command{op: opAccept, sequence: 7, id: 1, newID: 2}.encode(),
		reply{op: opConnect, sequence: 7, errno: syscall.ECONNREFUSED}.encode(),
	}, 1 << 10, tryMessage},
	"hello": {[][]byte{[]byte(`{"Peers":[2,3]}`), []byte(`{"Error":"no such file"}`)}, 4 << 10, tryHello},
	"visit": {[][]byte{
		[]byte("S"), []byte("L"), []byte("R\x00\x00\x00\x65"), []byte("R"), []byte("F\x00\x00\x00\x65"), []byte("l\x00\x00\x00\x65"), []byte("E"), []byte("A\x00\x00\x00\x01"), []byte("s\x00\x00\x00\x01\x00\x00\x00\x02"), []byte("d"), []byte("dwrong"), {},
		append([]byte{visitAdopt}, make([]byte, 4*maxRights)...),
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
	if c, err := decodeCommand(b); err == nil && !bytes.Equal(c.encode(), b) {
		t.Errorf("%x is decoded to %+v, which is encoded as %x", b, c, c.encode())
	}
	if r, err := decodeReply(b); err == nil && !bytes.Equal(r.encode(), b) {
		t.Errorf("%x is decoded to %+v, which is encoded as %x", b, r, r.encode())
	}
}

func tryHello(t testing.TB, b []byte) {
	pids, err := decodeHello(b)
	for _, pid := range pids {
		if err != nil || pid <= 1 {
			t.Errorf("%q: pid %d, %v", b, pid, err)
		}
	}
}

// TestTooManyDescriptors: a reply with two descriptors is an error, and neither stays open.
func TestTooManyDescriptors(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(os.NewFile(uintptr(pair[0]), "channel"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Disconnect()
	if err := unix.Sendmsg(pair[1], reply{op: opCreateSocket, sequence: 1}.encode(), unix.UnixRights(pair[1], pair[1]), nil, 0); err != nil {
		t.Fatal(err)
	}
	if fd, err := c.CreateSocket(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "holds 2 descriptors, not 1") || fd != -1 {
		t.Errorf("descriptor %d, %v", fd, err)
	}
	// Were a copy still open, the other end would not see the end of this one.
	unix.Close(pair[1])
	if _, err := c.CreateSocket(t.Context(), 2); !errors.Is(err, ErrDied) {
		t.Errorf("with the last descriptor closed: %v", err)
	}
}
