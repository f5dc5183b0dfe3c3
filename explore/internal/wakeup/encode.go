package wakeup

import (
	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
)

// EncodeTodo writes the wakeup tree of a node. Parts of a search share most of its branches.
func EncodeTodo(e *codec.Encoder, w *Tree) {
	encodeTree(e, w, func(e *codec.Encoder, b *Branch) { codec.Chunk(e, b, EncodeBranch) })
}

// EncodeTree writes a wakeup tree.
func EncodeTree(e *codec.Encoder, w *Tree) { encodeTree(e, w, EncodeBranch) }

func encodeTree(e *codec.Encoder, w *Tree, encode func(*codec.Encoder, *Branch)) {
	e.Number(uint64(len(w.Branches)))
	for _, b := range w.Branches {
		encode(e, b)
	}
	e.Number(uint64(len(w.Postponed)))
	for _, r := range w.Postponed {
		encodeReversal(e, r)
	}
}

// EncodeBranch writes the steps that go on in one way only as a list: there may be very many.
func EncodeBranch(e *codec.Encoder, b *Branch) {
	last, more := b, len(b.Steps)-1
	for len(last.Below.Branches) == 1 && len(last.Below.Postponed) == 0 {
		last = last.Below.Branches[0]
		more += len(last.Steps)
	}
	EncodeStep(e, b.First())
	e.Number(uint64(more))
	for rest := b.Steps[1:]; ; rest = b.Steps {
		for _, s := range rest {
			EncodeStep(e, s)
		}
		if b == last {
			break
		}
		b = b.Below.Branches[0]
	}
	EncodeTodo(e, &last.Below)
}

// EncodeStep writes a step. Sequences of steps are many, and most have steps of others.
func EncodeStep(e *codec.Encoder, s *trace.Step) { codec.Record(e, s, encodeStep) }

func encodeStep(e *codec.Encoder, s *trace.Step) {
	core.EncodeAction(e, s.Action)
	core.EncodeAccesses(e, s.Accesses)
	e.Data = append(e.Data, byte(s.Marks))
}

// encodeReversal writes one that is detached.
func encodeReversal(e *codec.Encoder, r *Reversal) {
	e.Truth(r.Whole)
	e.Number(uint64(len(r.Steps)))
	for i := range r.Steps {
		EncodeStep(e, &r.Steps[i])
		e.Number(uint64(len(r.Before[i])))
		for _, j := range r.Before[i] {
			e.Number(uint64(j))
		}
	}
}

// maxLevels bounds the levels at which a wakeup tree that is read branches.
const maxLevels = 1 << 16

// DecodeTodo reads what EncodeTodo wrote.
func DecodeTodo(d *codec.Decoder) Tree { return decodeTodo(d, 0) }

func decodeTodo(d *codec.Decoder, level int) Tree {
	return decodeTree(d, func(d *codec.Decoder) *Branch {
		return codec.ReadChunk(d, func(d *codec.Decoder) *Branch { return DecodeBranch(d, level+1) })
	})
}

// DecodeTree reads what EncodeTree wrote, at a level of the tree.
func DecodeTree(d *codec.Decoder, level int) (w Tree) {
	return decodeTree(d, func(d *codec.Decoder) *Branch { return DecodeBranch(d, level+1) })
}

func decodeTree(d *codec.Decoder, decode func(*codec.Decoder) *Branch) (w Tree) {
	for range d.Length() {
		w.Branches = append(w.Branches, decode(d))
	}
	for range d.Length() {
		w.Postponed = append(w.Postponed, decodeReversal(d))
	}
	return w
}

// DecodeBranch reads what EncodeBranch wrote.
func DecodeBranch(d *codec.Decoder, level int) *Branch {
	if level > maxLevels {
		d.Fail("it is damaged: what is to do branches at more than %d levels", maxLevels)
	}
	b := &Branch{Steps: []*trace.Step{DecodeStep(d)}}
	for range d.Length() {
		b.Steps = append(b.Steps, DecodeStep(d))
	}
	b.Below = decodeTodo(d, level)
	return b
}

// DecodeStep reads what EncodeStep wrote. Others may have the same step, so nobody is to change it.
func DecodeStep(d *codec.Decoder) *trace.Step { return codec.ReadRecord(d, decodeStep) }

func decodeStep(d *codec.Decoder) *trace.Step {
	s := &trace.Step{Action: core.DecodeAction(d), Accesses: core.DecodeAccesses(d),
		Marks: trace.Marks(d.Bytes(1)[0])}
	if s.Marks >= trace.AllMarks {
		d.Fail("it is damaged: a step to do has the unknown marks %#x", s.Marks)
	}
	return s
}

func decodeReversal(d *codec.Decoder) *Reversal {
	r := &Reversal{Whole: d.Truth()}
	for i := range d.Length() {
		r.Steps = append(r.Steps, *DecodeStep(d))
		var before []int
		for range d.Length() {
			j := d.Count(uint64(i))
			if j == i {
				d.Fail("it is damaged: a step has to run before itself")
			}
			before = append(before, j)
		}
		r.Before = append(r.Before, before)
	}
	if len(r.Steps) == 0 {
		d.Fail("it is damaged: a reversal has no steps")
	}
	r.Removed = make([]bool, len(r.Steps))
	return r
}
