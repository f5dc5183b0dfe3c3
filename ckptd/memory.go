//go:build amd64

package ckptd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/proxy"
)

// memory keeps images as processes: a checkpoint forks each peer, by calls that the daemon
// has it carry out (ptrace), and the copy stays stopped for ever. A restore forks the copy
// in the same way, with the pid of the peer that was killed, and gives it threads, open
// files, connections and timers like those that it had.
//
// A copy has one thread and no open file: the other end of a connection must see it end.
// The proxy is not copied. It goes on, in another network, with new sockets.
type memory struct {
	limbo *os.File // network namespace of copies
}

func newMemory(limbo *os.File) (backend, error) { return &memory{limbo: limbo}, nil }

func (*memory) name() string { return BackendMemory }

// memoryImage is a saved group.
type memoryImage struct {
	group     *hosted
	processes []*process // pid is that of the copy
	sockets   []*socket
	owned     map[proxy.ID]int // sockets of the proxy, by index
	clock     time.Duration    // monotonic, as the peers saw it
	offset    time.Duration    // of that to the machine's
}

// save implements backend.
func (b *memory) save(_ context.Context, h *hosted, i *image) error {
	pids, err := h.livePeers()
	if err != nil {
		return err
	}
	m := &memoryImage{group: h, owned: map[proxy.ID]int{}}
	if err := m.visit(); err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	if h.tracer == nil {
		h.tracer = newTracer(h.daemon.reaper)
	}
	err = h.tracer.do(func() error {
		frozen, err := freezeAll(pids)
		for n, p := range frozen {
			p.generation = h.generations[pids[n]]
		}
		if err == nil {
			err = b.capture(m, frozen, i)
		}
		if err != nil {
			h.tracer.kill(m.pids())
			if !errors.Is(err, ErrNotQuiescent) && !errors.Is(err, errRefused) {
				err = fmt.Errorf("%w: %w", errRefused, err) // whatever it is, the group goes on
			}
		}
		for _, p := range frozen {
			if e := p.thaw(); e != nil {
				err = fmt.Errorf("let peer process %d go on after a checkpoint: %w", p.pid, errors.Join(e, textOf(err)))
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	i.held, i.memory = m.bytes(), m
	return nil
}

func freezeAll(pids []int) (all []*process, err error) {
	for _, pid := range pids {
		p, err := freeze(pid)
		all = append(all, p)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// visit describes the sockets of the proxy.
func (m *memoryImage) visit() error {
	v, err := proxy.Visit(m.group.channel)
	if err != nil {
		return err
	}
	defer v.Close()
	sockets, err := v.Sockets()
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(sockets)) {
		fd := sockets[id]
		if err == nil {
			m.owned[id], err = m.addSocket(fd)
		}
		unix.Close(fd)
	}
	return err
}

// addSocket describes a socket and returns its index.
func (m *memoryImage) addSocket(fd int) (int, error) {
	s, err := describeTCP(fd)
	if err != nil {
		return -1, err
	}
	for n, known := range m.sockets {
		if known.inode == s.inode {
			return n, nil
		}
	}
	m.sockets = append(m.sockets, s)
	return len(m.sockets) - 1, nil
}

func (m *memoryImage) describeSocket(d *descriptor, f openFile) error {
	fd, err := f.duplicate()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	n, err := m.addSocket(fd)
	d.make = func(of *revival) (int, error) { return unix.FcntlInt(uintptr(of.sockets[n]), unix.F_DUPFD_CLOEXEC, 0) }
	return err
}

// capture describes frozen processes and copies them.
func (b *memory) capture(m *memoryImage, frozen []*process, i *image) error {
	for _, p := range frozen {
		if err := p.examine(); err != nil {
			return err
		}
		if err := m.describeFiles(m.group, p); err != nil {
			return err
		}
	}
	if err := connectEnds(m.sockets); err != nil {
		return err
	}
	clock := m.group.process.pid // where no peer lives, it goes on in any time namespace
	if len(frozen) > 0 {
		clock = frozen[0].pid
	}
	if err := m.readClock(clock); err != nil {
		return err
	}
	if err := m.group.saveFiles(i); err != nil {
		return err
	}
	for _, p := range frozen {
		if err := p.inject(); err != nil {
			return err
		}
		copied, err := p.fork(b.limbo)
		if copied != nil {
			m.processes = append(m.processes, copied)
		}
		if err != nil {
			return err
		}
		if err := p.disturbed(); err != nil {
			return err
		}
	}
	return nil
}

// readClock notes the monotonic time, which is to go on from there after a restore.
func (m *memoryImage) readClock(pid int) error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/timens_offsets", pid))
	if errors.Is(err, os.ErrNotExist) {
		return refuse("this Linux has no time namespaces")
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		var clock string
		var s, ns int64
		if _, err := fmt.Sscan(line, &clock, &s, &ns); err != nil {
			return fmt.Errorf("the time namespace of process %d has %q", pid, line)
		}
		if clock == "monotonic" {
			m.offset = time.Duration(s)*time.Second + time.Duration(ns)
		}
	}
	now, err := monotonic()
	m.clock = now + m.offset
	return err
}

// monotonic is the machine's monotonic time.
func monotonic() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return time.Duration(t.Nano()), err
}

// copyOverhead is about what the kernel takes for a process with one thread, in bytes.
const copyOverhead = 48 << 10

// bytes is the memory that the copies keep from being free.
func (m *memoryImage) bytes() int64 {
	total := m.fixed()
	for _, p := range m.processes {
		total += p.private
	}
	return total
}

// fixed is the part of bytes, and of weigh, that no other image can share.
func (m *memoryImage) fixed() (total int64) {
	for _, p := range m.processes {
		total += copyOverhead + p.tables
	}
	return total
}

// weigh is what the copies hold now, with their shares of pages that others have, too.
func (m *memoryImage) weigh() int64 {
	total := m.fixed()
	for _, p := range m.processes {
		// Of one that has ended nothing can be read, and it holds nothing.
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.pid))
		total += statusBytes(string(text), "Pss_Anon")
	}
	return total
}

// pids are those of the copies.
func (m *memoryImage) pids() (all []int) {
	for _, p := range m.processes {
		all = append(all, p.pid)
	}
	return all
}

// alive tells whether the copies are there, stopped.
func (m *memoryImage) alive() bool {
	for _, p := range m.processes {
		if state, _ := stateOfProcess(strconv.Itoa(p.pid)); state != 't' {
			return false
		}
	}
	return true
}

// end drops the image.
func (m *memoryImage) end() {
	// It fails where the group has ended, and all copies with it.
	_ = m.group.tracer.do(func() error { m.group.tracer.kill(m.pids()); return nil })
}

// stop implements backend: it ends the peers, not the proxy.
func (b *memory) stop(h *hosted) error {
	if h.parked != nil {
		h.unpark()
		v, err := proxy.Visit(h.channel)
		h.visitor = v
		return err
	}
	v, err := proxy.Visit(h.channel) // which from now on reaps peers by command only
	if err != nil {
		return err
	}
	h.visitor = v
	pids, err := h.livePeers()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if err := killProcess(pid); err != nil {
			return err
		}
	}
	return nil
}

