package global

import (
	"encoding/binary"
	"io"

	"github.com/tandem-mc/tandem/protocol/internal/forms"
	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
)

// A share can be written between two levels, and read by another process that goes on with it. Its
// states only grow. So each time only those are written that have come since the last time, behind
// the others; and a head, which has all else. Places in the arena depend on the form of states, and
// are not written. States are in their order, so each has a number.
//
// A run of states is written as they are in memory: vectors as words, by what differs from the
// vector before, and bytes as what follows the part that is as before. To take vectors apart would
// take a fifth of the time that it takes to find them. The form may have changed from run to run,
// so each begins with the shape of its vectors.
//
// Where a state comes from is needed only for those that are expanded next: it says which steps
// commute. That is in the head. Which states are own ones follows from the states.

// wordsTogether is how many bytes of states are written at a time.
const wordsTogether = 1 << 16

// WriteStates writes the states that were not written before. It may be called between Expand and
// Begin.
func (h *Share) WriteStates(out io.Writer) error {
	all, _ := h.form.Size()
	if all == h.written {
		return nil
	}
	end := h.form.End(0)
	// A run has at least one state. How many there are comes first, then how they are written.
	data := binary.AppendUvarint(nil, uint64(all-h.written))
	var err error
	if words, ok := h.form.(forms.OfWords); ok {
		err = h.writeWords(out, data, words, end)
	} else {
		err = h.writeBytes(out, append(data, 0), end)
	}
	h.written, h.place = all, end
	return err
}

// writeWords writes vectors. Those that were reached from the same state follow each other, and
// differ in few bytes.
func (h *Share) writeWords(out io.Writer, data []byte, form forms.OfWords, end uint64) error {
	shape, width := form.Shape(), form.Width()
	data = binary.AppendUvarint(append(data, byte(width)), uint64(shape.Log()))
	for _, n := range shape.Widths() {
		data = append(data, byte(n))
	}
	last := space.Widest{}
	list := make([]forms.Visited, forms.Together)
	for n := h.place; n < end; n += uint64(len(list)) {
		list = list[:min(uint64(len(list)), end-n)]
		form.Read(list, 0, n)
		// All words of a vector are written, and no word that vectors of this form do not have.
		for i := range list {
			for word := range width {
				data = appendWord(data, list[i].Words[word]^last[word])
			}
			last = list[i].Words
		}
		var err error
		if data, err = writeIfFull(out, data); err != nil {
			return err
		}
	}
	_, err := out.Write(data)
	return err
}

// writeIfFull writes what has come together, if it is enough.
func writeIfFull(out io.Writer, data []byte) ([]byte, error) {
	if len(data) < wordsTogether {
		return data, nil
	}
	_, err := out.Write(data)
	return data[:0], err
}

// appendWord writes a word: which of its bytes are not zero, as bits, and these bytes.
func appendWord(data []byte, word uint64) []byte {
	at := len(data)
	data = append(data, 0)
	for bit := byte(1); word != 0; bit, word = bit<<1, word>>8 {
		if b := byte(word); b != 0 {
			data[at] |= bit
			data = append(data, b)
		}
	}
	return data
}

// writeBytes writes states that are bytes.
func (h *Share) writeBytes(out io.Writer, data []byte, end uint64) error {
	var state system.State
	var packed, last []byte
	for at := range h.form.Each(0, h.place, end) {
		h.form.Look(at, &state)
		packed = h.Pack(packed[:0], &state)
		shared := 0
		for shared < min(len(packed), len(last)) && packed[shared] == last[shared] {
			shared++
		}
		data = binary.AppendUvarint(data, uint64(shared))
		data = binary.AppendUvarint(data, uint64(len(packed)-shared))
		data = append(data, packed[shared:]...)
		packed, last = last, packed
		var err error
		if data, err = writeIfFull(out, data); err != nil {
			return err
		}
	}
	_, err := out.Write(data)
	return err
}

// placeOfState is where a state lies, by its number.
func (h *Share) placeOfState(number int) uint64 {
	for at := range h.form.Each(0, 0, h.form.End(0)) {
		if number == 0 {
			_, place := h.form.Split(at)
			return place
		}
		number--
	}
	return h.form.End(0)
}

// AppendHead writes all but the states, when these were written.
func (h *Share) AppendHead(dst []byte) []byte {
	for _, n := range []uint64{uint64(h.log), uint64(h.transitions.Load()), uint64(h.expandings.Load()),
		h.search.reached.Load(), uint64(h.written), uint64(len(h.counts))} {
		dst = binary.AppendUvarint(dst, n)
	}
	// Levels end behind so many states, wherever those lie.
	before := 0
	for _, n := range h.counts {
		dst = binary.AppendUvarint(dst, uint64(n-before))
		before = n
	}
	// States that are bytes are expanded in full, so nobody asks for what they were reached from.
	// Nor does a selection.
	words, ok := h.form.(forms.OfWords)
	if !ok || h.Select != nil {
		return append(dst, 0)
	}
	return appendOrigins(append(dst, 1), words, h.levelEnd[0], h.place)
}

// noOrigin is added to the node of a state of which it is not known what it was reached from.
const noOrigin = 1 << 7

// appendOrigins writes what the states between two numbers were reached from.
func appendOrigins(dst []byte, form forms.OfWords, from, end uint64) []byte {
	last := space.Ref(0)
	list := make([]forms.Visited, forms.Together)
	for n := from; n < end; n += uint64(len(list)) {
		list = list[:min(uint64(len(list)), end-n)]
		form.Read(list, 0, n)
		for i := range list {
			if list[i].Parent == space.None {
				dst = append(dst, list[i].Node|noOrigin)
				continue
			}
			dst = binary.AppendVarint(append(dst, list[i].Node), int64(list[i].Parent-last))
			// Siblings follow each other, so this is mostly zero for them.
			last = list[i].Parent
		}
	}
	return dst
}
