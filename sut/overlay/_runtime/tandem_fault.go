package runtime

import (
	"internal/runtime/sys"
	"unsafe"
)

// tandemFault chooses what goes wrong with a connection to a peer, if anything does: one of the n
// faults from first on, counted from 1, or 0. That is a transition of its own, in all executions
// with faults, so that whether others have failed before does not change which transitions there
// are. It accesses the queue that is read from, if that is not nil: more may have come before it.
//
//go:linkname tandemFault syscall.tandemFault
func tandemFault(first, n uint32, spared bool, q *socketQueue) uint32 {
	t, env := &getg().tandem, &tandem.sh.environment
	can := uint32(env.faultSet) & ((1<<n - 1) << first)
	if env.faults == 0 || can == 0 || spared || t.id == 0 {
		return 0
	}
	t.op, t.object, t.state, t.faults = opFault, 0, 0, can
	t.caller, t.frame = sys.GetCallerPC(), getcallerfp()
	tandemCountFaults(t)
	tandemArrive()
	choice := t.choice
	tandemTouch(opFault, q, accessWrite)
	if choice == 0 {
		return 0
	}
	tandem.faults++
	for range choice - 1 {
		can &= can - 1
	}
	return uint32(sys.TrailingZeros32(can)) - first + 1
}

// tandemCountFaults sets the number of alternatives of a pending fault.
func tandemCountFaults(t *tandemG) {
	if t.choices = 1; tandem.faults < tandem.sh.environment.faults {
		t.choices += uint32(sys.OnesCount64(uint64(t.faults)))
	}
	t.choice = 0
}

// tandemSpares reports whether connections to an address are not to fail, since peers were named
// that do not listen there. A path is that of a Unix socket; else the port is one of UDP or of TCP.
//
//go:linkname tandemSpares syscall.tandemSpares
func tandemSpares(ip [16]byte, port int, datagrams bool, path string) bool {
	env := &tandem.sh.environment
	for i := range env.faultPlaces {
		p := &env.faultPlace[i]
		switch {
		case path != "" || p.pathLength != 0:
			if path == unsafe.String(&p.path[0], p.pathLength) {
				return false
			}
		case uint64(port) == p.port && datagrams == (p.datagrams != 0) &&
			(p.ip == ip || tandemUnspecified(p.ip) || tandemUnspecified(ip)):
			return false
		}
	}
	return env.faultsSomewhere != 0
}

// tandemUnspecified reports whether an address is 0.0.0.0 or ::.
func tandemUnspecified(ip [16]byte) bool {
	return ip == [16]byte{} || ip == [16]byte{10: 0xff, 11: 0xff}
}

// tandemSparesOpened reports whether connections that peers have opened are not to fail.
//
//go:linkname tandemSparesOpened syscall.tandemSparesOpened
func tandemSparesOpened() bool {
	env := &tandem.sh.environment
	return env.faultsSomewhere != 0 && env.faultsOpened == 0
}
