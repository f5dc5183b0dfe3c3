package ckptd

import (
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
)

// reaper waits for all children of the daemon. As pid 1 of its namespace it also gets
// what a killed CRIU leaves behind, which it must reap without knowing it.
type reaper struct {
	mu       sync.Mutex
	children map[int]*child
}

// child is a process that somebody waits for.
type child struct {
	reaper *reaper
	pid    int
	done   chan struct{} // closed when it has ended
	status unix.WaitStatus
}

func newReaper() *reaper {
	r := &reaper{children: map[int]*child{}}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGCHLD)
	go func() {
		for range signals {
			r.reap()
		}
	}()
	return r
}

// start forks a child; nothing is reaped before it is known.
func (r *reaper) start(fork func() (pid int, err error)) (*child, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := fork()
	if err != nil {
		return nil, err
	}
	c := &child{reaper: r, pid: pid, done: make(chan struct{})}
	r.children[pid] = c
	return c, nil
}

// adopt waits from now on for a child that CRIU has made.
func (r *reaper) adopt(pid int) *child {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &child{reaper: r, pid: pid, done: make(chan struct{})}
	if unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD {
		close(c.done) // it has ended, and was reaped, already
		return c
	}
	r.children[pid] = c
	return c
}

func (r *reaper) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if c, ok := r.children[pid]; ok {
			c.status = status
			delete(r.children, pid)
			close(c.done)
		}
	}
}

// ended tells whether the child has ended, without waiting.
func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// signal kills the child, unless it has ended. Reaping is held off meanwhile, so that the
// pid cannot be another's.
func (c *child) signal() {
	c.reaper.mu.Lock()
	defer c.reaper.mu.Unlock()
	if !c.ended() {
		unix.Kill(c.pid, unix.SIGKILL)
	}
}

// kill kills the child and waits for its end.
func (c *child) kill() {
	c.signal()
	<-c.done
}
