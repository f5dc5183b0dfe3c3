package apart

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/table"
	"github.com/tandem-mc/tandem/protocol/session"
)

// A part saves now and then what it is, so that another process can go on with it. States only
// grow: they are in pieces, and a checkpoint has all pieces of the one before, and some more. What
// changes is in its head: the table, what is known of the tables of others, and where states of the
// next level come from. Which batches were received for the next level is not: those are still
// there as messages.
//
// The front tells the checkpoints of all parts with each level, the last two of each. What was sent
// to a part before the older one is not needed any more, and is removed. So a checkpoint that turns
// out to be damaged is no harm.

// checkpoint says what was saved, and is kindSaved.
type checkpoint struct {
	Part    int
	Process uint64 // that has written the head
	Number  int    // of the head
	Level   int    // that was done last
	// Place is that of the message with which the level began. Whoever goes on needs it, and those
	// behind it.
	Place  uint64
	Pieces []session.Pieces
	// Bytes are those that were written for this checkpoint, and Took is the time for it.
	Bytes int64
	Took  time.Duration
}

// head is the name of the object with all but the states.
func (c *checkpoint) head() string {
	return session.Object{Part: c.Part, Process: c.Process, IsHead: true, Number: c.Number}.String()
}

// savedOf is what a process that becomes a part is told: the checkpoints of a search.
type savedOf struct {
	Search int
	Saves  []checkpoint // the last one at the end
}

// rarely is which part of the time a part may save, at most.
const rarely = 20

// pieceBytes is how many bytes of states are stored together.
const pieceBytes = 8 << 20

// saver writes the checkpoints of a part. It is an io.Writer for states. While it writes, the part
// does nothing else: other parts search meanwhile, and what it takes is known exactly.
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
}

// isDue says whether it is time to save. To do it takes about as long as the last time.
func (s *saver) isDue() bool {
	return s.always || s.every > 0 && time.Since(s.last) >= max(s.every, rarely*s.took)
}

// Write puts bytes into pieces.
func (s *saver) Write(data []byte) (int, error) {
	s.piece = append(s.piece, data...)
	if len(s.piece) < s.size {
		return len(data), nil
	}
	return len(data), s.flush()
}

// flush stores a piece.
func (s *saver) flush() error {
	if len(s.piece) == 0 {
		return nil
	}
	err := s.put(session.Object{Part: s.own, Process: s.process, Number: s.written}, s.piece)
	if n := len(s.pieces); n > 0 && s.pieces[n-1].Process == s.process {
		s.pieces[n-1].To++
	} else {
		s.pieces = append(s.pieces, session.Pieces{Process: s.process, From: s.written, To: s.written + 1})
	}
	s.written++
	s.piece = s.piece[:0]
	return err
}

// put stores an object with its checksum.
func (s *saver) put(o session.Object, data []byte) error {
	data = binary.LittleEndian.AppendUint32(data, crc32.ChecksumIEEE(data))
	s.bytes += int64(len(data))
	return s.t.Put(o.String(), data)
}

// save saves the part as it is when a level is done, and tells the front. The place is that of the
// message with which the level began.
func (p *part) save(place uint64) error {
	s, start := &p.saver, time.Now()
	s.bytes = 0
	err := p.share.WriteStates(s)
	if err == nil {
		err = s.flush()
	}
	c := checkpoint{Part: p.own, Process: p.process, Number: s.heads, Level: p.level - 1, Place: place,
		Pieces: slices.Clone(s.pieces)}
	if err == nil {
		s.heads++
		err = s.put(session.Object{Part: p.own, Process: p.process, IsHead: true, Number: c.Number}, p.head())
	}
	// The time counts from the beginning: what was reached meanwhile is saved the next time.
	s.last, s.took = start, time.Since(start)
	if err != nil {
		return err
	}
	c.Bytes, c.Took = s.bytes, s.took
	return p.t.Send(Front, encode(kindSaved, p.Search, c))
}

// headLine is the beginning of a head: another version of it may be read by none.
const headLine = "tandem part 1\n"

// head is all of the part but the states.
func (p *part) head() []byte {
	// The states are not in it. All else is small, but for what the next states come from.
	parts := [][]byte{[]byte(p.Model), []byte(p.Partition.String()),
		binary.AppendUvarint(nil, uint64(p.level)), p.Global.Table.Append(nil)}
	followers := binary.AppendUvarint(nil, uint64(len(p.followers)))
	for process, f := range p.followers {
		followers = f.Append(binary.AppendUvarint(followers, process))
	}
	data := []byte(headLine)
	for _, part := range append(parts, followers) {
		data = append(binary.AppendUvarint(data, uint64(len(part))), part...)
	}
	return p.share.AppendHead(data)
}

// What is wrong with a checkpoint is the matter of the front: it knows which one was before, and
// whether that is enough. A process that has read a part of one is of no use any more, since its
// table has entries already. So another process begins.

