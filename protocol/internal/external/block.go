package external

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"sort"
)

// A section of a file has records in blocks. A block has a head: the bytes of its records, how many
// records there are, and a checksum of both and of the records. A record has a key, written as what
// it shares with the key before and what is left, and mostly a value, written as the difference to
// the value before. Blocks begin anew, so each can be read by itself.
//
// The first byte of a record has the two lengths of its key, four bits each. Fifteen stands for a
// length of fifteen or more, and then what is more follows as a varint. In a sorted run most keys
// differ from the one before in their last bytes only, so a record of a run of visited states takes
// three to five bytes.
//
// Damage is found before anything is decoded, as long as it has not the right checksum. Whoever
// decodes checks all lengths nevertheless.

// Section is a part of a file.
type Section struct {
	File     *File
	From, To int64
	Records  uint64
}

// headSize is that of the head of a block.
const headSize = 12

// castagnoli is the polynomial for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// mark is the first key of a block, and where that is.
type mark struct {
	key []byte
	at  int64
}

// Writer writes a section at the end of a file. Nobody else may write to the file meanwhile.
type Writer struct {
	file      *File
	hasValues bool
	from      int64 // where the section begins
	// block has the records that are not written yet, behind room for the head.
	block   []byte
	inBlock uint32 // so many records
	records uint64 // in all
	// last and value are those of the record before, if it is in the same block.
	last  []byte
	value uint64
	// marks are those of all blocks, if they are wanted.
	marks    []mark
	isMarked bool
}

// NewWriter begins a section. Records have a value, or they have none.
func NewWriter(f *File, hasValues bool) *Writer {
	return &Writer{file: f, hasValues: hasValues, from: f.size(), block: make([]byte, headSize)}
}

// short is how long a part of a key is whose length fits into half of a byte.
const short = 15

// Append appends a record.
func (w *Writer) Append(key []byte, value uint64) error {
	if w.inBlock == 0 && w.isMarked {
		w.marks = append(w.marks, mark{bytes.Clone(key), w.file.size()})
	}
	shared := 0
	for shared < min(len(key), len(w.last)) && key[shared] == w.last[shared] {
		shared++
	}
	rest := len(key) - shared
	b := append(w.block, byte(min(shared, short)<<4|min(rest, short)))
	if shared >= short {
		b = binary.AppendUvarint(b, uint64(shared-short))
	}
	if rest >= short {
		b = binary.AppendUvarint(b, uint64(rest-short))
	}
	b = append(b, key[shared:]...)
	if w.hasValues {
		b = binary.AppendVarint(b, int64(value-w.value))
		w.value = value
	}
	w.block = b
	w.last = append(w.last[:shared], key[shared:]...)
	w.inBlock++
	w.records++
	if len(b) < w.file.dir.Sizes.Block {
		return nil
	}
	return w.endBlock()
}

// endBlock writes the block. After an error the file has it in memory, so nothing is lost if the
// disk has room again later.
func (w *Writer) endBlock() error {
	if w.inBlock == 0 {
		return nil
	}
	b := w.block
	binary.LittleEndian.PutUint32(b, uint32(len(b)-headSize))
	binary.LittleEndian.PutUint32(b[4:], w.inBlock)
	binary.LittleEndian.PutUint32(b[8:], sumOf(b))
	err := w.file.append(b)
	w.block, w.inBlock, w.last, w.value = b[:headSize], 0, w.last[:0], 0
	return err
}

// sumOf is the checksum of a block, whose own place is left out.
func sumOf(block []byte) uint32 {
	return crc32.Update(crc32.Checksum(block[:8], castagnoli), castagnoli, block[headSize:])
}

// End ends the section.
func (w *Writer) End() (Section, error) {
	err := w.endBlock()
	return Section{w.file, w.from, w.file.size(), w.records}, err
}

// Reader reads the records of a section. Key is that of the last record until the next one is read.
type Reader struct {
	section   Section
	hasValues bool
	at        int64 // of the next block
	block     []byte
	rest      []byte // of the block
	left      uint32 // so many records
	Key       []byte
	Value     uint64
}

// NewReader reads a section from its beginning. It must be known whether records have values.
func NewReader(s Section, hasValues bool) *Reader {
	return &Reader{section: s, hasValues: hasValues, at: s.From}
}

