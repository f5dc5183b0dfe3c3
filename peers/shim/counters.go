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

// Read says that a thread of a peer has read what differs from run to run: an ND
// notification.
type Read struct {
	Peer   string
	Thread int    // in the group's pid namespace
	Source string // the function that it called
	Calls  int
	// Chosen says that the values follow from the behaviour that was chosen for the peer.
	Chosen bool
}

// Sources of nondeterminism, in the order of src/nd.c.
var sources = [...]string{"time", "gettimeofday", "clock_gettime", "getrandom", "getentropy", "arc4random", "/dev/urandom"}

// isTime reports whether a source tells the time.
func isTime(source string) bool { return slices.Contains(sources[:3], source) }

// The layout of the page is that of src/nd.c.
const (
	pageSlots   = 511
	slotSources = 14
)

type pageSlot struct {
	tid, peer uint32
	next      uint64 // see Next
	calls     [slotSources]uint64
}

type pageLayout struct {
	lost uint64
	_    [15]uint64
	slot [pageSlots]pageSlot
}

// CountersSize is the size of the file of a page.
const CountersSize = int64(unsafe.Sizeof(pageLayout{}))

// Counters are the memory in which the processes of a group count what they read. It is no part
// of a checkpoint: what is counted stays counted. Not safe for concurrent use.
type Counters struct {
	mapped []byte
	seen   pageLayout // as it was at the last look
}

// OpenCounters maps the file of a page.
func OpenCounters(file *os.File) (*Counters, error) {
	b, err := unix.Mmap(int(file.Fd()), 0, int(CountersSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the page of the peers' shim: %w", err)
	}
	return &Counters{mapped: b}, nil
}

// Close unmaps the page.
func (p *Counters) Close() error { return unix.Munmap(p.mapped) }

func (p *Counters) shared() *pageLayout { return (*pageLayout)(unsafe.Pointer(&p.mapped[0])) }

// Reads returns what was read since the last call. The group must be quiescent.
func (p *Counters) Reads(group []peers.Process) []Read {
	var reads []Read
	shared, used := p.shared(), 0
	for i := range shared.slot {
		now, before := &shared.slot[i], &p.seen.slot[i]
		tid := atomic.LoadUint32(&now.tid)
		if tid == 0 {
			continue
		}
		used++
		before.tid, before.peer = tid, atomic.LoadUint32(&now.peer)
		for s := range sources {
			calls := atomic.LoadUint64(&now.calls[s])
			if n := calls - before.calls[s]; n > 0 {
				reads = append(reads, newRead(group, before.peer, int(tid), sources[s], n))
			}
			before.calls[s] = calls
		}
	}
	if lost := atomic.LoadUint64(&shared.lost); lost > p.seen.lost {
		reads = append(reads, Read{Peer: "a peer", Source: "not known", Calls: int(lost - p.seen.lost)})
		p.seen.lost = lost
	}
	if used > pageSlots*3/4 {
		p.clear()
	}
	return reads
}

func newRead(group []peers.Process, peer uint32, tid int, source string, calls uint64) Read {
	r := Read{Peer: "a peer", Thread: tid, Source: source, Calls: int(calls)}
	if int(peer) < len(group) {
		r.Peer, r.Chosen = group[peer].Name, group[peer].Choices > 0 || group[peer].VirtualClock && isTime(source)
	}
	return r
}

// Next is how long it is until a peer whose clock is virtual goes on by itself, as they have noted since
// it was last called, whether any of them will, and which is the first.
func (p *Counters) Next() (d time.Duration, some bool, peer int) {
	shared, next := p.shared(), uint64(0)
	for i := range shared.slot {
		if n := atomic.SwapUint64(&shared.slot[i].next, 0); n > 0 && (next == 0 || n < next) {
			next, peer = n, int(atomic.LoadUint32(&shared.slot[i].peer))
		}
	}
	return time.Duration(min(next, math.MaxInt64)), next > 0, peer
}

// clear makes room: most slots are those of threads that ended. Nobody counts meanwhile,
// and who finds its slot gone takes another.
func (p *Counters) clear() {
	clear(p.mapped)
	p.seen = pageLayout{}
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
