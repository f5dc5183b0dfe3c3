package runtime

// What the log says of channel operations: what they access, what they wait for, and
// what they would have done.

func tandemAccessChannel(t *tandemG, c *hchan, object uint64, kind uint8, delta int) {
	r := record{kind: recordAccess, op: t.op, flag: kind, number: uint32(delta), a: object, pc: uint64(t.caller), open: uint64(t.open)}
	if object == tandemReceivers(c) {
		r.ready, r.b = tandemChannelReady(c), tandemChannelCount(c)
	} else {
		r.ready, r.b = readyCounts, uint64(c.tandem.senders)
	}
	tandemRecord(r)
}

// tandemFootprint records the accesses of a channel operation that is about to be
// executed. They are the same for each of its alternatives, so that whatever
// changes one of these depends on all of them.
func tandemFootprint(t *tandemG, partner *g) {
	for arm := range t.ncases {
		c := t.channel(arm)
		if c == nil {
			continue
		}
		kind := uint8(accessRead)
		if t.changes(arm) {
			kind = accessWrite
		}
		tandemAccessChannel(t, c, tandemReceivers(c), kind, 0)
		if t.owns(arm) && !t.sends(arm) {
			tandemAccessChannel(t, c, tandemSenders(c), kind, 0)
		}
	}
	for i := range tandem.nparked {
		gp := tandem.parked[i].ptr()
		p := &gp.tandem
		if !t.isCandidate(p) {
			continue
		}
		tandemLookArms(p) // what else it could have done would be over
		for arm := range p.ncases {
			if gp != partner { // who withdraws
				tandemAnnounceArm(p, arm, 0)
			}
		}
	}
}

// changes reports whether an alternative changes the channel of an arm.
func (t *tandemG) changes(arm int) bool {
	c := t.channel(arm)
	if t.goesOn(arm) {
		return t.sends(arm) || c.qcount > 0 || c.closed == 0
	}
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
		if c := t.channel(arm); c != nil {
			tandemAccessChannel(t, c, tandemReceivers(c), accessRead, 0)
		}
	}
}

// tandemLook records that the alternatives of a sealed operation have decided
// whether it waits.
func tandemLook(t *tandemG) {
	tandemLookArms(t)
	for arm := range t.ncases {
		if c := t.channel(arm); t.owns(arm) && !t.sends(arm) {
			tandemAccessChannel(t, c, tandemSenders(c), accessRead, 0)
		}
	}
	for i := range tandem.nparked {
		if p := &tandem.parked[i].ptr().tandem; t.isCandidate(p) {
			tandemLookArms(p)
		}
	}
}

// tandemRecordNeeds records what a waiting operation waits for.
func tandemRecordNeeds(t *tandemG) {
	for arm := range t.ncases {
		c := t.channel(arm)
		if c == nil || !t.block {
			continue
		}
		r := record{kind: recordNeed, ready: readyReceive, a: tandemReceivers(c)}
		if t.sends(arm) {
			r.ready, r.number = readySend, t.receivesAlso(c)
		}
		tandemRecord(r)
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
		c := t.channel(arm)
		if c == nil {
			continue
		}
		r := record{kind: recordIntended, op: t.op, flag: accessWrite}
		r.a, r.ready, r.b = tandemReceivers(c), tandemChannelReady(c), tandemChannelCount(c)
		tandemRecord(r)
		if !t.sends(arm) && c.dataqsiz == 0 {
			r.a, r.ready, r.b = tandemSenders(c), readyCounts, uint64(c.tandem.senders)
			tandemRecord(r)
		}
	}
}
