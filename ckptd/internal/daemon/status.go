package daemon

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
)

// The status is for people who look at a shared daemon, and for tests. It must not wait for a
// group: an operation may take long, and then says so.

// answerStatus answers a shared daemon that asks for the status, until that ends. It has a
// goroutine of its own, so that the status is told whatever the checker has the daemon do.
func (d *daemon) answerStatus(channel int) {
	for {
		message, descriptors, err := wire.Receive(channel)
		sys.CloseAll(descriptors)
		if err != nil {
			return // the checker goes on with what it has
		}
		var r wire.Request
		sequence, err := wire.Decode(message, wire.RequestKind, &r)
		if err == nil && r.Operation != wire.OpStatus {
			err = fmt.Errorf("%w: no operation %.64q", wire.ErrInvalid, r.Operation)
		}
		var answer wire.Response
		var given []int
		if err == nil {
			select {
			case <-d.ready:
				given, err = d.status()
			default:
				err = fmt.Errorf("%w: its daemon is not set up yet", wire.ErrInvalid)
			}
		}
		if err != nil {
			answer = wire.ErrorResponse(err)
		}
		wire.Reply(channel, sequence, answer, given)
		sys.CloseAll(given)
	}
}

// counters are what a group has done. They may be read while an operation is under way. What they
// took includes the wait for the lock.
type counters struct {
	mu                    sync.Mutex
	checkpoints, restores wire.Operations
}

func (c *counters) addCheckpoint(took time.Duration) { c.add(&c.checkpoints, took) }
func (c *counters) addRestore(took time.Duration)    { c.add(&c.restores, took) }

// The lock is not that of the group, which is held during an operation.
func (c *counters) add(to *wire.Operations, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to.Count++
	to.Took += took
}

func (c *counters) get() (checkpoints, restores wire.Operations) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.checkpoints, c.restores
}

// status is a file in memory with the daemon's status. It may be longer than a message, so it
// travels as a file.
func (d *daemon) status() ([]int, error) {
	if d.store == nil {
		return nil, fmt.Errorf("%w: a status before a set-up", wire.ErrInvalid)
	}
	s := wire.Status{MaxBytes: d.store.MaxBytes, MaxImages: d.store.MaxImages, Groups: d.groups.status()}
	images := d.store.Status(&s)
	for n := range s.Groups {
		s.Groups[n].Images = images[s.Groups[n].ID]
	}
	var err error
	if s.Resident, s.Descriptors, err = ownSize(); err != nil {
		return nil, err
	}
	file, err := wire.MemoryJSON(s)
	return []int{file}, err
}

// ownSize is what this process takes: bytes of memory, and descriptors. What is measured shows
// whether the daemon leaks, so garbage is given back first. It is what the kernel counts of it.
func ownSize() (resident int64, descriptors int, err error) {
	debug.FreeOSMemory() // what is garbage says nothing
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0, err
	}
	if f := strings.Fields(string(statm)); len(f) > 1 {
		resident, err = strconv.ParseInt(f[1], 10, 64)
	}
	open, err2 := os.ReadDir("/proc/self/fd")
	if err == nil {
		err = err2
	}
	return resident * int64(os.Getpagesize()), len(open) - 1, err // one of them lists the others
}
