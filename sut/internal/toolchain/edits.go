package toolchain

import (
	"bytes"
	"fmt"

	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// patch is what is done to one file of the standard library.
type patch struct {
	path string // below GOROOT/src; the first that exists of several separated by |
	edit func(*editor)
}

// editor applies edits to a source until one fails. So a list of edits needs no checks in between.
// Edits after an error have no effect.
type editor struct {
	*source
	err error
}

// do notes the first error.
func (e *editor) do(err error) {
	if e.err == nil {
		e.err = err
	}
}

func (e *editor) enter(function, statement string) { e.do(e.source.enter(function, statement)) }
func (e *editor) before(function, anchor, text string) {
	e.do(e.source.before(function, anchor, text))
}
func (e *editor) swap(function, old, text string) { e.do(e.source.swap(function, old, text)) }
func (e *editor) field(structure, text string)    { e.do(e.source.field(structure, text)) }
func (e *editor) add(text string)                 { e.do(e.source.add(text)) }

// point makes a function a visible operation. object and state are pointers. Both may be nil.
func (e *editor) point(function string, op int, object, state string) {
	e.enter(function, pointCall(op, object, state))
}

// pointCall is a statement at which the running goroutine stops before an operation.
func pointCall(op int, object, state string) string {
	return fmt.Sprintf("tandemPoint(%d, unsafe.Pointer(%s), unsafe.Pointer(%s))", op, object, state)
}

// pointDeclaration makes the runtime's tandemPoint callable from another package.
const pointDeclaration = "//go:linkname tandemPoint\n//go:noescape\n" +
	"func tandemPoint(op uint8, object, " +
	"state unsafe.Pointer)"

const isSocketDeclaration = "//go:linkname tandemIsSocket syscall.tandemIsSocket\nfunc " +
	"tandemIsSocket(fd uintptr) bool"

// rawFunction begins what calls a function of the program with a descriptor.
const rawFunction = "tandemRaw(1); defer tandemRaw(-1)"

// patches is, with preinit, the whole patch. Its order has no meaning.
var patches = []patch{
	// Every goroutine carries what the checker knows of it.
	{"runtime/runtime2.go", func(e *editor) { e.field("g", "tandem tandemG") }},
	// The one scheduler asks the checker who goes on.
	{"runtime/proc.go", editScheduler},
	// The program sees several processors, and runs on one.
	{"runtime/debug.go", func(e *editor) {
		e.enter("GOMAXPROCS", "if tandem.serving { return tandemProcessors(n) }")
		e.enter("SetDefaultGOMAXPROCS", "if tandem.serving { tandemProcessorsUsed = "+
			"tandemProcessorsThere; return }")
		e.enter("NumCPU", "if tandem.serving { return tandemProcessorsThere }")
	}},
	// While a call of a sealed package is under way, its return address is elsewhere.
	{"runtime/traceback.go", func(e *editor) {
		e.swap("unwinder.resolveInternal",
			"lrPtr = frame.fp - goarch.PtrSize\n\t\t\t\tframe.lr = *(*uintptr)(unsafe.Pointer(lrPtr))",
			"lrPtr = frame.fp - goarch.PtrSize\n\t\t\t\tframe.lr = tandemTrueReturn(gp, lrPtr, "+
				"*(*uintptr)(unsafe.Pointer(lrPtr)))")
		// Of an argument that is not used any more, anything may be there. It would be printed with
		// a question mark, and differ from one run of an execution to the next.
		e.swap("printArgs", "print(hex(x))\n\t\tif !isLive(off, slotIdx) {\n\t\t\tprint(\"?\")\n\t\t}",
			"if isLive(off, slotIdx) { print(hex(x)) } else if tandem.serving { print(\"_\") } else { "+
				"print(hex(x), \"?\") }")
	}},
	// What these measure would be the checking, with threads of their own.
	{"runtime/trace.go", func(e *editor) {
		e.enter("StartTrace",
			`if tandem.serving { tandemRefuseCall("tracing the execution (runtime/trace)") }`)
	}},
	{"runtime/cpuprof.go", func(e *editor) {
		e.enter("SetCPUProfileRate",
			`if tandem.serving && hz > 0 { tandemRefuseCall("profiling the processor (runtime/pprof)") }`)
	}},
	// Addresses in a stack are adjusted when it moves.
	{"runtime/stack.go", func(e *editor) {
		e.before("copystack", "gp.stack = new", "tandemStackMoved(gp, old, adjinfo.delta)")
	}},
	{"runtime/panic.go", func(e *editor) {
		e.enter("fatalpanic", "tandem.aborting = true")
		// It may be another goroutine's later: see tandemBorn.
		e.swap("newdefer", "d = new(_defer)", "mp = acquirem(); d = new(_defer); releasem(mp)")
	}},
	{"runtime/malloc.go", func(e *editor) {
		// The detector forgets memory when it is given back.
		e.swap("", "if raceenabled {\n\t\tracemalloc(x, size-asanRZ)\n\t}", "tandemBorn(x)")
		// Every object has a place of its own, and begins where that does.
		e.swap("mallocgcTiny", "x = add(x, span.elemsize-size)", "")
		e.swap("mallocgcTiny", "off+size <= maxTinySize && c.tiny != 0",
			"off+size <= maxTinySize && c.tiny != 0 && !tandem.on")
	}},
	{"runtime/iface.go", func(e *editor) { // who makes these caches would have allocated
		e.enter("buildTypeAssertCache", "if tandem.on { return oldC }")
		e.enter("buildInterfaceSwitchCache", "if tandem.on { return oldC }")
	}},
	{"runtime/mheap.go", func(e *editor) {
		e.enter("mheap.freeManual", "if raceenabled { racefree(unsafe.Pointer(s.base()), "+
			"s.npages*pageSize) }")
		e.enter("mheap.grow", "tandemHeapGrows(npage)")
		e.enter("runtime_debug_freeOSMemory", "if tandem.serving { tandemCollect(); return }")
		e.point("internal_weak_runtime_makeStrongFromWeak", abi.OpWeak, "&work", "nil")
	}},
	// Garbage is collected where the program asks for it, on the one thread, and never else.
	{"runtime/mgc.go", func(e *editor) {
		e.enter("GC", "if tandem.serving { tandemCollect(); return }")
		e.enter("gcStart", "if tandem.serving && !tandemCollecting { return }")
		e.enter("gcBgMarkStartWorkers", "if tandem.serving { return }")
		e.swap("gcStart", "if mode != gcBackgroundMode {\n\t\tGosched()",
			"if tandemCollecting { tandemMark() } else if mode != gcBackgroundMode {\n\t\tGosched()")
	}},
	// Signals are those that the checker lets arrive.
	{"runtime/sigqueue.go", func(e *editor) {
		e.enter("signal_recv", "if tandem.serving { return tandemSignalReceive() }")
		e.enter("signal_enable", "if tandem.serving { tandemSignalSet(s, true, false); return }")
		e.enter("signal_disable", "if tandem.serving { tandemSignalSet(s, false, false); return }")
		e.enter("signal_ignore", "if tandem.serving { tandemSignalSet(s, false, true); return }")
		e.enter("signalWaitUntilIdle", "if tandem.serving { return }")
	}},
	// Random numbers are the same in each execution.
	{"runtime/rand.go", editRandom},
	// So are those that come from the kernel.
	{"runtime/vgetrandom_linux.go", func(e *editor) {
		e.enter("vgetrandom", "if tandem.serving { return tandemRandom(p), true }")
	}},
	// The clock of the runtime is a variable.
	{"runtime/time_nofake.go", func(e *editor) {
		e.enter("nanotime",
			"if tandem.now != 0 { return tandem.now }")
		// What the runtime prints by itself.
		e.enter("write", "if tandem.sh != nil { tandem.sh.places.left.output = 1 }")
	}},
	// What reads the clock, sleeps, and sets or stops a timer is an operation where timers may be
	// early.
	{"runtime/time.go", func(e *editor) {
		e.enter("time_runtimeNow", "if tandem.now != 0 && getg().bubble == nil { "+
			"tandemLooksAtClock(0); tandemReadClock(); return tandemWallClock() }")
		e.enter("time_runtimeNano", "if tandem.now != 0 && getg().bubble == nil { "+
			"tandemLooksAtClock(sys.GetCallerPC()); tandemReadClock(); return tandem.now }")
		e.enter("timeSleep", "tandemReadClock(); tandemSleeps()")
		e.enter("timer.modify", "tandemSetTimer(t)")
		e.enter("timer.stop", "tandemSetTimer(t)")
		e.swap("timer.needsAdd", "t.blocked > 0)", "t.blocked > 0 || tandemKeepsTimer())")
		e.swap("unblockTimerChan", "if t.blocked == 0 && ", "if t.blocked == 0 && !tandemKeepsTimer() && ")
		e.point("stopTimer", abi.OpTimer, "t", "nil")
		e.point("resetTimer", abi.OpTimer, "t", "nil")
	}},
	// Operations on channels wait at their points until they can go on.
	{"runtime/chan.go", func(e *editor) {
		e.field("hchan", "tandem tandemChannelState")
		e.swap("makechan", "c.elemtype = elem", "c.elemtype = elem; tandemDetailMade(c)")
		e.enter("chansend", fmt.Sprintf("tandemChannel(%d, c, block)", abi.OpSend))
		e.enter("chanrecv", fmt.Sprintf("tandemChannel(%d, c, block)", abi.OpReceive))
		e.point("closechan", abi.OpClose, "c", "nil")
		e.point("chanlen", abi.OpLength, "c", "nil")
	}},
	// The schedule says which of the ready arms is taken, and not chance.
	{"runtime/select.go", func(e *editor) {
		e.enter("selectgo", "tandemSelect(cas0, nsends+nrecvs, nsends, block)")
		e.swap("selectgo", "j := cheaprandn(uint32(norder + 1))",
			"j := uint32(norder); if !tandemControlled() { j = cheaprandn(uint32(norder + 1)) }")
		e.before("selectgo", "for _, casei := range pollorder {",
			"if tandemControlled() { pollorder = tandemPollOrder(scases, pollorder, nsends) }")
	}},
	// Virtual sockets are waited for at points; their deadlines are kept here.
	{"runtime/netpoll.go", func(e *editor) {
		e.before("poll_runtime_pollWait", "for !netpollblock(pd, int32(mode), false)",
			"if tandemPollWait(pd, mode) { return netpollcheckerr(pd, int32(mode)) }")
		e.enter("netpolldeadlineimpl", "tandemDeadline(pd)")
		e.enter("poll_runtime_pollReset", "if tandemPollReset(pd, mode) { return pollNoError }")
		e.enter("poll_runtime_pollSetDeadline", "tandemPollDeadline(pd, mode)")
		e.enter("poll_runtime_pollUnblock", "tandemPollUnblock(pd)")
	}},
	{"runtime/netpoll_epoll.go", func(e *editor) {
		// Sockets are virtual, and files do not wait: nothing is left for the kernel to watch.
		e.enter("netpollinit", "if tandem.serving { return }")
		e.enter("netpollBreak", "if tandem.serving { return }")
		e.enter("netpollopen", "if tandemPollOpen(fd, pd) { return 0 }; if tandem.serving { return "+
			"tandemNotPolled }")
		e.enter("netpollclose", "if tandemPollClose(fd) || tandem.serving { return 0 }")
	}},
	// What the program maps is unmapped at the end of the execution.
	{"runtime/cgo_mmap.go", func(e *editor) {
		e.swap("mmap", "return sysMmap(addr, n, prot, flags, fd, off)",
			"q, err := sysMmap(addr, n, prot, flags, fd, off); tandemMapped(q, n, flags); return q, err")
	}},
	// The end of the process is the end of an execution: exit is a function of the overlay.
	{"runtime/stubs2.go", func(e *editor) { e.swap("", "func exit(code int32)", "") }},
	{"runtime/sys_linux_amd64.s", func(e *editor) {
		e.swap("", "TEXT runtime·exit(SB)",
			"TEXT runtime·exit0(SB)")
	}},
	{"runtime/asm_amd64.s", func(e *editor) {
		e.swap("", "CALL\truntime·exit(SB)",
			"CALL\truntime·exit0(SB)")
	}},
	// Atomic operations on pointers are here, for the sake of the garbage collector.
	{"runtime/atomic_pointer.go", editAtomicPointers},
	// The functions of sync/atomic are operations.
	{"sync/atomic/doc.go", func(e *editor) { editAtomics(e, true) }},
	{"sync/atomic/doc_64.go", func(e *editor) { editAtomics(e, false) }},
	{"sync/atomic/type.go", editAtomicTypes},
	{"sync/atomic/value.go", func(e *editor) {
		// wherever these were inlined, their loads would be instructions
		for _, f := range []string{"Load", "Store", "Swap", "CompareAndSwap"} {
			e.swap("Value."+f, "func (v *Value) "+f+"(", "//go:noinline\nfunc (v *Value) "+f+"(")
		}
	}},
	{"sync/atomic/asm.s", func(e *editor) {
		e.replace(0, len(e.text), "// The functions of this package have Go bodies here. This "+
			"file lets "+
			"others have none.\n")
	}},
	// Locks wait at their points until they are free.
	{"internal/sync/mutex.go", func(e *editor) {
		e.point("Mutex.Lock", abi.OpLock, "m", "&m.state")
		e.point("Mutex.TryLock", abi.OpTryLock, "m", "&m.state")
		e.point("Mutex.Unlock", abi.OpUnlock, "m", "&m.state")
		e.add(pointDeclaration)
	}},
	// A writer announces itself in one operation, and waits for the readers in another.
	{"sync/rwmutex.go", func(e *editor) {
		const count = "&rw.readerCount" // the mutex itself begins with another object, rw.w
		e.point("RWMutex.RLock", abi.OpReadLock, count, count)
		e.point("RWMutex.RUnlock", abi.OpReadUnlock, count, count)
		e.point("RWMutex.TryRLock", abi.OpTryReadLock, count, count)
		e.point("RWMutex.Unlock", abi.OpWriteUnlock, count, count)
		e.before("RWMutex.Lock", "r := rw.readerCount.Add(-rwmutexMaxReaders)",
			pointCall(abi.OpWriteLock, count, count))
		e.before("RWMutex.Lock", "runtime_SemacquireRWMutex(&rw.writerSem",
			pointCall(abi.OpWriteWait, count, count))
		e.before("RWMutex.TryLock", "if !rw.readerCount.CompareAndSwap(0,",
			pointCall(abi.OpTryWriteLock, count, count))
		e.add(pointDeclaration)
	}},
	// A wait group that is used again too early is found by its counter.
	{"sync/waitgroup.go", func(e *editor) {
		e.enter("WaitGroup.Add", "tandemAdd(unsafe.Pointer(wg), unsafe.Pointer(&wg.state), delta)")
		e.enter("WaitGroup.Wait", "if tandemWait(unsafe.Pointer(wg), unsafe.Pointer(&wg.state)) "+
			`{ panic("sync: WaitGroup is reused before previous Wait has returned") }`)
		e.add("//go:linkname tandemAdd\n//go:noescape\n" +
			"func tandemAdd(object, state unsafe.Pointer, " +
			"delta int)\n\n//go:linkname tandemWait\n//go:noescape\n" +
			"func tandemWait(object, state " +
			"unsafe.Pointer) bool")
	}},
	{"testing/testing.go", func(e *editor) {
		// the other siblings may come this far, too, before this one goes on
		e.before("T.Parallel", "t.lastRaceErrors.Store", "runtime.Gosched()")
	}},
	// Conditions block as they do anyway; what wakes a goroutine is noted for data races.
	{"sync/cond.go", func(e *editor) {
		e.point("Cond.Wait", abi.OpCondWait, "c", "nil")
		e.point("Cond.Signal", abi.OpCondSignal, "c", "nil")
		e.point("Cond.Broadcast", abi.OpCondSignal, "c", "nil")
		const address = "(unsafe.Pointer(&c.notify))"
		e.before("Cond.Wait", "c.L.Lock()", "if race.Enabled { race.Acquire"+address+" }")
		e.before("Cond.Signal", "runtime_notifyListNotifyOne(",
			"if race.Enabled { race.ReleaseMerge"+address+" }")
		e.before("Cond.Broadcast", "runtime_notifyListNotifyAll(",
			"if race.Enabled { race.ReleaseMerge"+address+" }")
		e.swap("", "import (\n", "import (\n\t\"internal/race\"\n")
	}},
	// A Once is waited for while its function runs.
	{"sync/once.go", func(e *editor) {
		e.enter("Once.Do", pointCall(abi.OpOnce, "o", "&o.done")+
			"; if race.Enabled { race.Acquire(unsafe.Pointer(o)) }")
		e.before("Once.doSlow", "defer o.done.Store(",
			"if race.Enabled { defer race.Release(unsafe.Pointer(o)) }")
		e.swap("", "import (\n", "import (\n\t\"internal/race\"\n\t\"unsafe\"\n")
	}},
	{"sync/pool.go", editPool},
	{"sync/hashtriemap.go|sync/map.go", editMap}, // before Go 1.26 it is the first that is compiled
	// System calls are answered by the overlay, or refused.
	{"syscall/syscall_linux.go", editSyscalls},
	{"syscall/syscall_linux_amd64.go", func(e *editor) {
		e.enter("Gettimeofday", "if tandemServes() { *tv = NsecToTimeval(tandemWallTime()); return nil }")
		e.enter("Time", "if tandemServes() { tt = Time_t(tandemWallTime() / 1e9); if t != nil { *t = tt "+
			"}; return tt, nil }")
	}},
	// A limit would outlast the execution.
	{"syscall/rlimit.go", func(e *editor) {
		e.enter("Setrlimit", `if tandemIsOn() { tandemRefuseCall("changing a resource limit") }`)
	}},
	{"syscall/syscall_unix.go", func(e *editor) { // reads and writes are ordered where they meet
		for _, f := range []string{"Read", "Pread"} {
			e.swap(f, "race.Acquire(unsafe.Pointer(&ioSync))", "")
		}
		for _, f := range []string{"Write", "Pwrite", "Sendfile"} {
			e.swap(f, "race.ReleaseMerge(unsafe.Pointer(&ioSync))", "")
		}
	}},
	// Process IDs are the same in each execution.
	{"syscall/zsyscall_linux_amd64.go", func(e *editor) {
		e.enter("Getpid", "if tandemIsOn() { return tandemPid }")
		e.enter("Getpgid", "if tandemIsOn() { return tandemPid, nil }")
		e.enter("Gettid", "if tandemIsOn() { return tandemPid }")
		e.enter("Getppid", "if tandemIsOn() { return tandemPid - 1 }")
		e.enter("Umask", "if tandemServes() { return tandemUmask(mask) }")
		e.enter("socketpair", "if tandemIsOn() { return tandemSocketPair(domain, typ, proto, fd) }")
	}},
	// No other process can be controlled.
	{"syscall/exec_unix.go", func(e *editor) { e.enter("forkExec", "tandemRefuseSubprocess()") }},
	{"internal/syscall/unix/fcntl_unix.go", func(e *editor) {
		// it would ask the kernel about virtual descriptors
		e.swap("Fcntl", "val, errno := fcntl(int32(fd), int32(cmd), int32(arg))",
			"r, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), uintptr(cmd), "+
				"uintptr(arg)); val := int32(r)")
	}},
	// Reads and writes have their points before the descriptor is locked.
	{"internal/poll/fd_unix.go", func(e *editor) {
		e.enter("FD.Close", "tandemFileClose(unsafe.Pointer(fd), fd.Sysfd)")
		e.enter("FD.RawRead", rawFunction)
		e.enter("FD.RawWrite", rawFunction)
		e.enter("FD.WriteOnce", rawFunction)
		const before = "if len(p) > 0 && tandemIsSocket(uintptr(fd.Sysfd)) && fd.incref() == nil { " +
			"tandemBefore(fd.Sysfd, %v, len(p)); fd.decref() }"
		e.enter("FD.Read", fmt.Sprintf(before, false))
		e.enter("FD.Write", fmt.Sprintf(before, true))
		e.swap("", "import (\n", "import (\n\t\"unsafe\"\n")
		e.add(isSocketDeclaration)
		e.add("//go:linkname tandemFileClose\n" +
			"func tandemFileClose(file unsafe.Pointer, fd int)\n\n" +
			"//go:linkname tandemRaw\nfunc tandemRaw(by int)\n\n" +
			"//go:linkname tandemBefore syscall.tandemBefore\n" +
			"func tandemBefore(fd int, write bool, n int)")
	}},
	// Functions of the program that get a descriptor must not wait for it.
	{"internal/poll/fd_posix.go", func(e *editor) { e.enter("FD.RawControl", rawFunction) }},
	// The use of a descriptor, and its close, are operations on the file.
	{"internal/poll/fd_mutex.go", func(e *editor) {
		const use = "tandemFileUse(unsafe.Pointer(fd), %s, fd.Sysfd)"
		e.enter("FD.incref", fmt.Sprintf(use, "nil"))
		e.enter("FD.readLock", fmt.Sprintf(use, "unsafe.Pointer(&fd.fdmu.rsema)"))
		e.enter("FD.writeLock", fmt.Sprintf(use, "unsafe.Pointer(&fd.fdmu.wsema)"))
		e.swap("", "import \"sync/atomic\"", "import (\n\t\"sync/atomic\"\n\t\"unsafe\"\n)")
		e.add("//go:linkname tandemFileUse\nfunc tandemFileUse(file, lock unsafe.Pointer, fd int)")
	}},
	// The code of a plugin was not built with the patched toolchain.
	{"plugin/plugin_stubs.go", func(e *editor) {
		e.enter("open", `tandemRefuseCall("opening a plugin")`)
		e.swap("", "import \"errors\"", "import (\n\t\"errors\"\n\t_ \"unsafe\"\n)")
		e.add("//go:linkname tandemRefuseCall syscall.tandemRefuseCall\n" +
			"func tandemRefuseCall(what string)")
	}},
	// The kernel cannot splice virtual sockets; the caller then copies.
	{"internal/poll/splice_linux.go", func(e *editor) {
		e.enter("Splice", "if tandemIsSocket(uintptr(dst.Sysfd)) || tandemIsSocket(uintptr(src.Sysfd)) "+
			"{ return 0, false, nil }")
	}},
	// Nor can it send files over them.
	{"internal/poll/sendfile_unix.go", func(e *editor) {
		e.enter("SendFile", "if tandemIsSocket(src) { return 0, nil, false }")
	}},
}

// editScheduler hooks the one scheduler and keeps the process single-threaded.
func editScheduler(e *editor) {
	e.before("findRunnable", "traceEnabled() || traceShuttingDown()",
		"if tandem.on { if gp := tandemNext(pp); gp != nil { return gp, false, false } }")
	e.before("newproc1", "releasem(mp)", "tandemSpawn(newg, callergp, fn.fn, callerpc)")
	e.enter("goexit0", "tandemGone(gp)")
	e.enter("ready", "tandemWoken(gp)")
	e.point("Gosched", abi.OpYield, "nil", "nil")
	e.enter("procPin", "tandemEndSingleAccess()")
	e.before("main", "fn := main_main", "tandemServe()")
	e.before("main", "exitHooksRun := false", "tandemBeforeExit(0)")
	e.enter("os_beforeExit", "tandemBeforeExit(exitCode)")
	e.before("schedinit", "if procresize(procs) != nil",
		"if tandemInit(); tandem.serving { procs = 1; sched.customGOMAXPROCS = true }")
	// A stack that grows for ever is to end before the memory does.
	e.swap("main", "maxstacksize = 1000000000",
		"maxstacksize = 1000000000; if tandem.serving { maxstacksize = 256 << 20 }")
	e.swap("main", "if haveSysmon {", "if haveSysmon && !tandem.serving {")
	for _, f := range []string{"lockOSThread", "unlockOSThread", "LockOSThread", "UnlockOSThread",
		"startTemplateThread", "freezetheworld"} {
		e.enter(f, "if tandem.serving { return }")
	}
	e.swap("", "const randomizeScheduler = raceenabled", "const randomizeScheduler = false")
	e.enter("newm", `if tandem.serving { tandemNewThread() }`)
}

// editRandom has random numbers follow from the place of the goroutine that draws them.
func editRandom(e *editor) {
	e.enter("rand", "if tandemControlled() { return tandemDraw(streamRand) }")
	e.enter("cheaprand", "if tandemControlled() { return uint32(tandemDraw(streamCheap)) }")
	e.swap("randinit", "globalRand.state.Init(*seed)",
		"clear(seed[:]); seed[0] = 1; globalRand.state.Init(*seed)")
}

// editPool says what the pool drops where data races are looked for, which would be
// something at random, and uses atomics that are functions where the compiler knows none.
func editPool(e *editor) {
	e.swap("Pool.Put", "if runtime_randn(4) == 0 {", "if tandemIsSealed() {")
	e.add("//go:linkname tandemIsSealed\nfunc tandemIsSealed() bool")
	if bytes.Contains(e.text, []byte("runtime_LoadAcquintptr")) { // until Go 1.26
		e.swap("Pool.getSlow", "runtime_LoadAcquintptr(", "atomic.LoadUintptr(")
		e.swap("Pool.pin", "runtime_LoadAcquintptr(", "atomic.LoadUintptr(")
		e.swap("Pool.pinSlow", "runtime_StoreReluintptr(", "atomic.StoreUintptr(")
	}
}

// editMap makes each method of sync.Map one operation.
func editMap(e *editor) {
	e.point("Map.Load", abi.OpMapRead, "m", "nil")
	for _, f := range []string{"Store", "Clear", "LoadOrStore", "LoadAndDelete", "Delete", "Swap",
		"CompareAndSwap", "CompareAndDelete"} {
		e.point("Map."+f, abi.OpMapWrite, "m", "nil")
	}
	e.point("Map.Range", abi.OpMapRead, "m", "nil")
	e.swap("", "import (\n", "import (\n\t\"unsafe\"\n")
}

// editSyscalls has the functions that all system calls go through ask the checker first.
func editSyscalls(e *editor) {
	const hook = "if r, e, ok := tandemSyscall(trap, a1, a2, a3, %s); ok { return r, 0, e }"
	e.enter("Syscall", fmt.Sprintf(hook, "0, 0, 0"))
	e.enter("Syscall6", fmt.Sprintf(hook, "a4, a5, a6"))
	e.enter("RawSyscall", fmt.Sprintf(hook, "0, 0, 0"))
	e.enter("RawSyscall6", "if r1, r2, e, ok := tandemKernel(trap, a1, a2, a3, a4, a5, a6); ok { "+
		"return r1, r2, Errno(e) }")
	for _, f := range []string{"AllThreadsSyscall", "AllThreadsSyscall6"} {
		e.enter(f, `if tandemIsOn() { tandemRefuseCall("changing the process that the program runs in") }`)
	}
}
