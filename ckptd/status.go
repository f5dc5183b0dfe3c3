package ckptd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
)

// Status is what a daemon has for one client.
type Status struct {
	// PID and UID are the client's, and Since is when it came. Of a shared daemon only.
	PID, UID int       `json:",omitempty"`
	Since    time.Time `json:",omitzero"`

	Bytes, MaxBytes int64 // in the store, and how many there may be
	// PeakBytes is the most that Bytes has been just after a checkpoint, before others made room for it.
	PeakBytes   int64
	MaxImages   int
	Resident    int64 // bytes of memory that the daemon itself takes, without garbage
	Descriptors int   // that it has open
	Groups      []GroupStatus
}

// GroupStatus is a group in a Status.
type GroupStatus struct {
	ID          uint64
	Peers       []string
	State       string // "runs", "at work", or why it does not run
	Refusal     string `json:",omitempty"` // why it is not saved in memory
	Checkpoints Operations
	Restores    Operations
	Images      []ImageStatus // oldest first
}

// Operations are how many there were, and what they took together.
type Operations struct {
	Count int
	Took  time.Duration
}

// Mean is what one took; 0 if there were none.
func (o Operations) Mean() time.Duration {
	if o.Count == 0 {
		return 0
	}
	return o.Took / time.Duration(o.Count)
}

// ImageStatus is an image in a Status.
type ImageStatus struct {
	ID     string
	Parent string `json:",omitempty"` // the nearest image that there is of those that the group came by
	Steps  int    // how often the group was quiescent since then: about the inputs that the image saves
	// Unrepeatable: the peers have read the time or random numbers since then.
	Unrepeatable bool `json:",omitempty"`
	Backend      string
	Bytes        int64
	Taken        time.Time
	Uses         int // restores
}

// Status asks the daemon for what it has for this client.
func (c *Client) Status(ctx context.Context) (Status, error) {
	a, err := c.call(ctx, request{Operation: operationStatus}, nil)
	if err != nil {
		return Status{}, err
	}
	var s Status
	return s, readStatus(a.descriptors, &s)
}

// readStatus reads a status from the file in memory that came with a reply.
func readStatus(descriptors []int, to any) error {
	defer sys.CloseAll(descriptors)
	if len(descriptors) != 1 {
		return fmt.Errorf("the checkpoint daemon gave %d descriptors with its status, not 1", len(descriptors))
	}
	b, err := readDescriptor(descriptors[0], maxStatus)
	if err != nil {
		return fmt.Errorf("the status of the checkpoint daemon: %w", err)
	}
	return json.Unmarshal(b, to)
}

// maxStatus is the size of a status of as many images as there can be, and more.
const maxStatus = 64 << 20

// readDescriptor reads all of a file, which goes on to belong to the caller.
func readDescriptor(fd, limit int) ([]byte, error) {
	duplicate, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(duplicate), "file in memory")
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, int64(limit)+1))
	if err == nil && len(b) > limit {
		err = fmt.Errorf("%w: it is over %d bytes", ErrInvalid, limit)
	}
	return b, err
}

// answerStatus answers a shared daemon that asks for the status, until that ends.
func (d *daemon) answerStatus(channel int) {
	for {
		message, descriptors, err := receiveMessage(channel)
		sys.CloseAll(descriptors)
		if err != nil {
			return // the checker goes on with what it has
		}
		var r request
		sequence, err := decodeMessage(message, requestKind, &r)
		if err == nil && r.Operation != operationStatus {
			err = fmt.Errorf("%w: no operation %.64q", ErrInvalid, r.Operation)
		}
		var answer reply
		var given []int
		if err == nil {
			select {
			case <-d.ready:
				given, err = d.status()
			default:
				err = fmt.Errorf("%w: its daemon is not set up yet", ErrInvalid)
			}
		}
		if err != nil {
			answer = errorReply(err)
		}
		send(channel, sequence, answer, given)
		sys.CloseAll(given)
	}
}

// counters are what a group has done.
type counters struct {
	mu                    sync.Mutex
	checkpoints, restores Operations
}

func (c *counters) add(to *Operations, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to.Count++
	to.Took += took
}

// status is a file in memory with the daemon's status.
func (d *daemon) status() ([]int, error) {
	if d.store == nil {
		return nil, fmt.Errorf("%w: a status before a set-up", ErrInvalid)
	}
	s := Status{MaxBytes: d.store.maxBytes, MaxImages: d.store.maxImages, Groups: []GroupStatus{}}
	d.mu.Lock()
	for _, h := range d.groups {
		s.Groups = append(s.Groups, h.status())
	}
	d.mu.Unlock()
	slices.SortFunc(s.Groups, func(a, b GroupStatus) int { return int(a.ID) - int(b.ID) })
	images := d.store.status(&s)
	for n := range s.Groups {
		s.Groups[n].Images = images[s.Groups[n].ID]
	}
	var err error
	if s.Resident, s.Descriptors, err = ownSize(); err != nil {
		return nil, err
	}
	file, err := memoryJSON(s)
	return []int{file}, err
}

// status does not wait for an operation that is under way.
func (h *hosted) status() GroupStatus {
	s := GroupStatus{ID: h.id, Peers: h.names, State: "at work", Images: []ImageStatus{}}
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

// status lists the images of each group.
func (s *store) status(of *Status) map[uint64][]ImageStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owed > 0 {
		s.weighAll()
	}
	if used, err := s.used(); err == nil {
		of.Bytes = used + s.inMemory()
	}
	of.PeakBytes = s.peak
	images := map[uint64][]ImageStatus{}
	for _, i := range s.images {
		if !i.taken.IsZero() {
			parent := ""
			if i.parent != nil {
				parent = i.parent.id
			}
			images[i.group] = append(images[i.group], ImageStatus{
				ID: i.id, Parent: parent, Steps: i.steps, Unrepeatable: i.unrepeatable,
				Backend: i.backend, Bytes: i.bytes, Taken: i.taken, Uses: i.uses,
			})
		}
	}
	return images
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
