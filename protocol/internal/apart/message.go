package apart

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tandem-mc/tandem/protocol/session"
)

// Transport brings messages to other processes, at least once. Those to one process come in the
// order in which they were sent by one.
type Transport interface {
	// Send sends a message to a part, or to another address. It may be kept afterwards.
	Send(to int, message []byte) error
	// Receive waits for the next message. Its place is behind that of each message that was sent
	// before it; zero if it has none.
	Receive() (message []byte, place uint64, err error)
	// Start has some process become a part. Only the front calls it. Whoever becomes a part has a
	// number of its own, and gets all messages to the part that are still there from the beginning
	// on. It finds saved in its session.
	Start(part int, process uint64, saved []byte) error
	// Put stores an object by its name, and returns when it is stored. Get returns it; the error is
	// ErrLost if it is not there, or not as it was.
	Put(name string, data []byte) error
	Get(name string) ([]byte, error)
	// Keep says which messages and objects are still needed. Only the front calls it.
	Keep(session.Kept) error
	// Forget says that no message that was sent so far is needed any more, but for those to Ends,
	// and no object.
	Forget() error
	// Tell says how far the search is. Only the front calls it.
	Tell(session.Progress) error
}

// ErrLost is of an object that is not there any more, or not as it was.
var ErrLost = session.ErrLost

// Addresses that are no parts.
const (
	Front  = session.Front
	All    = session.All
	Levels = session.Levels
	Ends   = session.Ends
)

// kind is what a message is.
type kind byte

const (
	kindGo      kind = iota // front: begin a level
	kindAsk                 // front: who comes before a state?
	kindEnd                 // front: the result
	kindBatch               // states for another part
	kindReport              // a part has expanded a level
	kindAnswer              // to kindAsk
	kindSaved               // a part has saved a checkpoint
	kindDamaged             // a part cannot begin with a checkpoint
	// A process has ended. This comes from whoever has started it.
	kindGone = kind(session.KindGone)
)

// head is what each message begins with: its kind, and the number of the search.
func appendHead(dst []byte, k kind, search int) []byte {
	return binary.AppendUvarint(append(dst, byte(k)), uint64(search))
}

// begin is kindGo. All that the parts have sent in the level before is to be received first.
type begin struct {
	Level     int
	Model     string
	Partition string
	// OnlyCount: the level lies at the bound on the depth, and is not expanded.
	OnlyCount bool
	// Processes are those whose batches count, by part, and Batches how many each has sent to each.
	Processes []uint64
	Batches   [][]int
	// Totals are those of the front, in case that it has to go on from here, and Saves its
	// checkpoints.
	// Messages to a part before its place are removed then.
	Totals Totals
	Saves  [][]checkpoint
	Places []uint64
}

// report is kindReport.
type report struct {
	Part    int
	Process uint64
	Level   int
	// States are the own ones of the level. Transitions are those of the level.
	States      int
	Transitions int64
	Reached     uint64
	Bytes       int64 // of all states so far, in memory
	Disk        int64 // of files, at most
	// Batches are those that were sent to each part. Sent are states in them, SentBytes their
	// bytes. Known are states that were received and were not new.
	Batches   []int
	Sent      int
	SentBytes int64
	Known     int
	// Again are states of levels that another process had done before.
	Again  int
	Found  *found
	Reason string
	Error  string
	// Entries of the table, from a number on up to another one.
	From, To int
	Entries  []byte
}

// found is a violation as it is sent.
type found struct {
	IsLonger bool
	Digest   uint64
	Locals   []uint64 // digests
	Property int
	Failure  string
	IsStep   bool
}

// ask is kindAsk: which state of a level leads to a state?
type ask struct {
	Level  int
	Digest uint64
	Locals []uint64
}

// answer is kindAnswer.
type answer struct {
	Part   int
	Level  int
	Ok     bool
	Digest uint64
	Locals []uint64
	Error  string
}

// encode makes a message. There are few of those that are not batches, two for each part and level,
// so JSON will do.
func encode(k kind, search int, value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // numbers and texts only
	}
	return append(appendHead(nil, k, search), data...)
}

// ErrMessage is of a message that no part has sent.
var ErrMessage = errors.New("a message of the search cannot be read")

// decode reads a message but for what is in it.
func decode(message []byte) (k kind, search int, rest []byte, err error) {
	if len(message) < 2 {
		return 0, 0, nil, ErrMessage
	}
	n, size := binary.Uvarint(message[1:])
	if size <= 0 || message[0] > byte(kindGone) {
		return 0, 0, nil, ErrMessage
	}
	return kind(message[0]), int(n), message[1+size:], nil
}

// read reads what is in a message.
func read(data []byte, value any) error {
	if err := json.Unmarshal(data, value); err != nil {
		return fmt.Errorf("%w: %w", ErrMessage, err)
	}
	return nil
}
