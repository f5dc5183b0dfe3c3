package runtime

import (
	"internal/runtime/sys"
	"unsafe"
)

// Channels. A goroutine waits at the point of a channel operation until that can
// go on, so that nobody is ever found in a channel's own queues, but for one that is
// about to be woken: handing a value over on a channel without buffer is a single
// transition of two goroutines. Its owner is the one whose operation does not wait,
// and of two that do the sender; the other is its partner. The partner runs first,
// to where it blocks, then the owner, who finds it there.
//
// A goroutine at such a point stands for one that may, or may not yet, have gone on to
// wait. So any of several can be the partner, whoever came first, and an operation
// with a default may take that although a partner is there. In a sealed package a
// goroutine is not preempted just before it waits: it has entered.
//
// The goroutines of a synctest bubble block in the channel, since the runtime
// counts who does.

// tandemChannelState is what a channel carries.
type tandemChannelState struct {
	receivers int32 // goroutines that wait at a point to receive, or
	senders   int32 // to send
}

// noArm is the choice of a select's default.
const noArm = -1

// tandemChannel is the point of an operation on one channel.
//
//go:nosplit
func tandemChannel(op uint8, c *hchan, block bool) {
	if !tandem.on {
		return
	}
	gp := getg()
	if gp != gp.m.curg {
		tandemTimerSends(c)
		return
	}
	t := &gp.tandem
	if t.id == 0 {
		return
	}
	t.op, t.object, t.state, t.cases, t.ncases, t.choices = op, uintptr(unsafe.Pointer(c)), 0, 0, 1, 1
	t.guarded, t.block = gp.bubble == nil && !tandemInBubble(t), block
	t.caller, t.frame = sys.GetCallerPC(), getcallerfp()
	tandemArriveArms(t)
}

// tandemInBubble reports whether a channel of the operation is in a bubble. From
// outside it cannot be used, and the runtime is to say so at once.
func tandemInBubble(t *tandemG) bool {
	for arm := range t.ncases {
		if c := t.channel(arm); c != nil && c.bubble != nil {
			return true
		}
	}
	return false
}

// tandemArriveArms is tandemArrive for a channel operation. As long as the goroutine
// waits, timers that send to the channels must be set.
func tandemArriveArms(t *tandemG) {
	op, timers := t.op, 0
	if t.guarded && t.block {
		timers = t.ncases
	}
	for arm := range timers {
		if c := t.channel(arm); c != nil && c.timer != nil {
			blockTimerChan(c)
		}
	}
	tandemArrive()
	t.op = op // whose arms are meant
	for arm := range timers {
		if c := t.channel(arm); c != nil && c.timer != nil {
			unblockTimerChan(c)
		}
	}
}

// tandemTimerSends records that a timer sends to its channel: in the transition of
// the clock, or of a goroutine that finds the timer due.
//
//go:nosplit
func tandemTimerSends(c *hchan) {
	tandemRecord(record{kind: recordAccess, op: opSend, flag: accessWrite, ready: tandemChannelReady(c),
		a: tandemChannelObject(c)})
}

// tandemSelect is the point of a select statement.
func tandemSelect(cas0 *scase, ncases, nsends int, block bool) {
	gp := getg()
	if !tandem.on || gp.tandem.id == 0 || gp != gp.m.curg {
		return
	}
	t := &gp.tandem
	t.op, t.object, t.state, t.choices = opSelect, 0, 0, 1
	t.cases, t.ncases, t.nsends = uintptr(unsafe.Pointer(cas0)), ncases, nsends
	t.guarded, t.block = gp.bubble == nil && !tandemInBubble(t), block
	t.caller, t.frame = sys.GetCallerPC(), getcallerfp()
	tandemArriveArms(t)
	if t.guarded || !block || tandemReadyArms(t) > 0 {
		t.cases = 0
	} // else it blocks, and what wakes it needs to know on which channels
}

// Three objects of the log belong to a channel: the channel itself, the goroutines that
// wait to send to it, and those that wait to receive from it.
const (
	tandemSenders   = 1
	tandemReceivers = 2
)

//go:nosplit
func tandemChannelObject(c *hchan) uint64 { return tandemName(uintptr(unsafe.Pointer(c))) }