const killTimeout = 10 * time.Second

// killProcess kills a process and waits for its end; its parent still has to reap it.
func killProcess(pid int) error {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("end peer process %d: %w", pid, err)
	}
	defer unix.Close(pidfd)
	if err := unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0); err != nil && err != unix.ESRCH {
		return fmt.Errorf("end peer process %d: %w", pid, err)
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(killTimeout.Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if err == nil && n == 0 {
			err = context.DeadlineExceeded
		}
		if err != nil {
			return fmt.Errorf("end peer process %d: %w", pid, err)
		}
		return nil
	}
}

// revival is a restore under way.
type revival struct {
	image   *memoryImage
	network *os.File
	clock   *os.File // time namespace to be in
	sockets []int
	pipes   map[string][2]int
	root    int // root directory of the group
	opened  []int
}

func (r *revival) keep(fds ...int) { r.opened = append(r.opened, fds...) }

// revive implements backend.
func (b *memory) revive(_ context.Context, h *hosted, i *image) (int, error) {
	m := i.memory
	visitor := h.visitor
	h.visitor = nil
	defer visitor.Close()
	checker, group, err := h.renew()
	if err != nil {
		return -1, err
	}
	defer unix.Close(group)
	r := &revival{image: m, network: h.network, pipes: map[string][2]int{}}
	defer func() { closeAll(r.opened) }()
	err = inNetwork(h.network, func() (err error) {
		r.sockets, err = makeSockets(m.sockets)
		return err
	})
	if err == nil {
		r.keep(r.sockets...)
		err = r.renewProxy(visitor, group)
	}
	if err == nil {
		h.peers, h.generations, err = r.reviveAll(h)
	}
	if err != nil {
		unix.Close(checker)
		return -1, err
	}
	return checker, nil
}

// renewProxy gives the proxy the new network, the new channel and the new sockets.
func (r *revival) renewProxy(visitor *proxy.Visitor, channel int) error {
	if err := visitor.Enter(int(r.network.Fd()), channel); err != nil {
		return err
	}
	owned := map[proxy.ID]int{}
	for id, n := range r.image.owned {
		owned[id] = r.sockets[n]
	}
	return visitor.Adopt(owned)
}

// reviveAll makes the peers and lets them run; it returns their pids and generations.
func (r *revival) reviveAll(h *hosted) (pids []int, generations map[int]int, err error) {
	generations = map[int]int{}
	err = h.tracer.do(func() (err error) {
		if h.refusal != nil { // what comes of it is for CRIU to save
			r.clock, err = timeOf(h.process.pid)
		} else {
			r.clock, err = turnedBack(r.image.clock)
		}
		if err != nil {
			return err
		}
		defer r.clock.Close()
		var revived []*process
		for _, p := range r.image.processes {
			if r.root, err = rootOf(p.pid); err != nil {
				return err
			}
			q, err := r.revive(p)
			unix.Close(r.root)
			if err != nil {
				return fmt.Errorf("make peer process %d again: %w", p.inner, err)
			}
			revived = append(revived, q)
		}
		for _, q := range revived {
			if err := q.release(); err != nil {
				return fmt.Errorf("let peer process %d go on: %w", q.inner, err)
			}
			pids = append(pids, q.pid)
			generations[q.pid] = q.generation
		}
		return nil
	})
	return pids, generations, err
}
