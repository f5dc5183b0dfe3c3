package sut

import (
	"encoding/binary"
	"slices"

	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// Details are what a report shows of an execution, and a search does not need. Those for which
// there was no room are left out.
type Details struct {
	Made     map[uint64]Call      // where channels were made, by object
	Channels map[uint64]Channel   // at the end: those that goroutines wait for, by object
	Stacks   map[uint64][]uint64  // at the end: of goroutines that are left, innermost call first
	Waits    map[uint64][]Waiting // at the end: the arms of pending channel operations, by goroutine
	Arms     []Arm                // in the order of the log
	Printed  []Printed            // likewise
	Arrivals []Arrival            // likewise
}

// Arrival is that of a goroutine at an operation. The next transition that it begins performs that,
// if it does not arrive at another one before.
type Arrival struct {
	Goroutine uint64
	At        int      // the index of the event that follows
	Stack     []uint64 // innermost call first: that of what performs the operation, or its caller
}

// Call is a call, and the nearest one around it, or itself, in a package that is not sealed; 0:
// there is none.
type Call struct{ PC, Open uint64 }

// Channel is the state of a channel.
type Channel struct {
	Type      string // of its values
	Cap, Size int    // how many it can hold, and does
	Closed    bool
}

// Arm is the arm of a channel operation that went on. The compiler numbers those of a select: first
// those that send, in the order of the source, then those that receive, in the opposite order.
type Arm struct {
	Goroutine uint64
	At        int // the index of an event: the operation went on just before that
	Number    int // -1: the default
}

// Waiting is an arm of a pending channel operation.
type Waiting struct {
	Number int // as of an Arm
	Sends  bool
	Object uint64 // the channel; 0: it is nil
}

// Printed is what was printed at once.
type Printed struct {
	Descriptor int // 1 or 2
	At         int // the index of the event that follows
	Bytes      int
}

// decodeDetails reads the details of an execution. Those that contradict themselves are damage.
func decodeDetails(s *abi.SharedDetails) (*Details, error) {
	count := s.Count
	if count > abi.MaxDetails {
		return nil, damage("it has %d details of at most %d", count, abi.MaxDetails)
	}
	d := &Details{Made: map[uint64]Call{}, Channels: map[uint64]Channel{}, Stacks: map[uint64][]uint64{},
		Waits: map[uint64][]Waiting{}}
	records := slices.Clone(s.Record[:count])
	for i := 0; i < len(records); i++ {
		r := &records[i]
		switch r.Kind {
		case abi.DetailMade:
			d.Made[r.A] = Call{r.PC, r.Open}
		case abi.DetailStack, abi.DetailArrival:
			words := wordsOf(records[i+1:], abi.DetailCalls)
			i += len(words) / 4
			words = words[:min(len(words), int(r.Number))]
			if r.Kind == abi.DetailStack {
				d.Stacks[r.A] = words
			} else {
				d.Arrivals = append(d.Arrivals, Arrival{r.A, int(r.B), words})
			}
		case abi.DetailChannel:
			var name []byte
			words := wordsOf(records[i+1:], abi.DetailText)
			for _, w := range words {
				name = binary.LittleEndian.AppendUint64(name, w)
			}
			d.Channels[r.A] = Channel{Type: string(name[:min(len(name), int(r.Number))]), Cap: int(r.B),
				Size: int(r.PC), Closed: r.Flag != 0}
			i += len(words) / 4
		case abi.DetailArm:
			d.Arms = append(d.Arms, Arm{r.A, int(r.B), int(r.Number) - 1})
		case abi.DetailWait:
			d.Waits[r.A] = append(d.Waits[r.A], Waiting{int(r.Number), r.Flag != 0, r.B})
		case abi.DetailPrinted:
			d.Printed = append(d.Printed, Printed{int(r.Flag), int(r.B), int(r.Number)})
		default:
			return nil, damage("detail %d of %d is of kind %d", i, count, r.Kind)
		}
	}
	return d, nil
}

// wordsOf are the words of the records of a kind with which a list begins: four each.
func wordsOf(records []abi.Record, kind uint8) (words []uint64) {
	for i := range records {
		r := &records[i]
		if r.Kind != kind {
			break
		}
		words = append(words, r.A, r.B, r.PC, r.Open)
	}
	return words
}
