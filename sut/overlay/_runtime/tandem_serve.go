package runtime

import (
	linux "internal/runtime/syscall/linux"
	"unsafe"
)

// Linux system calls, by number: package syscall is above this one.
const (
	tandemRead       = 0
	tandemWrite      = 1
	tandemMmap       = 9
	tandemMprotect   = 10
	tandemMunmap     = 11
	tandemMremap     = 25
	tandemPause      = 34
	tandemGetpid     = 39
	tandemClone      = 56
	tandemForkCall   = 57
	tandemWait4      = 61
	tandemFcntl      = 72
	tandemGetrusage  = 98
	tandemGetppid    = 110
	tandemPrctl      = 157
	tandemCloseRange = 436
)

func tandemSaveContext(context *[4]uint64) int64
func tandemRestore(context *[4]uint64, regions *region, n uint64, copies uintptr)

// exit0 ends the process. It is the assembly function that was exit.
func exit0(code int32)

// tandemInit finds out whether this process is a worker. It runs before any
// code of the program, so that the clock stands still from the start.
func tandemInit() {
	mode := gogetenv("TANDEM_WORKER")
	if mode == "" {
		return
	}
	tandem.serving = true
	tandem.fork = mode == "forkeach"
	tandem.now = tandemEpoch
	tandemBirths.heap = mheap_.curArena.base &^ (heapArenaBytes - 1)
	debug.gcshrinkstackoff = 1 // what is noted of a pending select points into its stack
	tandem.sh = (*shared)(tandemMap(unsafe.Sizeof(shared{}), 1, sharedFD))
	tandemCallers.cache = (*[tandemCallerCache]tandemCaller)(tandemMap(unsafe.Sizeof(*tandemCallers.cache),
		mapSharedAnonymous, -1))
	tandemCallers.open.read(gogetenv("TANDEM_OPEN"))
	tandemCallers.private.read(gogetenv("TANDEM_PRIVATE"))
	// A huge page would make a hundred clean pages look dirty.
	linux.Syscall6(tandemPrctl, 41 /* PR_SET_THP_DISABLE */, 1, 0, 0, 0, 0)
}

// tandemServe is called just before main.main. It returns once for every
// execution; whatever the program does after that is undone before the next.
func tandemServe() {
	if !tandem.serving {
		return
	}
	sh := tandem.sh
	n, _, _ := linux.Syscall6(tandemFcntl, 2, 0 /* F_DUPFD */, answerFD+1, 0, 0, 0)
	linux.Syscall6(tandemCloseRange, n, n, 0, 0, 0, 0)
	sh.places.firstFD = uint64(n)
	tandemMapBirths()
	tandemMapState()
	if raceenabled {
		tandemRaceMap()
	}
	if tandem.fork {
		tandemAnswer(answerReady)
		tandemForkLoop()
	} else {
		if sh.ownCode != 0 {
			tandemOwnCode()
		}
		sh.backup = uint64(uintptr(tandemMap(uintptr(sh.backupBytes), mapSharedAnonymous, -1)))
		sh.places.area = uint64(uintptr(tandemMap(placeBytes, mapSharedAnonymous, -1)))
		systemstack(tandemLoop)
	}
	tandemStart()
}

const mapSharedAnonymous = 0x4021 // MAP_SHARED, MAP_ANONYMOUS and MAP_NORESERVE

func tandemMap(size uintptr, flags, fd int) unsafe.Pointer {
	p, _, e := linux.Syscall6(tandemMmap, 0, (size+4095)&^4095, 3, uintptr(flags), uintptr(fd), 0)
	if e != 0 {
		throw("tandem: the worker could not map its shared memory")
	}
	return unsafe.Pointer(p)
}

// tandemStart puts the calling goroutine, main, under control, and those that
// package initialisation has started.
func tandemStart() {
	main := getg()
	main.tandem = tandemG{}
	tandemAdopt(main, 1)
	tandem.current.set(main)
	tandem.step = 0
	tandemFindDisk()
	tandem.now += int64(tandem.sh.guide.after)
	tandem.on = true
	tandemBirthsNewExecution()
	if raceenabled {
		tandemRaceNewExecution()
	}
	// The first transition begins here, and the schedule may prescribe it.
	sh := tandem.sh
	sh.steps = 1
	sh.places.exchanges, sh.places.changes, sh.places.printed = 0, 0, [2]uint64{}
	if sh.prefixLength > 0 && sh.prefix[0].goroutine != 1 {
		systemstack(func() { tandemEnd(outcomeDiverged) })
	}
	tandem.position = 1
	main.tandem.choices, main.tandem.transitions = 1, 1
	sh.weight = sharedWeight{mantissa: 1}
	tandemChangeAt(&main.tandem)
	tandemRecordEnabled(&main.tandem)
	tandemRecord(record{kind: recordStep, op: opStart, a: 1, number: 1 << 16})
	forEachG(func(gp *g) {
		status := readgstatus(gp) &^ _Gscan
		if gp == main || isSystemGoroutine(gp, false) || status != _Gwaiting && status != _Grunnable {
			return
		}
		tandemSpawn(gp, main, gp.startpc, gp.gopc)
		gp.tandem.background = true
	})
	systemstack(func() { tandemStartSignals(main) })
	tandemStartClock()
}

