package runtime

import (
	"internal/runtime/sys"
	_ "unsafe" // for linkname
)

// tandemFault chooses what goes wrong with a connection to a peer, if anything does: one of n
// kinds, or 0. That is a transition of its own, in all executions with faults, so that whether
// others have failed before does not change which transitions there are.
//
//go:linkname tandemFault syscall.tandemFault
func tandemFault(n uint32) uint32 {
	t := &getg().tandem
	if tandem.sh.world.faults == 0 || t.id == 0 {
		return 0
	}
	t.op, t.object, t.state, t.faults = opFault, 0, 0, n
	t.caller, t.frame = sys.GetCallerPC(), getcallerfp()
	tandemCountFaults(t)
	if tandemArrive(); t.choice != 0 {
		tandem.faults++
	}
	return t.choice
}

// tandemCountFaults sets the number of alternatives of a pending fault.
func tandemCountFaults(t *tandemG) {
	if t.choices = 1; tandem.faults < tandem.sh.world.faults {
		t.choices += t.faults
	}
	t.choice = 0
}
