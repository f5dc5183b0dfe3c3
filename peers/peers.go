// Package peers describes the real processes on the other side of the connections of the system
// under test: groups of peers, their files, and profiles of well-known servers and clients.
// Package watch looks at them while they run, and package shim counts what they read of time and
// randomness.
package peers

import "time"

// SUT stands for the address of the system under test, as clients reach it. It is replaced in the
// same places as Scratch.
const SUT = "{sut}"

const addressOfSUT = "127.0.0.1"

// Scratch stands for the scratch directory of the group wherever a path may occur:
// in commands, environments, files and binds.
const Scratch = "{scratch}"

// ScratchDirectory is where the scratch directory is, as the peers see it.
const ScratchDirectory = "/run/tandem"

// Limits of a group.
const (
	DefaultReadyTimeout = 10 * time.Second
	MaxFiles            = 4096
	MaxBinds            = 32
	MaxContent          = 64 << 20 // bytes in all files together
	MaxChoices          = 1 << 12  // behaviours of the peers, all combinations
)
