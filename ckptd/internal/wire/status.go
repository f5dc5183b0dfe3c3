package wire

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
)

// The status of a daemon as others see it. It is JSON in a file, since there may be thousands of
// images.

// Status is what a daemon has for one client.
type Status struct {
	// PID and UID are the client's, and Since is when it came. Of a shared daemon only.
	PID, UID int       `json:",omitempty"`
	Since    time.Time `json:",omitzero"`

	Bytes, MaxBytes int64 // in the store, and how many there may be
	// PeakBytes is the most that Bytes has been just after a checkpoint, before others made room
	// for it.
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
	ID string
	// the nearest image that there is of those that the group came by
	Parent string `json:",omitempty"`
	// how often the group was quiescent since then: about the inputs that the image saves
	Steps int
	// Unrepeatable: the peers have read the time or random numbers since then.
	Unrepeatable bool `json:",omitempty"`
	Backend      string
	Bytes        int64
	Taken        time.Time
	Uses         int // restores
}

// ReadStatus reads a status from the file in memory that came with a reply. The descriptors are
// closed, also after an error.
func ReadStatus(descriptors []int, to any) error {
	defer sys.CloseAll(descriptors)
	if len(descriptors) != 1 {
		return fmt.Errorf("the checkpoint daemon gave %d descriptors with its status, not 1",
			len(descriptors))
	}
	b, err := readDescriptor(descriptors[0], maxStatus)
	if err != nil {
		return fmt.Errorf("the status of the checkpoint daemon: %w", err)
	}
	return json.Unmarshal(b, to)
}

// maxStatus is the size of a status of as many images as there can be, and more.
const maxStatus = 64 << 20

// readDescriptor reads all of a file, which goes on to belong to the caller. It is read from the
// beginning, whatever its position is, which its owner may share.
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

// MemoryJSON is MemoryFile for v in JSON. Its reader gets a descriptor of it, and it ends with the
// last one.
func MemoryJSON(v any) (int, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return -1, err
	}
	return sys.MemoryFile("tandem group", text)
}
