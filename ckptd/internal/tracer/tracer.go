// Package tracer has processes carry out system calls for the daemon. A tracer is the thread that
// traces the processes of one group. A program is a list of calls for each thread of a process,
// which the process goes through without a stop in between.
package tracer

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/ptrace"
)

// The kernel ties a traced process to the thread that traces it. Go moves goroutines among threads,
// so one goroutine keeps a thread for that, and does what others hand to it.

// Tracer is a thread that traces processes: the kernel obeys the thread that has attached
// to a process, and no other. When it ends, what it traces is killed.
type Tracer struct {
	work    chan func()
	died    <-chan struct{} // some child, or traced process, may have ended
	closing chan struct{}
	closed  chan struct{}
	forget  func()
	dying   map[int]bool // killed and not yet waited for; the thread's own
	Queues  int          // directory of the group's message queues, see EnterIPC
}

// Ends tells of the ends of processes: the channel gets a value when some may have ended, until
// forget is called.
type Ends interface {
	Subscribe() (ended <-chan struct{}, forget func())
}

// New starts the thread.
func New(r Ends) *Tracer {
	t := &Tracer{dying: map[int]bool{}, Queues: -1, work: make(chan func()), closing: make(chan struct{}),
		closed: make(chan struct{})}
	t.died, t.forget = r.Subscribe()
	go t.loop()
	return t
}

// loop is the thread: it does what it is given, and in between waits for what has been killed.
func (t *Tracer) loop() {
	runtime.LockOSThread() // and stays locked: the thread ends with the goroutine
	if unix.Gettid() == os.Getpid() {
		// The first thread has the children of all that have ended, such as the proxies:
		// to wait for any that it traces would take them from the reaper. While it is held
		// here, the loop gets another one.
		go t.loop()
		<-t.closed
		runtime.UnlockOSThread()
		return
	}
	defer close(t.closed)
	for {
		select {
		case f := <-t.work:
			f()
		case <-t.died:
			t.reap(unix.WNOHANG)
		case <-t.closing:
			t.reap(0) // nothing is killed after it: the pids may be others' then
			return
		}
	}
}

var errNoTracer = errors.New("nobody traces the processes of the group any more")

// Do runs f on the thread. Callers take turns. After Close it returns an error.
func (t *Tracer) Do(f func() error) error {
	result := make(chan error, 1)
	select {
	case t.work <- func() { result <- f() }:
		return <-result
	case <-t.closing:
		return errNoTracer
	}
}

// Close ends the thread once all that it traces, which must be dying, has ended. As long as
// it has not waited for them, neither their parent nor their pid namespace can end.
func (t *Tracer) Close() {
	close(t.closing)
	<-t.closed
	t.forget()
	if t.Queues >= 0 {
		unix.Close(t.Queues)
	}
}

// reap waits for processes that the thread traces and that have ended. It waits for all that the
// thread traces, and for nothing that others do.
func (t *Tracer) reap(flags int) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD|flags, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid == 0 {
			return
		}
		delete(t.dying, pid)
	}
}

// maxDying bounds the processes that are killed and not yet waited for.
const maxDying = 64

// Kill kills processes that are traced and stopped. Their memory is freed while the caller
// goes on. It is called on the thread.
func (t *Tracer) Kill(pids []int) {
	for _, pid := range pids {
		if len(t.dying) >= maxDying {
			t.awaitDying()
		}
		if unix.Kill(pid, unix.SIGKILL) == nil { // else it has ended, with the group or by itself
			t.dying[pid] = true
		}
	}
}

// AwaitKilled returns when all that was killed has ended.
func (t *Tracer) AwaitKilled() error {
	return t.Do(func() error { t.awaitDying(); return nil })
}

// awaitDying waits until all that was killed has ended. It is called on the thread. A stop that was
// on the way comes before the end.
func (t *Tracer) awaitDying() {
	for pid := range t.dying {
		for {
			if status, err := ptrace.AwaitChange(pid); err != nil || !status.Stopped() {
				break
			}
		}
		delete(t.dying, pid)
	}
}
