// Controlled scheduling: the part of the checker that lives inside the runtime
// of the program being checked. The process has one thread, so nothing here
// needs a lock, and nothing here may block other than by parking a goroutine.

package runtime

import (
	"internal/runtime/sys"
	"unsafe"
)

// tandemG is what a goroutine carries.
type tandemG struct {
	id        uint64 // place in the spawn tree; 0: not under control
	children  uint64
	allocated uint64    // objects: see tandemBorn
	drawn     [3]uint64 // how far each of its random streams has been read
	seed      uint64
	order     int32 // creation order in this execution
	op        uint8 // pending operation
	parked    bool
	sealed    bool // the pending operation is sealed: others do not get in before it
	hidden    bool // nobody can notice it
	// An open package performs it, and it is not one of several operations in one call.
	direct       bool
	singleAccess bool  // its transition is an operation and nothing else: see tandemIsSingleAccess
	background   bool  // started by package initialisation
	raw          int8  // how deep it is in functions that must not wait for a socket
	origin       uint8 // class of the caller of the go statement
	choices      uint32
	choice       uint32
	// The set of those that can happen; of a pending opShort 1 if it is a write.
	faults   uint32
	object   uintptr // what the operation is on
	state    uintptr // where its readiness can be read
	delta    int32   // what an opAdd adds
	width    uint8   // in bytes, of what a pending CompareAndSwap compares; 0: it is none
	expected uint64  // with this
	caller   uintptr // program counter of the operation's caller
	open     uintptr // the same in the nearest package that is not sealed
	frame    uintptr
	// Slot of the call of a sealed package that the last operation was in, tandemNoCall, or 0.
	call      uintptr
	ncalls    int
	calls     [tandemMaxCalls]tandemCall
	cases     uintptr // of a pending select: *scase
	ncases    int     // arms of a channel operation
	nsends    int     // the first of them that send
	arm       int     // of a channel operation that goes on: the one that it takes, or noArm
	passed    int     // how often it has passed over partners
	entered   bool    // waits for a wait group whose counter has reached zero since
	reused    bool    // and has been raised again: see tandemCountLate
	guarded   bool    // a channel operation that waits at its point
	block     bool    // it has no default
	announced bool    // its partners know
	passive   bool    // it is to wait for its partner
	meets     bool    // its partner runs first
	// Its transition is an operation with several alternatives, or a connect to a peer.
	chose   bool
	rests   bool    // and ends before this operation
	begun   uint8   // what has had its point already, or 0: tandemSocketBefore
	begunOn uintptr // the descriptor of that
	turn    uint32  // its last transition, as shared.steps counts
	held    bool    // it is not to be picked
	heldAt  uint32  // after which turn that is known, plus 1
	// So far, the present one included, but for readings of the clock: see tandemCountTransition.
	transitions uint32
	readings    uint32 // of the clock, since the last other transition
	uses        uint32 // of descriptors, since its last operation
	vain        uint32 // operations of its own since the last that had an effect
	priority    uint64 // of the goroutine or of its pending operation; 0: it has none yet
	overtime    uint32 // transitions in overtime
}

const tandemMaxGoroutines = 4096

// tandem is the scheduler's own state. All of it is put back with the rest of
// the memory after each execution, but for what sh points to.
var tandem struct {
	on        bool // an execution is under way
	serving   bool // this process is a worker
	fork      bool // this process is a fork that runs one execution
	aborting  bool // a panic or a fatal error is being printed
	sh        *shared
	now       int64
	ticks     uint64    // children of the clock
	execution uint64    // its number, from 1
	short     [2]uint64 // reads and writes, so far
	faults    uint64    // likewise
	behave    bool      // the behaviour of the peers was chosen
	alone     bool      // all clients among the peers have ended
	spawned   int32
	current   guintptr // pointers without write barriers: the scheduler must not have any
	parked    [tandemMaxGoroutines]guintptr
	parkedIDs [tandemMaxGoroutines]uint64 // of these
	nparked   int
	fair      tandemFair
	barren    int // transitions since the last that had an effect
	quiet     tandemQuiet
	stuck     bool // nothing will happen any more: see tandemLivelocked
	overtime  tandemOvertime
	loop      tandemTimerLoop
	partner   guintptr // of a rendezvous: has to run next,
	owner     guintptr // and who then finds it waiting
	position  uint32
	spent     tandemSpent
	demoted   uint32 // how often a goroutine went behind all others
	sleepers  bool
	step      uint32 // first record of the current transition
}