func tandemAnswer(b byte) {
	c := b
	linux.Syscall6(tandemWrite, answerFD, uintptr(unsafe.Pointer(&c)), 1, 0, 0, 0)
}

// tandemCommand waits for the checker. If the checker is gone, so is the worker.
func tandemCommand() byte {
	var b byte
	for {
		n, _, e := linux.Syscall6(tandemRead, commandFD, uintptr(unsafe.Pointer(&b)), 1, 0, 0, 0)
		if n == 1 && e == 0 {
			return b
		}
		if e != _EINTR {
			exit0(0)
		}
	}
}

// tandemLoop runs on the system stack. It returns when an execution begins at main.main. It is
// jumped to where its context was saved, with the memory as it was then: before such an execution,
// if that has been commanded, or else after one.
//
//go:noinline
func tandemLoop() {
	tandemSaveContext(&tandem.sh.context)
	sh := tandem.sh
	for i := range sh.mappings {
		linux.Syscall6(tandemMunmap, uintptr(sh.mapping[i].address), uintptr(sh.mapping[i].length), 0, 0, 0,
			0)
	}
	sh.mappings = 0
	if sh.places.left.opened != 0 || sh.taken == 0 {
		linux.Syscall6(tandemCloseRange, uintptr(sh.places.firstFD), 0x7fffffff, 0, 0, 0, 0)
		sh.places.left.opened = 0
	}
	if sh.places.resting != 0 {
		sh.places.resting = 0
		return
	}
	sh.faults = tandemMinorFaults()
	answer := byte(answerEnd)
	if sh.taken == 0 {
		answer = answerReady
	}
	tandemAnswer(answer)
	for {
		switch tandemCommand() {
		case commandQuit:
			exit0(0)
		case commandCopy:
			tandemCopy()
			tandemForkKeeper()
			sh.taken = 1
			tandemAnswer(answerReady)
		case commandPutBack:
			tandemGoToMain()
		case commandRun:
			if sh.places.resume == 0 {
				tandemBegin()
				return
			}
			tandemGoBack()
		}
	}
}

// tandemCopy sets the pages of the region table aside.
func tandemCopy() {
	sh := tandem.sh
	for i := range sh.regions {
		r := &sh.region[i]
		memmove(unsafe.Pointer(uintptr(r.saved)), unsafe.Pointer(uintptr(r.address)), uintptr(r.length))
	}
}

// tandemForkKeeper forks a process that keeps all pages as they are, and does nothing
// until the worker ends: by that the checker knows which pages have been written.
func tandemForkKeeper() {
	parent, _, _ := linux.Syscall6(tandemGetpid, 0, 0, 0, 0, 0, 0)
	pid, _, e := linux.Syscall6(tandemClone, 0 /* no signal at its end */, 0, 0, 0, 0, 0)
	if e != 0 {
		throw("tandem: the worker could not fork")
	}
	if pid != 0 {
		return
	}
	linux.Syscall6(tandemPrctl, 1 /* PR_SET_PDEATHSIG */, _SIGKILL, 0, 0, 0, 0)
	linux.Syscall6(tandemCloseRange, 0, 0x7fffffff, 0, 0, 0, 0)
	for {
		now, _, _ := linux.Syscall6(tandemGetppid, 0, 0, 0, 0, 0, 0)
		if now != parent { // it ended before its end could be noticed
			exit0(0)
		}
		linux.Syscall6(tandemPause, 0, 0, 0, 0, 0, 0)
	}
}

// tandemForkLoop returns in a new process for each execution.
func tandemForkLoop() {
	for {
		switch tandemCommand() {
		case commandQuit:
			exit0(0)
		case commandRun:
			pid, _, e := linux.Syscall6(tandemForkCall, 0, 0, 0, 0, 0, 0)
			if e != 0 {
				throw("tandem: the worker could not fork")
			}
			if pid == 0 {
				getg().m.procid = uint64(gettid())
				linux.Syscall6(tandemPrctl, 1 /* PR_SET_PDEATHSIG */, _SIGKILL, 0, 0, 0, 0)
				return
			}
			var status int32
			for {
				_, _, e := linux.Syscall6(tandemWait4, pid, uintptr(unsafe.Pointer(&status)), 0, 0, 0, 0)
				if e != _EINTR {
					break
				}
			}
			if tandem.sh.outcome == outcomeRunning {
				tandem.sh.outcome = outcomeFatal
			}
			tandemAnswer(answerEnd)
		}
	}
}

