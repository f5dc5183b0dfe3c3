package proxy

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/proxy/internal/protocol"
)

// ReceiveHello waits on the checker's end of the channel, a blocking descriptor, for a
// freshly started proxy to say that it has started the peers, and returns their pids in
// the group's pid namespace. The wait is cut at the deadline of ctx, if it has one.
func ReceiveHello(ctx context.Context, channel int) ([]int, error) {
	timeout := -1
	if deadline, ok := ctx.Deadline(); ok {
		timeout = int(max(time.Until(deadline), 0).Milliseconds())
	}
	ready, err := sys.Retry(func() (int, error) {
		return unix.Poll([]unix.PollFd{{Fd: int32(channel), Events: unix.POLLIN}}, timeout)
	})
	if err != nil {
		return nil, fmt.Errorf("wait for the proxy: %w", err)
	}
	if ready == 0 {
		return nil, fmt.Errorf("wait for the proxy to start the peers: %w", context.DeadlineExceeded)
	}
	b := make([]byte, protocol.MaxHello)
	n, err := sys.Retry(func() (int, error) { return unix.Read(channel, b) })
	if err != nil || n == 0 {
		return nil, fmt.Errorf("%w before it had started the peers", ErrDied)
	}
	return protocol.DecodeHello(b[:n])
}
