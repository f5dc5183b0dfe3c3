package runtime

// What the log says of channel operations: what they access, what they wait for, and
// what they would have done.

func tandemAccessChannel(t *tandemG, c *hchan, kind uint8) *record {
	r := tandemNextRecord()
	*r = record{
		kind: recordAccess, op: t.op, flag: kind, ready: tandemChannelReady(c), a: tandemChannelObject(c),
		pc: uint64(t.caller), open: uint64(t.open),
	}
	return r
}

// tandemAccessWaiting records an access to those that wait to send, or to receive.
func tandemAccessWaiting(t *tandemG, c *hchan, send bool, kind uint8, delta int) *record {
	object, n := tandemChannelObject(c)|tandemReceivers, c.tandem.receivers
	if send {
		object, n = tandemChannelObject(c)|tandemSenders, c.tandem.senders
	}
	ready := uint8(readyCounts)
	if n > 0 {
		ready |= readyPartner
	}
	r := tandemNextRecord()
	*r = record{
		kind: recordAccess, op: t.op, flag: kind, ready: ready, number: uint32(delta), a: object,
		b:  uint64(n),
		pc: uint64(t.caller), open: uint64(t.open),
	}
	return r
}

// tandemFootprint records the accesses of a channel operation that is about to be executed: first
// all that its alternatives follow from, in an order that follows from what has been looked at
// before, then what it changes. They are the same for each of its alternatives, so that whatever
// changes one of these depends on all of them.
func tandemFootprint(t *tandemG, partner *g) {
	if t.ncases > 1 || !t.changes(0) {
		tandemLook(t)
	} // else what it changes is all that it looks at
	for arm := range t.ncases {
		c := t.channel(arm)
		if c == nil {
			continue
		}
		if t.changes(arm) {
			tandemAccessChannel(t, c, accessWrite)
		}
		if t.takesPartners(arm) && t.meetable(arm) {
			tandemAccessWaiting(t, c, !t.sends(arm), accessWrite, 0)
		}
	}
	for i := range tandemMayMeet(t) {
		gp := tandem.parked[i].ptr()
		p := &gp.tandem
		if !t.isCandidate(p) {
			continue
		}
		for arm := range p.ncases {
			if gp != partner { // who withdraws
				tandemAnnounceArm(p, arm, 0) // what else it could have done would be over
			}
		}
	}
}

// changes reports whether an arm can go on without a partner and changes what is in its channel. To
// send on a closed channel changes nothing; without a buffer it could have gone on with a partner
// before, so that who waits matters.
func (t *tandemG) changes(arm int) bool {
	c := t.channel(arm)
	if c == nil || !t.goesOn(arm) || c.closed != 0 && c.dataqsiz == 0 {
		return false
	}
	return t.sends(arm) || c.qcount > 0 || c.closed == 0
}

// meetable reports whether an arm can go on with a partner.
func (t *tandemG) meetable(arm int) bool {
	if !t.wanted(arm) {
		return false
	}
	canBlock := t.canBlock()
	for i := range tandem.nparked {
		p := &tandem.parked[i].ptr().tandem
		if t.partnerArm(arm, p) != noArm && (canBlock || p.canBlock()) {
			return true
		}
	}
	return false
}

// isCandidate reports whether p waits for t to be its partner.
func (t *tandemG) isCandidate(p *tandemG) bool {
	for arm := range t.ncases {
		if t.wanted(arm) && t.partnerArm(arm, p) != noArm {
			return true
		}
	}
	return false
}

func tandemLookArms(t *tandemG) {
	for arm := range t.ncases {
		c := t.channel(arm)
		if c == nil {
			continue
		}
		tandemAccessChannel(t, c, accessRead)
		if t.takesPartners(arm) {
			tandemAccessWaiting(t, c, !t.sends(arm), accessRead, 0)
		}
	}
}

// tandemLook records that the alternatives of a sealed operation have decided
// whether it waits.
func tandemLook(t *tandemG) {
	tandemLookArms(t)
	for i := range tandemMayMeet(t) {
		if p := &tandem.parked[i].ptr().tandem; t.isCandidate(p) {
			tandemLookArms(p)
		}
	}
}

// tandemMayMeet is how many goroutines have to be looked at for partners: all that are
// parked, or, most of the time, none.
func tandemMayMeet(t *tandemG) int {
	for arm := range t.ncases {
		if t.wanted(arm) {
			return tandem.nparked
		}
	}
	return 0
}

// tandemRecordNeeds records what a waiting operation waits for.
func tandemRecordNeeds(t *tandemG) {
	for arm := range t.ncases {
		c := t.channel(arm)
		if c == nil || !t.block {
			continue
		}
		r := record{kind: recordNeed, ready: readyReceive, a: tandemChannelObject(c)}
		if t.sends(arm) {
			r.ready = readySend
		}
		tandemRecord(r)
		if t.sends(arm) && c.dataqsiz == 0 {
			r.a, r.ready, r.number = r.a|tandemReceivers, readyPartner, t.receivesAlso(c)
			tandemRecord(r)
		}
	}
}

// receivesAlso counts the arms that receive from a channel without buffer.
func (t *tandemG) receivesAlso(c *hchan) (n uint32) {
	for arm := range t.ncases {
		if t.channel(arm) == c && !t.sends(arm) && c.dataqsiz == 0 {
			n++
		}
	}
	return n
}

// tandemRecordIntended records what a pending operation waits for and would access.
func tandemRecordIntended(t *tandemG) {
	if t.guarded {
		tandemRecordNeeds(t)
	}
	for arm := range t.ncases {
		if c := t.channel(arm); c != nil && t.announced && c.dataqsiz == 0 { // it would withdraw
			tandemAccessWaiting(t, c, t.sends(arm), accessCommute, 0).kind = recordIntended
		}
	}
	for arm := range t.ncases {
		c := t.channel(arm)
		if c == nil {
			continue
		}
		kind := uint8(accessRead)
		if c.dataqsiz > 0 || !t.guarded {
			kind = accessWrite
		}
		tandemAccessChannel(t, c, kind).kind = recordIntended
		if t.takesPartners(arm) {
			tandemAccessWaiting(t, c, !t.sends(arm), accessWrite, 0).kind = recordIntended
		}
	}
}
