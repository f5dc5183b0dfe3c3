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
	"github.com/tandem-mc/tandem/protocol/internal/overflow"
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
	// Bytes are those that were written for this checkpoint, and Took is the time for which the
	// part did not search. What was written is sent to the server while it does.
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

// headLine is the beginning of a head: another version of it may be read by none.
const headLine = "tandem part 2\n"

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

// linger waits until this process is ended, since another one has become the part. Were it to end
// by itself, the front might hear of that first, and have another process begin with the same. Or
// the search has ended meanwhile, and that is why the checkpoint was not there any more. Then
// nobody starts another process, and this one is the part in the next search.
func (p *part) linger(reason error) (result []byte, err error) {
	for {
		m, err := p.queue.next()
		switch {
		case err != nil:
			return nil, errors.Join(reason, err)
		case m.kind == kindEnd:
			return m.data, nil
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
	if p.share, err = overflow.Read(p.shareConfig(), int(level), r.in, states); err != nil {
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
