package server

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// diagMessage is a message of the kernel about a Unix socket, with attributes.
func diagMessage(kind uint16, body ...byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	return append(append(b, make([]byte, unix.SizeofNlMsghdr-len(b))...), body...)
}

// boundTo is the body of such a message: its socket is bound to a file with this inode.
func boundTo(inode uint32) []byte {
	b := make([]byte, unixDiagMessage)
	b = binary.NativeEndian.AppendUint16(b, 8+4) // also the number of a device
	b = binary.NativeEndian.AppendUint16(b, unixDiagVFS)
	b = binary.NativeEndian.AppendUint32(b, inode)
	return append(b, 0, 0, 0, 0)
}

// TestBoundInodes: of sockets that are bound to files, the inodes are found.
func TestBoundInodes(t *testing.T) {
	unbound := make([]byte, unixDiagMessage)
	both := append(diagMessage(unix.SOCK_DIAG_BY_FAMILY, boundTo(7)...),
		diagMessage(unix.SOCK_DIAG_BY_FAMILY, unbound...)...)
	all := append(both, diagMessage(unix.SOCK_DIAG_BY_FAMILY, boundTo(9)...)...)
	if got, done, err := parseBoundInodes(all); done || err != nil || !slices.Equal(got, []uint32{7, 9}) {
		t.Errorf("%v, %t, %v", got, done, err)
	}
	if got, done, err := parseBoundInodes(diagMessage(unix.NLMSG_DONE)); !done || err != nil || got != nil {
		t.Errorf("the end: %v, %t, %v", got, done, err)
	}
	for name, bad := range map[string][]byte{
		"an error":          diagMessage(unix.NLMSG_ERROR, make([]byte, 20)...),
		"it breaks off":     all[:len(all)-1],
		"it has no body":    diagMessage(unix.SOCK_DIAG_BY_FAMILY),
		"a long attribute":  diagMessage(unix.SOCK_DIAG_BY_FAMILY, append(unbound, 9, 0, 0, 0)...),
		"an attribute of 0": diagMessage(unix.SOCK_DIAG_BY_FAMILY, append(unbound, 0, 0, 0, 0)...),
		"zeros":             make([]byte, unix.SizeofNlMsghdr),
	} {
		if got, _, err := parseBoundInodes(bad); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// FuzzBoundInodes: whatever the kernel sends, nothing breaks.
func FuzzBoundInodes(f *testing.F) {
	f.Add(diagMessage(unix.SOCK_DIAG_BY_FAMILY, boundTo(7)...))
	f.Add(diagMessage(unix.NLMSG_DONE))
	f.Fuzz(func(t *testing.T, b []byte) {
		if inodes, _, err := parseBoundInodes(b); err != nil && inodes != nil {
			t.Errorf("%v and %v", inodes, err)
		} else if len(inodes) > len(b)/8 {
			t.Errorf("%d inodes in %d bytes", len(inodes), len(b))
		}
	})
}
