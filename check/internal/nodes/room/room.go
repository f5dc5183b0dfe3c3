// Package room bounds the memory that a search of several programs takes. What was explored is
// kept, so a search that does not end takes all that there is. The programs themselves are other
// processes, and have a bound of their own.
package room

import (
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"time"

	"github.com/tandem-mc/tandem/configs"
)

// Room is what the process may take. Several goroutines may use it.
type Room struct {
	bytes int64
	was   int64 // the limit of the collector before

	mu      sync.Mutex
	looked  time.Time // when memory was measured last
	freed   time.Time // when unused memory was given back last
	isFull  bool
	samples []metrics.Sample
}

// Flag is the one that gives the search more.
const Flag = "--search-mib"

// Raised is the flag with which a search goes further that has ended for a reason, with twice the
// room, of which it had so many MiB; empty: room was not the reason, or there is no more.
func Raised(reason string, had int) string {
	more := min(2*had, configs.MaxMemoryMiB)
	if more <= had || !strings.Contains(reason, Flag) {
		return ""
	}
	return fmt.Sprintf(" %s %d", Flag, more)
}

// How often memory is measured, and given back, which takes a collection.
const (
	lookEvery = 50 * time.Millisecond
	freeEvery = time.Second
)

// New is so many bytes. The collector keeps to them from now on, as far as it can, until the room
// is closed. So what is too much is hardly ever garbage.
func New(bytes int64) *Room {
	return &Room{bytes: bytes, was: debug.SetMemoryLimit(bytes), samples: []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}}
}

// Close lets the process take as much as it could before.
func (r *Room) Close() { debug.SetMemoryLimit(r.was) }

// Full is why a search is to end: it takes too much memory. Empty: it does not.
func (r *Room) Full() string { return r.fullAt(time.Now()) }

// fullAt is Full at some time. Once the search is at an end, there may be room again for others.
func (r *Room) fullAt(now time.Time) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.looked) >= lookEvery {
		r.looked = now
		switch over := r.used() > r.bytes; {
		case over && now.Sub(r.freed) < freeEvery: // it may be garbage since then, so it stays as it is
		case over:
			debug.FreeOSMemory()
			r.freed, r.isFull = now, r.used() > r.bytes
		default:
			r.isFull = false
		}
	}
	if !r.isFull {
		return ""
	}
	return fmt.Sprintf("the limit of %d MiB of memory was reached: raise %s, or bound --delays", r.bytes>>20,
		Flag)
}

// used is how many bytes the process takes. What it has given back to the system does not count.
func (r *Room) used() int64 {
	metrics.Read(r.samples)
	return int64(r.samples[0].Value.Uint64() - r.samples[1].Value.Uint64())
}
