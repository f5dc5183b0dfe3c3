package syscall

import _ "unsafe" // for linkname

//go:linkname tandemMayCrash
func tandemMayCrash() bool

//go:linkname tandemCrashes
func tandemCrashes() (lost uint32, crashes bool)

//go:linkname tandemEndByCrash
func tandemEndByCrash()

// tandemPerhapsCrash ends the execution if the answer to an input says so.
func tandemPerhapsCrash() {
	if _, crashes := tandemCrashes(); crashes {
		tandemEndByCrash()
	}
}
