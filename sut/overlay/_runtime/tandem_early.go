package runtime

import "unsafe"

// Timers that fire early, on request: the first few times that the clock advances,
// it may do so although goroutines can go on. It then is one of those that can be
// picked, under the name clockGoroutine, and does as little by default as it can:
// it goes on when nobody else does. Its transition, whatever reads the clock, and
// whatever sets or stops a timer, access the clock.

// tandemClock is also the object in the log.
var tandemClock struct {
	g g // stands for the clock among the goroutines that can be scheduled
	// How often it may advance early in this execution, and still may.
	allowed, left uint64
	// How far it may advance early, in nanoseconds; 0: any time.
	horizon int64
	// How often it was looked at since the last operation.
	reads uint32
}

func tandemStartClock() {
	sh := tandem.sh
	tandemClock.allowed = max(sh.environment.earlyTimers, uint64(sh.guide.earlyTimers))
	if tandemClock.allowed == 0 {
		return
	}
	tandemClock.left, tandemClock.horizon = tandemClock.allowed, 0
	if tandemClock.allowed > sh.environment.earlyTimers {
		tandemClock.horizon = tandemEarlyHorizon
	}
	t := &tandemClock.g.tandem
	t.id, t.order, t.choices = clockGoroutine, 1<<31-1, 1
	tandemParkClock()
}

// tandemEarlyHorizon is how long a timer may have to run that fires early because a schedule allows
// it, and not the environment. A goroutine can be late by a second on a busy machine. That it is
// late by a minute, where others wait no longer, is not what a search is to tell unasked.
const tandemEarlyHorizon = 1e9

func tandemParkClock() {
	t := &tandemClock.g.tandem
	t.op, t.object = opAdvance, uintptr(unsafe.Pointer(&tandemClock))
	t.state = t.object
	tandemEnqueue(&tandemClock.g)
}

// tandemClockReady is tandemReady for operations on the clock.
//
//go:nosplit
func tandemClockReady() uint8 {
	ts := &getg().m.p.ptr().timers
	if int32(ts.len.Load())-ts.zombies.Load() > 0 && tandemIsSoon(ts.wakeTime()) {
		return readyFree
	}
	return 0
}

// tandemIsSoon reports whether the clock may advance early to a time.
//
//go:nosplit
func tandemIsSoon(when int64) bool {
	return tandemClock.horizon == 0 || when-tandem.now <= tandemClock.horizon
}

// tandemAdvanceEarly is the transition of the clock, which has just been picked.
func tandemAdvanceEarly(pp *p) {
	pp.timers.lock()
	pp.timers.adjust(tandem.now, true) // those that have been stopped do not count
	pp.timers.unlock()
	if first := pp.timers.wakeTime(); tandemIsSoon(first) { // else only one that was stopped had been
		tandem.now = max(tandem.now, first)
	}
	tandemRecord(record{kind: recordTick, op: opAdvance, number: tickEarly,
		a: uint64(tandem.now - tandemEpoch)})
	pp.timers.check(tandem.now, nil)
	if tandemClock.left--; tandemClock.left > 0 {
		tandemParkClock()
	}
}

// tandemReadClock is the point of whatever looks at the time.
func tandemReadClock() {
	tandem.quiet = tandemQuiet{} // a loop may end by the time
	switch {
	case !tandem.on:
	case tandemClock.allowed != 0:
		tandemPoint(opReadClock, unsafe.Pointer(&tandemClock), unsafe.Pointer(&tandemClock))
	default:
		if tandemClock.reads++; tandemClock.reads > tandemClockPatience {
			tandemRefuse("a loop that only looks at the clock: time passes when no goroutine can go on, " +
				"or in time.Sleep and the like")
		}
	}
}

// tandemSleeps notes where the present goroutine goes on when it has slept: where the function was
// called that calls this one.
//
//go:nosplit
func tandemSleeps() {
	if t := &getg().tandem; tandem.on && t.id != 0 {
		t.frame = getcallerfp()
		systemstack(tandemFindSleeper)
	}
}

func tandemFindSleeper() {
	gp := getg().m.curg
	t := &gp.tandem
	t.caller, t.open = tandemReturnAddress(gp, t.frame), tandemOpenCaller(gp, t.frame)
}

// tandemClockPatience is how often a goroutine may look at the clock without doing anything
// else that is visible: about as often as it can in a second.
const tandemClockPatience = 1 << 25

// tandemSetTimer records that the running transition sets or stops a timer. What the timer has sent
// to its channel, or would send to who receives from it now, is dropped.
func tandemSetTimer(t *timer) {
	if !tandem.on {
		return
	}
	tandem.sh.points.timers++
	tandemEffect()
	if t.isChan && t.hchan() != nil { // or it is being made
		c, kind := t.hchan(), uint8(accessRead)
		if tandemChannelReady(c)&readyReceive != 0 {
			kind = accessWrite
		}
		tandemRecord(record{kind: recordAccess, op: opTimer, flag: kind, ready: tandemChannelReady(c),
			a: tandemChannelObject(c)})
	}
	if tandemClock.allowed != 0 {
		tandemRecord(record{kind: recordAccess, op: opSetTimer, flag: accessWrite,
			ready: tandemClockReady(), a: uint64(uintptr(unsafe.Pointer(&tandemClock)))})
	}
}

// tandemDeadline records that the deadline of a descriptor passes: operations that
// wait for it can go on, to fail.
func tandemDeadline(pd *pollDesc) {
	if !tandem.on || tandemClock.allowed == 0 {
		return
	}
	for i := range tandemSockets {
		s := &tandemSockets[i]
		if !s.virtual || s.pd != pd {
			continue
		}
		tandemTouch(opAdvance, s.in, accessWrite)
		tandemTouch(opAdvance, s.out, accessWrite)
	}
}

// tandemKeepsTimer reports whether a timer is in the heap although nobody waits for
// its channel, since somebody may look at it.
func tandemKeepsTimer() bool { return tandem.on && tandemClock.allowed != 0 }

// tandemAwaited reports whether any timer is set that can wake somebody.
func tandemAwaited(pp *p) bool { return tandemFirstAwaited(pp) != 0 }

// tandemFirstAwaited is when the first timer fires that can wake somebody; 0: there is none.
func tandemFirstAwaited(pp *p) (first int64) {
	heap := pp.timers.heap
	for i := range heap {
		t := heap[i].timer // the heap itself may not know yet that it was changed
		if t.state&timerZombie == 0 && t.when > 0 && (first == 0 || t.when < first) && tandemWakes(t) {
			first = t.when
		}
	}
	return first
}

// tandemWakes reports whether a timer that fires can have an effect: not if it sends to a channel
// where nobody waits. With channels as of Go 1.22 and before (asynctimerchan) such timers are set
// nevertheless; others are only with tandemKeepsTimer.
func tandemWakes(t *timer) bool {
	if t.isChan {
		return t.blocked > 0
	}
	c := tandemTimerChannel(t)
	return c == nil || c.recvq.first != nil || tandemIsAwaited(c)
}

// tandemIsAwaited reports whether a goroutine waits at its point for something to happen to a
// channel.
func tandemIsAwaited(c *hchan) bool {
	for i := range tandem.nparked {
		t := &tandem.parked[i].ptr().tandem
		for arm := range t.ncases {
			if t.waits() && t.channel(arm) == c {
				return true
			}
		}
	}
	return false
}
