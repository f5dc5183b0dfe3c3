package ckptd

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// The peers' output is read all the time. It is kept twice, both times only the end: all since the
// start, for errors, and what is new since it was last asked for, for the answers of the peers.

// output is what one peer, or the proxy, writes to its standard output and error. It is read all
// the time, since a full pipe would block the peer. A reader in its own goroutine takes what comes;
// one that asks for all by now reads the rest itself, so that nothing is missed that is in the
// pipe.
type output struct {
	fd    int // of file, whose method Fd would have it block
	file  *os.File
	raw   syscall.RawConn
	ended chan struct{} // closed when nobody can write any more

	mu    sync.Mutex
	open  bool
	all   tail // since the start
	fresh tail // since it was last taken
}

// readOutput reads from a pipe that does not block; it takes over the descriptor. The runtime is
// asked for the connection once: its method Fd would make the descriptor block.
func readOutput(fd int) (*output, error) {
	o := &output{fd: fd, file: os.NewFile(uintptr(fd), "output of a peer"), ended: make(chan struct{}),
		open: true}
	var err error
	if o.raw, err = o.file.SyscallConn(); err != nil {
		o.file.Close()
		return nil, err
	}
	go o.follow()
	return o, nil
}

// follow reads until the end. It waits in the poller of the runtime, and takes no thread.
func (o *output) follow() {
	defer close(o.ended)
	// An error means that nobody writes any more; there is nobody to tell.
	_ = o.raw.Read(func(uintptr) bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.drain()
		return !o.open
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = false
	o.file.Close()
}

// drain reads what there is. It needs the lock. The end of the pipe, and any error, mean that
// nobody writes any more.
func (o *output) drain() {
	var b [8 << 10]byte
	for o.open {
		n, err := unix.Read(o.fd, b[:])
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return
		case err != nil || n == 0:
			o.open = false
		default:
			o.all.Write(b[:n])
			o.fresh.Write(b[:n])
		}
	}
}

// take returns the end of what was written since it was last called, all that has been
// written by now included.
func (o *output) take() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drain()
	text := o.fresh.last
	o.fresh.last = nil
	return text
}
