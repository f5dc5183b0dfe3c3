package core

import "github.com/tandem-mc/tandem/explore/internal/codec"

// EncodeAction writes an action.
func EncodeAction(e *codec.Encoder, a Action) {
	e.ID(uint64(a.Goroutine))
	e.Number(uint64(a.Choice))
}

// EncodeActions writes a list of actions.
func EncodeActions(e *codec.Encoder, list []Action) {
	e.Number(uint64(len(list)))
	for _, a := range list {
		EncodeAction(e, a)
	}
}

// EncodeAlternatives writes a list of alternatives.
func EncodeAlternatives(e *codec.Encoder, list []Alternative) {
	e.Number(uint64(len(list)))
	for _, a := range list {
		e.ID(uint64(a.Goroutine))
		e.Number(uint64(a.Choices))
		e.Truth(a.Rests)
	}
}

// EncodeAccesses writes a list of accesses.
func EncodeAccesses(e *codec.Encoder, list []Access) {
	e.Number(uint64(len(list)))
	for _, a := range list {
		e.ID(uint64(a.Object))
		e.Data = append(e.Data, byte(a.Kind), a.Ready)
		e.Signed(int64(a.Delta))
		e.Signed(int64(a.Count))
	}
}

// EncodeSleepers writes a list of sleepers.
func EncodeSleepers(e *codec.Encoder, list []*Sleeper) {
	e.Number(uint64(len(list)))
	for _, s := range list {
		EncodeAction(e, s.Action)
		EncodeAccesses(e, s.Accesses)
		e.Number(uint64(s.Choices))
		e.Truth(s.Incomplete)
	}
}

// maxChoices bounds the alternatives of one operation.
const maxChoices = 1 << 31

// DecodeAction reads what EncodeAction wrote.
func DecodeAction(d *codec.Decoder) Action {
	return Action{Goroutine: GoroutineID(d.ID()), Choice: d.Count(maxChoices)}
}

// DecodeActions reads what EncodeActions wrote.
func DecodeActions(d *codec.Decoder) []Action {
	var list []Action
	for range d.Length() {
		list = append(list, DecodeAction(d))
	}
	return list
}

// DecodeAlternatives reads what EncodeAlternatives wrote.
func DecodeAlternatives(d *codec.Decoder) []Alternative {
	var list []Alternative
	for range d.Length() {
		list = append(list, Alternative{GoroutineID(d.ID()), d.Count(maxChoices), d.Truth()})
	}
	return list
}

// DecodeAccesses reads what EncodeAccesses wrote.
func DecodeAccesses(d *codec.Decoder) []Access {
	var list []Access
	for range d.Length() {
		a := Access{Object: ObjectID(d.ID())}
		bits := d.Bytes(2)
		a.Kind, a.Ready = AccessKind(bits[0]), bits[1]
		a.Delta, a.Count = int32(d.Signed(maxDelta)), int32(d.Signed(maxDelta))
		if a.Kind >= AccessKinds {
			d.Fail("it is damaged: an access is of unknown kind %d", a.Kind)
		}
		list = append(list, a)
	}
	return list
}

// maxDelta bounds counters of objects: numbers of 32 bits.
const maxDelta = 1<<31 - 1

// DecodeSleepers reads what EncodeSleepers wrote.
func DecodeSleepers(d *codec.Decoder) []*Sleeper {
	var list []*Sleeper
	for range d.Length() {
		list = append(list, &Sleeper{DecodeAction(d), DecodeAccesses(d), d.Count(maxChoices), d.Truth()})
	}
	return list
}
