package runtime

import _ "unsafe"

// tandemRecordDial records an address that the program has dialled, or at which others can reach it
// now: see recordDial.
//
//go:linkname tandemRecordDial syscall.tandemRecordDial
func tandemRecordDial(flags uint8, number uint32, a, b, object uint64) {
	t := &getg().tandem
	if t.id == 0 {
		return
	}
	op := uint8(opConnect)
	if flags&dialServes != 0 {
		op = opBind
	}
	tandemRecord(record{kind: recordDial, op: op, ready: flags, number: number, a: a, b: b,
		pc: uint64(t.caller), open: object})
}
