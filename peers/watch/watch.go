// Package watch looks at the peers of a group while they run: whether they are ready, whether
// they are quiescent, what will make them go on by themselves, and whether one has died.
package watch

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// Died says that a peer's own process ended. The end of a process that the peer forked,
// one per connection for instance, is not that.
type Died struct {
	Peer   string
	PID    int // in the group's pid namespace
	Status unix.WaitStatus
}

func (d *Died) Error() string {
	return fmt.Sprintf("peer %s (pid %d of its group) %s", d.Peer, d.PID, peers.Outcome(d.Status))
}

// Watch looks at one incarnation of a group from outside, through /proc and sock_diag, and with
// eBPF if that is wanted. A restore makes a new incarnation. Not safe for concurrent use.
type Watch struct {
	proxy     int // host pid of pid 1 of the group
	pidfd     int
	peers     []peers.Process
	hosts     []int       // host pids of the peers; 0: a client that was not found
	hostPeers map[int]int // host pid of a peer: index in peers
	proc      procfs.Reader
	diagnosis *diagnosis
	tasks     [2][]task      // the two passes of a cut
	looked    map[int]looked // by host pid; see Uninstrumented
	effort    Effort
	wakeups   *wakeupCount // nil: every cut looks twice
	last      rest         // the last cut that found the group asleep
	awake     int          // a thread that the last pass has found awake; 0: none
	alone     int          // how many passes in a row have looked at that one alone
	timers    timers
}

// task is one thread of the group at one moment.
type task struct {
	tid, pid int
	peer     int // that it descends from: its index, -1 if that is dead
	listed   int // threads of its process
	ran      string
}

// New watches the group whose pid 1, the proxy, has this pid here.
func New(pid int, processes []peers.Process) (*Watch, error) {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, orDied(pid, fmt.Errorf("watch the group with pid %d: %w", pid, err))
	}
	d, err := openDiagnosis(pid)
	if err != nil {
		unix.Close(pidfd)
		return nil, orDied(pid, err)
	}
	w := &Watch{proxy: pid, pidfd: pidfd, peers: processes, diagnosis: d, hostPeers: map[int]int{}, looked: map[int]looked{},
		timers: timers{known: map[timerKey]*timer{}, files: map[int]timerFiles{}, ticks: Ticks{}}}
	w.proc.KeepOpen()
	for _, p := range processes {
		w.hosts = append(w.hosts, p.Host)
	}
	if err := w.findPeers(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// orDied names the death of the group where that is why it cannot be watched.
func orDied(pid int, err error) error {
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%w: its process %d is gone", proxy.ErrDied, pid)
	}
	return err
}

// Count has the cuts of Quiesce rest on a count of wake-ups, where they would look twice.
func (w *Watch) Count(wakeups *Wakeups) (err error) {
	w.wakeups, err = wakeups.countFor(w.proxy)
	return orDied(w.proxy, err)
}

// Close ends the watch, not the group.
func (w *Watch) Close() {
	if w.wakeups != nil {
		w.wakeups.close()
	}
	unix.Close(w.pidfd)
	w.diagnosis.close()
	w.proc.Close()
}

// findPeers learns the peers' pids as they are here. The proxy's first thread has orphans
// for children, and the peers of a group that CRIU has restored; another one has the peers
// that it started, and copies of them that never run.
func (w *Watch) findPeers() error {
	byInner := make(map[int]int, len(w.peers))
	for i, p := range w.peers {
		if w.hosts[i] == 0 {
			byInner[p.PID] = i
		}
	}
	if err := w.findBelow(byInner); err != nil {
		return err
	}
	for _, i := range byInner {
		if !w.peers[i].IsClient() {
			return w.asDeath(procfs.ErrGone) // dead peers stay; they vanish only with the whole group
		}
	}
	for i, pid := range w.hosts {
		if pid != 0 {
			w.hostPeers[pid] = i
		}
	}
	return nil
}

// findBelow looks for peers among the children of all threads of the proxy.
func (w *Watch) findBelow(byInner map[int]int) error {
	threads, err := w.proc.Threads(w.proxy)
	if err != nil {
		return w.asDeath(err)
	}
	for _, tid := range threads {
		if len(byInner) == 0 {
			break
		}
		children, err := w.proc.Children(w.proxy, tid)
		if errors.Is(err, procfs.ErrGone) {
			continue
		}
		if err != nil {
			return w.asDeath(err)
		}
		if err := w.findAmong(children, byInner); err != nil {
			return err
		}
	}
	return nil
}

