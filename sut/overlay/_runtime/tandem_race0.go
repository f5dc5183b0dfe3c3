//go:build !race

package runtime

import "unsafe"

// In a program that is not built for race detection, none of these is called.

func tandemRaceMap()          { throw("race") }
func tandemRaceNewExecution() { throw("race") }

func tandemNoteRaceTables(heap uintptr) { throw("race") }

func tandemRaceTouch(gp *g, object uint64, kind uint8) { throw("race") }

func tandemAtomic(addr unsafe.Pointer, kind uint8) { throw("race") }

func tandemUnseenOfRaces(at uintptr) bool { return false }
