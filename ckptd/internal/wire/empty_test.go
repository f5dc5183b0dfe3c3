package wire

import (
	"io"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
)

// TestEmptyMessageIsTheEnd: descriptors that come with it are not kept.
func TestEmptyMessageIsTheEnd(t *testing.T) {
	a, b := testkit.SocketPair(t)
	before := testkit.OpenFiles(t)
	rights := unix.UnixRights(a, b)
	h := unix.Msghdr{Control: &rights[0]}
	h.SetControllen(len(rights))
	// unix.Sendmsg would add a byte
	if _, _, errno := unix.Syscall(unix.SYS_SENDMSG, uintptr(a), uintptr(unsafe.Pointer(&h)), 0); errno != 0 {
		t.Fatal(errno)
	}
	if _, _, err := Receive(b); err != io.EOF {
		t.Errorf("an empty message: %v", err)
	}
	if after := testkit.OpenFiles(t); after != before {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
}