// tandemEnd ends the execution. It does not return.
func tandemEnd(outcome uint32) {
	sh := tandem.sh
	tandem.on = false
	sh.outcome = tandemAfterTheEnd(outcome)
	sh.now = tandem.now - tandemEpoch
	tandemRecordPending()
	tandemDetailEnd()
	if tandem.fork {
		exit0(0)
	}
	systemstack(tandemRest)
}

// tandemRecordPending logs the operations at which goroutines were parked.
func tandemRecordPending() {
	sh := tandem.sh
	sh.recordLimit = maxRecords
	for i := range tandem.nparked {
		t := &tandem.parked[i].ptr().tandem
		if int(sh.records)+2+5*t.ncases > maxRecords {
			return
		}
		tandemCountChoices(t)
		r := record{kind: recordPending, op: t.op, a: t.id, pc: uint64(t.caller)}
		if t.op != opExit && tandemEnabled(t) {
			// somebody else was picked: main could not have returned
			r.number = 1
		}
		if t.object != 0 && t.op != opResume {
			// that is on nothing: the object is of the operation after it
			r.ready, r.b, r.flag = tandemNeed(t.op), tandemObject(t), tandemAccessKind(t)
		}
		r.number |= t.choices << 16
		tandemRecord(r)
		tandemTouchState(t, recordIntended)
		if t.hasArms() {
			tandemRecordIntended(t)
		}
	}
}

// tandemRefuse ends the execution because the program did something that is
// not supported. The calls that led there are noted.
func tandemRefuse(what string) {
	tandemMessage(what)
	tandemNoteStack()
	tandemEnd(outcomeRefused)
}

// tandemCutOff ends the execution because it has reached a limit. Others may not reach it.
//
//go:linkname tandemCutOff syscall.tandemCutOff
func tandemCutOff(limit string) {
	tandemMessage(limit)
	tandemNoteStack()
	tandemEnd(outcomeLimit)
}

func tandemTooManyMappings() { tandemCutOff("more than 256 mappings of memory") }

// tandemNewThread is called where the runtime would start a thread.
func tandemNewThread() {
	if !tandem.on {
		throw("tandem: package initialisation needs a second thread")
	}
	tandemRefuse("a call that blocks its thread, so that the program needs a second one")
}

func tandemMessage(what string) {
	sh := tandem.sh
	sh.messageLength = uint32(copy(sh.message[:], what))
}

func tandemNoteStack() {
	sh := tandem.sh
	fp := getcallerfp()
	n := uint64(0)
	for fp != 0 && n < uint64(len(sh.stack)) {
		sh.stack[n] = uint64(tandemReturnAddress(getg().m.curg, fp))
		fp = *(*uintptr)(unsafe.Pointer(fp))
		n++
	}
	sh.stackLength = n
}

// exit is where every end of a process comes through: os.Exit, the end of
// main, an unrecovered panic, a fatal error.
//
//go:nosplit
func exit(code int32) {
	if tandem.sh != nil && tandem.on {
		systemstack(func() { tandemExit(code) })
	}
	exit0(code)
}

func tandemExit(code int32) {
	sh := tandem.sh
	sh.exitCode = code
	mp := getg().m
	switch {
	case mp.throwing != throwTypeNone || mp.dying != 0 && code == 2 && !tandem.aborting:
		sh.outcome = outcomeFatal
		tandem.on = false
		tandemRecordPending()
		exit0(code) // the runtime is in no state to go on: a new worker takes over
	case tandem.aborting:
		tandemEnd(outcomePanic)
	case code != 0:
		tandemEnd(outcomeExit)
	}
	tandemEnd(tandemLeaked())
}

// tandemBeforeExit is a point: the program ends when nothing else can happen.
func tandemBeforeExit(code int) {
	if code == 0 {
		tandemPoint(opExit, nil, nil)
	}
}

// tandemMapped notes a mapping made during an execution, to be removed after it.
//
//go:nosplit
func tandemMapped(p unsafe.Pointer, n uintptr, flags int32) {
	if !tandem.on || tandem.fork || flags&0x10 != 0 /* MAP_FIXED */ {
		return
	}
	sh := tandem.sh
	if sh.mappings == maxMappings {
		systemstack(tandemTooManyMappings)
	}
	sh.mapping[sh.mappings] = region{address: uint64(uintptr(p)), length: uint64(n)}
	sh.mappings++
}

// tandemProcessorsThere is how many processors the program is told that there are. It runs on one;
// but many programs start one worker for each, and a single one meets nobody.
const tandemProcessorsThere = 2

var tandemProcessorsUsed = tandemProcessorsThere

// tandemProcessors is GOMAXPROCS as the program sees it.
func tandemProcessors(n int) int {
	was := tandemProcessorsUsed
	if n > 0 {
		tandemProcessorsUsed = n
	}
	return was
}
