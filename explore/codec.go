package explore

import (
	"encoding/binary"
	"fmt"

	"github.com/tandem-mc/tandem/internal/model"
)

// encoder writes the state of a search. Numbers are varints; names of goroutines
// and objects are written once, and then numbered.
type encoder struct {
	data  []byte
	ids   map[uint64]int
	ended bool // nothing is left to do
}

func (e *encoder) number(n uint64) { e.data = binary.AppendUvarint(e.data, n) }

// count writes a number that is not negative.
func (e *encoder) count(n int) { e.number(uint64(max(n, 0))) }

func (e *encoder) signed(n int64) { e.data = binary.AppendVarint(e.data, n) }

func (e *encoder) truth(b bool) {
	n := byte(0)
	if b {
		n = 1
	}
	e.data = append(e.data, n)
}

func (e *encoder) text(s string) {
	e.number(uint64(len(s)))
	e.data = append(e.data, s...)
}

func (e *encoder) fixed(n uint64) { e.data = binary.LittleEndian.AppendUint64(e.data, n) }

// id writes the name of a goroutine or an object: its number, and what it is if that is new.
func (e *encoder) id(id uint64) {
	number, known := e.ids[id]
	if !known {
		if e.ids == nil {
			e.ids = map[uint64]int{}
		}
		number = len(e.ids)
		e.ids[id] = number
	}
	e.number(uint64(number))
	if !known {
		e.fixed(id)
	}
}

func (e *encoder) action(a Action) {
	e.id(uint64(a.Goroutine))
	e.number(uint64(a.Choice))
}

func (e *encoder) actions(list []Action) {
	e.number(uint64(len(list)))
	for _, a := range list {
		e.action(a)
	}
}

func (e *encoder) alternatives(list []Alternative) {
	e.number(uint64(len(list)))
	for _, a := range list {
		e.id(uint64(a.Goroutine))
		e.number(uint64(a.Choices))
		e.truth(a.Rests)
	}
}

func (e *encoder) accesses(list []Access) {
	e.number(uint64(len(list)))
	for _, a := range list {
		e.id(uint64(a.Object))
		e.data = append(e.data, byte(a.Kind), a.Ready)
		e.signed(int64(a.Delta))
		e.signed(int64(a.Count))
	}
}

func (e *encoder) sleepers(list []*Sleeper) {
	e.number(uint64(len(list)))
	for _, s := range list {
		e.action(s.Action)
		e.accesses(s.Accesses)
		e.number(uint64(s.choices))
		e.truth(s.vague)
	}
}

// decoder reads what an encoder has written. What it cannot read it notes as the problem,
// the first one, and from then on reads zeros. It never takes more memory than in
// proportion to the data.
type decoder struct {
	data    []byte
	ids     []uint64
	problem string
}

func (d *decoder) fail(format string, args ...any) {
	if d.problem == "" {
		d.problem = fmt.Sprintf(format, args...)
	}
	d.data = nil
}

func (d *decoder) number() uint64 {
	n, length := binary.Uvarint(d.data)
	if length <= 0 {
		d.fail("it is cut off or damaged")
		return 0
	}
	d.data = d.data[length:]
	return n
}

func (d *decoder) signed(limit int64) int64 {
	n, length := binary.Varint(d.data)
	if length <= 0 || n > limit || n < -limit-1 {
		d.fail("it is cut off or damaged")
		return 0
	}
	d.data = d.data[length:]
	return n
}

// count reads a number of at most limit.
func (d *decoder) count(limit uint64) int {
	n := d.number()
	if n > limit {
		d.fail("a number is %d, and the limit %d", n, limit)
		return 0
	}
	return int(n)
}

// length reads that of a list, each element of which takes at least a byte.
func (d *decoder) length() int {
	n := d.number()
	if n > uint64(len(d.data)) {
		d.fail("it is cut off or damaged")
		return 0
	}
	return int(n)
}

func (d *decoder) bytes(n int) []byte {
	if n > len(d.data) {
		d.fail("it is cut off or damaged")
		return make([]byte, min(n, 8))
	}
	b := d.data[:n]
	d.data = d.data[n:]
	return b
}

func (d *decoder) truth() bool { return d.bytes(1)[0] != 0 }

func (d *decoder) text() string { return string(d.bytes(d.length())) }

func (d *decoder) fixed() uint64 { return binary.LittleEndian.Uint64(d.bytes(8)) }

func (d *decoder) id() uint64 {
	switch n := d.number(); {
	case n < uint64(len(d.ids)):
		return d.ids[n]
	case n == uint64(len(d.ids)):
		d.ids = append(d.ids, d.fixed())
		return d.ids[n]
	}
	d.fail("it is damaged: a name is used before it is given")
	return 0
}

// maxChoices bounds the alternatives of one operation.
const maxChoices = 1 << 31

func (d *decoder) action() Action {
	return Action{Goroutine: GoroutineID(d.id()), Choice: d.count(maxChoices)}
}

func (d *decoder) actions() []Action {
	var list []Action
	for range d.length() {
		list = append(list, d.action())
	}
	return list
}

func (d *decoder) alternatives() []Alternative {
	var list []Alternative
	for range d.length() {
		list = append(list, Alternative{GoroutineID(d.id()), d.count(maxChoices), d.truth()})
	}
	return list
}

func (d *decoder) accesses() []Access {
	var list []Access
	for range d.length() {
		a := Access{Object: ObjectID(d.id())}
		bits := d.bytes(2)
		a.Kind, a.Ready = AccessKind(bits[0]), bits[1]
		a.Delta, a.Count = int32(d.signed(maxDelta)), int32(d.signed(maxDelta))
		if a.Kind >= model.AccessKinds {
			d.fail("it is damaged: an access is of unknown kind %d", a.Kind)
		}
		list = append(list, a)
	}
	return list
}

// maxDelta bounds counters of objects: numbers of 32 bits.
const maxDelta = 1<<31 - 1

func (d *decoder) sleepers() []*Sleeper {
	var list []*Sleeper
	for range d.length() {
		list = append(list, &Sleeper{d.action(), d.accesses(), d.count(maxChoices), d.truth()})
	}
	return list
}
