// Package ledger keeps the books of parts that are given out to be explored elsewhere. It does no
// I/O. Whatever is delivered twice, late, or never, each part is settled once.
package ledger

// Counts is what has become of the parts so far. Each part that was given out is done, withdrawn or
// open: nothing else ends a search, and no silence does.
type Counts struct {
	Given     int `json:"given"`     // parts that were given out
	Done      int `json:"done"`      // of them, those whose result has come
	Withdrawn int `json:"withdrawn"` // of them, those that nobody waits for any more
	Twice     int `json:"twice"`     // results of parts that were done before
	Late      int `json:"late"`      // results of parts that were withdrawn, or never given out

	Executions int `json:"executions"` // in the results of the parts that are done
	Repeated   int `json:"repeated"`   // in results that came twice or late
}

// Open is how many parts are given out, and neither done nor withdrawn.
func (c Counts) Open() int { return c.Given - c.Done - c.Withdrawn }

// A part goes through these states in this order, and may skip some. It ends in one of the last
// two. Messages about it may come in any order, and after its end.

// state is what is known of a part that is remembered.
type state uint8

const (
	given state = iota + 1
	begun
	done
	withdrawn
)

// Ledger is the books of one run. The zero value is empty. It is used by one goroutine at a time.
type Ledger struct {
	counts Counts
	parts  map[uint64]state
	next   uint64
}

// Give gives out another part, and returns its number.
func (l *Ledger) Give() uint64 {
	// Numbers begin with 1: 0 stands for no part.
	if l.parts == nil {
		l.parts = map[uint64]state{}
	}
	l.next++
	l.parts[l.next] = given
	l.counts.Given++
	return l.next
}

// Begin notes that somebody explores a part, perhaps not for the first time.
func (l *Ledger) Begin(part uint64) {
	// The news that a worker has begun may come after its result.
	if l.parts[part] == given {
		l.parts[part] = begun
	}
}

// Begun reports whether somebody has begun with a part that is open.
func (l *Ledger) Begun(part uint64) bool { return l.parts[part] == begun }

// Finish takes a result of so many executions, and reports whether it is the first of an open part:
// only that is used.
func (l *Ledger) Finish(part uint64, executions int) (first bool) {
	switch l.parts[part] {
	case given, begun:
		l.parts[part] = done
		l.counts.Done++
		l.counts.Executions += executions
		return true
	case done:
		l.counts.Twice++
	default:
		l.counts.Late++
	}
	l.counts.Repeated += executions
	return false
}

// Withdraw gives an open part up, and reports whether it was open.
func (l *Ledger) Withdraw(part uint64) bool {
	if s := l.parts[part]; s != given && s != begun {
		return false
	}
	l.parts[part] = withdrawn
	l.counts.Withdrawn++
	return true
}

// Counts is what has become of the parts so far.
func (l *Ledger) Counts() Counts { return l.counts }
