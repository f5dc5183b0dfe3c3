package ckptd

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
)

// tracer is a thread that traces processes: the kernel obeys the thread that has attached
// to a process, and no other. When it ends, what it traces is killed.
type tracer struct {
	work    chan func()
	died    <-chan struct{} // some child, or traced process, may have ended
	closing chan struct{}
	closed  chan struct{}
	forget  func()
	dying   map[int]bool // killed and not yet waited for; the thread's own
	queues  int          // directory of the group's message queues, see enterIPC
}

func newTracer(r *reaper) *tracer {
	t := &tracer{dying: map[int]bool{}, queues: -1, work: make(chan func()), closing: make(chan struct{}), closed: make(chan struct{})}
	t.died, t.forget = r.subscribe()
	go t.loop()
	return t
}

func (t *tracer) loop() {
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

// do runs f on the thread.
func (t *tracer) do(f func() error) error {
	result := make(chan error, 1)
	select {
	case t.work <- func() { result <- f() }:
		return <-result
	case <-t.closing:
		return errNoTracer
	}
}

// close ends the thread once all that it traces, which must be dying, has ended. As long as
// it has not waited for them, neither their parent nor their pid namespace can end.
func (t *tracer) close() {
	close(t.closing)
	<-t.closed
	t.forget()
	if t.queues >= 0 {
		unix.Close(t.queues)
	}
}

// reap waits for processes that the thread traces and that have ended.
func (t *tracer) reap(flags int) {
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

// kill kills processes that are traced and stopped. Their memory is freed while the caller
// goes on. It is called on the thread.
func (t *tracer) kill(pids []int) {
	for _, pid := range pids {
		if len(t.dying) >= maxDying {
			t.awaitDying()
		}
		if unix.Kill(pid, unix.SIGKILL) == nil { // else it has ended, with the group or by itself
			t.dying[pid] = true
		}
	}
}

// settle returns when all that was killed has ended.
func (t *tracer) settle() error {
	return t.do(func() error { t.awaitDying(); return nil })
}

// awaitDying waits until all that was killed has ended. It is called on the thread.
func (t *tracer) awaitDying() {
	for pid := range t.dying {
		for {
			if status, err := ptrace.AwaitChange(pid); err != nil || !status.Stopped() {
				break
			}
		}
		delete(t.dying, pid)
	}
}

// seize attaches to a thread, and has it stop. It runs on these processors from then on.
func (t *thread) seize(here *unix.CPUSet) error {
	if err := t.fetchTo(here); err != nil {
		return err
	}
	err := ptrace.Seize(t.tid)
	if errors.Is(err, ptrace.ErrNotTraced) {
		err = errors.Join(err, osthread.SetProcessors(t.tid, &t.processors))
	}
	return err
}
