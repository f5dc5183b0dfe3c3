package runtime

// The goroutines that wait at their points, in the order of their creation, so that the
// choice among them does not depend on how they came there.

// tandemEnqueue puts a goroutine among them.
func tandemEnqueue(gp *g) {
	if tandem.nparked == tandemMaxGoroutines {
		tandemCutOff("more than 4096 goroutines at once")
	}
	i := tandemFirstFrom(gp.tandem.order)
	copy(tandem.parked[i+1:tandem.nparked+1], tandem.parked[i:tandem.nparked])
	copy(tandem.parkedIDs[i+1:tandem.nparked+1], tandem.parkedIDs[i:tandem.nparked])
	tandem.parked[i].set(gp)
	tandem.parkedIDs[i] = gp.tandem.id
	tandem.nparked++
	gp.tandem.parked = true
}

// tandemUnpark takes a goroutine from among those that can be scheduled.
func tandemUnpark(gp *g) {
	i := tandemFirstFrom(gp.tandem.order)
	copy(tandem.parked[i:tandem.nparked], tandem.parked[i+1:tandem.nparked])
	copy(tandem.parkedIDs[i:tandem.nparked], tandem.parkedIDs[i+1:tandem.nparked])
	tandem.nparked--
	tandem.parked[tandem.nparked] = 0
	gp.tandem.parked = false
}

// tandemFirstFrom is where the parked goroutines begin that were created from a place in
// the order on.
func tandemFirstFrom(order int32) int {
	i, j := 0, tandem.nparked
	for i < j {
		if mid := (i + j) / 2; tandem.parked[mid].ptr().tandem.order < order {
			i = mid + 1
		} else {
			j = mid
		}
	}
	return i
}

func tandemParkedAs(id uint64) *g {
	for i, name := range tandem.parkedIDs[:tandem.nparked] {
		if name == id {
			return tandem.parked[i].ptr()
		}
	}
	return nil
}
