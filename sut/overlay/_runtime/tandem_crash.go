package runtime

import _ "unsafe" // for linkname

// A program may crash at an input, if the answer says so: before anything of it happens. Its disk
// is what is left, which package syscall knows.

// tandemDisk is what package syscall says of the disk.
var tandemDisk struct {
	unsynced uint32 // operations that are not durable
	find     func() // puts the disk of the schedule in place
}

// tandemMayCrash reports whether the checker is to be told of changes to the disk.
//
//go:linkname tandemMayCrash syscall.tandemMayCrash
//go:nosplit
func tandemMayCrash() bool { return tandem.sh.environment.inputs&inputsCrashes != 0 }

// tandemSetUnsynced says how many operations are not durable now. Each input has that number with
// it, so whoever answers knows how many a crash can lose.
//
//go:linkname tandemSetUnsynced syscall.tandemSetUnsynced
func tandemSetUnsynced(n int) { tandemDisk.unsynced = uint32(n) }

// tandemSetDisk is called by package syscall, which this package cannot call: a program may be
// without it.
//
//go:linkname tandemSetDisk syscall.tandemSetDisk
func tandemSetDisk(find func()) { tandemDisk.find = find }

// tandemFindDisk puts the disk of the schedule in place, before the program begins.
func tandemFindDisk() {
	if tandemDisk.find != nil && tandemMayCrash() {
		tandemDisk.find()
	}
}

// tandemDiskInput records that the running transition gave an input about the disk, which is on no
// connection.
//
//go:linkname tandemDiskInput syscall.tandemDiskInput
func tandemDiskInput(op uint8, operation []byte) {
	if tandem.sh.environment.inputs&inputsPerConnection == 0 {
		tandemTouchName(op, groupObject, accessWrite)
	}
	tandemRecord(record{kind: recordExchange, op: op, a: noConnection, b: tandemHash(operation),
		pc: uint64(getg().tandem.caller)})
}

// tandemCrashes reports whether the last answer has the program crash, and how many operations on
// the disk are lost at most.
//
//go:linkname tandemCrashes syscall.tandemCrashes
func tandemCrashes() (lost uint32, crashes bool) {
	h := &tandem.sh.exchange
	return h.lost, h.crashed != 0
}

// tandemEndByCrash ends the execution. What the disk has is where the checker looks for it.
//
//go:linkname tandemEndByCrash syscall.tandemEndByCrash
func tandemEndByCrash() {
	tandemNoteStack()
	tandem.sh.exchange.unsynced = tandemDisk.unsynced
	tandemEnd(outcomeCrashed)
}