//go:nosplit
func tandemChannelReady(c *hchan) (ready uint8) {
	if c.closed != 0 || c.qcount < c.dataqsiz {
		ready |= readySend
	}
	if c.closed != 0 || c.qcount > 0 || tandemTimerDue(c.timer) {
		ready |= readyReceive
	}
	return ready
}

// The arms of a channel operation: a select has several, and may have none.

func (t *tandemG) hasArms() bool { return tandemWithArms.has(t.op) }

const tandemWithArms tandemOperations = 1<<opSend | 1<<opReceive | 1<<opSelect

// waits reports whether the pending operation waits at its point to be enabled.
func (t *tandemG) waits() bool { return t.guarded && t.hasArms() }

func (t *tandemG) channel(arm int) *hchan {
	if t.op == opSelect {
		return tandemCases(t)[arm].c
	}
	return (*hchan)(unsafe.Pointer(t.object))
}

func (t *tandemG) sends(arm int) bool {
	if t.op == opSelect {
		return arm < t.nsends
	}
	return t.op == opSend
}

// goesOn reports whether an arm can go on without a partner.
func (t *tandemG) goesOn(arm int) bool {
	c := t.channel(arm)
	switch {
	case c == nil:
		return false
	case c.closed != 0:
		return true
	case t.sends(arm):
		return c.qcount < c.dataqsiz || tandemBubbleWaits(&c.recvq)
	}
	return c.qcount > 0 || tandemTimerDue(c.timer) || tandemBubbleWaits(&c.sendq)
}

// tandemBubbleWaits reports whether a goroutine of a bubble is blocked in a channel
// from outside of it.
func tandemBubbleWaits(q *waitq) bool {
	return q.first != nil && q.first.g.bubble != nil
}

// canBlock reports whether a goroutine that goes on to its operation may have to
// wait there, so that another one finds it waiting.
func (t *tandemG) canBlock() bool {
	for arm := range t.ncases {
		if t.goesOn(arm) {
			return false
		}
	}
	return t.block
}

// takesPartners reports whether an arm takes partners while the channel is not closed.
func (t *tandemG) takesPartners(arm int) bool {
	c := t.channel(arm)
	return c != nil && c.dataqsiz == 0 && (t.sends(arm) || !t.block)
}

// wanted reports whether anybody may wait for an arm that takes partners.
func (t *tandemG) wanted(arm int) bool {
	c, sends := t.channel(arm), t.sends(arm)
	if c == nil || c.dataqsiz != 0 || !sends && t.block || c.closed != 0 {
		return false
	}
	if sends {
		return c.tandem.receivers > 0
	}
	return c.tandem.senders > 0
}

// partnerArm returns the arm of p that waits for an arm of t, or noArm.
func (t *tandemG) partnerArm(arm int, p *tandemG) int {
	if p == t || !p.announced {
		return noArm
	}
	c, sends := t.channel(arm), t.sends(arm)
	for other := range p.ncases {
		if p.channel(other) == c && p.sends(other) != sends {
			return other
		}
	}
	return noArm
}

// tandemAlternative counts the alternatives of a channel operation and returns
// number want of them: an arm, or noArm, and perhaps a partner.
func tandemAlternative(t *tandemG, want uint32) (n uint32, arm int, partner *g) {
	arm = noArm
	certain := false
	for a := range t.ncases {
		if t.goesOn(a) {
			certain = true
			if n == want {
				arm = a
			}
			n++
		}
		if !t.wanted(a) {
			continue
		}
		canBlock := t.canBlock()
		for i := range tandem.nparked {
			gp := tandem.parked[i].ptr()
			p := &gp.tandem
			if t.partnerArm(a, p) == noArm || !canBlock && !p.canBlock() {
				continue
			}
			certain = certain || p.sealed && p.canBlock() || t.passed >= turnLength
			if n == want {
				arm, partner = a, gp
			}
			n++
		}
	}
	if !t.block && !certain {
		n++ // number n is the default
	}
	return n, arm, partner
}

// tandemCountAlternatives sets the number of alternatives of a pending channel
// operation; it is enabled if there are any.
func tandemCountAlternatives(t *tandemG) {
	t.choices, _, _ = tandemAlternative(t, 0)
	t.choice = 0
}