const tandemEpoch = 1_000_000_000_000 // monotonic reading at which every execution starts, ns

// tandemPoint is called at the entry of each visible operation. It returns when
// the calling goroutine may perform it. state is read to see whether a waiting
// operation is enabled; it is nil for operations that never wait.
//
//go:nosplit
func tandemPoint(op uint8, object, state unsafe.Pointer) {
	if tandem.on {
		tandemPointAt(op, object, state, sys.GetCallerPC(), getcallerfp())
	}
}

// tandemPointAt is tandemPoint for the caller with a program counter and a frame.
//
//go:nosplit
func tandemPointAt(op uint8, object, state unsafe.Pointer, pc, fp uintptr) {
	gp := getg()
	if gp.tandem.id == 0 || gp != gp.m.curg {
		return
	}
	if op == opWait && gp.bubble != nil {
		op, state = opCondWait, nil // it blocks as the runtime has it, which tells package synctest
	}
	t := &gp.tandem
	t.op, t.object, t.state, t.choices, t.guarded = op, uintptr(object), uintptr(state), 1, false
	t.caller, t.frame = pc, fp
	tandemArrive()
}

// tandemArrive parks the goroutine, unless its operation was called from a
// sealed package and can go ahead.
//
//go:nosplit
func tandemArrive() {
	systemstack(tandemConsider)
	t := &getg().tandem
	if t.rests {
		op, choices := t.op, t.choices
		t.op, t.choices, t.rests = opResume, 1, false
		mcall(tandemPark)
		t.op, t.choices = op, choices
		systemstack(tandemConsider)
	}
	switch {
	case t.parked:
		mcall(tandemPark)
	case t.meets:
		t.meets = false
		mcall(tandemStepAside)
	}
}

// tandemConsider decides whether the current goroutine has to park.
func tandemConsider() {
	gp := getg().m.curg
	t := &gp.tandem
	tandemClock.reads, t.uses = 0, 0
	if tandemFindCaller(gp); t.hidden {
		return
	}
	t.begun = 0
	singleAccess := t.singleAccess
	t.singleAccess = false
	if gp.m.locks != 0 { // pinned: it cannot be preempted here, whoever it is
		t.guarded = false
		tandemNoteEffect(t)
		tandemLogOperation(t)
		return
	}
	t.sealed = t.sealed && !singleAccess
	if t.chose && (t.sealed || t.announces()) {
		t.rests, t.parked = true, true
		return
	}
	if t.sealed && tandemGoesAhead(t) {
		t.meets = tandem.owner != 0
		return
	}
	tandemCountChoices(t)
	switch {
	case t.sealed && t.hasArms():
		tandemLook(t)
	case t.sealed && (!tandemEnabled(t) || tandemAwaitsPeer(t) || t.op == opConnect ||
		t.op == opBind && t.state == 0):
		// The transition would have gone on, had the object been ready, or
		// the behaviour of the peers been chosen.
		tandemAccess(t, tandemObject(t), accessRead, tandemReady(t))
	}
	if t.waits() && t.block {
		tandemAnnounce(t)
	}
	if tandemStays(gp) {
		t.meets = tandem.owner != 0
		return
	}
	t.parked = true
}

// tandemPark puts a goroutine among those that can be scheduled.
func tandemPark(gp *g) {
	gp.waitreason = waitReasonZero
	casgstatus(gp, _Grunning, _Gwaiting)
	dropg()
	tandemEnqueue(gp)
	schedule()
}

