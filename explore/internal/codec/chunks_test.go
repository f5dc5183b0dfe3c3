package codec

import (
	"bytes"
	"strings"
	"testing"
)

// leaf is something that encodings have in common.
type leaf struct{ id, size uint64 }

// encode writes leaves as an encoding, and counts how many were looked at.
func encode(c *Chunks, leaves []*leaf) (data []byte, looked int) {
	data = c.Encode(func(e *Encoder) {
		for _, l := range leaves {
			Chunk(e, l, func(e *Encoder, l *leaf) {
				looked++
				e.ID(l.id)
				e.Text(strings.Repeat("x", int(l.size)))
			})
		}
	})
	return data, looked
}

// decode reads leaves, and counts how many were looked at. What is read is damaged if so many bytes
// are changed.
func decode(c *Chunks, data []byte, n int) (leaves []*leaf, looked int, problem string) {
	c.Decode(data, func(d *Decoder) {
		for range n {
			leaves = append(leaves, ReadChunk(d, func(d *Decoder) *leaf {
				looked++
				return &leaf{d.ID(), uint64(len(d.Text()))}
			}))
		}
		if problem = d.Problem; problem == "" && len(d.Data) > 0 {
			problem = "bytes are left"
		}
	})
	return leaves, looked, problem
}

// TestChunks: what the last encoding had is not looked at again, nor made anew. Small things are.
func TestChunks(t *testing.T) {
	big, other, small := &leaf{1, leastChunk}, &leaf{2, 2 * leastChunk}, &leaf{3, 1}
	var here, away Chunks
	var last []*leaf
	for i, step := range []struct {
		leaves        []*leaf
		written, read int
	}{
		{[]*leaf{big, small, big}, 3, 2},   // small twice: first its size is not known
		{[]*leaf{small, big, other}, 2, 2}, // big is known
		{[]*leaf{small, other}, 1, 1},
		{[]*leaf{big}, 1, 1}, // forgotten
	} {
		data, looked := encode(&here, step.leaves)
		if looked != step.written {
			t.Errorf("encoding %d looks at %d leaves, want %d", i, looked, step.written)
		}
		got, looked, problem := decode(&away, data, len(step.leaves))
		if looked != step.read || problem != "" {
			t.Errorf("encoding %d: %d leaves are made, want %d; %q", i, looked, step.read, problem)
		}
		for j, l := range got {
			if *l != *step.leaves[j] {
				t.Errorf("encoding %d: leaf %d is %+v, want %+v", i, j, l, step.leaves[j])
			}
		}
		if i == 1 && got[1] != last[0] {
			t.Error("a chunk that is known is another one")
		}
		last = got
	}
	// Without them all is written as it is.
	e := &Encoder{}
	Chunk(e, small, func(e *Encoder, l *leaf) { e.ID(l.id) })
	if want := append([]byte{0}, 3, 0, 0, 0, 0, 0, 0, 0); !bytes.Equal(e.Data, want) {
		t.Errorf("a leaf without chunks is %x, want %x", e.Data, want)
	}
}

// TestDamagedChunks: a chunk that is cut off, or too long, or changed is a problem.
func TestDamagedChunks(t *testing.T) {
	leaves := []*leaf{{1, leastChunk}, {2, 3}}
	data, _ := encode(&Chunks{}, leaves)
	for n := range data {
		if _, _, problem := decode(&Chunks{}, data[:n], len(leaves)); problem == "" {
			t.Errorf("nobody notices that only %d of %d bytes are there", n, len(data))
		}
	}
	longer := (&Chunks{Least: 1}).Encode(func(e *Encoder) {
		Chunk(e, leaves[1], func(e *Encoder, l *leaf) { e.ID(l.id); e.Text("x"); e.Number(7) })
	})
	_, _, problem := decode(&Chunks{}, longer, 1)
	if !strings.Contains(problem, "follow the end of a chunk") {
		t.Errorf("a chunk that is too long: %q", problem)
	}
}

// TestChunksWithin: the same may be written on its own and within others, each in its own way.
func TestChunksWithin(t *testing.T) {
	type nest struct {
		leaf
		inner *nest
	}
	var write func(*Encoder, *nest)
	write = func(e *Encoder, n *nest) {
		e.ID(n.id)
		if e.Truth(n.inner != nil); n.inner != nil {
			Chunk(e, n.inner, write)
		}
	}
	var read func(*Decoder) *nest
	read = func(d *Decoder) *nest {
		n := &nest{leaf: leaf{id: d.ID()}}
		if d.Truth() {
			n.inner = ReadChunk(d, read)
		}
		return n
	}
	list := []*nest{{leaf: leaf{id: 0}}}
	for i := range uint64(2 * mostWithin) {
		list = append(list, &nest{leaf{id: i + 1}, list[i]})
	}
	here, away := Chunks{Least: 1}, Chunks{Least: 1}
	for range 3 {
		data := here.Encode(func(e *Encoder) {
			for _, n := range list {
				Chunk(e, n, write)
			}
		})
		away.Decode(data, func(d *Decoder) {
			for i := range list {
				n := ReadChunk(d, read)
				for want := i; n != nil; want, n = want-1, n.inner {
					if n.id != uint64(want) {
						t.Fatalf("within number %d is %d, want %d", i, n.id, want)
					}
				}
			}
			if d.Problem != "" || len(d.Data) > 0 {
				t.Fatalf("%d bytes are left: %q", len(d.Data), d.Problem)
			}
		})
	}
	if len(here.written) == 0 || len(away.read) == 0 {
		t.Error("nothing is shared")
	}
}
