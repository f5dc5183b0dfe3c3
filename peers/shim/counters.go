package shim

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/peers"
)

// Read says that a thread of a peer has read what differs from run to run: an ND notification. A
// thread and a source have one of these for all calls since the last look.
type Read struct {
	Peer   string
	Thread int    // in the group's pid namespace
	Source string // the function that it called
	Calls  int
	// Chosen says that the values follow from the behaviour that was chosen for the peer.
	Chosen bool
}

// sources of nondeterminism, in the order of src/counters.c. The first timeSources tell the time.
var sources = [...]string{
	"time", "gettimeofday", "clock_gettime", "getrandom", "getentropy", "arc4random", "/dev/urandom",
}

const timeSources = 3

// The layout of the counters is that of src/counters.c.
const (
	slotCount   = 511
	slotSources = 14
)

// slot has the counters of one thread.
type slot struct {
	tid, peer uint32
	next      uint64 // see Next
	calls     [slotSources]uint64
}

// layout is the content of the file: see struct counters in src/counters.c.
type layout struct {
	lost  uint64 // calls of threads that found no slot
	_     [15]uint64
	slots [slotCount]slot
}

// CountersSize is the size of the file of counters, in bytes.
const CountersSize = int64(unsafe.Sizeof(layout{}))

// Counters are the memory in which the processes of a group count what they read. They are no part
// of a checkpoint: what is counted stays counted. Not safe for concurrent use.
type Counters struct {
	mapped []byte
	seen   layout // as they were at the last look
}

// OpenCounters maps a file of CountersSize bytes, which it does not need any more afterwards. The
// file is shared with the peers, which write to it.
func OpenCounters(file *os.File) (*Counters, error) {
	b, err := unix.Mmap(int(file.Fd()), 0, int(CountersSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the counters of the peers' shim: %w", err)
	}
	return &Counters{mapped: b}, nil
}

// Close unmaps the counters.
func (c *Counters) Close() error { return unix.Munmap(c.mapped) }

// shared is the memory that the peers write to at any time: read it by atomic operations.
func (c *Counters) shared() *layout { return (*layout)(unsafe.Pointer(&c.mapped[0])) }

// Reads returns what was read since the last call. The group must be quiescent. The peers may write
// anything into the counters; then the result means nothing.
func (c *Counters) Reads(group []peers.Process) []Read {
	var reads []Read
	shared, used := c.shared(), 0
	for i := range shared.slots {
		now, before := &shared.slots[i], &c.seen.slots[i]
		tid := atomic.LoadUint32(&now.tid)
		if tid == 0 {
			continue
		}
		used++
		before.tid, before.peer = tid, atomic.LoadUint32(&now.peer)
		for s := range sources {
			calls := atomic.LoadUint64(&now.calls[s])
			if n := calls - before.calls[s]; n > 0 {
				reads = append(reads, newRead(group, before.peer, int(tid), s, n))
			}
			before.calls[s] = calls
		}
	}
	if lost := atomic.LoadUint64(&shared.lost); lost > c.seen.lost {
		reads = append(reads, Read{Peer: "a peer", Source: "not known", Calls: int(lost - c.seen.lost)})
		c.seen.lost = lost
	}
	if used > slotCount*3/4 {
		c.makeRoom()
	}
	return reads
}

// newRead describes what a thread has read. A peer that is not in the group has written nonsense.
func newRead(group []peers.Process, peer uint32, tid, source int, calls uint64) Read {
	r := Read{Peer: "a peer", Thread: tid, Source: sources[source], Calls: int(calls)}
	if int(peer) < len(group) {
		p := group[peer]
		r.Peer, r.Chosen = p.Name, p.Choices > 0 || p.VirtualClock && source < timeSources
	}
	return r
}

// Next is how long it is until a peer whose clock is virtual goes on by itself, whether any of them
// will, and the index of the first one. It is what they have noted since Next was last called.
func (c *Counters) Next() (d time.Duration, some bool, peer int) {
	shared, next := c.shared(), uint64(0)
	for i := range shared.slots {
		if n := atomic.SwapUint64(&shared.slots[i].next, 0); n > 0 && (next == 0 || n < next) {
			next, peer = n, int(atomic.LoadUint32(&shared.slots[i].peer))
		}
	}
	return time.Duration(min(next, math.MaxInt64)), next > 0, peer
}

// makeRoom frees all slots: most are those of threads that ended. Nobody counts meanwhile, and a
// thread that finds its slot gone claims another one.
func (c *Counters) makeRoom() {
	clear(c.mapped)
	c.seen = layout{}
}

// Summary counts reads by peer and source.
type Summary map[[2]string]int

// Add adds reads.
func (s Summary) Add(reads []Read) {
	for _, r := range reads {
		s[[2]string{r.Peer, r.Source}] += r.Calls
	}
}

// String lists the counts: "dropbear: getrandom 3, time 1; redis: gettimeofday 7".
func (s Summary) String() string {
	keys := make([][2]string, 0, len(s))
	for k := range s {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [2]string) int {
		if a[0] != b[0] {
			return strings.Compare(a[0], b[0])
		}
		return strings.Compare(a[1], b[1])
	})
	var b strings.Builder
	for i, k := range keys {
		switch {
		case i == 0 || keys[i-1][0] != k[0]:
			if i > 0 {
				b.WriteString("; ")
			}
			b.WriteString(k[0] + ": ")
		default:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %d", k[1], s[k])
	}
	return b.String()
}
