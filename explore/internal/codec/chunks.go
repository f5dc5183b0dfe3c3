package codec

import "cmp"

// Chunks keeps what several encodings have in common, such as parts of one search: who writes the
// next one need not look at it again, and who reads it has it already. Each encoding forgets what
// the one before did not look at, so memory is that of two. One goroutine at a time may use it.
type Chunks struct {
	// Least is the size in bytes from which on a chunk is kept; 0: 1,024. A chunk has names and
	// records of its own, so a small one would take much more than it does as a part of the whole.
	Least int

	written, last map[place][]byte // nil: it is too small
	read, before  map[bytesOf]any
}

// place is where something is in memory, and bytesOf what it is written as. Within more chunks the
// same is written in another way.
type (
	place struct {
		at     any
		within int
	}
	bytesOf struct {
		data   string
		within int
	}
)

const leastChunk = 1 << 10

// mostWithin is how many chunks may be within each other: what has changed is in one of them.
const mostWithin = 3

// Encode has an encoding share its chunks with those before and after it.
func (c *Chunks) Encode(write func(*Encoder)) []byte {
	c.last, c.written = c.written, make(map[place][]byte, len(c.written))
	e := &Encoder{chunks: c}
	write(e)
	return e.Data
}

// Decode is Encode for who reads. All users of a chunk get the same, which nobody is to change.
func (c *Chunks) Decode(data []byte, read func(*Decoder)) {
	c.before, c.read = c.read, make(map[bytesOf]any, len(c.read))
	read(&Decoder{Data: data, chunks: c})
}

// Chunk writes something that encodings before and after have, too, at the same place in memory,
// and unchanged. Without Chunks it is written as usual.
func Chunk[T any](e *Encoder, v *T, write func(*Encoder, *T)) {
	c := e.chunks
	if c == nil || e.within == mostWithin {
		write(e, v)
		return
	}
	data, known := c.written[place{v, e.within}]
	if !known {
		data, known = c.last[place{v, e.within}]
	}
	if !known {
		own := &Encoder{chunks: c, within: e.within + 1}
		if write(own, v); len(own.Data) >= cmp.Or(c.Least, leastChunk) {
			data = own.Data
		}
	}
	c.written[place{v, e.within}] = data
	if e.Count(len(data)); data == nil {
		write(e, v)
	} else {
		e.Data = append(e.Data, data...)
	}
}

// ReadChunk reads what Chunk wrote.
func ReadChunk[T any](d *Decoder, read func(*Decoder) *T) *T {
	if d.chunks == nil || d.within == mostWithin {
		return read(d)
	}
	n := d.Length()
	if n == 0 {
		return read(d)
	}
	c, data := d.chunks, d.Bytes(n)
	v, known := c.read[bytesOf{string(data), d.within}].(*T)
	if !known {
		v, known = c.before[bytesOf{string(data), d.within}].(*T)
	}
	if !known {
		own := &Decoder{Data: data, chunks: c, within: d.within + 1}
		v = read(own)
		if len(own.Data) > 0 {
			own.Fail("it is damaged: %d bytes follow the end of a chunk", len(own.Data))
		}
		if own.Problem != "" {
			d.Fail("%s", own.Problem)
			return v
		}
	}
	c.read[bytesOf{string(data), d.within}] = v
	return v
}
