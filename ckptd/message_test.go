package ckptd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/internal/testkit/garble"
)

func TestMessagesSurviveTheWire(t *testing.T) {
	r := request{Operation: operationRestore, TimeoutMillis: 7, Group: 3, Image: "g3-1", Setup: &setup{Proxy: "p", CRIU: "c", MaxBytes: 1, MaxImages: 2}}
	b, err := encodeMessage(requestKind, 1<<31, r)
	if err != nil {
		t.Fatal(err)
	}
	var got request
	if sequence, err := decodeMessage(b, requestKind, &got); err != nil || sequence != 1<<31 || !reflect.DeepEqual(got, r) {
		t.Errorf("%+v became %d, %+v, %v", r, sequence, got, err)
	}
	if _, err := decodeMessage(b, replyKind, &reply{}); err == nil {
		t.Error("a request was taken for a reply")
	}
}

func TestBadMessages(t *testing.T) {
	good, err := encodeMessage(requestKind, 1, request{Operation: operationClose})
	if err != nil {
		t.Fatal(err)
	}
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	for want, b := range map[string][]byte{
		"a message of 0 bytes":                     nil,
		"a message of 11 bytes":                    good[:11],
		"a message of 65537 bytes":                 append(bytes.Clone(good), make([]byte, maxMessage+1-len(good))...),
		`it begins with "XCKD"`:                    change(0, 'X'),
		"version 9 of the protocol, not 1: tandem": change(4, 9),
		"a message of kind 2, not 1":               change(5, 2),
		"body of a message":                        good[:len(good)-1],
	} {
		if _, err := decodeMessage(b, requestKind, &request{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := encodeMessage(requestKind, 1, request{Image: strings.Repeat("x", maxMessage)}); err == nil {
		t.Error("a message over the limit was encoded")
	}
}

func TestErrorsKeepTheirIdentity(t *testing.T) {
	for _, c := range codes {
		err := errorReply(fmt.Errorf("group 7: %w: for a reason", c.sentinel)).asError()
		if !errors.Is(err, c.sentinel) || err.Error() != "group 7: "+c.sentinel.Error()+": for a reason" {
			t.Errorf("code %q: %v", c.code, err)
		}
	}
	if err := errorReply(fmt.Errorf("%w: %w", ErrGroupDown, ErrNotStored)).asError(); !errors.Is(err, ErrNotStored) {
		t.Errorf("a group that is down as its image could not be stored: %v", err)
	}
	if err := errorReply(io.ErrUnexpectedEOF).asError(); err == nil || err.Error() != "unexpected EOF" {
		t.Errorf("%v", err)
	}
	if err := (reply{}).asError(); err != nil {
		t.Errorf("a reply without an error: %v", err)
	}
	long := errorReply(errors.New(strings.Repeat("ä", maxErrorText)))
	if _, err := encodeMessage(replyKind, 1, long); err != nil || len(long.Error) > maxErrorText+1 {
		t.Errorf("a long error: %d bytes, %v", len(long.Error), err)
	}
}

// TestLongRepliesFitIntoAMessage: JSON has six bytes for one where peers write what is no text.
func TestLongRepliesFitIntoAMessage(t *testing.T) {
	for _, unit := range []string{"x", "\x1b", "\xff", "<", "ä", "\u2028", "\xe2\x80", "\x00x"} {
		text := strings.Repeat(unit, maxMessage)
		long := errorReply(errors.New(text))
		b, err := encodeMessage(replyKind, 1, long)
		if err != nil || len(b) > maxErrorText+100 {
			t.Errorf("an error of %q: %d bytes, %v", unit, len(b), err)
		}
		if least := maxErrorText/6 - 1; len(long.Error) < least && strings.ToValidUTF8(unit, "") != "" {
			t.Errorf("of an error of %q %d bytes are left", unit, len(long.Error))
		}
		dropped := make([]string, 2*DefaultMaxImages)
		for n := range dropped {
			dropped[n] = fmt.Sprintf("g%d-%d", MaxGroups, n)
		}
		r := checkpointReply(&image{id: "g1-1", backend: BackendCRIU}, time.Hour, dropped, errors.New(text))
		if _, err := encodeMessage(replyKind, 1, r); err != nil || len(r.Dropped) < 1000 || len(r.Refusal) == 0 {
			t.Errorf("an image that was refused for %q: %d dropped, %v", unit, len(r.Dropped), err)
		}
	}
	if got := errorReply(errors.New("\x1b <ä")).Error; got != "\x1b <ä" {
		t.Errorf("%q", got)
	}
}

// goodMessages are of all kinds.
func goodMessages(t testing.TB) (all [][]byte) {
	t.Helper()
	add := func(kind messageKind, body any) {
		b, err := encodeMessage(kind, 1, body)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	add(requestKind, request{Operation: operationCheckpoint, Group: 1, Steps: 3, Unrepeatable: true})
	add(requestKind, request{Operation: operationSetup, Setup: &setup{CRIU: "criu", MaxBytes: 1 << 30}})
	add(requestKind, request{Operation: operationRestore, Group: 1, Image: "g1-2", TimeoutMillis: 60_000})
	add(replyKind, errorReply(ErrInvalid))
	add(replyKind, reply{Group: 1, Peers: []int{100, 101}, Dropped: []string{"g1-1"}})
	return all
}

func FuzzDecodeMessage(f *testing.F) {
	for _, b := range goodMessages(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { tryMessage(t, b) })
}

func tryMessage(t testing.TB, b []byte) {
	var r request
	if sequence, err := decodeMessage(b, requestKind, &r); err == nil {
		again, err := encodeMessage(requestKind, sequence, r)
		if err != nil && len(b) < maxMessage/8 { // text may grow as it is escaped
			t.Fatalf("%q: %v", b, err)
		}
		var s request
		if err == nil {
			if _, err := decodeMessage(again, requestKind, &s); err != nil || !reflect.DeepEqual(r, s) {
				t.Errorf("%+v became %+v, %v", r, s, err)
			}
		}
	}
	var p reply
	if _, err := decodeMessage(b, replyKind, &p); err == nil && p.Error != "" && p.asError() == nil {
		t.Errorf("%q is an error that is lost", b)
	}
}

// TestGarbledMessages: see garble.Run, and FuzzDecodeMessage and FuzzReceiveMessage.
func TestGarbledMessages(t *testing.T) {
	t.Run("decode", func(t *testing.T) { garble.Run(t, goodMessages(t), 8<<10, tryMessage) })
	t.Run("receive", func(t *testing.T) {
		a, b := socketPair(t)
		number := 0
		garble.Run(t, goodMessages(t), 2*maxMessage, func(t testing.TB, message []byte) {
			number++
			n := 0 // mostly: each takes as long as the rest
			if number%8 == 0 {
				n = number / 8 % (maxDescriptors + 2)
			}
			tryReceive(t, a, b, n, message)
		})
	})
}

// socketPair is a pair of blocking SEQPACKET sockets.
func socketPair(t testing.TB) (a, b int) {
	t.Helper()
	pair, err := seqpacket.Pair()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sys.CloseAll(pair[:]) })
	return pair[0], pair[1]
}

func TestDescriptorsTravel(t *testing.T) {
	a, b := socketPair(t)
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before := openFiles(t)
	if err := seqpacket.Send(a, []byte("hello"), []int{int(f.Fd()), a}); err != nil {
		t.Fatal(err)
	}
	message, descriptors, err := receiveMessage(b)
	if err != nil || string(message) != "hello" || len(descriptors) != 2 {
		t.Fatalf("%q, %v, %v", message, descriptors, err)
	}
	for i, want := range []int{int(f.Fd()), a} {
		x, _ := sys.Inode(descriptors[i])
		if y, _ := sys.Inode(want); x != y {
			t.Errorf("descriptor %d is another file", i)
		}
		if flags, err := unix.FcntlInt(uintptr(descriptors[i]), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("descriptor %d would be inherited: %v", i, err)
		}
	}
	sys.CloseAll(descriptors)
	// Over the limits: an error, and nothing stays open.
	if err := seqpacket.Send(a, []byte("hello"), slices.Repeat([]int{a}, maxDescriptors+1)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := receiveMessage(b); err == nil {
		t.Error("a message with too many descriptors was received")
	}
	if err := seqpacket.Send(a, make([]byte, maxMessage+1), []int{a}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := receiveMessage(b); err == nil {
		t.Error("a message over the limit was received")
	}
	unix.Shutdown(a, unix.SHUT_WR)
	if _, _, err := receiveMessage(b); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
}

// FuzzReceiveMessage sends a message with descriptors, as many as the first byte says, past
// whatever receives: nothing may stay open, and nothing may be taken for what it is not.
func FuzzReceiveMessage(f *testing.F) {
	good, err := encodeMessage(requestKind, 7, request{Operation: operationStart})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(byte(0), good)
	f.Add(byte(1), good[:20])
	f.Add(byte(maxDescriptors+1), good)
	f.Add(byte(3), make([]byte, maxMessage+1))
	a, b := socketPair(f)
	before := openFiles(f)
	f.Fuzz(func(t *testing.T, number byte, message []byte) {
		tryReceive(t, a, b, int(number)%(maxDescriptors+2), message)
		if after := openFiles(t); after > before {
			t.Errorf("%d descriptors are open, before there were %d", after, before)
		}
	})
}

// tryReceive sends a message with n descriptors from a to b.
func tryReceive(t testing.TB, a, b, n int, message []byte) {
	if len(message) == 0 || len(message) > maxMessage+100 {
		return // no message, and more than the kernel may take at once
	}
	if err := seqpacket.Send(a, message, slices.Repeat([]int{a}, n)); err != nil {
		t.Fatal(err)
	}
	got, descriptors, err := receiveMessage(b)
	if fits := len(message) <= maxMessage && n <= maxDescriptors; fits != (err == nil) {
		t.Errorf("%d bytes and %d descriptors: %v", len(message), n, err)
	}
	if err == nil && (!bytes.Equal(got, message) || len(descriptors) != n) {
		t.Errorf("%d bytes and %d descriptors became %d and %d", len(message), n, len(got), len(descriptors))
	}
	sys.CloseAll(descriptors)
}

// TestMalformedFilesInMemory: what comes in a file in memory is bounded, and may be
// anything.
func TestMalformedFilesInMemory(t *testing.T) {
	before := openFiles(t)
	for _, content := range []any{"text", 7, []int{1}, map[string]any{"Peers": 3}, nil, map[string]any{"Peers": []any{map[string]any{"Name": "x"}}}} {
		text, err := json.Marshal(map[string]any{"Group": content})
		if err != nil {
			t.Fatal(err)
		}
		fd, err := sys.MemoryFile("tandem group", text, []byte("\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readSpec(fd); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v is taken for a group: %v", content, err)
		}
		unix.Close(fd)
	}
	fd, err := memoryJSON("")
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Ftruncate(fd, maxSpec+1); err != nil {
		t.Fatal(err)
	}
	if _, err := readSpec(fd); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "it is over") {
		t.Errorf("a description that is too long: %v", err)
	}
	if err := readStatus([]int{fd}, &Status{}); err == nil {
		t.Error("a status of zeros was read")
	}
	if err := readStatus(nil, &Status{}); err == nil {
		t.Error("a status without a file was read")
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
}