// tandemNext is called at the top of findRunnable. It returns the goroutine to
// run, or nil where the normal scheduler has to go on.
//
//go:yeswritebarrierrec
func tandemNext(pp *p) *g {
	for {
		if gp := tandemMeeting(); gp != nil {
			casgstatus(gp, _Gwaiting, _Grunnable)
			return gp
		}
		gp := tandemRunnable(pp)
		if gp == nil {
			gp = tandemPick()
			if gp == nil {
				tandemAdvance(pp)
				continue
			}
			if tandem.partner != 0 {
				continue // it is the owner of a rendezvous
			}
			if gp == &tandemClock.g {
				tandemAdvanceEarly(pp)
				continue
			}
			casgstatus(gp, _Gwaiting, _Grunnable)
			return gp
		}
		if gp.tandem.id == 0 {
			return gp // the runtime's own goroutines run at once
		}
		// What it was blocked in is over: package synctest counts it as running.
		gp.waitreason = waitReasonZero
		casgstatus(gp, _Grunnable, _Gwaiting)
		t := &gp.tandem
		if t.op != opStart {
			t.op = opResume
		}
		t.object, t.state, t.choices, t.guarded, t.passive = 0, 0, 1, false, false
		if tandem.sh.guide.picks == picksPartialOrder {
			t.priority = 0 // that of the operation which is over
		}
		tandemEnqueue(gp)
	}
}

// tandemRunnable takes a goroutine off the run queues.
func tandemRunnable(pp *p) *g {
	if gp, _ := runqget(pp); gp != nil {
		return gp
	}
	if sched.runq.empty() {
		return nil
	}
	lock(&sched.lock)
	gp := globrunqget()
	unlock(&sched.lock)
	return gp
}

// tandemAdvance lets virtual time pass to the next timer, since nothing else
// can happen.
func tandemAdvance(pp *p) {
	when := tandemFirstAwaited(pp)
	if polled := tandemPolledTimer(); polled > 0 && (when == 0 || polled < when) {
		when = polled
	}
	last := when == 0 || tandemTimersGoRound(pp) // nothing happens after that, or the same for ever
	late := last && tandemIsLate()
	if last && !late && !tandem.stuck && tandemIdles() {
		tandemEnd(outcomeCompleted)
	}
	if when != 0 && last && !late {
		if tandem.overtime.on {
			return // main can end
		}
		tandemEndInLoops()
	}
	if tandemPeersTurn(pp, when) {
		return
	}
	if when == 0 && !late && !tandemForcePeerTimers() {
		tandemRecordBlocked()
		if tandem.stuck {
			tandemEnd(outcomeLivelock)
		}
		tandemEnd(outcomeDeadlock)
	}
	if !late {
		tandem.now = max(tandem.now, tandemLeap(when))
	}
	tandemCountStep()
	tandemNaming.tick = tandem.sh.steps
	tandem.step = tandem.sh.records
	r := record{kind: recordTick, op: opTick, a: uint64(tandem.now - tandemEpoch)}
	switch {
	case tandem.barren > 0:
		r.number = tickForced
	case late:
		r.number = tickLate
	}
	tandemRecord(r)
	tandem.current, tandem.barren, tandem.fair = 0, 0, tandemFair{}
	tandem.quiet, tandem.stuck = tandemQuiet{}, false
	tandemSignals.quiet, tandemPeerTimers.quiet, tandemPeerTime.asked = false, false, false
	if tandemPeerTime.tie {
		tandemPeerTime.tie = false
		tandemStartPass(pp, passOnce)
	}
	if late {
		tandem.loop = tandemTimerLoop{}
		tandemArriveLate()
	}
	pp.timers.check(tandem.now, nil)
}

// tandemPick chooses the next transition, or returns nil if none is enabled.
func tandemPick() *g {
	if gp := tandemForeseen(); gp != nil {
		tandemUnpark(gp)
		tandemBeginTransition(gp)
		return gp
	}
	if tandemOnlySpins() {
		return nil
	}
	tandem.stuck = tandemLivelocked()
	enabled, exits := 0, (*g)(nil)
	for i := range tandem.nparked {
		gp := tandem.parked[i].ptr()
		t := &gp.tandem
		if t.op == opExit {
			exits = gp // the end of main waits until nothing else can happen
			continue
		}
		tandemCountChoices(t)
		if !tandem.stuck && tandemEnabled(t) { // else the program may end, or there is a livelock
			enabled++
		}
	}
	if !tandem.stuck {
		tandemRecordCandidates()
	}
	if enabled == 0 {
		tandem.barren = 0
		if exits == nil || !tandem.stuck && tandemWorksOvertime(getg().m.p.ptr()) {
			return nil
		}
		tandemRecordEnabled(&exits.tandem)
	}
	tandem.loop.several = enabled > 1
	tandemCutRounds(enabled)
	tandemWakeSleepers()
	gp := tandemDecide(enabled, exits)
	tandemSpend(gp)
	tandemCountStep()
	tandemUnpark(gp)
	tandemBeginTransition(gp)
	return gp
}

