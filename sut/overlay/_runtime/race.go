//go:build race

// The interface between the runtime and the race detector, in place of the one
// to ThreadSanitizer. The detector is in tandem_race.go and tandem_clock.go.

package runtime

import (
	"internal/abi"
	"internal/runtime/sys"
	"unsafe"
)

const raceenabled = true

// What the compiler inserts into instrumented packages. The address of a
// variable of a basic type stands for all of it. A range of size 0 is no access:
// its address may be that of something else.

//go:nosplit
func racefuncenter(callpc uintptr) {}

//go:nosplit
func racefuncenterfp(fp uintptr) {}

//go:nosplit
func racefuncexit() {}

//go:nosplit
//go:noinline
func raceread(addr uintptr) {
	if raceKnown(addr, raceRead) {
		return
	}
	raceAccess(addr, raceBasic, raceRead, sys.GetCallerPC(), getcallerfp())
}

//go:nosplit
//go:noinline
func racewrite(addr uintptr) {
	if raceKnown(addr, raceWrite) {
		return
	}
	raceAccess(addr, raceBasic, raceWrite, sys.GetCallerPC(), getcallerfp())
}

//go:nosplit
//go:noinline
func racereadrange(addr, size uintptr) {
	if size != 0 {
		raceAccess(addr, size, raceRead, sys.GetCallerPC(), getcallerfp())
	}
}

//go:nosplit
//go:noinline
func racewriterange(addr, size uintptr) {
	if size != 0 {
		raceAccess(addr, size, raceWrite, sys.GetCallerPC(), getcallerfp())
	}
}

// What the runtime calls on behalf of its callers. On the system stack, it
// works for nobody in particular.

//go:nosplit
//go:noinline
func racereadpc(addr unsafe.Pointer, callerpc, pc uintptr) {
	raceForCaller(uintptr(addr), raceBasic, raceRead, getcallerfp())
}

//go:nosplit
//go:noinline
func racewritepc(addr unsafe.Pointer, callerpc, pc uintptr) {
	if pc == abi.FuncPCABIInternal(closechan) {
		return // a send that might come later is an operation too: it panics in some schedule
	}
	raceForCaller(uintptr(addr), raceBasic, raceWrite, getcallerfp())
}

//go:nosplit
//go:noinline
func racereadrangepc(addr unsafe.Pointer, sz, callerpc, pc uintptr) {
	raceRangeForCaller(uintptr(addr), sz, raceRead, getcallerfp())
}

//go:nosplit
//go:noinline
func racewriterangepc(addr unsafe.Pointer, sz, callerpc, pc uintptr) {
	raceRangeForCaller(uintptr(addr), sz, raceWrite, getcallerfp())
}

//go:nosplit
func raceForCaller(addr, size uintptr, kind uint64, fp uintptr) {
	if gp := getg(); gp == gp.m.curg && fp != 0 {
		raceAccess(addr, size, kind|raceByRuntime, *(*uintptr)(unsafe.Pointer(fp + 8)),
			*(*uintptr)(unsafe.Pointer(fp)))
	}
}

// raceRangeForCaller is raceForCaller for so many bytes, of which there may be none.
//
//go:nosplit
func raceRangeForCaller(addr, size uintptr, kind uint64, fp uintptr) {
	if size != 0 {
		raceForCaller(addr, size, kind, fp)
	}
}

//go:noinline
func raceReadObjectPC(t *_type, addr unsafe.Pointer, callerpc, pc uintptr) {
	raceObjectForCaller(t, uintptr(addr), raceRead, getcallerfp())
}

//go:noinline
func raceWriteObjectPC(t *_type, addr unsafe.Pointer, callerpc, pc uintptr) {
	raceObjectForCaller(t, uintptr(addr), raceWrite, getcallerfp())
}

// raceObjectForCaller is an access to a variable of a type: the first byte of a basic one stands
// for all of it.
func raceObjectForCaller(t *_type, addr uintptr, kind uint64, fp uintptr) {
	if k := t.Kind(); k == abi.Array || k == abi.Struct {
		raceRangeForCaller(addr, t.Size_, kind, fp)
	} else {
		raceForCaller(addr, raceBasic, kind, fp)
	}
}

// Memory and goroutines.

//go:nosplit
func raceinit() (gctx, pctx uintptr) { return 0, 0 }

func racefini() {}

//go:nosplit
func raceproccreate() uintptr { return 0 }

//go:nosplit
func raceprocdestroy(ctx uintptr) {}

//go:nosplit
func racemapshadow(addr unsafe.Pointer, size uintptr) {
	raceHeapEnd = max(raceHeapEnd, uintptr(addr)+size)
}

//go:nosplit
func racemalloc(p unsafe.Pointer, sz uintptr) { raceForget(uintptr(p), sz) }

//go:nosplit
func racefree(p unsafe.Pointer, sz uintptr) { raceForget(uintptr(p), sz) }

//go:nosplit
func racegostart(pc uintptr) uintptr {
	gp := getg()
	if gp.m.curg != nil {
		gp = gp.m.curg
	}
	child := racectxstart(pc, gp.racectx)
	if gp.racectx != 0 {
		gp.racectx = raceEpoch(raceContextOf(gp.racectx)) // a new one has begun
	}
	return child
}

//go:nosplit
func racegoend() {
	gp := getg()
	racectxend(gp.racectx)
	gp.racectx = 0
}

// racefingo orders what the finalizers do after all that has happened so far.
func racefingo() { systemstack(raceAcquireAll) }

