package environment

import (
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// conn is a connection of a node, or a listener.
type conn struct {
	id       string        // the same at both ends; "" for a listener
	address  string        // of a listener
	from     string        // of a connect that waits: where the program has put its end
	ends     model.Ends    // where it is
	listener int           // of a connection that has arrived: the number of its listener
	again    skeleton.Name // of a listener: the event, if the node had one there before
	other    int           // node
	sent     network.Hash  // of all that was sent
	closed   bool
	taken    int  // bytes
	arrived  int  // bytes
	ended    bool // the end of the stream has arrived
	accepted bool // or opened by the node
	broken   bool // a reset has arrived
	waits    bool // it is a connect, and is not made yet
	due      int  // epoch in which all arrives that the node has sent
	inFlight []chunk
}

// comesTo says whether a send is a connect that comes to this listener, and no later or earlier
// one.
func (c *conn) comesTo(send *skeleton.Event) bool {
	return c.id == "" && network.ComesTo(c.address, c.again, send)
}

// isWaiting says whether it is a connect that waits, and nobody has given it up.
func (c *conn) isWaiting() bool { return c.waits && !c.closed }

// waiting is the id of such a connect.
const waiting = "?"

// chunk is a part of a stream that was delivered: the send that it comes from, and where in the
// stream it ends. Without data it is the end of the stream.
type chunk struct {
	send skeleton.Event
	end  int
	last bool
	at   int // epoch in which it has arrived
}

// listeners are the addresses of all that were listeners.
func listeners(conns []*conn) (list []string) {
	for _, c := range conns {
		if c.id == "" {
			list = append(list, c.address)
		}
	}
	return list
}
