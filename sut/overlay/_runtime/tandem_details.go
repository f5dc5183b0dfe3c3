package runtime

import "unsafe"

// Details of an execution, for a report: what a log does not say, since a search does not need it.
// They are noted only if they are wanted, so that a search costs one comparison where they would
// be. They lie beside the log, which stays the same.

// tandemDetail notes a detail, if there is room.
func tandemDetail(r record) {
	d := &tandem.sh.details
	if d.count < maxDetails {
		d.record[d.count] = r
		d.count++
	}
}

// tandemDetailMade notes where a channel was made.
func tandemDetailMade(c *hchan) {
	if !tandem.on || tandem.sh.details.want == 0 {
		return
	}
	gp := getg()
	if gp != gp.m.curg || gp.tandem.id == 0 {
		return
	}
	fp := getcallerfp()
	systemstack(func() {
		at, open := tandemCalledFrom(gp, fp)
		tandemDetail(record{kind: detailMade, a: tandemChannelObject(c), pc: uint64(at),
			open: uint64(open)})
	})
}

// tandemDetailArms notes which arm of a channel operation goes on, and which of its partner's.
func tandemDetailArms(t *tandemG, arm int, partner *g) {
	if tandem.sh.details.want == 0 {
		return
	}
	r := record{kind: detailArm, op: t.op, a: t.id, b: uint64(tandem.sh.records), number: uint32(1 + arm)}
	tandemDetail(r)
	if partner != nil {
		p := &partner.tandem
		r.op, r.a, r.number = p.op, p.id, uint32(1+t.partnerArm(arm, p))
		tandemDetail(r)
	}
}

// tandemDetailPrinted notes that the program has printed.
//
//go:linkname tandemDetailPrinted syscall.tandemDetailPrinted
func tandemDetailPrinted(fd int, bytes int64) {
	if tandem.on && tandem.sh.details.want != 0 && bytes > 0 {
		tandemDetail(record{kind: detailPrinted, flag: uint8(fd), b: uint64(tandem.sh.records),
			number: uint32(bytes)})
	}
}

// tandemDetailEnd notes the stacks of the goroutines that are left, and what is in the channels
// that they wait for.
func tandemDetailEnd() {
	if tandem.sh.details.want == 0 {
		return
	}
	forEachG(func(gp *g) {
		t := &gp.tandem
		if t.id == 0 || readgstatus(gp)&^_Gscan != _Gwaiting {
			return
		}
		tandemDetailStack(gp)
		if !t.parked || !t.hasArms() {
			return
		}
		for arm := range t.ncases {
			r := record{kind: detailWait, a: t.id, number: uint32(arm)}
			if t.sends(arm) {
				r.flag = 1
			}
			c := t.channel(arm)
			if c != nil {
				r.b = tandemChannelObject(c)
			}
			tandemDetail(r)
			if c != nil {
				tandemDetailChannel(c)
			}
		}
	})
}

// tandemDetailStack notes the calls of a goroutine that does not run, innermost first.
func tandemDetailStack(gp *g) {
	const most = 64
	tandemDetailCalls(gp, record{kind: detailStack, a: gp.tandem.id}, gp.sched.bp, most)
}

// tandemDetailArrival notes from where the current goroutine has come to its pending operation.
func tandemDetailArrival(gp *g) {
	const most = 24 // a report of many steps has less room for each
	// Half of the room is for the other details.
	if d := &tandem.sh.details; d.want == 0 || d.count > maxDetails/2 || gp.tandem.hidden {
		return
	}
	first := record{kind: detailArrival, a: gp.tandem.id, b: uint64(tandem.sh.records)}
	tandemDetailCalls(gp, first, gp.tandem.frame, most)
}

// tandemDetailCalls notes the calls from a frame on, innermost first, as a detail that begins with
// a record.
func tandemDetailCalls(gp *g, first record, fp uintptr, most uint32) {
	stack := tandem.sh.details.count
	tandemDetail(first)
	calls, four := uint32(0), [4]uint64{}
	for ; fp != 0 && calls < most; fp = *(*uintptr)(unsafe.Pointer(fp)) {
		four[calls%4] = uint64(tandemReturnAddress(gp, fp))
		if calls++; calls%4 == 0 {
			tandemDetailFour(detailCalls, four)
			four = [4]uint64{}
		}
	}
	if calls%4 != 0 {
		tandemDetailFour(detailCalls, four)
	}
	if stack < maxDetails {
		tandem.sh.details.record[stack].number = calls
	}
}

// tandemDetailFour notes four words of a detail that has more.
func tandemDetailFour(kind uint8, w [4]uint64) {
	tandemDetail(record{kind: kind, a: w[0], b: w[1], pc: w[2], open: w[3]})
}

// tandemDetailChannel notes what a channel is, and what is in it.
func tandemDetailChannel(c *hchan) {
	const most = 256 // bytes of the name of a type
	name := toRType(c.elemtype).string()
	if len(name) > most {
		name = name[:most]
	}
	r := record{kind: detailChannel, a: tandemChannelObject(c), b: uint64(c.dataqsiz), pc: uint64(c.qcount),
		number: uint32(len(name))}
	if c.closed != 0 {
		r.flag = 1
	}
	tandemDetail(r)
	for len(name) > 0 {
		w := [4]uint64{}
		n := copy((*[32]byte)(unsafe.Pointer(&w))[:], name)
		tandemDetailFour(detailText, w)
		name = name[n:]
	}
}
