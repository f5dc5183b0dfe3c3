package table

import (
	"encoding/binary"
	"errors"
	"slices"
)

// A table can be written and read again. What is written is no image, since images have numbers of
// types that differ from process to process. It is which handlers have run, in which order, and
// the numbers of what came of them. Whoever reads it runs them again, and gives what comes of them
// the same numbers.

// That works since each entry is made of what earlier ones have brought about. A call has a local
// state and messages. A worker has got each of them from an entry that was in the table, or they
// are of the start. So somebody who goes through the entries in their order has all that a call
// needs. Two workers may run handlers at the same time, and number what is new by turns. So the
// numbers are written with each entry, and do not follow from the order.
//
// If handlers have changed meanwhile, most of the time some number is wrong: an effect is missing,
// two that were equal are not, or one that was new is known. Whoever wants to be certain compares
// what the local states and messages are.

// record is an entry in the order in which entries were made. Its call has a local state and
// messages that come of earlier ones.
type record struct {
	call  key
	set   []Message // of a Gather, whose quorum transition is the event of call
	entry *Entry
}

// Append writes the table behind dst. Nobody may use the table meanwhile.
func (t *Table) Append(dst []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	dst = binary.AppendUvarint(dst, uint64(len(t.locals)))
	for _, list := range t.locals {
		dst = binary.AppendUvarint(dst, uint64(len(list)))
	}
	dst = binary.AppendUvarint(dst, uint64(len(t.messages)))
	dst = binary.AppendUvarint(dst, uint64(len(t.records)))
	for i := range t.records {
		dst = t.records[i].append(dst)
	}
	return dst
}

// append writes an entry.
func (r *record) append(dst []byte) []byte {
	dst = append(dst, byte(r.call.kind))
	for _, n := range []int{r.call.node, int(r.call.local), int(r.call.event)} {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	dst = appendMessages(dst, r.set)
	dst = binary.AppendUvarint(dst, uint64(len(r.entry.Outcomes)))
	for j := range r.entry.Outcomes {
		dst = binary.AppendUvarint(dst, uint64(r.entry.Outcomes[j].Next))
		dst = appendMessages(dst, r.entry.sent[j])
	}
	return dst
}

// appendMessages appends numbers of messages, after how many there are.
func appendMessages(dst []byte, list []Message) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, m := range list {
		dst = binary.AppendUvarint(dst, uint64(m))
	}
	return dst
}

// ErrKept is of bytes that Append has not written.
var ErrKept = errors.New("the table of handlers cannot be read")

// ErrOther is of handlers that do not do what they did.
var ErrOther = errors.New("the handlers do other things than before")

// Read fills a table with what Append has written, and forgets what was there. Handlers run, as
// often as there are entries. An error says that the bytes are damaged, or that handlers do other
// things than before; then the table is not to be used.
func (t *Table) Read(data []byte) error {
	r := &keptReader{in: data}
	if r.number(len(t.locals)+1) != len(t.locals) {
		return ErrKept
	}
	// Whatever there is takes a byte at least.
	for node := range t.locals {
		t.locals[node] = make([]*LocalState, r.number(len(data)+1))
		clear(t.byImage[node])
	}
	clear(t.numbers)
	clear(t.entries)
	clear(t.sets)
	t.records = nil
	t.messages = make([]Sent, r.number(len(data)+1))
	isThere := make([]bool, len(t.messages))
	for range r.number(len(data) + 1) {
		if err := t.readRecord(r, isThere); err != nil {
			return err
		}
	}
	// Nothing may be missing that states could have.
	for _, list := range t.locals {
		if slices.Contains(list, nil) {
			return ErrKept
		}
	}
	if r.isWrong || len(r.in) > 0 || slices.Contains(isThere, false) {
		return ErrKept
	}
	return nil
}

// readRecord reads an entry, and runs its handler. Effects come in the order of the choices, as
// they did when the entry was made. Those that are equal to an earlier one were left out then.
func (t *Table) readRecord(r *keptReader, isThere []bool) error {
	kind := Kind(r.number(int(kinds)))
	k := key{kind: kind, node: r.number(len(t.locals))}
	k.local = Local(r.number(max(1, len(t.locals[k.node]))))
	k.event = uint32(r.number(1 << 31))
	if kind >= RenamedState {
		return t.readRenaming(r, k, isThere)
	}
	set := r.messages(isThere)
	if kind == Deliver && (int(k.event) >= len(isThere) || !isThere[k.event]) {
		r.isWrong = true
	}
	if r.isWrong || kind != Start && t.locals[k.node][k.local] == nil {
		return ErrKept
	}
	call, accepted := t.callOf(k, set), true
	var err error
	if kind == Gather {
		accepted, err = t.handlers.Enough(call)
	}
	e, effects := &Entry{}, []Effect(nil)
	if err == nil && accepted {
		effects, e.Quorums, err = t.effectsOf(call)
	}
	if err != nil {
		return err
	}
	// Outcomes are compared with effects in their order, so each effect is either an outcome that
	// is known already, or the next one.
	kept := &record{call: k, set: set, entry: e}
	for range r.number(len(r.in) + 1) {
		next, sent := Local(r.number(len(t.locals[k.node]))), r.numbers(len(isThere))
		if r.isWrong {
			return ErrKept
		}
		// Choices that lead to the same were one.
		for len(effects) > 0 && t.isKnown(kept, &effects[0]) {
			effects = effects[1:]
		}
		if len(effects) == 0 {
			return ErrOther
		}
		if err := t.put(kept, &effects[0], next, sent, isThere); err != nil {
			return err
		}
		effects = effects[1:]
	}
	for i := range effects {
		if !t.isKnown(kept, &effects[i]) {
			return ErrOther
		}
	}
	t.remember(kept)
	return nil
}

