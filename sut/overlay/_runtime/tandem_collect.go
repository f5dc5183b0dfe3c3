package runtime

import (
	"internal/abi"
	"unsafe"
)

// Garbage is collected where the program calls for it, and nowhere else: all at
// once, on the one thread, so that it is a function of the schedule. What it leads
// to, finalizers and cleanups, runs in goroutines under control.

var tandemCollecting bool

// tandemCollect is runtime.GC: a visible operation on the memory as a whole.
func tandemCollect() {
	tandemPoint(opCollect, unsafe.Pointer(&work), nil)
	mode := debug.gcstoptheworld
	tandemCollecting, debug.gcstoptheworld = true, 2
	gcStart(gcTrigger{kind: gcTriggerCycle, n: work.cycles.Load() + 1})
	tandemCollecting, debug.gcstoptheworld = false, mode
	if tandem.on {
		systemstack(tandemRouse)
	}
}

// tandemMark does what the workers of the garbage collector do otherwise, in the
// place where they are waited for, and ends the cycle.
func tandemMark() {
	systemstack(func() {
		gp := getg().m.curg
		// Its own stack is scanned too.
		casGToWaitingForSuspendG(gp, _Grunning, waitReasonGCWorkerActive)
		gcDrain(&gp.m.p.ptr().gcw, 0)
		casgstatus(gp, _Gwaiting, _Grunning)
	})
	gcMarkDone()
	if gcphase != _GCoff {
		throw("tandem: the garbage collection did not come to its end")
	}
}

// tandemRouse puts the goroutines that run finalizers and cleanups under control,
// if there is something for them to do, and wakes them.
func tandemRouse() {
	cleanups := gcCleanups.needsWake() || gcCleanups.workUnits.Load() > 0
	forEachG(func(gp *g) {
		finalizes := gp.startpc == abi.FuncPCABIInternal(runFinalizers) && finq != nil
		cleans := gp.startpc == abi.FuncPCABIInternal(runCleanups) && cleanups
		if finalizes || cleans {
			tandemRouseOne(gp)
		}
	})
	if gp := wakefing(); gp != nil {
		ready(gp, 0, true)
	}
	if gcCleanups.needsWake() {
		gcCleanups.wake()
	}
}

func tandemRouseOne(gp *g) {
	if gp.tandem.id != 0 {
		tandemRecord(record{kind: recordWake, a: gp.tandem.id})
		return
	}
	parent := &getg().m.curg.tandem
	parent.children++
	tandemAdopt(gp, tandemMix(parent.id^tandemMix(parent.children)))
	gp.tandem.background = true
	tandemRecord(record{kind: recordSpawn, op: opStart, a: gp.tandem.id, b: uint64(gp.startpc),
		pc: uint64(parent.caller), open: uint64(parent.open)})
}
