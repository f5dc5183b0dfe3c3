package ckptd

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/internal/testkit"
)

// TestSocketsBeforeAnError: sockets that have come for a reply which turns out to be an error are
// closed. Nobody would know of them, and their connections would never end.
func TestSocketsBeforeAnError(t *testing.T) {
	pair, err := seqpacket.Pair()
	if err != nil {
		t.Fatal(err)
	}
	daemon, c := pair[1], newClient(pair[0], Options{})
	defer unix.Close(daemon)
	go c.readReplies()
	before := testkit.OpenFiles(t)
	answered := make(chan error, 1)
	go func() {
		var request wire.Request
		message, _, err := wire.Receive(daemon)
		if err != nil {
			answered <- err
			return
		}
		sequence, err := wire.Decode(message, wire.RequestKind, &request)
		if err != nil {
			answered <- err
			return
		}
		ahead, err := wire.Encode(wire.SocketsKind, sequence, struct{}{})
		if err == nil {
			err = seqpacket.Send(daemon, ahead, []int{daemon, daemon})
		}
		wire.Reply(daemon, sequence, wire.ErrorResponse(errors.New("the rest cannot be sent")), nil)
		answered <- err
	}()
	if _, err := c.call(testContext(t), wire.Request{Operation: wire.OpRestore}, nil); err == nil {
		t.Error("the reply is no error")
	}
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	if after := testkit.OpenFiles(t); after != before {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
	close(c.exited) // nobody waits for a process that there is not
	unix.Shutdown(daemon, unix.SHUT_RDWR)
	<-c.read
	unix.Close(pair[0])
}
