package table

import (
	"encoding/binary"
	"slices"
)

// Several processes search one model, and each has a table of its own, with its own numbers. What
// one of them sends has its numbers, so others have to know what these stand for. Images would not
// do, as for what is kept. So the sender's entries are sent, in their order, and the receiver makes
// the same entries: it runs the same handlers. Of both entries the first outcome has the first
// local state, and so on. So numbers of one table become numbers of the other.

// AppendSince writes the entries from a number on, and returns how many there are in all. Others
// may use the table meanwhile.
func (t *Table) AppendSince(dst []byte, from int) ([]byte, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.records[from:] {
		dst = t.records[from+i].append(dst)
	}
	return dst, len(t.records)
}

// Follower knows what the numbers of another table stand for. It is for one goroutine.
type Follower struct {
	table *Table
	// locals and messages are the numbers here, plus one, by the numbers there; zero if none is
	// known.
	locals   [][]Local
	messages []Message
	entries  int
}

// NewFollower knows of no entry.
func (t *Table) NewFollower() *Follower {
	return &Follower{table: t, locals: make([][]Local, len(t.locals))}
}

// Follow reads entries that AppendSince has written: those from a number on, up to another one.
// What is known already is passed over, so they may come twice. Handlers run for entries that are
// new here. The error is ErrKept if there are other bytes, and ErrOther if handlers do other things
// here than there.
func (f *Follower) Follow(data []byte, from, to int) error {
	if from > f.entries || from > to {
		return ErrKept
	}
	r := &keptReader{in: data}
	for i := from; i < to; i++ {
		isKnown := i < f.entries
		if err := f.record(r, isKnown); err != nil {
			return err
		}
		if !isKnown {
			f.entries++
		}
	}
	if len(r.in) > 0 {
		return ErrKept
	}
	return nil
}

// maxNumber bounds numbers of local states and messages.
const maxNumber = 1 << 31

// record reads an entry.
func (f *Follower) record(r *keptReader, isKnown bool) error {
	k := key{kind: Kind(r.number(int(kinds))), node: r.number(len(f.locals))}
	k.local, k.event = Local(r.number(maxNumber)), uint32(r.number(maxNumber))
	if k.kind >= RenamedState {
		return f.renaming(r, k, isKnown)
	}
	set := r.numbers(maxNumber)
	var entry *Entry
	if !isKnown && !r.isWrong {
		var err error
		if entry, err = f.entry(k, set); err != nil {
			return err
		}
	}
	outcomes := r.number(len(r.in) + 1)
	if entry != nil && outcomes != len(entry.Outcomes) {
		return ErrOther
	}
	for i := range outcomes {
		next, sent := Local(r.number(maxNumber)), r.numbers(maxNumber)
		if r.isWrong {
			return ErrKept
		}
		if entry == nil {
			continue
		}
		if err := f.outcome(k.node, entry, i, next, sent); err != nil {
			return err
		}
	}
	if r.isWrong {
		return ErrKept
	}
	return nil
}

// entry is the one of this table that is the same as one of the other.
func (f *Follower) entry(k key, set []Message) (*Entry, error) {
	ok := true
	if k.kind != Start {
		k.local, ok = f.Local(k.node, k.local)
	}
	if k.kind == Deliver && ok {
		var m Message
		m, ok = f.Message(Message(k.event))
		k.event = uint32(m)
	}
	for i := range set {
		if ok {
			set[i], ok = f.Message(set[i])
		}
	}
	if !ok {
		return nil, ErrKept
	}
	if k.kind != Gather {
		return f.table.entry(k, func() (Call, error) {
			f.table.mu.Lock()
			defer f.table.mu.Unlock()
			return f.table.callOf(k, nil), nil
		})
	}
	// Their order is that of the numbers here.
	if !f.table.ordered {
		slices.Sort(set)
	}
	return f.table.Gather(k.node, k.local, int(k.event), set)
}

// outcome notes what the numbers of an outcome stand for.
func (f *Follower) outcome(node int, e *Entry, i int, next Local, sent []Message) error {
	if len(sent) != len(e.sent[i]) {
		return ErrOther
	}
	if err := f.knowLocal(node, next, e.Outcomes[i].Next); err != nil {
		return err
	}
	for j, m := range sent {
		if err := f.knowMessage(m, e.sent[i][j]); err != nil {
			return err
		}
	}
	return nil
}

// grown is a list that has a place. Numbers come about in their order, so it grows by little.
func grown[T any](list []T, place int) []T {
	if n := place + 1 - len(list); n > 0 {
		list = append(list, make([]T, n)...)
	}
	return list
}

// Local is the number here of a local state there; false if it is not known.
func (f *Follower) Local(node int, there Local) (here Local, ok bool) {
	if int(there) >= len(f.locals[node]) {
		return 0, false
	}
	here = f.locals[node][there]
	return here - 1, here > 0
}

// Message is the number here of a message there; false if it is not known.
func (f *Follower) Message(there Message) (here Message, ok bool) {
	if int(there) >= len(f.messages) {
		return 0, false
	}
	here = f.messages[there]
	return here - 1, here > 0
}

// Append writes what the follower knows. The numbers here are those of its table.
func (f *Follower) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(f.entries))
	for _, list := range f.locals {
		dst = appendNumbers(dst, list)
	}
	return appendNumbers(dst, f.messages)
}

// appendNumbers writes a list of numbers, after how many there are.
func appendNumbers[T ~uint32](dst []byte, list []T) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, n := range list {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	return dst
}

// ReadFollower reads what Append has written, and returns what is behind it. The table has all that
// it had then.
func (t *Table) ReadFollower(data []byte) (f *Follower, rest []byte, err error) {
	r := &keptReader{in: data}
	// The numbers may be anybody's: they are places in lists of the table.
	f = t.NewFollower()
	f.entries = r.number(maxNumber)
	for node := range f.locals {
		f.locals[node] = readNumbers[Local](r, len(t.locals[node]))
	}
	f.messages = readNumbers[Message](r, len(t.messages))
	if r.isWrong {
		return nil, nil, ErrKept
	}
	return f, r.in, nil
}

// readNumbers reads a list of numbers. Each is zero, or one more than that of something known.
func readNumbers[T ~uint32](r *keptReader, known int) (list []T) {
	for range r.number(len(r.in) + 1) {
		list = append(list, T(r.number(known+1)))
	}
	return list
}