// announces reports whether others notice that the goroutine waits at its operation.
func (t *tandemG) announces() bool {
	if !t.waits() || !t.block {
		return false
	}
	for arm := range t.ncases {
		if c := t.channel(arm); c != nil && c.dataqsiz == 0 {
			return true
		}
	}
	return false
}

// tandemAnnounce tells those that may become partners of a goroutine that it waits
// at its operation.
func tandemAnnounce(t *tandemG) {
	t.announced = true
	for arm := range t.ncases {
		c := t.channel(arm)
		if c == nil {
			continue
		}
		tandemAnnounceArm(t, arm, 1)
		if t.sends(arm) {
			c.tandem.senders++
		} else {
			c.tandem.receivers++
		}
	}
}

// tandemWithdraw is the opposite of tandemAnnounce.
func tandemWithdraw(t *tandemG) {
	if !t.announced {
		return
	}
	t.announced = false
	for arm := range t.ncases {
		c := t.channel(arm)
		if c == nil {
			continue
		}
		tandemAnnounceArm(t, arm, -1)
		if t.sends(arm) {
			c.tandem.senders--
		} else {
			c.tandem.receivers--
		}
	}
}

func tandemAnnounceArm(t *tandemG, arm, delta int) {
	if c := t.channel(arm); c != nil && c.dataqsiz == 0 {
		tandemAccessWaiting(t, c, t.sends(arm), accessCommute, delta)
	}
}

// tandemOperate begins a channel operation. Its partner, if it has one, is to run
// first: see tandemMeeting.
func tandemOperate(t *tandemG) {
	n, arm, partner := tandemAlternative(t, t.choice)
	if t.choice >= n {
		throw("tandem: a channel operation that cannot go on was scheduled")
	}
	tandemOperateBy(t, n, arm, partner)
}

// tandemOperateBy is tandemOperate for the alternative that is taken, of n.
func tandemOperateBy(t *tandemG, n uint32, arm int, partner *g) {
	if partner != nil {
		p := &partner.tandem
		tandemCountAlternatives(p)
		tandemRecord(record{kind: recordPartner, op: p.op, a: p.id, b: uint64(p.object),
			number: min(p.choices, 1), pc: uint64(p.caller), open: uint64(p.open)})
		tandemTouchState(p, recordIntended)
		tandemRecordIntended(p)
	}
	tandemDetailArms(t, arm, partner)
	tandemWithdraw(t)
	tandemFootprint(t, partner)
	if partner != nil {
		p := &partner.tandem
		p.passive, t.passed = true, 0
		tandemWithdraw(p)
		tandemUnpark(partner)
		tandem.partner.set(partner)
		tandem.owner.set(tandemGoroutine(t))
	} else if arm == noArm && n > 1 {
		t.passed++
	}
	t.arm = arm
}

// tandemGoroutine is the goroutine that carries t.
func tandemGoroutine(t *tandemG) *g {
	return (*g)(unsafe.Pointer(uintptr(unsafe.Pointer(t)) - unsafe.Offsetof(g{}.tandem)))
}

// tandemMeeting returns who has to run next for the sake of a rendezvous.
func tandemMeeting() *g {
	if gp := tandem.partner.ptr(); gp != nil {
		tandem.partner = 0
		return gp
	}
	gp := tandem.owner.ptr()
	tandem.owner = 0
	return gp
}

// tandemStepAside lets the partner of a sealed operation run before it.
func tandemStepAside(gp *g) {
	casgstatus(gp, _Grunning, _Gwaiting)
	dropg()
	schedule()
}

// tandemPollOrder puts the chosen arm first. A partner looks at none, and waits.
func tandemPollOrder(scases []scase, pollorder []uint16, nsends int) []uint16 {
	t := &getg().tandem
	if !t.guarded {
		tandemReadyFirst(scases, pollorder, nsends)
		return pollorder
	}
	if t.passive {
		return pollorder[:0]
	}
	for j, arm := range pollorder {
		if int(arm) == t.arm {
			pollorder[0], pollorder[j] = pollorder[j], pollorder[0]
		}
	}
	return pollorder
}
