package server

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/proxy/internal/protocol"
)

// launcher starts peers from a thread that does nothing else and never ends. It is their
// parent, and that of all copies that the daemon makes of them; the first thread is the
// parent of orphans alone, which are thus found without looking at copies.
type launcher struct {
	config   protocol.Config
	wanted   chan func() error // what the thread is to do next
	outcomes chan error        // of what it has done, in the same order
}

// launch starts the peers that are to run from the beginning. It returns the pids of all, of those
// on demand in advance. It must be called once, before anything else starts a thread. The error is
// that of the first peer that could not be started.
func launch(config protocol.Config) (*launcher, []int, error) {
	l := &launcher{config: config, wanted: make(chan func() error), outcomes: make(chan error)}
	makeThreads()
	// Whoever is about to make one more does so before this returns; with one processor they are
	// enough.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	go func() {
		runtime.LockOSThread()
		l.outcomes <- l.startFirst()
		for f := range l.wanted {
			l.outcomes <- f()
		}
	}()
	pids := make([]int, len(config.Peers))
	for i := range pids {
		pids[i] = pidOf(i)
	}
	return l, pids, <-l.outcomes
}

// makeThreads has the runtime make the threads now that it may ever need: a new one later might get
// the ID that is for a peer, or for what a peer starts, and keep it. All of them are held until the
// last one is there, so that none is used twice.
func makeThreads() {
	const count = 6
	release := make(chan struct{})
	var locked, released sync.WaitGroup
	for range count {
		locked.Add(1)
		released.Go(func() {
			runtime.LockOSThread()
			locked.Done()
			<-release
			runtime.UnlockOSThread()
		})
	}
	locked.Wait()
	close(release)
	released.Wait()
}

// do has the thread do something, and waits for the outcome. So there is one at a time, on the
// thread that is the parent of the peers.
func (l *launcher) do(f func() error) error {
	l.wanted <- f
	return <-l.outcomes
}

// startFirst has no peer run before all have their process IDs: a thread that one makes meanwhile
// could get that of the next, and keep it. The peers stand at their first instructions until then.
func (l *launcher) startFirst() error {
	started := make([]int, len(l.config.Peers)) // pids; 0: on demand
	for i, p := range l.config.Peers {
		if p.OnDemand {
			if _, err := lookPath(p); err != nil { // somebody should hear of that at once
				return fmt.Errorf("start peer %s: %w", p.Name, err)
			}
			continue
		}
		pid, err := l.execute(i, p)
		if err != nil {
			return fmt.Errorf("start peer %s: %w", p.Name, err)
		}
		started[i] = pid
	}
	for i, p := range l.config.Peers { // all are there: now they may run, one after the other
		if started[i] == 0 {
			continue
		}
		if err := letGo(started[i], p); err != nil {
			return fmt.Errorf("start peer %s: %w", p.Name, err)
		}
	}
	if !slices.ContainsFunc(l.config.Peers, func(p protocol.Command) bool { return p.OnDemand }) {
		return nil
	}
	return l.reserve()
}

// The process ID of a peer is the same whenever it is started.
const firstPID, pidsPerPeer = 100, 20

// pidOf is the process ID of peer number i. What peers start gets IDs after those of all that run
// from the beginning.
func pidOf(i int) int { return firstPID + i*pidsPerPeer }

// reserve keeps the process IDs of peers that do not run from being given to others, such as what
// is started by those that do. It is called again after each start on demand.
func (l *launcher) reserve() error { return setLastGiven(pidOf(len(l.config.Peers)) - 1) }

// start starts a peer, with the process ID that is its own. The group runs already: what its peers
// start afterwards gets IDs behind those of all peers again.
func (l *launcher) start(i int) error {
	p := l.config.Peers[i]
	pid, err := l.execute(i, p)
	if err == nil {
		err = letGo(pid, p)
	}
	if err == nil && p.OnDemand {
		err = l.reserve()
	}
	if err != nil {
		return fmt.Errorf("start peer %s: %w", p.Name, err)
	}
	return nil
}

// execute has a peer stand at its first instruction, traced by this thread, with its own user, its
// output and nothing else open.
func (l *launcher) execute(i int, p protocol.Command) (pid int, err error) {
	file, err := lookPath(p)
	if err != nil {
		return 0, err
	}
	if st, err := statBelow(p.Root, p.Dir); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return 0, fmt.Errorf("there is no directory %s for it to run in: name another one", p.Dir)
	}
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open /dev/null: %w", err)
	}
	defer unix.Close(null)
	// Standard input is empty. The output is kept with that of the proxy, or by itself.
	files := []uintptr{uintptr(null), 1, 2}
	if p.Output != 0 {
		files = []uintptr{uintptr(null), uintptr(p.Output), uintptr(p.Output)}
		if err := unix.Fchown(p.Output, int(p.UID), int(p.GID)); err != nil {
			// it may open /dev/stdout
			return 0, fmt.Errorf("give its output to it: %w", err)
		}
	}
	pid, err = executeAs(pidOf(i), file, p, &syscall.ProcAttr{
		Dir:   p.Dir,
		Env:   p.Env,
		Files: files,
		Sys:   attributesOf(p),
	})
	if err != nil {
		return 0, fmt.Errorf("execute %s: %w", file, err)
	}
	return pid, nil
}