// tandemBeginTransition starts the transition of a goroutine that was picked.
func tandemBeginTransition(gp *g) {
	t := &gp.tandem
	t.chose = t.choices > 1 || t.op == opFault || t.op == opShort
	t.singleAccess = tandemIsSingleAccess(gp)
	tandemNoteTurn(gp)
	tandemNoteOvertime(gp)
	tandemClock.reads = 0
	tandem.current.set(gp)
	tandem.step = tandem.sh.records
	r := record{kind: recordStep, op: t.op, a: t.id, pc: uint64(t.caller), open: uint64(t.open),
		number: t.choice | t.choices<<16}
	switch {
	case t.singleAccess:
		r.flag = stepSingleAccess
	case tandem.stuck:
		r.flag = stepForced
	}
	t.turn = tandem.sh.steps
	tandemCountTransition(t)
	if t.op == opFault {
		r.b = uint64(t.faults)
	}
	if need := tandemNeed(t.op); need != 0 {
		r.ready, r.b = need, tandemObject(t)
	}
	tandemRecord(r)
	if t.waits() {
		tandemRecordNeeds(t)
	}
	tandemTouchState(t, recordAccess)
	tandemLogOperation(t)
	t.op = opNone
}

func tandemCountStep() {
	if tandem.sh.steps++; tandem.sh.steps > tandem.sh.stepLimit {
		tandemEnd(outcomeSteps)
	}
}

// tandemLogOperation records what the operation accesses, just before it does.
func tandemLogOperation(t *tandemG) {
	switch t.op {
	case opStart, opResume, opYield, opChoose, opFault, opExit:
		return
	case opAdd:
		tandemNoteWaiters(t)
	case opConnect, opBind, opSocketWrite, opSocketShutdown:
		if t.state == 0 {
			return // known only when the peers have reacted
		}
	case opLength:
		if c := (*hchan)(unsafe.Pointer(t.object)); c != nil {
			tandemAccessChannel(t, c, accessRead)
		}
		return
	case opClose:
		if c := (*hchan)(unsafe.Pointer(t.object)); c != nil {
			tandemAccessChannel(t, c, accessWrite)
		}
		return
	case opSend, opReceive, opSelect:
		if t.guarded {
			tandemOperate(t)
		} else {
			tandemAccessArms(t)
		}
		return
	}
	if t.object != 0 {
		tandemAccess(t, tandemObject(t), tandemAccessKind(t), tandemReady(t))
	}
}

func tandemAccess(t *tandemG, object uint64, kind, ready uint8) {
	if raceenabled && (tandemIsSocketOp(t.op) || t.op >= opFileRead && t.op <= opFileShare) {
		tandemRaceTouch((*g)(unsafe.Pointer(uintptr(unsafe.Pointer(t))-unsafe.Offsetof(g{}.tandem))),
			object, kind)
	}
	r := tandemNextRecord()
	*r = record{kind: recordAccess, op: t.op, flag: kind, ready: ready, a: object, pc: uint64(t.caller),
		open: uint64(t.open)}
	if tandemCounts.has(t.op) {
		r.number, r.b = uint32(tandemDelta(t)), uint64(tandemCounter(t))
	}
	if tandemIsSocketOp(t.op) && t.state != 0 {
		tandemPassGates(t, ready)
	}
}

// tandemNextRecord appends a record to the log, to be written; a full log ends the
// execution, or begins anew.
//
//go:nosplit
func tandemNextRecord() *record {
	sh := tandem.sh
	if sh.records >= sh.recordLimit {
		systemstack(tandemLogFull)
	}
	r := &sh.record[sh.records]
	sh.records++
	return r
}

// tandemRecord appends to the log.
//
//go:nosplit
func tandemRecord(r record) { *tandemNextRecord() = r }

func tandemLogFull() {
	if tandem.sh.onlyEnd != 0 {
		tandem.sh.records = 0
		return
	}
	tandem.sh.records = tandem.step // a transition of which a part is missing contradicts itself
	tandemEnd(outcomeLogFull)
}
