package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/internal/testkit/garble"
)

func TestMessagesSurviveTheWire(t *testing.T) {
	r := Request{Operation: OpRestore, TimeoutMillis: 7, Group: 3, Image: "g3-1",
		Setup: &Setup{Proxy: "p", CRIU: "c", MaxBytes: 1, MaxImages: 2}}
	b, err := Encode(RequestKind, 1<<31, r)
	if err != nil {
		t.Fatal(err)
	}
	var got Request
	if sequence, err := Decode(b, RequestKind, &got); err != nil || sequence != 1<<31 ||
		!reflect.DeepEqual(got, r) {
		t.Errorf("%+v became %d, %+v, %v", r, sequence, got, err)
	}
	if _, err := Decode(b, ReplyKind, &Response{}); err == nil {
		t.Error("a request was taken for a reply")
	}
}

func TestBadMessages(t *testing.T) {
	good, err := Encode(RequestKind, 1, Request{Operation: OpClose})
	if err != nil {
		t.Fatal(err)
	}
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	for want, b := range map[string][]byte{
		"a message of 0 bytes":  nil,
		"a message of 11 bytes": good[:11],
		"a message of 65537 bytes": append(bytes.Clone(good),
			make([]byte, MaxMessage+1-len(good))...),
		`it begins with "XCKD"`:                    change(0, 'X'),
		"version 9 of the protocol, not 2: tandem": change(4, 9),
		"a message of kind 2, not 1":               change(5, 2),
		"body of a message":                        good[:len(good)-1],
	} {
		if _, err := Decode(b, RequestKind, &Request{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := Encode(RequestKind, 1, Request{Image: strings.Repeat("x", MaxMessage)}); err == nil {
		t.Error("a message over the limit was encoded")
	}
}

func TestErrorsKeepTheirIdentity(t *testing.T) {
	for _, c := range codes {
		err := ErrorResponse(fmt.Errorf("group 7: %w: for a reason", c.sentinel)).AsError()
		if !errors.Is(err, c.sentinel) || err.Error() != "group 7: "+c.sentinel.Error()+": for a reason" {
			t.Errorf("code %q: %v", c.code, err)
		}
	}
	if err := ErrorResponse(fmt.Errorf("%w: %w", ErrGroupDown, ErrNotStored)).AsError(); !errors.Is(err,
		ErrNotStored) {
		t.Errorf("a group that is down as its image could not be stored: %v", err)
	}
	if err := ErrorResponse(io.ErrUnexpectedEOF).AsError(); err == nil || err.Error() != "unexpected EOF" {
		t.Errorf("%v", err)
	}
	if err := (Response{}).AsError(); err != nil {
		t.Errorf("a reply without an error: %v", err)
	}
	long := ErrorResponse(errors.New(strings.Repeat("ä", MaxErrorText)))
	if _, err := Encode(ReplyKind, 1, long); err != nil || len(long.Error) > MaxErrorText+1 {
		t.Errorf("a long error: %d bytes, %v", len(long.Error), err)
	}
}

// goodMessages are of all kinds.
func goodMessages(t testing.TB) (all [][]byte) {
	t.Helper()
	add := func(kind messageKind, body any) {
		b, err := Encode(kind, 1, body)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	add(RequestKind, Request{Operation: OpCheckpoint, Group: 1, Steps: 3, Unrepeatable: true})
	add(RequestKind, Request{Operation: OpSetup, Setup: &Setup{CRIU: "criu", MaxBytes: 1 << 30}})
	add(RequestKind, Request{Operation: OpRestore, Group: 1, Image: "g1-2", TimeoutMillis: 60_000})
	add(ReplyKind, ErrorResponse(ErrInvalid))
	add(ReplyKind, Response{Group: 1, Peers: []int{100, 101}, Dropped: []string{"g1-1"}})
	return all
}

func FuzzDecodeMessage(f *testing.F) {
	for _, b := range goodMessages(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { tryMessage(t, b) })
}

func tryMessage(t testing.TB, b []byte) {
	var r Request
	if sequence, err := Decode(b, RequestKind, &r); err == nil {
		again, err := Encode(RequestKind, sequence, r)
		if err != nil && len(b) < MaxMessage/8 { // text may grow as it is escaped
			t.Fatalf("%q: %v", b, err)
		}
		var s Request
		if err == nil {
			if _, err := Decode(again, RequestKind, &s); err != nil || !reflect.DeepEqual(r, s) {
				t.Errorf("%+v became %+v, %v", r, s, err)
			}
		}
	}
	var p Response
	if _, err := Decode(b, ReplyKind, &p); err == nil && p.Error != "" && p.AsError() == nil {
		t.Errorf("%q is an error that is lost", b)
	}
}

// TestGarbledMessages: see garble.Run, and FuzzDecodeMessage and FuzzReceiveMessage.
func TestGarbledMessages(t *testing.T) {
	t.Run("decode", func(t *testing.T) { garble.Run(t, goodMessages(t), 8<<10, tryMessage) })
	t.Run("receive", func(t *testing.T) {
		a, b := testkit.SocketPair(t)
		number := 0
		garble.Run(t, goodMessages(t), 2*MaxMessage, func(t testing.TB, message []byte) {
			number++
			n := 0 // mostly: each takes as long as the rest
			if number%8 == 0 {
				n = number / 8 % (MaxDescriptors + 2)
			}
			tryReceive(t, a, b, n, message)
		})
	})
}

func TestDescriptorsTravel(t *testing.T) {
	a, b := testkit.SocketPair(t)
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before := testkit.OpenFiles(t)
	if err := seqpacket.Send(a, []byte("hello"), []int{int(f.Fd()), a}); err != nil {
		t.Fatal(err)
	}
	message, descriptors, err := Receive(b)
	if err != nil || string(message) != "hello" || len(descriptors) != 2 {
		t.Fatalf("%q, %v, %v", message, descriptors, err)
	}
	for i, want := range []int{int(f.Fd()), a} {
		x, _ := sys.Inode(descriptors[i])
		if y, _ := sys.Inode(want); x != y {
			t.Errorf("descriptor %d is another file", i)
		}
		if flags, err := unix.FcntlInt(uintptr(descriptors[i]), unix.F_GETFD, 0); err != nil ||
			flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("descriptor %d would be inherited: %v", i, err)
		}
	}
	sys.CloseAll(descriptors)
	// Over the limits: an error, and nothing stays open.
	if err := seqpacket.Send(a, []byte("hello"), slices.Repeat([]int{a}, MaxDescriptors+1)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Receive(b); err == nil {
		t.Error("a message with too many descriptors was received")
	}
	if err := seqpacket.Send(a, make([]byte, MaxMessage+1), []int{a}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Receive(b); err == nil {
		t.Error("a message over the limit was received")
	}
	unix.Shutdown(a, unix.SHUT_WR)
	if _, _, err := Receive(b); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if after := testkit.OpenFiles(t); after > before {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
}

// FuzzReceiveMessage sends a message with descriptors, as many as the first byte says, past
// whatever receives: nothing may stay open, and nothing may be taken for what it is not.
func FuzzReceiveMessage(f *testing.F) {
	good, err := Encode(RequestKind, 7, Request{Operation: OpStart})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(byte(0), good)
	f.Add(byte(1), good[:20])
	f.Add(byte(MaxDescriptors+1), good)
	f.Add(byte(3), make([]byte, MaxMessage+1))
	a, b := testkit.SocketPair(f)
	before := testkit.OpenFiles(f)
	f.Fuzz(func(t *testing.T, number byte, message []byte) {
		tryReceive(t, a, b, int(number)%(MaxDescriptors+2), message)
		if after := testkit.OpenFiles(t); after > before {
			t.Errorf("%d descriptors are open, before there were %d", after, before)
		}
	})
}

// tryReceive sends a message with n descriptors from a to b.
func tryReceive(t testing.TB, a, b, n int, message []byte) {
	if len(message) == 0 || len(message) > MaxMessage+100 {
		return // no message, and more than the kernel may take at once
	}
	if err := seqpacket.Send(a, message, slices.Repeat([]int{a}, n)); err != nil {
		t.Fatal(err)
	}
	got, descriptors, err := Receive(b)
	if fits := len(message) <= MaxMessage && n <= MaxDescriptors; fits != (err == nil) {
		t.Errorf("%d bytes and %d descriptors: %v", len(message), n, err)
	}
	if err == nil && (!bytes.Equal(got, message) || len(descriptors) != n) {
		t.Errorf("%d bytes and %d descriptors became %d and %d", len(message), n, len(got), len(descriptors))
	}
	sys.CloseAll(descriptors)
}
