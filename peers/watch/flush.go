package watch

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/osthread"
)

// flushLoopback returns when all packets that were on their way over a loopback interface, in any
// namespace, have been delivered, and their receivers have been woken. It takes some 10 us for each
// processor. (A network could send packets on to other processors, by RPS. Nobody sets that for
// loopback.)
func flushLoopback() error {
	f, err := theFlusher()
	if err != nil {
		return err
	}
	done := make(chan error)
	f <- done
	return <-done
}

// theFlusher is a thread that flushes loopback when it gets a channel for the result.
var theFlusher = sync.OnceValues(func() (chan<- chan<- error, error) {
	requests, started := make(chan chan<- error), make(chan error)
	go func() {
		_ = osthread.Run(func() error { // for good: it has a network and a processor of its own
			socket, processors, err := openFlusher()
			if started <- err; err != nil {
				return err
			}
			for done := range requests {
				done <- flush(socket, processors)
			}
			return nil
		})
	}()
	return requests, <-started
})

// openFlusher makes a socket that is connected to itself, in a network of the thread's own, and
// lists the processors.
func openFlusher() (socket int, processors []int, err error) {
	fail := func(err error) (int, []int, error) {
		return -1, nil, fmt.Errorf("prepare to flush loopback: %w", err)
	}
	// Without privilege it is the machine's network. The queues of processors are those of all.
	err = unix.Unshare(unix.CLONE_NEWNET)
	own := err != unix.EPERM
	if err != nil && own {
		return fail(err)
	}
	if socket, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return fail(err)
	}
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return fail(err)
	}
	if own {
		loopback.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		err = unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback)
	} else {
		err = nil // it was why there is none of its own
	}
	if err == nil {
		err = unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		var at unix.Sockaddr
		if at, err = unix.Getsockname(socket); err == nil {
			err = unix.Connect(socket, at)
		}
	}
	if err == nil { // a lost packet would be a bug, and is not to hang the checker
		err = unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10})
	}
	if err != nil {
		return fail(err)
	}
	// It is to have a busy processor at once. Where that is not allowed, it takes some
	// milliseconds.
	first := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}
	if unix.SchedSetAttr(0, first, 0) != nil {
		// Since Linux 6.12 a shorter slice than that of others goes before theirs.
		short := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Runtime: 100_000}
		_ = unix.SchedSetAttr(0, short, 0)
	}
	all := &unix.CPUSet{}
	for i := range all {
		all[i] = ^all[i]
	}
	err = errors.Join(unix.SchedSetaffinity(0, all), unix.SchedGetaffinity(0, all)) // those that it may have
	if err != nil {
		return fail(err)
	}
	for i := range len(all) * 64 {
		if all.IsSet(i) {
			processors = append(processors, i)
		}
	}
	return socket, processors, nil
}

// flush sends itself a packet on each processor. On its way back each packet goes through the queue
// of that processor.
func flush(socket int, processors []int) error {
	for _, p := range processors {
		set := &unix.CPUSet{}
		set.Set(p)
		if err := unix.SchedSetaffinity(0, set); err == unix.EINVAL {
			continue // the processor is not there any more
		} else if err != nil {
			return fmt.Errorf("flush loopback on processor %d: %w", p, err)
		}
		b := []byte{0}
		if _, err := unix.Write(socket, b); err != nil {
			return fmt.Errorf("flush loopback on processor %d: send: %w", p, err)
		}
		for {
			_, err := unix.Read(socket, b)
			if err == nil {
				break
			}
			if err != unix.EINTR {
				return fmt.Errorf("flush loopback on processor %d: receive: %w", p, err)
			}
		}
	}
	return nil
}
