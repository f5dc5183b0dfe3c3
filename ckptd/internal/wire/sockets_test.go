package wire

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/proxy"
)

// TestSocketsComeAhead: all sockets of a reply arrive before it, in their order, and whoever has
// sent them has none of them open by then.
func TestSocketsComeAhead(t *testing.T) {
	const count = MaxDescriptors + 10 // more than one message holds
	a, b := testkit.SocketPair(t)
	before := testkit.OpenFiles(t)
	sent := []int{testkit.Duplicate(t, a), testkit.Duplicate(t, a)} // that belong to the reply itself
	r := Response{Image: "i"}
	for n := range count {
		sent, r.Sockets = append(sent, testkit.Duplicate(t, a)), append(r.Sockets, proxy.ID(n))
	}
	if !ReplyWithSockets(a, 7, r, sent) {
		t.Fatal("the reply was not sent")
	}
	for n, fd := range sent {
		if closed := fd < 0; closed != (n >= 2) {
			t.Errorf("descriptor %d of %d is %d after the reply", n, len(sent), fd)
		}
	}
	var sockets []int
	for {
		message, descriptors, err := Receive(b)
		if err != nil {
			t.Fatal(err)
		}
		if KindOf(message) == SocketsKind {
			if sequence, err := Decode(message, SocketsKind, &struct{}{}); err != nil || sequence != 7 {
				t.Errorf("sockets of %d, %v", sequence, err)
			}
			sockets = append(sockets, descriptors...)
			continue
		}
		answer := Answer{Descriptors: descriptors, SocketFDs: sockets}
		if _, err := Decode(message, ReplyKind, &answer.Response); err != nil || answer.Image != "i" {
			t.Errorf("%+v, %v", answer.Response, err)
		}
		if len(answer.SocketFDs) != len(answer.Sockets) || len(answer.Descriptors) != 2 {
			t.Errorf("%d of %d sockets, and %d descriptors", len(sockets), count, len(descriptors))
		}
		answer.Close()
		break
	}
	unix.Close(sent[0])
	unix.Close(sent[1])
	if after := testkit.OpenFiles(t); after != before {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
}
