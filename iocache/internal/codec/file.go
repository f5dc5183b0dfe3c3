// Package codec reads and writes what a cache has recorded: as frames of a file, and as lines of
// text.
package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"time"

	"github.com/tandem-mc/tandem/internal/invariant"
	"github.com/tandem-mc/tandem/internal/model"
)

// A cache as a file is the list of what was recorded, in that order: read again, it makes the same
// tree. The file is only ever appended to. It is
//
//	magic            8 bytes, "TandemIO"
//	version          4 bytes, little-endian as all that follow: 4
//	description      a frame: what the answers are those of
//	records          a frame each
//
// and a frame is
//
//	length           4 bytes, of the content
//	checksum         4 bytes, CRC-32C of the length and the content
//	content
//
// The content of a record is the place, the kind, and the connection of the input; the address and
// the name of a Connect or Listen, the data of a Send, or of a Pass the most that may pass, how
// much has, 1 if the group is idle plus 2 if there is a tie, and when the next timer is due and the
// peer whose it is; errno; the number of connections that the group has opened, and of each the
// listener; the number of deliveries, and of each the connection, the end, and the data; the number
// of peers that have ended, and of each the index and the status. Numbers are varints
// (encoding/binary); an address, name or data have their length before them.
//
// Whoever appends may be stopped in the middle: then the last frame is torn, and a Reader says so.
// All before it is whole.

// What a file and its frames begin with.
const (
	fileMagic   = "TandemIO"
	fileVersion = 4
	FrameHeader = 8
	MaxFrame    = 1 << 30 // bytes of content
)

// NodeID names a place in the tree, a logical checkpoint. It stays valid for as
// long as the cache. The root, where no input has been given yet, is 0.
type NodeID int32

// Entry is what Record was given: the place, the input there, and the reaction.
type Entry struct {
	At       NodeID
	Input    model.Input
	Reaction model.Reaction
}

// AppendHeader appends the beginning of a file to b. The description says what the
// answers in it are those of; it may be anything.
func AppendHeader(b []byte, description string) []byte {
	b = append(b, fileMagic...)
	b = binary.LittleEndian.AppendUint32(b, fileVersion)
	b, content := beginFrame(b)
	return EndFrame(append(b, description...), content)
}

// AppendEntry appends a record to b. It panics if the record takes more than 1 GiB.
func AppendEntry(b []byte, e Entry) []byte {
	b, content := beginFrame(b)
	b = binary.AppendUvarint(b, uint64(e.At))
	b = append(b, byte(e.Input.Kind))
	b = binary.AppendUvarint(b, uint64(e.Input.Conn))
	switch e.Input.Kind {
	case model.Connect, model.Listen:
		b = appendBytes(appendBytes(b, []byte(e.Input.Addr)), []byte(e.Input.Name))
	case model.Send:
		b = appendBytes(b, e.Input.Data)
	case model.Pass:
		b = appendTime(binary.AppendUvarint(b, uint64(e.Input.Most)), e.Reaction.Time)
	}
	b = binary.AppendUvarint(b, uint64(e.Reaction.Refused))
	b = binary.AppendUvarint(b, uint64(len(e.Reaction.Opened)))
	for _, l := range e.Reaction.Opened {
		b = binary.AppendUvarint(b, uint64(l))
	}
	b = binary.AppendUvarint(b, uint64(len(e.Reaction.Deliveries)))
	for _, d := range e.Reaction.Deliveries {
		b = binary.AppendUvarint(b, uint64(d.Conn))
		b = append(b, byte(d.End))
		b = appendBytes(b, d.Data)
	}
	b = binary.AppendUvarint(b, uint64(len(e.Reaction.Ended)))
	for _, x := range e.Reaction.Ended {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(x.Peer)), uint64(x.Status))
	}
	return EndFrame(b, content)
}

// appendTime appends how far time has gone with a Pass.
func appendTime(b []byte, t model.Time) []byte {
	flags := uint64(0)
	if t.Idle {
		flags |= 1
	}
	if t.Tie {
		flags |= 2
	}
	for _, n := range []uint64{uint64(t.Passed), flags, uint64(t.Due), uint64(t.Peer)} {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// appendBytes appends bytes after their number.
func appendBytes(b, data []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(data))), data...)
}

// beginFrame leaves room for the header of a frame, and tells where its content begins.
func beginFrame(b []byte) (begun []byte, content int) {
	return append(b, make([]byte, FrameHeader)...), len(b) + FrameHeader
}

