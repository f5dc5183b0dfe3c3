// Package watch looks at the peers of a group while they run: whether they are ready, whether they
// are quiescent, what will make them go on by themselves, and whether one has died.
//
// It is put together from these parts, from the ground up:
//
//   - members knows the processes of the group, and walks over their threads.
//   - network tells what there is between the sockets of the group. It asks sock_diag, and reads
//     the counters of loopback.
//   - waitReader finds out what threads wait in, and how long. timers is what is known of that.
//   - cutter puts the three together. A cut looks at everything once, and tells whether the group
//     was quiescent at one moment.
//   - Watch repeats cuts until the group is quiescent, and keeps the group's line of time.
//
// Beside them, diagnoser says what keeps a group from being quiescent, Wakeups counts wake-ups in
// the kernel, and uninstrumented finds processes that the shim does not reach.
package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/shim"
	"github.com/tandem-mc/tandem/proxy"
)

// Watch looks at one incarnation of a group from outside: through /proc and sock_diag, and with
// eBPF if that is wanted. A restore makes a new incarnation. Not safe for concurrent use.
type Watch struct {
	group          *members
	network        *network
	timers         *timers // also the group's line of time
	cuts           *cutter
	uninstrumented uninstrumented
	waits          int // for the group to be quiescent
}

// New watches the group whose proxy, pid 1 of the group, has this pid here. The error is
// proxy.ErrDied, or a *Died, where that is why it cannot be watched. Close frees what it has open.
func New(pid int, processes []peers.Process) (*Watch, error) {
	socket, err := socketIn(pid)
	if err != nil {
		return nil, orDied(pid, err)
	}
	return NewWith(pid, socket, processes)
}

// NewWith is New, with a sock_diag socket in the network of the group, which it takes over. To open
// one takes privilege that not every checker has.
func NewWith(pid, socket int, processes []peers.Process) (*Watch, error) {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		unix.Close(socket)
		return nil, orDied(pid, fmt.Errorf("watch the group with pid %d: %w", pid, err))
	}
	d := &sockDiag{fd: socket}
	if d.loopback, err = openLoopback(pid); err != nil {
		sys.CloseAll([]int{socket, pidfd})
		return nil, orDied(pid, err)
	}
	w := newWatch(&members{proxy: pid, pidfd: pidfd, peers: processes, hostPeers: map[int]int{}}, d)
	w.group.proc.KeepOpen()
	for _, p := range processes {
		w.group.hosts = append(w.group.hosts, p.Host)
	}
	if err := w.group.find(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// newWatch puts the parts of a watch together.
func newWatch(group *members, d *sockDiag) *Watch {
	timers := newTimers(group.innerKey)
	network := &network{group: group, sockDiag: d}
	waits := &waitReader{proc: &group.proc, timers: timers, files: map[int]timerFiles{}}
	return &Watch{
		group: group, network: network, timers: timers,
		cuts:           &cutter{group: group, network: network, waits: waits},
		uninstrumented: uninstrumented{},
	}
}

// orDied names the death of the group if that is why it cannot be watched.
func orDied(pid int, err error) error {
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%w: its process %d is gone", proxy.ErrDied, pid)
	}
	return err
}

// Count bases the cuts of Quiesce on a count of wake-ups, so that they need not look twice. It is
// called once, and before Quiesce.
func (w *Watch) Count(wakeups *Wakeups) (err error) {
	w.cuts.wakeups, err = wakeups.countFor(w.group.proxy)
	return orDied(w.group.proxy, err)
}

// Close ends the watch, not the group.
func (w *Watch) Close() {
	if w.cuts.wakeups != nil {
		w.cuts.wakeups.close()
	}
	unix.Close(w.group.pidfd)
	w.network.sockDiag.close()
	w.group.proc.Close()
}

// Check returns a *Died if a peer has died, proxy.ErrDied if the whole group has, and otherwise
// nil.
func (w *Watch) Check() error {
	if w.group.isGone() {
		return w.group.asDeath(procfs.ErrGone)
	}
	return w.group.check()
}

// InFlight says what is under way between the sockets of the group, and what waits for a peer to
// take it although none is about to. Both are empty if there is nothing.
func (w *Watch) InFlight() (underWay, waiting string, err error) {
	t, err := w.network.traffic()
	return t.underWay, t.waiting, err
}

// Ending says that a client has ended.
type Ending struct {
	Peer   int // its index in the group
	Status unix.WaitStatus
}

// Ended lists the clients that have ended, in the order of the group. After a restore, one that had
// ended at the checkpoint may be missing.
func (w *Watch) Ended() ([]Ending, error) {
	var all []Ending
	for i, pid := range w.group.hosts {
		if pid == 0 || !w.group.peers[i].IsClient() {
			continue
		}
		s, err := w.group.proc.Stat(pid)
		if err != nil {
			return nil, w.group.asDeath(err)
		}
		if s.Ended() {
			all = append(all, Ending{i, s.Status})
		}
	}
	return all, nil
}

// Started looks for clients that were started since. Those that are not there yet are no error.
func (w *Watch) Started() error { return w.group.find() }

// AdvanceClocks lets time pass on the virtual clocks of the peers. Those that wait no longer than
// d go on: wait until the group is quiescent. It must be quiescent now. With 0 the peers only
// note how long they wait, and nothing ends that is overdue: see shim.Counters.Next.
func (w *Watch) AdvanceClocks(d time.Duration) error {
	last := -1
	return w.group.walk(func(t thread) error {
		if t.pid == last || t.peer >= 0 && !w.group.peers[t.peer].VirtualClock {
			return nil
		}
		last = t.pid
		status, err := w.group.proc.Read(strconv.Itoa(t.pid), "status")
		if err != nil {
			return orAwake(err)
		}
		has, err := shim.HasClock(status)
		if err != nil {
			return fmt.Errorf("process %d: %w", t.pid, err)
		}
		if !has {
			return nil
		}
		if err := shim.Wake(t.pid, d); err != nil && err != unix.ESRCH {
			return fmt.Errorf("let time pass for process %d of %s: %w", t.pid, w.group.nameOf(t.peer), err)
		}
		return nil
	})
}

// Uninstrumented describes the processes whose reads of the time and of random numbers are neither
// counted nor chosen, and why. They are those of the last Quiesce. The libraries are those of the
// shim, by the names that the group sees.
func (w *Watch) Uninstrumented(libraries shim.Libraries) []Uninstrumented {
	var all []Uninstrumented
	last := -1
	for _, t := range w.cuts.threads[1] {
		if t.pid == last {
			continue // another thread
		}
		last = t.pid
		executable, err := os.Readlink("/proc/" + strconv.Itoa(t.pid) + "/exe")
		if err != nil {
			continue // it has ended
		}
		frozen := t.peer >= 0 && w.group.peers[t.peer].VirtualClock
		if why := w.uninstrumented.why(t.pid, executable, libraries, frozen); why != "" {
			all = append(all, Uninstrumented{
				Peer: w.group.nameOf(t.peer), Executable: executable, Why: why,
				Chosen: w.group.isChosen(t.peer),
			})
		}
	}
	return all
}

// Quiesce is Watch.Quiesce for a single use.
func Quiesce(ctx context.Context, pid int, processes []peers.Process, drain func() (bool, error)) error {
	w, err := New(pid, processes)
	if err != nil {
		return err
	}
	defer w.Close()
	return w.Quiesce(ctx, drain)
}
