// Package reaper waits for the children of the daemon, which is pid 1 of its namespace.
package reaper

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// Somebody has to wait for each process that ends, or it stays as a zombie, and its pid in use. The
// daemon is the parent of many that it has not started itself.

// Reaper waits for all children of the daemon. As pid 1 of its namespace it also gets
// what a killed CRIU leaves behind, which it must reap without knowing it.
//
// It must not wait for just any process: for the kernel that includes those that a tracer
// traces, whose stops it would take from it.
type Reaper struct {
	mu          sync.Mutex
	Children    map[int]*Child
	subscribers map[chan struct{}]bool
}

// Child is a process that somebody waits for. Its status can be read when it is done.
type Child struct {
	reaper *Reaper
	PID    int
	Done   chan struct{} // closed when it has ended
	Status unix.WaitStatus
}

// New begins to wait. There is one in a process. Signals may be merged by the kernel, so each of
// them makes it look at all children.
func New() *Reaper {
	r := &Reaper{Children: map[int]*Child{}, subscribers: map[chan struct{}]bool{}}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGCHLD)
	if err := endsOnly(); err != nil { // then there are only more signals than need be
		fmt.Fprintln(os.Stderr, "tandem-ckptd:", err)
	}
	go func() {
		for range signals {
			r.reap()
			r.tell()
		}
	}()
	return r
}

// endsOnly has the kernel send SIGCHLD for ends only, not for stops, of which there are many while
// a process is traced. It changes one flag of what the runtime has set. The runtime of Go has no
// call for that flag.
func endsOnly() error {
	const noChildStop = 1 // SA_NOCLDSTOP
	var action struct{ handler, flags, restorer, mask uintptr }
	_, _, errno := unix.Syscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), 0,
		uintptr(unsafe.Pointer(&action)), unsafe.Sizeof(action.mask), 0, 0)
	if errno == 0 {
		action.flags |= noChildStop
		_, _, errno = unix.Syscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD),
			uintptr(unsafe.Pointer(&action)), 0, unsafe.Sizeof(action.mask), 0, 0)
	}
	if errno != 0 {
		return fmt.Errorf("ask for signals at the end of processes only: %w", errno)
	}
	return nil
}

// Subscribe returns a channel that gets a value when some process may have ended. The value says
// that there is something to look at, and not what. The function ends the subscription.
func (r *Reaper) Subscribe() (<-chan struct{}, func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := make(chan struct{}, 1)
	r.subscribers[c] = true
	return c, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.subscribers, c)
	}
}

// tell wakes up all subscribers: they look for themselves whether it was theirs.
func (r *Reaper) tell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.subscribers {
		select {
		case c <- struct{}{}:
		default: // it has not looked since the last one
		}
	}
}

// Start forks a child, in a network; nothing is reaped before it is known. The thread that forks
// ends, so that the child is the first thread's: one that may come to be a tracer's would take it
// from the reaper. The network is entered by that thread only.
func (r *Reaper) Start(network *os.File, fork func() (pid int, err error)) (c *Child, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err = osthread.Run(func() error {
		if err := unix.Setns(int(network.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter the network namespace of the group: %w", err)
		}
		pid, err := fork()
		if err == nil {
			c = &Child{reaper: r, PID: pid, Done: make(chan struct{})}
			r.Children[pid] = c
		}
		return err
	})
	return c, err
}

// Adopt waits from now on for a child that CRIU has made. CRIU makes the first process of a group
// as a sibling of its own, so that it is the daemon's child.
func (r *Reaper) Adopt(pid int) *Child {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &Child{reaper: r, PID: pid, Done: make(chan struct{})}
	if unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD {
		close(c.Done) // it has ended, and was reaped, already
		return c
	}
	r.Children[pid] = c
	return c
}

// StrangersIn counts the processes in a network that nobody waits for, as they were not started by
// the daemon. While CRIU brings a group back these are what it has made.
func (r *Reaper) StrangersIn(network *os.File) (n int, err error) {
	number, err := sys.Inode(int(network.Fd()))
	if err != nil {
		return 0, err
	}
	all, err := netns.Processes(number)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pid := range all {
		if r.Children[pid] == nil {
			n++
		}
	}
	return n, err
}

// reap waits for all children that have ended: the known ones, and those that came to the daemon as
// pid 1 of their namespace.
func (r *Reaper) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for pid, c := range r.Children {
		if status, ended := reapChild(pid); ended {
			c.Status = status
			delete(r.Children, pid)
			close(c.Done)
		}
	}
	all, _ := procfs.AllChildren(os.Getpid())
	for _, pid := range all {
		if r.Children[pid] == nil {
			reapChild(pid)
		}
	}
}

// reapChild waits for a child if it has ended. It does not block.
func reapChild(pid int) (status unix.WaitStatus, ended bool) {
	for {
		got, err := unix.Wait4(pid, &status, unix.WNOHANG, nil)
		if err != unix.EINTR {
			return status, err == nil && got == pid
		}
	}
}

// Ended tells whether the child has ended, without waiting. It has been reaped by then.
func (c *Child) Ended() bool {
	select {
	case <-c.Done:
		return true
	default:
		return false
	}
}

// Signal kills the child, unless it has ended. Reaping is held off meanwhile, so that the pid
// cannot be another's. Its end is known a moment later.
func (c *Child) Signal() {
	c.reaper.mu.Lock()
	defer c.reaper.mu.Unlock()
	if !c.Ended() {
		unix.Kill(c.PID, unix.SIGKILL)
	}
}

// Kill kills the child and waits for its end. It returns at once if the child has ended.
func (c *Child) Kill() {
	c.Signal()
	<-c.Done
}
