//go:build !go1.26

package runtime

import "unsafe"

// tandemConstantsEnd is where the constants of the program end, the last of which are tables of its
// functions.
func tandemConstantsEnd() uintptr {
	table := firstmoduledata.pclntable
	return uintptr(unsafe.Pointer(unsafe.SliceData(table))) + uintptr(len(table))
}
