package daemon

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
)

// answerStatus answers a shared daemon that asks for the status, until that ends.
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

// counters are what a group has done.
type counters struct {
	mu                    sync.Mutex
	checkpoints, restores wire.Operations
}

func (c *counters) add(to *wire.Operations, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to.Count++
	to.Took += took
}

// status is a file in memory with the daemon's status.
func (d *daemon) status() ([]int, error) {
	if d.store == nil {
		return nil, fmt.Errorf("%w: a status before a set-up", wire.ErrInvalid)
	}
	s := wire.Status{MaxBytes: d.store.MaxBytes, MaxImages: d.store.MaxImages, Groups: []wire.GroupStatus{}}
	d.mu.Lock()
	for _, h := range d.groups {
		s.Groups = append(s.Groups, h.status())
	}
	d.mu.Unlock()
	slices.SortFunc(s.Groups, func(a, b wire.GroupStatus) int { return int(a.ID) - int(b.ID) })
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

// status does not wait for an operation that is under way.
func (h *groupHost) status() wire.GroupStatus {
	s := wire.GroupStatus{ID: h.id, Peers: h.names, State: "at work", Images: []wire.ImageStatus{}}
	if h.mu.TryLock() {
		s.State = "runs"
		if err := h.cause(); err != nil {
			s.State = err.Error()
		}
		if h.refusal != nil {
			s.Refusal = h.refusal.Error()
		}
		h.mu.Unlock()
	}
	h.done.mu.Lock()
	defer h.done.mu.Unlock()
	s.Checkpoints, s.Restores = h.done.checkpoints, h.done.restores
	return s
}

// ownSize is what this process takes: bytes of memory, and descriptors.
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
