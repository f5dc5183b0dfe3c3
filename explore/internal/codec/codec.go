// Package codec reads and writes the state of a search as bytes.
package codec

import (
	"encoding/binary"
	"fmt"
)

// Encoder writes the state of a search. Numbers are varints; names of goroutines
// and objects are written once, and then numbered.
type Encoder struct {
	Data    []byte
	ids     map[uint64]int
	records map[string]int // by their bytes
	seen    map[any]int    // by where they are
	chunks  *Chunks        // nil: it shares nothing with others
	within  int            // so many chunks
	Ended   bool           // nothing is left to do
}

// Number writes a number.
func (e *Encoder) Number(n uint64) { e.Data = binary.AppendUvarint(e.Data, n) }

// Count writes a number that is not negative.
func (e *Encoder) Count(n int) { e.Number(uint64(max(n, 0))) }

// Signed writes a number that may be negative.
func (e *Encoder) Signed(n int64) { e.Data = binary.AppendVarint(e.Data, n) }

// Truth writes a truth value.
func (e *Encoder) Truth(b bool) {
	n := byte(0)
	if b {
		n = 1
	}
	e.Data = append(e.Data, n)
}

// Text writes a text.
func (e *Encoder) Text(s string) {
	e.Number(uint64(len(s)))
	e.Data = append(e.Data, s...)
}

// Fixed writes a number as eight bytes.
func (e *Encoder) Fixed(n uint64) { e.Data = binary.LittleEndian.AppendUint64(e.Data, n) }

// ID writes the name of a goroutine or an object: its number, and what it is if that is new.
func (e *Encoder) ID(id uint64) {
	number, known := e.ids[id]
	if !known {
		if e.ids == nil {
			e.ids = map[uint64]int{}
		}
		number = len(e.ids)
		e.ids[id] = number
	}
	e.Number(uint64(number))
	if !known {
		e.Fixed(id)
	}
}

// Record writes what is often the same as something before: its number, and what it is if that is
// new. Write writes what it is. Nobody changes it while the encoder is used.
func Record[T any](e *Encoder, v *T, write func(*Encoder, *T)) {
	if number, known := e.seen[v]; known {
		e.Number(uint64(number))
		return
	}
	if e.seen == nil {
		e.seen, e.records = map[any]int{}, map[string]int{}
	}
	start := len(e.Data)
	e.Number(uint64(len(e.records)))
	body := len(e.Data)
	write(e, v)
	number, known := e.records[string(e.Data[body:])]
	if known {
		e.Data = e.Data[:start]
		e.Number(uint64(number))
	} else {
		number = len(e.records)
		e.records[string(e.Data[body:])] = number
	}
	e.seen[v] = number
}

// Decoder reads what an encoder has written. What it cannot read it notes as the problem,
// the first one, and from then on reads zeros. It never takes more memory than in
// proportion to the data.
type Decoder struct {
	Data    []byte
	ids     []uint64
	records []any
	chunks  *Chunks
	within  int
	Problem string
}

// Fail notes a problem, unless there is one already.
func (d *Decoder) Fail(format string, args ...any) {
	if d.Problem == "" {
		d.Problem = fmt.Sprintf(format, args...)
	}
	d.Data = nil
}

// Number reads what Encoder.Number wrote.
func (d *Decoder) Number() uint64 {
	n, length := binary.Uvarint(d.Data)
	if length <= 0 {
		d.Fail("it is cut off or damaged")
		return 0
	}
	d.Data = d.Data[length:]
	return n
}

// Signed reads what Encoder.Signed wrote: a number from -limit-1 to limit.
func (d *Decoder) Signed(limit int64) int64 {
	n, length := binary.Varint(d.Data)
	if length <= 0 || n > limit || n < -limit-1 {
		d.Fail("it is cut off or damaged")
		return 0
	}
	d.Data = d.Data[length:]
	return n
}

// Count reads a number of at most limit.
func (d *Decoder) Count(limit uint64) int {
	n := d.Number()
	if n > limit {
		d.Fail("a number is %d, and the limit %d", n, limit)
		return 0
	}
	return int(n)
}

// Length reads that of a list, each element of which takes at least a byte.
func (d *Decoder) Length() int {
	n := d.Number()
	if n > uint64(len(d.Data)) {
		d.Fail("it is cut off or damaged")
		return 0
	}
	return int(n)
}

// Bytes reads n bytes.
func (d *Decoder) Bytes(n int) []byte {
	if n > len(d.Data) {
		d.Fail("it is cut off or damaged")
		return make([]byte, min(n, 8))
	}
	b := d.Data[:n]
	d.Data = d.Data[n:]
	return b
}

// Truth reads what Encoder.Truth wrote.
func (d *Decoder) Truth() bool { return d.Bytes(1)[0] != 0 }

// Text reads what Encoder.Text wrote.
func (d *Decoder) Text() string { return string(d.Bytes(d.Length())) }

// Fixed reads what Encoder.Fixed wrote.
func (d *Decoder) Fixed() uint64 { return binary.LittleEndian.Uint64(d.Bytes(8)) }

// ID reads what Encoder.ID wrote.
func (d *Decoder) ID() uint64 {
	switch n := d.Number(); {
	case n < uint64(len(d.ids)):
		return d.ids[n]
	case n == uint64(len(d.ids)):
		d.ids = append(d.ids, d.Fixed())
		return d.ids[n]
	}
	d.Fail("it is damaged: a name is used before it is given")
	return 0
}

// ReadRecord reads what Record wrote. Read reads one that is new. Who gets another one shares it.
func ReadRecord[T any](d *Decoder, read func(*Decoder) T) T {
	n := d.Number()
	if n == uint64(len(d.records)) {
		v := read(d)
		d.records = append(d.records, v)
		return v
	}
	if n < uint64(len(d.records)) {
		if v, same := d.records[n].(T); same {
			return v
		}
	}
	d.Fail("it is damaged: something is used before it is given")
	return read(d) // zeros
}
