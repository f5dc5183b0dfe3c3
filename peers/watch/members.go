package watch

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// Died says that a peer's own process ended. The end of a process that the peer forked, such as one
// for a connection, is not that, nor is the end of a client. It is returned as an error.
type Died struct {
	Peer   string
	PID    int // in the group's pid namespace
	Status unix.WaitStatus
}

func (d *Died) Error() string {
	return fmt.Sprintf("peer %s (pid %d of its group) %s", d.Peer, d.PID, peers.Outcome(d.Status))
}

// members are the processes of a group, as this process sees them.
type members struct {
	proxy     int // pid of the group's pid 1
	pidfd     int // of the proxy
	peers     []peers.Process
	hosts     []int       // pids of the peers; 0: a client that was not found
	hostPeers map[int]int // index in peers by pid
	proc      procfs.Reader
}

// thread is one thread of the group at one moment.
type thread struct {
	tid, pid int
	peer     int    // index of the peer that it descends from; -1 if that is dead
	listed   int    // threads of its process
	ran      string // how often it was put on a processor, and for how long; see procfs.Reader.Ran
}

// find learns the pids of those peers that are not known yet. The children of the proxy's first
// thread are orphans, and the peers of a group that CRIU has restored. Those of another thread
// are the peers that it started, and copies of them that never run.
func (m *members) find() error {
	byInner := make(map[int]int, len(m.peers))
	for i, p := range m.peers {
		if m.hosts[i] == 0 {
			byInner[p.PID] = i
		}
	}
	if err := m.findBelow(byInner); err != nil {
		return err
	}
	// What is left was not found. A client may not have been started yet.
	for _, i := range byInner {
		if !m.peers[i].IsClient() {
			return m.asDeath(procfs.ErrGone) // dead peers stay; they vanish only with the whole group
		}
	}
	for i, pid := range m.hosts {
		if pid != 0 {
			m.hostPeers[pid] = i
		}
	}
	return nil
}

// findBelow looks for peers among the children of all threads of the proxy.
func (m *members) findBelow(byInner map[int]int) error {
	threads, err := m.proc.Threads(m.proxy)
	if err != nil {
		return m.asDeath(err)
	}
	for _, tid := range threads {
		if len(byInner) == 0 {
			break
		}
		children, err := m.proc.Children(m.proxy, tid)
		if errors.Is(err, procfs.ErrGone) {
			continue
		}
		if err != nil {
			return m.asDeath(err)
		}
		if err := m.findAmong(children, byInner); err != nil {
			return err
		}
	}
	return nil
}

// findAmong looks for peers, whose indices are given by their inner pids.
func (m *members) findAmong(children []int, byInner map[int]int) error {
	for _, pid := range children {
		inner, err := m.proc.InnerPID(pid)
		if errors.Is(err, procfs.ErrGone) {
			continue // an orphan; the peers stay, dead or alive
		}
		if err != nil {
			return err
		}
		if i, ok := byInner[inner]; ok {
			m.hosts[i] = pid
			delete(byInner, inner)
		}
	}
	return nil
}

// check returns a *Died if a peer has died.
func (m *members) check() error {
	for pid := range m.hostPeers {
		s, err := m.proc.Stat(pid)
		if err != nil {
			return m.asDeath(err)
		}
		if err := m.deathOf(pid, s); err != nil {
			return err
		}
	}
	return nil
}

// deathOf returns a *Died if the process is a peer's own and dead.
func (m *members) deathOf(pid int, s procfs.Stat) error {
	i, isPeer := m.hostPeers[pid]
	if !isPeer || !s.Ended() || m.peers[i].IsClient() {
		return nil
	}
	return &Died{Peer: m.peers[i].Name, PID: m.peers[i].PID, Status: s.Status}
}

// isGone asks the kernel whether the proxy has ended. It does not ask /proc, where somebody else
// may have the pid by now.
func (m *members) isGone() bool {
	set := []unix.PollFd{{Fd: int32(m.pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(set, 0)
	return err == nil && n > 0
}

// asDeath names the death that makes processes of the group vanish.
func (m *members) asDeath(err error) error {
	if errors.Is(err, procfs.ErrGone) {
		return fmt.Errorf("%w: its process %d is gone", proxy.ErrDied, m.proxy)
	}
	return err
}

// walk calls visit for every thread of the group, except for those of the proxy, which acts only on
// command. Processes that end during the walk are left out. The first error of visit ends it. A
// thread may be visited although it ends meanwhile.
func (m *members) walk(visit func(thread) error) error {
	children, err := m.proc.Children(m.proxy, m.proxy)
	if err != nil {
		return m.asDeath(err)
	}
	for peer, pid := range m.hosts {
		if pid == 0 {
			continue
		}
		// Dead peers stay. But while the proxy ends, and does not count as dead yet, the kernel has
		// already reaped them.
		err := m.walkProcess(pid, peer, 0, visit)
		if err != nil && !(errors.Is(err, procfs.ErrGone) && m.peers[peer].IsClient()) {
			return m.asDeath(err)
		}
	}
	for _, pid := range children {
		if _, ok := m.hostPeers[pid]; !ok {
			if err := m.walkProcess(pid, -1, 0, visit); err != nil && !errors.Is(err, procfs.ErrGone) {
				return err
			}
		}
	}
	return nil
}

const maxGenerations = 64

// walkProcess is walk for a process and its descendants. procfs.ErrGone says that it is not there.
// Each child is listed with the thread that forked it, so all of them are asked.
func (m *members) walkProcess(pid, peer, depth int, visit func(thread) error) error {
	if depth > maxGenerations {
		return fmt.Errorf("the group nests processes more than %d deep", maxGenerations)
	}
	tids, err := m.proc.Threads(pid)
	if err != nil {
		return err
	}
	for _, tid := range tids {
		if err := visit(thread{tid: tid, pid: pid, peer: peer, listed: len(tids)}); err != nil {
			return err
		}
		children, err := m.proc.Children(pid, tid)
		if errors.Is(err, procfs.ErrGone) {
			continue
		}
		if err != nil {
			return err
		}
		for _, child := range children {
			err := m.walkProcess(child, peer, depth+1, visit)
			if err != nil && !errors.Is(err, procfs.ErrGone) {
				return err
			}
		}
	}
	return nil
}

// innerKey is what names a timer in every incarnation of the group. The pids outside change with
// each restore; those inside do not. It is not ok if the process has ended.
func (m *members) innerKey(key timerKey) (inner timerKey, ok bool) {
	inner = timerKey{fd: key.fd}
	id, to := key.tid, &inner.tid
	if key.fd >= 0 {
		id, to = key.pid, &inner.pid
	}
	n, err := m.proc.InnerPID(id)
	*to = n
	return inner, err == nil
}

// nameOf names a peer by its index, for messages.
func (m *members) nameOf(peer int) string {
	if peer < 0 {
		return "an orphan of a peer"
	}
	return "peer " + m.peers[peer].Name
}

// isChosen reports whether the behaviour of a peer, or its clock, is chosen. An orphan may have
// descended from any peer.
func (m *members) isChosen(peer int) bool {
	if peer >= 0 {
		return m.peers[peer].IsChosen()
	}
	return slices.ContainsFunc(m.peers, func(p peers.Process) bool { return p.IsChosen() })
}
