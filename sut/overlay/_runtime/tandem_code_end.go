//go:build go1.26

package runtime

// tandemConstantsEnd is where the constants of the program end that are copied: what follows the
// tables of its functions is little.
func tandemConstantsEnd() uintptr { return firstmoduledata.epclntab }