// errDamaged is of a checkpoint that cannot be read. The front is told, and starts another process.
var errDamaged = errors.New("a checkpoint of the part cannot be read")

// restore goes on with a checkpoint, if there is one.
func (p *part) restore(saved []byte) error {
	if len(saved) == 0 {
		return nil
	}
	var list savedOf
	if err := json.Unmarshal(saved, &list); err != nil {
		return fmt.Errorf("%w: %w", ErrMessage, err)
	}
	// A process that is lost in a later search is replaced by one that comes to all of them.
	if list.Search != p.Search || len(list.Saves) == 0 {
		return nil // the process comes to that search later
	}
	c := &list.Saves[len(list.Saves)-1]
	err := p.read(c)
	if !isDamage(err) {
		return err
	}
	return errors.Join(errDamaged, err, p.t.Send(Front, encode(kindDamaged, p.Search, damaged{Part: p.own,
		Process: p.process, Writer: c.Process, Number: c.Number, Reason: err.Error()})))
}

// linger waits until this process is ended, since another one has become the part, or until the
// search ends. Were it to end by itself, the front might hear of that first, and have another
// process begin with the same.
func (p *part) linger(reason error) error {
	for {
		m, err := p.queue.next()
		if err != nil || m.kind == kindEnd {
			return errors.Join(reason, err)
		}
	}
}

// isDamage says whether an error is about what was stored, and not about who reads it.
func isDamage(err error) bool {
	return errors.Is(err, ErrLost) || errors.Is(err, global.ErrKept) || errors.Is(err, table.ErrKept)
}

// damaged is kindDamaged: a checkpoint that a process was to begin with.
type damaged struct {
	Part    int
	Process uint64
	Writer  uint64 // of the checkpoint
	Number  int
	Reason  string
}

// object gets an object, and compares it with its checksum.
func (p *part) object(name string) ([]byte, error) {
	data, err := p.t.Get(name)
	if err != nil {
		return nil, err
	}
	end := len(data) - crc32.Size
	if end < 0 || crc32.ChecksumIEEE(data[:end]) != binary.LittleEndian.Uint32(data[end:]) {
		return nil, fmt.Errorf("%w: %s", ErrLost, name)
	}
	return data[:end], nil
}

// read becomes what was saved.
func (p *part) read(c *checkpoint) error {
	data, err := p.object(c.head())
	if err != nil {
		return err
	}
	// A checksum says only that the bytes are those that were written, by whoever it was.
	rest, isHead := bytes.CutPrefix(data, []byte(headLine))
	r := &reader{in: rest}
	var parts [5][]byte
	for i := range parts {
		parts[i] = r.bytes(r.number())
	}
	if !isHead || r.isWrong {
		return global.ErrKept
	}
	if string(parts[0]) != p.Model {
		return errModel
	}
	// Whose a state is follows from this function, so it has to be the same one.
	if p.Partition, err = Parse(string(parts[1])); err != nil {
		return err
	}
	level, size := binary.Uvarint(parts[2])
	if size <= 0 {
		return global.ErrKept
	}
	// Handlers run here, which makes the same table.
	if err := p.Global.Table.Read(parts[3]); errors.Is(err, table.ErrOther) {
		return errOther
	} else if err != nil {
		return err
	}
	if err := p.readFollowers(parts[4]); err != nil {
		return err
	}
	// States are read piece by piece, so they are not twice in memory.
	states := bufio.NewReaderSize(&pieceReader{part: p, pieces: slices.Clone(c.Pieces)}, 1<<16)
	if p.share, err = global.ReadShare(p.Global, p.shareConfig(), r.in, states); err != nil {
		return err
	}
	p.level, p.told, p.saver.pieces = int(level), p.share.Tally(), slices.Clone(c.Pieces)
	return nil
}

// readFollowers reads what was known of other tables.
func (p *part) readFollowers(data []byte) error {
	r := &reader{in: data}
	for range r.number() {
		process := r.number()
		if r.isWrong {
			return global.ErrKept
		}
		f, rest, err := p.Global.Table.ReadFollower(r.in)
		if err != nil {
			return err
		}
		p.followers[process], r.in = f, rest
	}
	return nil
}

// pieceReader reads the states of a checkpoint, piece by piece.
type pieceReader struct {
	*part
	pieces []session.Pieces
	data   []byte
}

func (r *pieceReader) Read(to []byte) (int, error) {
	for len(r.data) == 0 {
		if len(r.pieces) == 0 {
			return 0, io.EOF
		}
		next := &r.pieces[0]
		if next.From == next.To {
			r.pieces = r.pieces[1:]
			continue
		}
		o := session.Object{Part: r.own, Process: next.Process, Number: next.From}
		next.From++
		var err error
		if r.data, err = r.object(o.String()); err != nil {
			return 0, err
		}
	}
	// What is left of the piece is for the next call.
	n := copy(to, r.data)
	r.data = r.data[n:]
	return n, nil
}
