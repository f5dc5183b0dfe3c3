//go:build go1.26

package runtime

// tandemConstantsEnd is where the constants of the program end, as far as it reads many of them.
func tandemConstantsEnd() uintptr { return firstmoduledata.epclntab }