// findAmong looks for peers, whose indices are given by their inner pids.
func (w *Watch) findAmong(children []int, byInner map[int]int) error {
	for _, pid := range children {
		inner, err := w.proc.InnerPID(pid)
		if errors.Is(err, procfs.ErrGone) {
			continue // an orphan; the peers stay, dead or alive
		}
		if err != nil {
			return err
		}
		if i, ok := byInner[inner]; ok {
			w.hosts[i] = pid
			delete(byInner, inner)
		}
	}
	return nil
}

// Check returns a *Died if a peer died, proxy.ErrDied if the whole group did, else nil.
func (w *Watch) Check() error {
	if w.proxyGone() {
		return w.asDeath(procfs.ErrGone)
	}
	return w.checkPeers()
}

// checkPeers returns a *Died if a peer died.
func (w *Watch) checkPeers() error {
	for pid := range w.hostPeers {
		s, err := w.proc.Stat(pid)
		if err != nil {
			return w.asDeath(err)
		}
		if err := w.deathOf(pid, s); err != nil {
			return err
		}
	}
	return nil
}

// deathOf returns a *Died if the process is a peer's own and dead.
func (w *Watch) deathOf(pid int, s procfs.Stat) error {
	i, isPeer := w.hostPeers[pid]
	if !isPeer || !s.Ended() || w.peers[i].IsClient() {
		return nil
	}
	return &Died{Peer: w.peers[i].Name, PID: w.peers[i].PID, Status: s.Status}
}

// InFlight says what is under way between the sockets of the group, and what waits for a peer to
// take it although none is about to; both are empty for nothing.
func (w *Watch) InFlight() (underWay, waiting string, err error) {
	t, err := w.traffic()
	return t.underWay, t.waiting, err
}

// proxyGone asks the kernel, not /proc, where the pid may be somebody else's by now.
func (w *Watch) proxyGone() bool {
	set := []unix.PollFd{{Fd: int32(w.pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(set, 0)
	return err == nil && n > 0
}

// asDeath names the death that makes processes of the group vanish.
func (w *Watch) asDeath(err error) error {
	if errors.Is(err, procfs.ErrGone) {
		return fmt.Errorf("%w: its process %d is gone", proxy.ErrDied, w.proxy)
	}
	return err
}

// walk calls visit for every thread of the group but those of the proxy, which acts on
// command only. Processes that end during the walk are left out.
func (w *Watch) walk(visit func(task) error) error {
	children, err := w.proc.Children(w.proxy, w.proxy)
	if err != nil {
		return w.asDeath(err)
	}
	for peer, pid := range w.hosts {
		if pid == 0 {
			continue
		}
		// Dead peers stay. While the proxy ends, and does not count as dead yet, the kernel has
		// reaped them.
		if err := w.walkProcess(pid, peer, 0, visit); err != nil && !(errors.Is(err, procfs.ErrGone) && w.peers[peer].IsClient()) {
			return w.asDeath(err)
		}
	}
	for _, pid := range children {
		if _, ok := w.hostPeers[pid]; !ok {
			if err := w.walkProcess(pid, -1, 0, visit); err != nil && !errors.Is(err, procfs.ErrGone) {
				return err
			}
		}
	}
	return nil
}

const maxGenerations = 64

// walkProcess is walk for a process and those that descend from it; ErrGone: it is not there.
func (w *Watch) walkProcess(pid, peer, depth int, visit func(task) error) error {
	if depth > maxGenerations {
		return fmt.Errorf("the group nests processes more than %d deep", maxGenerations)
	}
	tids, err := w.proc.Threads(pid)
	if err != nil {
		return err
	}
	for _, tid := range tids {
		if err := visit(task{tid: tid, pid: pid, peer: peer, listed: len(tids)}); err != nil {
			return err
		}
		children, err := w.proc.Children(pid, tid)
		if errors.Is(err, procfs.ErrGone) {
			continue
		}
		if err != nil {
			return err
		}
		for _, child := range children {
			if err := w.walkProcess(child, peer, depth+1, visit); err != nil && !errors.Is(err, procfs.ErrGone) {
				return err
			}
		}
	}
	return nil
}

func (w *Watch) nameOf(peer int) string {
	if peer < 0 {
		return "an orphan of a peer"
	}
	return "peer " + w.peers[peer].Name
}