// callOf is the call of an entry.
func (t *Table) callOf(k key, set []Message) Call {
	c := Call{Node: k.node, Kind: k.kind, Index: int(k.event)}
	if k.kind != Start {
		c.State = t.locals[k.node][k.local].Image
	}
	if k.kind == Deliver {
		c.Index, set = 0, []Message{Message(k.event)}
	}
	for _, m := range set {
		c.Messages = append(c.Messages, t.messages[m])
	}
	return c
}

// isKnown says whether an effect is the same as an outcome of the entry. If something in it has no
// number yet, it is not.
func (t *Table) isKnown(r *record, effect *Effect) bool {
	next, ok := t.byImage[r.call.node][string(effect.State)]
	if !ok {
		return false
	}
	var sent []Message
	for _, s := range effect.Sent {
		m, ok := t.numbers[nameOf(s)]
		if !ok {
			return false
		}
		sent = append(sent, m)
	}
	return r.entry.has(t.outcome(effect, next, sent))
}

// put gives what an effect has made its numbers.
func (t *Table) put(r *record, effect *Effect, next Local, sent []Message, isThere []bool) error {
	if len(sent) != len(effect.Sent) {
		return ErrOther
	}
	if err := t.putLocal(r.call.node, effect.State, next); err != nil {
		return err
	}
	for i, m := range sent {
		if err := t.putMessage(effect.Sent[i], m, isThere); err != nil {
			return err
		}
	}
	r.entry.Outcomes = append(r.entry.Outcomes, t.outcome(effect, next, sent))
	r.entry.sent = append(r.entry.sent, sent)
	return nil
}

// putLocal gives a local state its number. A number stands for one thing, and a thing has one
// number; anything else is of handlers that do other things than before.
func (t *Table) putLocal(node int, image []byte, l Local) error {
	if known, ok := t.byImage[node][string(image)]; ok && known != l || !ok && t.locals[node][l] != nil {
		return ErrOther
	}
	if t.locals[node][l] != nil {
		return nil
	}
	description, err := t.handlers.Describe(node, image)
	if err != nil {
		return err
	}
	t.locals[node][l] = &LocalState{node, image, description}
	t.byImage[node][string(image)] = l
	return nil
}

// putMessage gives a message its number.
func (t *Table) putMessage(sent Sent, m Message, isThere []bool) error {
	name := nameOf(sent)
	if known, ok := t.numbers[name]; ok && known != m || !ok && isThere[m] {
		return ErrOther
	}
	t.messages[m], t.numbers[name], isThere[m] = sent, m, true
	return nil
}

// readRenaming reads such an entry of a table that was written, and renames.
func (t *Table) readRenaming(r *keptReader, k key, isThere []bool) error {
	x := r.renaming(k, len(t.locals))
	if r.isWrong || t.renamer == nil {
		return ErrKept
	}
	if k.kind == RenamedMessage {
		if int(k.event) >= len(isThere) || !isThere[k.event] || int(x.sent[0]) >= len(isThere) {
			return ErrKept
		}
		sent, err := t.renameSent(t.messages[k.event], x.to)
		if err == nil {
			err = t.putMessage(sent, x.sent[0], isThere)
		}
		t.renamed(k, x.to, Outcome{}, x.sent)
		return err
	}
	// The node that has the new name has the new local state.
	node := x.to[k.node]
	if t.locals[k.node][k.local] == nil || int(x.next) >= len(t.locals[node]) {
		return ErrKept
	}
	image, err := t.renamer.RenameState(k.node, t.locals[k.node][k.local].Image, x.to, false)
	if err == nil {
		err = t.putLocal(node, image, x.next)
	}
	t.renamed(k, x.to, Outcome{Next: x.next}, nil)
	return err
}

// remember keeps an entry, where look-ups find it and in its order. The caller has the lock, or is
// alone.
func (t *Table) remember(r *record) {
	t.records = append(t.records, *r)
	if r.call.kind == Gather {
		t.sets[nameOfSet(r.call.node, r.call.local, int(r.call.event), r.set)] = r.entry
		return
	}
	t.entries[r.call] = r.entry
}

// keptReader reads numbers. What is not there, or too large, is zero, and wrong.
type keptReader struct {
	in      []byte
	isWrong bool
}

// number reads a number below a bound.
func (r *keptReader) number(bound int) int {
	n, size := binary.Uvarint(r.in)
	if size <= 0 || n >= uint64(bound) {
		r.in, r.isWrong = nil, true
		return 0
	}
	r.in = r.in[size:]
	return int(n)
}

// numbers reads a list of numbers of messages below a bound.
func (r *keptReader) numbers(bound int) (list []Message) {
	for range r.number(len(r.in) + 1) {
		list = append(list, Message(r.number(bound)))
	}
	return list
}

// messages reads a list of messages that are there.
func (r *keptReader) messages(isThere []bool) []Message {
	list := r.numbers(len(isThere))
	for _, m := range list {
		if r.isWrong || !isThere[m] {
			r.isWrong = true
			return nil
		}
	}
	return list
}
