package runtime

import _ "unsafe" // for linkname

// A program may crash at an input, if the answer says so: before anything of it happens. Its disk
// is what is left, which package syscall knows.

// tandemCrash is what package syscall says of the disk.
var tandemCrash struct {
	unsynced uint32 // operations that are not durable
}

// tandemMayCrash reports whether the checker is to be told of changes to the disk.
//
//go:linkname tandemMayCrash syscall.tandemMayCrash
//go:nosplit
func tandemMayCrash() bool { return tandem.sh.environment.inputs&inputsCrashes != 0 }

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
	tandem.sh.exchange.unsynced = tandemCrash.unsynced
	tandemEnd(outcomeCrashed)
}
