package sut

import (
	"fmt"
	"math"
	"slices"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// What a worker writes to the shared memory is not trusted: the program may have
// written there, or over what the runtime keeps, by package unsafe or by a data
// race. So everything that is read is checked here, once, after it was copied.

// damage is the error of a worker whose memory holds what it never writes.
func damage(format string, args ...any) error {
	return fmt.Errorf("what the worker tells is damaged: %s. The program may have written over memory "+
		"that is not its own "+
		"(package unsafe, assembly, a data race): look for that", fmt.Sprintf(format, args...))
}

// logReader reads the logs of a worker, one after the other. Most begin as the one before
// did, since their schedules do: there the records are compared, and not looked at again.
type logReader struct {
	records []abi.Record // of the last log, as they were read
	events  []Event      // what they say
	onlyEnd bool         // it began anywhere
	logs    [2]Log       // the last one, and that before, which some compare with it
	number  int          // of the last log
	same    int          // how many of its records, from the first on, are those of the log before
}

// read reads the log of an execution that has ended, but for its output. The events are
// valid until the next is read, and must not be changed.
func (l *logReader) read(s *abi.Shared) (*Log, error) {
	records, outcome := s.Records, s.Outcome
	messageLength, stackLength := s.MessageLength, s.StackLength
	switch {
	case records > abi.MaxRecords:
		return nil, damage("it has %d records of at most %d", records, abi.MaxRecords)
	case messageLength > abi.MessageBytes:
		return nil, damage("a message has %d bytes of at most %d", messageLength, abi.MessageBytes)
	case stackLength > uint64(len(s.Stack)):
		return nil, damage("a stack has %d calls of at most %d", stackLength, len(s.Stack))
	case int(outcome) >= len(outcomeNames):
		return nil, damage("the execution ended with outcome %d, there are %d", outcome, len(outcomeNames))
	}
	if err := l.readEvents(s.Record[:records], s.OnlyEnd != 0); err != nil {
		*l = logReader{number: l.number}
		return nil, err
	}
	log := &l.logs[l.number%len(l.logs)]
	*log = Log{Events: l.events, Outcome: Outcome(outcome), ExitCode: int(s.ExitCode),
		Position: int(s.Position)}
	if log.Outcome == Crashed {
		log.Unsynced = int(s.Exchange.Unsynced)
	}
	if w := s.Weight; w.Exponent < 1<<20 {
		log.Weight = math.Ldexp(float64(w.Mantissa), int(w.Exponent))
	} else {
		log.Weight = math.Inf(1)
	}
	log.Timers = int(s.Points.Timers)
	for kind, n := range s.Points.Rare {
		log.RarePoints[kind] = int(n)
	}
	log.Message = string(s.Message[:messageLength])
	log.Stack = append(log.Stack, s.Stack[:stackLength]...)
	if s.Details.Want != 0 {
		var err error
		if log.Details, err = decodeDetails(&s.Details); err != nil {
			return nil, err
		}
	}
	if log.Outcome == DataRace {
		log.Race = &Race{Earlier: decodeAccess(&s.RaceEarlier), Later: decodeAccess(&s.RaceLater)}
	}
	return log, nil
}

// readEvents reads the records of a log, but for those at its beginning that are the same as in the
// log before.
func (l *logReader) readEvents(records []abi.Record, onlyEnd bool) error {
	known := 0
	if l.onlyEnd == onlyEnd {
		known = commonPrefix(l.records, records)
	}
	l.onlyEnd, l.same = onlyEnd, known
	l.number++
	l.records = append(l.records[:known], records[known:]...)
	l.events = slices.Grow(l.events[:known], len(records)-known)[:len(records)]
	in := placeAfter(l.events[:known], onlyEnd)
	for i := known; i < len(l.records); i++ {
		e := &l.events[i]
		decodeRecord(&l.records[i], e)
		in.enter(e)
		if problem := in.problem(e); problem != "" {
			return damage("record %d of %d, %s", i, len(records), problem)
		}
	}
	return nil
}

// commonPrefix is how many records two logs have in common at the beginning.
func commonPrefix(a, b []abi.Record) int {
	const block = 64 // is compared at a time, which is faster
	n, i := min(len(a), len(b)), 0
	for i+block <= n && *(*[block]abi.Record)(a[i:]) == *(*[block]abi.Record)(b[i:]) {
		i += block
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// place is what a record can belong to.
type place struct {
	transition bool // there has been one
	pending    bool // there has been a pending operation, in this transition or at the end
}

// placeAfter is where the next record is, after some events. The end of a log, alone,
// begins anywhere.
func placeAfter(events []Event, onlyEnd bool) (p place) {
	for _, e := range slices.Backward(events) {
		switch {
		case e.begins():
			p.transition = true
			return p
		case e.Kind == Pending || e.Kind == Partnered:
			p.pending = true
		}
	}
	return place{transition: onlyEnd, pending: p.pending || onlyEnd}
}

// enter goes on to a record.
func (p *place) enter(e *Event) {
	switch {
	case e.begins():
		*p = place{transition: true}
	case e.Kind == Pending || e.Kind == Partnered:
		p.pending = true
	}
}

// begins reports whether an event begins a transition.
func (e *Event) begins() bool {
	return e.Kind == Stepped || e.Kind == Ticked && !e.TicksWithin()
}

// problem says what no record has; "" if it may be one.
func (p *place) problem(e *Event) string {
	switch {
	case e.Kind < Stepped || e.Kind >= abi.RecordKinds:
		return fmt.Sprintf("its kind is %d, which is unknown", e.Kind)
	case e.Operation >= abi.OpCount:
		return fmt.Sprintf("its operation is %d, which is unknown", uint8(e.Operation))
	case e.Access >= model.AccessKinds:
		return fmt.Sprintf("its kind of access is %d, which is unknown", e.Access)
	case e.Kind == Stepped && e.Number >= e.Choices:
		return fmt.Sprintf("it takes alternative %d of %d", e.Number, e.Choices)
	}
	switch e.Kind {
	case Accessed, Spawned, Woke, Exchanged, Partnered, Signalled, Ticked, Dialled, Estimated:
		if !p.transition {
			return "it belongs to no transition"
		}
	case Needed:
		if !p.transition && !p.pending {
			return "it belongs to no operation"
		}
	case Intended:
		if !p.pending {
			return "it belongs to no pending operation"
		}
	}
	return ""
}
