package proxy

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/proxy/internal/protocol"
)

// TestTooManyDescriptors: a reply with two descriptors is an error, and neither stays open.
func TestTooManyDescriptors(t *testing.T) {
	pair, err := seqpacket.Pair()
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(os.NewFile(uintptr(pair[0]), "channel"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Disconnect()
	if err := unix.Sendmsg(pair[1], protocol.Reply{Op: protocol.OpCreateSocket, Sequence: 1}.Encode(),
		unix.UnixRights(pair[1], pair[1]), nil, 0); err != nil {
		t.Fatal(err)
	}
	if fd, err := c.CreateSocket(t.Context(), 1); err == nil ||
		!strings.Contains(err.Error(), "holds 2 descriptors, not 1") || fd != -1 {
		t.Errorf("descriptor %d, %v", fd, err)
	}
	// Were a copy still open, the other end would not see the end of this one.
	unix.Close(pair[1])
	if _, err := c.CreateSocket(t.Context(), 2); !errors.Is(err, ErrDied) {
		t.Errorf("with the last descriptor closed: %v", err)
	}
}