// EndFrame writes the header of the frame whose content begins there and ends at the end of b. A
// content of more than 1 GiB violates an invariant: no reaction comes near that.
func EndFrame(b []byte, content int) []byte {
	length := len(b) - content
	if length > MaxFrame {
		invariant.Failf("iocache: a record of %d bytes does not fit into a file", length)
	}
	header := b[content-FrameHeader : content]
	binary.LittleEndian.PutUint32(header, uint32(length))
	binary.LittleEndian.PutUint32(header[4:], checksum(header[:4], b[content:]))
	return b
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is the CRC-32C of the length and the content of a frame. The length is part of it, so
// that a frame of zeros is not valid.
func checksum(length, content []byte) uint32 {
	return crc32.Update(crc32.Checksum(length, castagnoli), castagnoli, content)
}

// FileError says what is wrong with a file of records.
type FileError struct {
	Offset  int64 // where the part begins that is wrong; all before it is whole
	Problem string
	// Torn says that it is the last record, as it is when whoever appended to the file
	// was stopped: it may be cut off at Offset, and appended to from there.
	Torn bool
}

func (e *FileError) Error() string {
	return fmt.Sprintf("the file of the I/O cache, at byte %d: %s", e.Offset, e.Problem)
}

// Reader reads a file of records. It keeps no more of the file in memory than one record, and
// never more than is there, whatever a damaged length says.
type Reader struct {
	Description string
	source      io.Reader
	offset      int64
	content     bytes.Buffer
}

// NewReader reads the beginning of a file. What is wrong with it is a *FileError;
// other errors are those of reading.
func NewReader(source io.Reader) (*Reader, error) {
	r := &Reader{source: source}
	head := make([]byte, len(fileMagic)+4)
	if _, err := io.ReadFull(source, head); err != nil && !isEnd(err) {
		return nil, err
	}
	version := binary.LittleEndian.Uint32(head[len(fileMagic):])
	switch {
	case !bytes.HasPrefix(head, []byte(fileMagic)):
		return nil, &FileError{Problem: "this is no file of an I/O cache"}
	case version != fileVersion:
		return nil, &FileError{Problem: fmt.Sprintf("it is of version %d, and this program reads version "+
			"%d", version, fileVersion)}
	}
	r.offset = int64(len(head))
	content, err := r.frame()
	if errors.Is(err, io.EOF) {
		err = &FileError{Offset: r.offset, Problem: "it ends before its description"}
	}
	r.Description = string(content)
	return r, err
}

// Offset is where the next record begins: all before it has been read, and is whole.
func (r *Reader) Offset() int64 { return r.offset }

// Next reads a record, which shares no memory with those before it. At the end of the file the
// error is io.EOF, and a *FileError where a record is wrong. Nothing can be read after an error.
func (r *Reader) Next() (Entry, error) {
	begin := r.offset
	content, err := r.frame()
	if err != nil {
		return Entry{}, err
	}
	e, ok := decodeEntry(bytes.Clone(content))
	if !ok {
		r.offset = begin
		return Entry{}, &FileError{Offset: begin, Problem: "the record cannot be read, though its " +
			"checksum is right"}
	}
	return e, nil
}

// frame reads the content of a frame, which is valid until the next call.
func (r *Reader) frame() ([]byte, error) {
	wrong := func(torn bool, format string, args ...any) error {
		return &FileError{Offset: r.offset, Problem: fmt.Sprintf(format, args...), Torn: torn}
	}
	var header [FrameHeader]byte
	switch n, err := io.ReadFull(r.source, header[:]); {
	case n == 0 && errors.Is(err, io.EOF):
		return nil, io.EOF
	case isEnd(err):
		return nil, wrong(true, "the last record is cut off")
	case err != nil:
		return nil, err
	}
	length := binary.LittleEndian.Uint32(header[:])
	if length > MaxFrame {
		return nil, wrong(false, "a record of %d bytes is longer than any can be", length)
	}
	r.content.Reset() // grows only with what is there
	switch n, err := io.CopyN(&r.content, r.source, int64(length)); {
	case isEnd(err):
		return nil, wrong(true, "of the %d bytes of the last record %d are there", length, n)
	case err != nil:
		return nil, err
	}
	if checksum(header[:4], r.content.Bytes()) != binary.LittleEndian.Uint32(header[4:]) {
		_, err := io.ReadFull(r.source, header[:1])
		return nil, wrong(isEnd(err), "the checksum of the record is wrong")
	}
	r.offset += FrameHeader + int64(length)
	return r.content.Bytes(), nil
}

// DecodeFrame reads a record with its header, and nothing else. It is for records that are kept
// one by one, such as those that a cache has spilled; false says that it is not what was written.
func DecodeFrame(frame []byte) (Entry, bool) {
	if len(frame) < FrameHeader || int(binary.LittleEndian.Uint32(frame)) != len(frame)-FrameHeader ||
		checksum(frame[:4], frame[FrameHeader:]) != binary.LittleEndian.Uint32(frame[4:]) {
		return Entry{}, false
	}
	return decodeEntry(frame[FrameHeader:])
}

// HasRecord reports whether a whole record begins anywhere in data. Who finds a record torn asks
// this of what follows: if more records follow, the file is damaged in the middle, and cutting it
// off there would lose them.
func HasRecord(data []byte) bool {
	for ; len(data) >= FrameHeader; data = data[1:] {
		length := int64(binary.LittleEndian.Uint32(data))
		if end := FrameHeader + length; end <= int64(len(data)) && mayBegin(data[FrameHeader:end]) &&
			checksum(data[:4], data[FrameHeader:end]) == binary.LittleEndian.Uint32(data[4:]) {
			return true
		}
	}
	return false
}

// mayBegin reports whether content may be that of a record, from what it begins with: to sum it up
// takes long.
func mayBegin(content []byte) bool {
	f := &fields{data: content}
	return f.question().Input.Kind >= model.Connect && !f.bad
}

// isEnd reports whether an error of reading says that the file ends.
func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// fields reads the parts of a record one by one.
type fields struct {
	data []byte
	bad  bool
}

// number reads a number of at most limit; 0 if there is none.
func (f *fields) number(limit uint64) int {
	n, length := binary.Uvarint(f.data)
	if length <= 0 || n > limit {
		f.data, f.bad = nil, true
		return 0
	}
	f.data = f.data[length:]
	return int(n)
}

// bytes reads what appendBytes has written. It shares memory with the record.
func (f *fields) bytes() []byte {
	n := f.number(uint64(len(f.data)))
	if n > len(f.data) {
		f.data, f.bad = nil, true
		return nil
	}
	b := f.data[:n:n]
	f.data = f.data[n:]
	if n == 0 {
		return nil
	}
	return b
}

// question reads what a record begins with: the place, and the input there.
func (f *fields) question() (e Entry) {
	e.At = NodeID(f.number(math.MaxInt32))
	e.Input.Kind = model.Kind(f.number(uint64(model.Kinds - 1)))
	e.Input.Conn = f.number(math.MaxInt32)
	switch e.Input.Kind {
	case model.Connect, model.Listen:
		e.Input.Addr, e.Input.Name = string(f.bytes()), string(f.bytes())
	case model.Send:
		e.Input.Data = f.bytes()
	case model.Pass:
		e.Input.Most = time.Duration(f.number(math.MaxInt64))
		t := &e.Reaction.Time
		t.Passed = time.Duration(f.number(math.MaxInt64))
		flags := f.number(3)
		t.Idle, t.Tie = flags&1 != 0, flags&2 != 0
		t.Due, t.Peer = time.Duration(f.number(math.MaxInt64)), f.number(math.MaxInt32)
	}
	return e
}

// decodeEntry reads a record; what it returns shares memory with the content.
func decodeEntry(content []byte) (e Entry, ok bool) {
	f := &fields{data: content}
	e = f.question()
	e.Reaction.Refused = f.number(math.MaxInt32)
	for range f.number(uint64(len(f.data))) {
		e.Reaction.Opened = append(e.Reaction.Opened, f.number(math.MaxInt32))
	}
	for range f.number(uint64(len(f.data))) {
		d := model.Delivery{Conn: f.number(math.MaxInt32), End: model.End(f.number(uint64(model.Reset)))}
		d.Data = f.bytes()
		e.Reaction.Deliveries = append(e.Reaction.Deliveries, d)
	}
	for range f.number(uint64(len(f.data))) {
		e.Reaction.Ended = append(e.Reaction.Ended,
			model.Ending{Peer: f.number(math.MaxInt32), Status: f.number(math.MaxInt32)})
	}
	return e, !f.bad && len(f.data) == 0 && e.Input.Kind >= model.Connect
}
