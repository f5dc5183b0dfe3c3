package daemon

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
)

// The checker sends requests over one channel, with sequence numbers, and takes answers in any
// order. Here they are received, put into an order for each group, served, and answered in time.

// maxRequests are at work at a time. Others wait in the channel.
const maxRequests = 64

// dispatcher is where requests come in.
//
// Requests are served by several goroutines: one waits for the end of a group for minutes, while
// others are saved and restored.
type dispatcher struct {
	daemon *daemon
	slots  chan struct{} // one for each request that is served
	queue  queues        // of whoever receives
	closed chan error    // gets a value when nothing comes any more
}

// receive receives requests until there is one that takes time. It serves that: whoever has read a
// request need not wake up anybody for it. Another one receives meanwhile.
func (d *dispatcher) receive() {
	for {
		message, descriptors, err := wire.Receive(Channel)
		if err == io.EOF {
			d.closed <- nil
			return
		}
		if err != nil {
			d.closed <- fmt.Errorf("read requests: %w", err)
			return
		}
		var r wire.Request
		sequence, err := wire.Decode(message, wire.RequestKind, &r)
		if err != nil {
			sys.CloseAll(descriptors)
			wire.Reply(Channel, sequence, wire.ErrorResponse(fmt.Errorf("%w: %w", wire.ErrInvalid, err)), nil)
			continue
		}
		if r.Operation == wire.OpSetup {
			// nothing else can be served before or during it
			d.serve(r, sequence, descriptors, now())
			continue
		}
		d.slots <- struct{}{}
		turn, after := d.queue.enqueue(r)
		go d.receive()
		d.serve(r, sequence, descriptors, turn)
		close(after)
		<-d.slots
		return
	}
}

// serve serves a request when its turn has come. Between requests a network is made ahead.
func (d *dispatcher) serve(r wire.Request, sequence uint32, descriptors []int, turn <-chan struct{}) {
	d.inTime(r, func() (wire.Response, []int) {
		<-turn
		defer sys.CloseAll(descriptors)
		return d.daemon.handle(r, descriptors)
	}, func(answer wire.Response, given []int) bool {
		return wire.ReplyWithSockets(Channel, sequence, answer, given)
	})
	go d.daemon.networks.makeSpare()
}

// queues keep the requests for each group in their order: a checker that has given up waiting for
// one may send the next. Only the goroutine that receives uses them.
type queues map[uint64]chan struct{}

// enqueue returns what to wait for before a request is served and what to close after it. A request
// about no group, or for the cause of an end, is not queued; the latter waits for what the others
// do.
func (q queues) enqueue(r wire.Request) (before <-chan struct{}, after chan<- struct{}) {
	last, turn := q[r.Group], make(chan struct{})
	switch {
	case r.Group == 0 || r.Operation == wire.OpCause:
		return now(), turn
	case last == nil:
		last = now()
	}
	if q[r.Group] = turn; r.Operation == wire.OpClose {
		delete(q, r.Group) // those that follow find no group
	}
	return last, turn
}

// now is a turn that has come. It is for a request that has nothing to wait for.
func now() chan struct{} {
	turn := make(chan struct{})
	close(turn)
	return turn
}

// A request is answered in its time. The checker says how long it waits, less a margin in which the
// daemon, should the request take longer, gives it up and says what it is waiting for. If the
// daemon does not even do that, what its threads do is seen from outside.

// Grace is how long a request may go on after its time, to end in order. The margin has room for it
// where the checker waits for 5 s or more; one that does not may be the first to give up.
const Grace = time.Second

// inTime calls answer once: with what handle returns or, where that takes too long, with an error
// that says where it is. What comes of it then is dropped, as it is where answer returns false: a
// group that was started is closed.
func (d *dispatcher) inTime(r wire.Request, handle func() (wire.Response, []int),
	answer func(wire.Response, []int) bool) {
	patience := wire.Deadline(r)
	var answered atomic.Bool
	// The one that comes first of this and of the result is the answer.
	late := time.AfterFunc(patience+Grace, func() {
		if answered.CompareAndSwap(false, true) {
			answer(wire.ErrorResponse(fmt.Errorf(
				"the checkpoint daemon gives up after %v (%s of group %d)\nit is in %s", patience,
				r.Operation, r.Group, goroutineDump())), nil)
		}
	})
	defer late.Stop()
	a, given := handle()
	defer sys.CloseAll(given)
	if !answered.CompareAndSwap(false, true) {
		fmt.Fprintf(os.Stderr, "tandem-ckptd: %s of group %d was given up, and has ended now: %q\n",
			r.Operation, r.Group, a.Error)
	} else if answer(a, given) {
		return
	}
	// Of a start nobody else has the id.
	if a.Group != 0 {
		d.daemon.giveUp(a.Group)
	}
}

// maxGoroutines bounds the goroutines that an error speaks of. It is a text for people.
const maxGoroutines = 32

var (
	goroutineState = regexp.MustCompile(`^goroutine \d+ \[(.*)\]:`)
	ownFunction    = regexp.MustCompile(`tandem/(?:\w+/)*(\w+)\.(\S+)\(`)
)

// goroutineDump is what goroutines of this program wait for, and in which functions, the innermost
// first. It is for the error of a request that has taken too long, whose reader has no other way to
// look into the daemon. It is a line of its own there, which reports leave out if it is not wanted.
func goroutineDump() string {
	b := make([]byte, 1<<20)
	b = b[:runtime.Stack(b, true)]
	var all []string
	for stack := range strings.SplitSeq(string(b), "\n\n") {
		state := goroutineState.FindStringSubmatch(stack)
		stack, _, _ = strings.Cut(stack, "\ncreated by ")
		var functions []string
		for _, f := range ownFunction.FindAllStringSubmatch(stack, -1) {
			if f[1] != "daemon" {
				f[2] = f[1] + "." + f[2]
			}
			functions = append(functions, f[2])
		}
		if state != nil && len(functions) > 0 && !strings.HasPrefix(functions[0], "goroutineDump") {
			all = append(all, strings.Join(functions, " < ")+" ["+state[1]+"]")
		}
	}
	if more := len(all) - maxGoroutines; more > 0 {
		all = append(all[:maxGoroutines], fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, "; ")
}