// Next reads a record. It returns false at the end.
func (r *Reader) Next() (bool, error) {
	if r.left == 0 {
		if r.at >= r.section.To {
			return false, r.isRight(len(r.rest) == 0)
		}
		if err := r.load(); err != nil {
			return false, err
		}
	}
	return true, r.isRight(r.decode())
}

// isRight returns an error if something is not right.
func (r *Reader) isRight(ok bool) error {
	if ok {
		return nil
	}
	return r.section.File.damaged(r.at)
}

// head reads the head of the next block: its size, and how many records it has.
func (r *Reader) head() (size int64, records uint32, err error) {
	var head [headSize]byte
	if r.at+headSize > r.section.To {
		return 0, 0, r.isRight(false)
	}
	if err := r.section.File.readAt(head[:], r.at); err != nil {
		return 0, 0, err
	}
	size = int64(binary.LittleEndian.Uint32(head[:]))
	records = binary.LittleEndian.Uint32(head[4:])
	// A record takes a byte at least.
	isWithin := r.at+headSize+size <= r.section.To
	return size, records, r.isRight(isWithin && records > 0 && int64(records) <= size)
}

// load reads the next block, and compares it with its checksum.
func (r *Reader) load() error {
	if err := r.section.File.dir.pause(); err != nil {
		return err
	}
	size, records, err := r.head()
	if err != nil {
		return err
	}
	if size += headSize; int64(cap(r.block)) < size {
		r.block = make([]byte, size)
	}
	r.block = r.block[:size]
	if err := r.section.File.readAt(r.block, r.at); err != nil {
		return err
	}
	if err := r.isRight(binary.LittleEndian.Uint32(r.block[8:]) == sumOf(r.block)); err != nil {
		return err
	}
	r.at += size
	r.rest, r.left = r.block[headSize:], records
	r.Key, r.Value = r.Key[:0], 0
	return nil
}

// decode reads a record of the block; false if there is none.
func (r *Reader) decode() bool {
	b := r.rest
	if len(b) == 0 {
		return false
	}
	shared, rest := int(b[0]>>4), int(b[0]&15)
	b = b[1:]
	// Long parts are rare.
	for _, n := range [2]*int{&shared, &rest} {
		if *n == short {
			more, size := binary.Uvarint(b)
			if size <= 0 || more > maxKey {
				return false
			}
			*n, b = short+int(more), b[size:]
		}
	}
	if shared > len(r.Key) || rest > len(b) {
		return false
	}
	r.Key = append(r.Key[:shared], b[:rest]...)
	b = b[rest:]
	if r.hasValues {
		difference, size := binary.Varint(b)
		if size <= 0 {
			return false
		}
		r.Value += uint64(difference)
		b = b[size:]
	}
	r.left--
	r.rest = b
	return r.left > 0 || len(b) == 0
}

// maxKey bounds the bytes of a key.
const maxKey = 1 << 20

// Skip goes on to the record with a number, so that Next reads it. Blocks before it are not read.
// It may go back. It is for what lies in the middle of a level: a parent, or the place where a
// search goes on.
func (r *Reader) Skip(number uint64) error {
	r.at, r.left, r.rest = r.section.From, 0, nil
	for r.at < r.section.To {
		size, records, err := r.head()
		if err != nil {
			return err
		}
		if uint64(records) > number {
			break
		}
		number -= uint64(records)
		r.at += headSize + size
	}
	for range number {
		ok, err := r.Next()
		if err == nil {
			err = r.isRight(ok)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cursor looks keys up in a section of sorted keys, in ascending order.
type cursor struct {
	*Reader
	marks []mark
	next  int // the mark of the block that is read next
}

// seek goes on to the first key that is not less than one, and says whether it is that one. Blocks
// on the way are passed by unread.
func (c *cursor) seek(key []byte) (bool, error) {
	if c.next > 0 {
		if order := bytes.Compare(c.Key, key); order >= 0 {
			return order == 0, nil
		}
	}
	if c.next < len(c.marks) && bytes.Compare(c.marks[c.next].key, key) <= 0 {
		// Of the blocks that begin at the key or before it, the last one.
		rest := c.marks[c.next:]
		c.next += sort.Search(len(rest), func(i int) bool { return bytes.Compare(rest[i].key, key) > 0 }) - 1
		c.at, c.left = c.marks[c.next].at, 0
	}
	for {
		if c.left == 0 {
			c.next++
		}
		ok, err := c.Next()
		if !ok || err != nil {
			return false, err
		}
		if order := bytes.Compare(c.Key, key); order >= 0 {
			return order == 0, nil
		}
	}
}
