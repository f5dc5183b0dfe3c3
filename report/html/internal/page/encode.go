package page

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
)

// Encode is the page for a browser, compressed (RFC 1951). Before it is compressed, it is the
// length of the JSON in four bytes, the smallest first; the JSON; and for each column its length
// in the same way, and its numbers in LEB128. The bytes of messages come last.
func (p *Page) Encode() []byte {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers always can be
	}
	plain := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	plain = append(plain, text...)
	n := &p.Notes
	for _, column := range [][]int{p.Template, p.Object, p.Lane, p.After, deltas(n.Step), n.Kind, n.Lane,
		n.Text,
		n.Size, n.Kept} {
		plain = binary.LittleEndian.AppendUint32(plain, uint32(len(column)))
		for _, number := range column {
			plain = binary.AppendUvarint(plain, uint64(number))
		}
	}
	plain = append(plain, p.Data...)
	// Columns of small numbers that repeat each other become far smaller.
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.DefaultCompression) // the level is one that there is
	w.Write(plain)                                          // a Buffer has no errors
	w.Close()
	return out.Bytes()
}

// deltas are the differences of numbers that never get smaller.
func deltas(numbers []int) []int {
	list := make([]int, len(numbers))
	last := 0
	for i, n := range numbers {
		list[i], last = n-last, n
	}
	return list
}
