package apart

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandem-mc/tandem/protocol/session"
)

// rarely is which part of the time a part may save, at most.
const rarely = 20

// Bytes of states are stored in pieces of pieceBytes. So many pieces may wait until they are
// stored; then the part waits, too.
const (
	pieceBytes = 8 << 20
	maxPieces  = 16
)

// saver writes the checkpoints of a part. It is an io.Writer for states. What is written goes to
// memory first, which takes a twentieth of the time that states take to be found. It is stored
// while the part searches on: that takes longer, and most of it is the work of others.
type saver struct {
	t       Transport
	own     int
	process uint64
	// Every is the least time between two; zero: there are none. Always has one at each level.
	every  time.Duration
	always bool
	last   time.Time     // when the last one was begun, or the search was
	took   time.Duration // for it

	pieces  []session.Pieces // of the last one
	written int              // pieces of this process
	heads   int
	piece   []byte
	bytes   int64
	size    int // of a piece

	work    chan stored
	free    chan []byte  // pieces that are stored: fresh memory takes long, so it is used again
	waiting atomic.Int64 // in work
	isOver  atomic.Bool  // what waits is not stored any more
	busy    sync.WaitGroup
}

// stored is an object that is to be stored, or a message to the front that the ones before it are.
type stored struct {
	name    string
	data    []byte
	message []byte
}

// isDue says whether it is time to save. To do it takes about as long as the last time. While the
// last one is not stored, there is no other.
func (s *saver) isDue() bool {
	isDue := s.always || s.every > 0 && time.Since(s.last) >= max(s.every, rarely*s.took)
	return isDue && s.waiting.Load() == 0
}

// add has something stored, behind all that waits.
func (s *saver) add(x stored) {
	if s.work == nil {
		s.work, s.free = make(chan stored, maxPieces), make(chan []byte, maxPieces)
		s.busy.Go(s.store)
	}
	s.waiting.Add(1)
	s.work <- x
}

// store stores what comes, one after the other. After an error the connection is lost, which
// whoever receives finds out.
func (s *saver) store() {
	for x := range s.work {
		var err error
		switch {
		case s.isOver.Load():
		case x.message != nil:
			err = s.t.Send(Front, x.message)
		default:
			err = s.t.Put(x.name, x.data)
			if cap(x.data) >= s.room() {
				s.recycle(x.data)
			}
		}
		if err != nil {
			s.isOver.Store(true)
		}
		s.waiting.Add(-1)
	}
}

// room is how many bytes a piece may have: those that are too few, what comes then, and a checksum.
func (s *saver) room() int { return s.size + 1<<17 }

// recycle keeps the memory of a piece, if there is not too much.
func (s *saver) recycle(piece []byte) {
	select {
	case s.free <- piece[:0]:
	default: // the collector has it
	}
}

// begin begins a piece.
func (s *saver) begin() {
	select {
	case s.piece = <-s.free: // which never comes if nothing was stored yet
	default:
		s.piece = make([]byte, 0, s.room())
	}
}

// close stores nothing more, and waits until nothing is on its way.
func (s *saver) close() {
	s.isOver.Store(true)
	if s.work != nil {
		close(s.work)
	}
	s.busy.Wait()
}

// Write puts bytes into pieces.
func (s *saver) Write(data []byte) (int, error) {
	if s.piece == nil {
		s.begin()
	}
	s.piece = append(s.piece, data...)
	if len(s.piece) >= s.size {
		s.flush()
	}
	return len(data), nil
}

// flush has a piece stored.
func (s *saver) flush() {
	if len(s.piece) == 0 {
		return
	}
	s.put(session.Object{Part: s.own, Process: s.process, Number: s.written}, s.piece)
	if n := len(s.pieces); n > 0 && s.pieces[n-1].Process == s.process {
		s.pieces[n-1].To++
	} else {
		s.pieces = append(s.pieces, session.Pieces{Process: s.process, From: s.written, To: s.written + 1})
	}
	s.written++
	s.piece = nil // the next one lies elsewhere, since this one is not stored yet
}

// put has an object stored with its checksum.
func (s *saver) put(o session.Object, data []byte) {
	data = binary.LittleEndian.AppendUint32(data, crc32.ChecksumIEEE(data))
	s.bytes += int64(len(data))
	s.add(stored{name: o.String(), data: data})
}

// save saves the part as it is when a level is done. The front is told when all is stored. The
// place is that of the message with which the level began.
func (p *part) save(place uint64) error {
	s, start := &p.saver, time.Now()
	if s.bytes = 0; p.share.IsAnew() {
		s.pieces = nil
	}
	if err := p.share.WriteStates(s); err != nil {
		return err
	}
	s.flush()
	c := checkpoint{Part: p.own, Process: p.process, Number: s.heads, Level: p.level - 1, Place: place,
		Pieces: slices.Clone(s.pieces)}
	s.heads++
	s.put(session.Object{Part: p.own, Process: p.process, IsHead: true, Number: c.Number}, p.head())
	// The time counts from the beginning: what was reached meanwhile is saved the next time.
	s.last, s.took = start, time.Since(start)
	c.Bytes, c.Took = s.bytes, s.took
	s.add(stored{message: encode(kindSaved, p.Search, c)})
	return nil
}