// attributesOf are those of the process. One of another user keeps the capability that it takes to
// make the process again at a restore of a checkpoint in memory: a fork of it has to enter
// namespaces, and gets its process ID. Each has a session of its own, so that a signal for one does
// not meet the others.
func attributesOf(c protocol.Command) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true, Ptrace: true, Chroot: c.Root}
	if c.UID == 0 && c.GID == 0 && len(c.Groups) == 0 {
		return a
	}
	a.Credential = &syscall.Credential{Uid: c.UID, Gid: c.GID, Groups: c.Groups}
	if c.UID != 0 {
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
	return a
}

// executeAs executes a file with the process ID want and returns when it stands at its first
// instruction. Between the choice of the ID and the fork there must be no call in which the Go
// runtime may start a thread, which would take the ID and keep it: raw system calls are none.
// Somebody else may still have it for a moment.
func executeAs(want int, file string, p protocol.Command, a *syscall.ProcAttr) (int, error) {
	last, err := unix.Open(lastPID, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("choose a process ID: %w", err)
	}
	defer unix.Close(last)
	if err := chooseAddresses(p); err != nil {
		return 0, err
	}
	number := strconv.AppendInt(nil, int64(want-1), 10)
	const attempts = 100
	for attempt := 1; ; attempt++ {
		_, _, errno := unix.RawSyscall6(unix.SYS_PWRITE64, uintptr(last),
			uintptr(unsafe.Pointer(&number[0])), uintptr(len(number)), 0, 0, 0)
		if errno != 0 {
			return 0, fmt.Errorf("choose a process ID: %w", errno)
		}
		pid, err := syscall.ForkExec(file, p.Args, a)
		if err != nil {
			return 0, err
		}
		var status unix.WaitStatus
		if _, err := sys.Retry(func() (int, error) { return unix.Wait4(pid, &status, 0, nil) }); err != nil {
			return 0, fmt.Errorf("wait for the program to be executed: %w", err)
		}
		// It was started with another ID if somebody else has this one: then it has to go again.
		switch {
		case !status.Stopped():
			return 0, fmt.Errorf("the program ended at once: %v; run its command alone to see why", status)
		case pid == want:
			return pid, nil
		}
		unix.Kill(pid, unix.SIGKILL)
		// Or who reaps orphans was faster.
		sys.Retry(func() (int, error) { return unix.Wait4(pid, nil, 0, nil) })
		if attempt == attempts {
			return 0, fmt.Errorf("its process ID is %d and not %d, which %s has", pid, want, holderOf(want))
		}
	}
}

// addressesAsTheyAre is ADDR_NO_RANDOMIZE of personality(2).
const addressesAsTheyAre = 0x0040000

// chooseAddresses makes the addresses that the kernel gives to a peer the same whenever it is
// started, if they are to be.
func chooseAddresses(c protocol.Command) error {
	persona := uintptr(0)
	if c.SameAddresses {
		persona = addressesAsTheyAre
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_PERSONALITY, persona, 0, 0); errno != 0 {
		return fmt.Errorf("choose its addresses: %w", errno)
	}
	return nil
}

// holderOf says who has an ID, of a process or a thread, for an error message. It is a guess:
// meanwhile that may have ended.
func holderOf(id int) string {
	if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", id)); err == nil {
		return "a thread of the proxy"
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", id))
	if err != nil {
		return "somebody else"
	}
	return strings.TrimSpace(string(name))
}

// lastPID is a file to which one writes the ID before the one that the next process shall have, or
// the first one after it that is free.
const lastPID = "/proc/sys/kernel/ns_last_pid"

// lastGiven is the process ID that was given last in the group: the kernel looks for a free one
// from there on.
func lastGiven() (int, error) {
	fd, err := unix.Open(lastPID, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("ask for the last process ID: %w", err)
	}
	defer unix.Close(fd)
	var text [16]byte
	n, err := unix.Read(fd, text[:])
	if err != nil {
		return 0, fmt.Errorf("ask for the last process ID: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(string(text[:n])))
}

// setLastGiven has the next process get an ID as if this one had been given last. So a group gives
// the same IDs after a restore as it did before.
func setLastGiven(pid int) error {
	fd, err := unix.Open(lastPID, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(fd)
		_, err = unix.Write(fd, strconv.AppendInt(nil, int64(pid), 10))
	}
	if err != nil {
		return fmt.Errorf("choose the process ID before the next one: %w", err)
	}
	return nil
}