// Synchronisation.

//go:nosplit
func raceacquire(addr unsafe.Pointer) { raceSynchronise(getg(), addr, raceAcquireFrom) }

//go:nosplit
func raceacquireg(gp *g, addr unsafe.Pointer) { raceSynchronise(gp, addr, raceAcquireFrom) }

//go:nosplit
func racerelease(addr unsafe.Pointer) { raceSynchronise(getg(), addr, raceReleaseTo) }

//go:nosplit
func racereleaseg(gp *g, addr unsafe.Pointer) { raceSynchronise(gp, addr, raceReleaseTo) }

//go:nosplit
func racereleaseacquire(addr unsafe.Pointer) { raceSynchronise(getg(), addr, raceExchange) }

//go:nosplit
func racereleaseacquireg(gp *g, addr unsafe.Pointer) { raceSynchronise(gp, addr, raceExchange) }

//go:nosplit
func racereleasemerge(addr unsafe.Pointer) { raceSynchronise(getg(), addr, raceMergeInto) }

//go:nosplit
func racereleasemergeg(gp *g, addr unsafe.Pointer) { raceSynchronise(gp, addr, raceMergeInto) }

// The public interface, and that of package internal/race.

//go:nosplit
//go:noinline
func RaceRead(addr unsafe.Pointer) { raceForCaller(uintptr(addr), raceBasic, raceRead, getcallerfp()) }

//go:nosplit
//go:noinline
func RaceWrite(addr unsafe.Pointer) {
	raceForCaller(uintptr(addr), raceBasic, raceWrite, getcallerfp())
}

//go:nosplit
//go:noinline
func RaceReadRange(addr unsafe.Pointer, len int) {
	raceRangeForCaller(uintptr(addr), uintptr(len), raceRead, getcallerfp())
}

//go:nosplit
//go:noinline
func RaceWriteRange(addr unsafe.Pointer, len int) {
	raceRangeForCaller(uintptr(addr), uintptr(len), raceWrite, getcallerfp())
}

// RaceErrors is zero: the first race ends the execution.
func RaceErrors() int { return 0 }

//go:nosplit
func RaceAcquire(addr unsafe.Pointer) { raceacquire(addr) }

//go:nosplit
func RaceRelease(addr unsafe.Pointer) { racerelease(addr) }

//go:nosplit
func RaceReleaseMerge(addr unsafe.Pointer) { racereleasemerge(addr) }

//go:nosplit
func RaceDisable() { getg().raceignore++ }

//go:nosplit
func RaceEnable() { getg().raceignore-- }

//go:linkname race_Read internal/race.Read
//go:nosplit
//go:noinline
func race_Read(addr unsafe.Pointer) { raceForCaller(uintptr(addr), raceBasic, raceRead, getcallerfp()) }

//go:linkname race_Write internal/race.Write
//go:nosplit
//go:noinline
func race_Write(addr unsafe.Pointer) {
	raceForCaller(uintptr(addr), raceBasic, raceWrite, getcallerfp())
}

//go:linkname race_ReadRange internal/race.ReadRange
//go:nosplit
//go:noinline
func race_ReadRange(addr unsafe.Pointer, len int) {
	raceRangeForCaller(uintptr(addr), uintptr(len), raceRead, getcallerfp())
}

//go:linkname race_WriteRange internal/race.WriteRange
//go:nosplit
//go:noinline
func race_WriteRange(addr unsafe.Pointer, len int) {
	raceRangeForCaller(uintptr(addr), uintptr(len), raceWrite, getcallerfp())
}

//go:linkname race_ReadPC internal/race.ReadPC
//go:noinline
func race_ReadPC(addr unsafe.Pointer, callerpc, pc uintptr) {
	raceForCaller(uintptr(addr), raceBasic, raceRead, getcallerfp())
}

//go:linkname race_WritePC internal/race.WritePC
//go:noinline
func race_WritePC(addr unsafe.Pointer, callerpc, pc uintptr) {
	raceForCaller(uintptr(addr), raceBasic, raceWrite, getcallerfp())
}

//go:linkname race_ReadObjectPC internal/race.ReadObjectPC
//go:noinline
func race_ReadObjectPC(t *abi.Type, addr unsafe.Pointer, callerpc, pc uintptr) {
	raceObjectForCaller(t, uintptr(addr), raceRead, getcallerfp())
}

//go:linkname race_WriteObjectPC internal/race.WriteObjectPC
//go:noinline
func race_WriteObjectPC(t *abi.Type, addr unsafe.Pointer, callerpc, pc uintptr) {
	raceObjectForCaller(t, uintptr(addr), raceWrite, getcallerfp())
}

//go:linkname race_Errors internal/race.Errors
func race_Errors() int { return 0 }

//go:linkname race_Acquire internal/race.Acquire
//go:nosplit
func race_Acquire(addr unsafe.Pointer) { raceacquire(addr) }

//go:linkname race_Release internal/race.Release
//go:nosplit
func race_Release(addr unsafe.Pointer) { racerelease(addr) }

//go:linkname race_ReleaseMerge internal/race.ReleaseMerge
//go:nosplit
func race_ReleaseMerge(addr unsafe.Pointer) { racereleasemerge(addr) }

//go:linkname race_Disable internal/race.Disable
//go:nosplit
func race_Disable() { RaceDisable() }

//go:linkname race_Enable internal/race.Enable
//go:nosplit
func race_Enable() { RaceEnable() }
