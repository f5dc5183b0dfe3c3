package runtime

import (
	"internal/runtime/sys"
	"unsafe"
)

const tandemMaxSockets = 1024

// tandemSockets says which descriptors are virtual sockets or pipes, and where
// to see whether they are ready. A queue may be nil: nothing comes that way yet.
var tandemSockets [tandemMaxSockets]struct {
	virtual bool
	in, out *socketQueue
	pd      *pollDesc
	polled  bool
	alone   bool // nobody answers to its connect
	serves  bool // it gets datagrams from whoever sends some
}

//go:linkname tandemIsSocket syscall.tandemIsSocket
//go:nosplit
func tandemIsSocket(fd uintptr) bool {
	return tandem.on && fd < tandemMaxSockets && tandemSockets[fd].virtual
}

//go:linkname tandemIsOn syscall.tandemIsOn
//go:nosplit
func tandemIsOn() bool { return tandem.on && getg().tandem.id != 0 }

// tandemOpenSocket makes fd a virtual socket.
//
//go:linkname tandemOpenSocket syscall.tandemOpenSocket
func tandemOpenSocket(fd uintptr, in, out *socketQueue) {
	if fd >= tandemMaxSockets {
		tandemCutOff("more than 1024 descriptors")
	}
	s := &tandemSockets[fd]
	if !s.virtual {
		s.pd, s.polled, s.alone, s.serves = nil, false, false, false
	}
	s.virtual, s.in, s.out = true, in, out
}

//go:linkname tandemCloseSocket syscall.tandemCloseSocket
func tandemCloseSocket(fd uintptr) {
	s := &tandemSockets[fd]
	s.virtual, s.in, s.out = false, nil, nil
}

// tandemNewName names an object by the goroutine that makes it, and not by the
// order in which goroutines make theirs: what is independent stays so.
//
//go:linkname tandemNewName syscall.tandemNewName
func tandemNewName() uint64 {
	t := &getg().tandem
	t.children++
	return socketObject | tandemMix(t.id^tandemMix(t.children))>>2
}

// tandemHasPeers reports whether anybody answers for connections that leave the program.
//
//go:linkname tandemHasPeers syscall.tandemHasPeers
func tandemHasPeers() bool { return tandem.sh.peers != 0 }

// tandemHasNameServers reports whether there are peers that serve names.
//
//go:linkname tandemHasNameServers syscall.tandemHasNameServers
func tandemHasNameServers() bool { return tandemHasPeers() && tandem.sh.environment.nameServers != 0 }

// tandemHasClients reports whether there are peers that connect to the program.
//
//go:linkname tandemHasClients syscall.tandemHasClients
func tandemHasClients() bool { return tandemHasPeers() && tandem.sh.environment.clients != 0 }

// tandemIdles reports whether the program is a server whose clients have all come and gone:
// it waits for others.
func tandemIdles() bool {
	if !tandemHasClients() || !tandem.alone {
		return false
	}
	for i := range tandem.nparked {
		t := &tandem.parked[i].ptr().tandem
		if t.op == opAccept || t.op == opSocketRead && tandemSockets[t.object].serves {
			return true
		}
	}
	return false
}

// tandemExpired reports whether an operation on fd must end without success:
// its deadline has passed, or the descriptor is being closed.
//
//go:linkname tandemExpired syscall.tandemExpired
func tandemExpired(fd uintptr, write bool) bool {
	pd := tandemSockets[fd].pd
	if pd == nil {
		return false
	}
	return pd.closing || write && pd.wd < 0 || !write && pd.rd < 0
}

// tandemIsPolled reports whether package internal/poll closes fd, at a point of its own.
//
//go:linkname tandemIsPolled syscall.tandemIsPolled
func tandemIsPolled(fd uintptr) bool { return tandemSockets[fd].polled }

// tandemQueueReady says which wait conditions hold on a queue.
func tandemQueueReady(q *socketQueue) uint8 {
	ready := uint8(0)
	if q.readable || q.reader != 0 && tandemExpired(uintptr(q.reader), false) {
		ready = readyFree
	}
	if q.room >= max(q.want, 1) || q.writer != 0 && tandemExpired(uintptr(q.writer), true) {
		ready |= readyReader
	}
	return ready
}

// tandemSocketReady is tandemReady for operations on sockets. One that waits is
// ready too if its own descriptor, perhaps one of several, expires.
func tandemSocketReady(t *tandemG) uint8 {
	ready := tandemQueueReady((*socketQueue)(unsafe.Pointer(t.state)))
	if need := tandemNeed(t.op); need != 0 && tandemExpired(t.object, need == readyReader) {
		ready |= need
	}
	return ready
}

// tandemSocketObject names what an operation on a socket is about: the queue
// that it waits for, or else the peers.
func tandemSocketObject(t *tandemG) uint64 {
	if t.state == 0 {
		if t.object >= tandemMaxSockets {
			return groupObject
		}
		return tandemPeerObject(tandemSockets[t.object].out)
	}
	return (*socketQueue)(unsafe.Pointer(t.state)).object
}

// tandemIsSocketOp tells the operations on sockets, pipes and their descriptors.
func tandemIsSocketOp(op uint8) bool { return tandemSocketOperations.has(op) }

const tandemSocketOperations tandemOperations = 1<<(opPollWait+1) - 1<<opConnect |
	1<<(opDescriptorClose+1) - 1<<opAccept

// tandemSocketPoint is the point of an operation on a virtual socket. q is what
// it may have to wait for, want the room that a write needs there.
//
//go:linkname tandemSocketPoint syscall.tandemSocketPoint
func tandemSocketPoint(op uint8, fd uintptr, q *socketQueue, want int32) {
	gp := getg()
	if gp.tandem.id == 0 {
		return
	}
	t := &gp.tandem
	begun := t.begun == op && t.begunOn == fd
	t.op, t.object, t.state, t.choices, t.choice = op, fd, uintptr(unsafe.Pointer(q)), 1, 0
	t.caller, t.frame = sys.GetCallerPC(), getcallerfp()
	if q != nil && want != 0 {
		q.want = want
	}
	if need := tandemNeed(op); begun && (need == 0 || tandemSocketReady(t)&need != 0) {
		t.begun = 0
		return
	}
	tandemArrive()
}

// tandemSocketBefore is tandemSocketPoint for an operation that is still to lock its descriptor. If
// nobody keeps that meanwhile, the operation then has no point of its own.
//
//go:linkname tandemSocketBefore syscall.tandemSocketBefore
func tandemSocketBefore(op uint8, fd uintptr, q *socketQueue, want int32) {
	env := &tandem.sh.environment
	if getg().tandem.id == 0 || env.short[1] != 0 && op != opSocketRead ||
		env.faults != 0 && op == opSocketWrite {
		return // what happens to a write is chosen first, with the descriptor locked
	}
	t := &getg().tandem
	t.op, t.object, t.state, t.choices, t.choice = op, fd, uintptr(unsafe.Pointer(q)), 1, 0
	t.caller, t.frame = sys.GetCallerPC(), getcallerfp()
	if q != nil && want != 0 {
		q.want = want
	}
	tandemArrive()
	t.begun, t.begunOn = op, fd
}

// tandemBegun reports whether tandemSocketBefore was the point of an operation that is about to go
// on.
//
//go:linkname tandemBegun syscall.tandemBegun
func tandemBegun(op uint8, fd uintptr) bool {
	t := &getg().tandem
	return t.begun == op && t.begunOn == fd
}

// tandemShort chooses whether a read or write moves less than it could, where that is asked for.
// Like a fault it is a transition in all executions, whatever others have chosen before.
//
//go:linkname tandemShort syscall.tandemShort
func tandemShort(fd uintptr, q *socketQueue, direction uint32) bool {
	t := &getg().tandem
	if tandem.sh.environment.short[direction] == 0 || t.id == 0 {
		return false
	}
	t.op, t.object, t.state, t.faults = opShort, fd, uintptr(unsafe.Pointer(q)), direction
	t.caller, t.frame = sys.GetCallerPC(), getcallerfp()
	tandemCountShort(t)
	if tandemArrive(); t.choice == 0 {
		return false
	}
	tandem.short[direction]++
	return true
}

// tandemCountShort sets the number of alternatives of a pending choice how much to read or write.
func tandemCountShort(t *tandemG) {
	if t.choices, t.choice = 1, 0; tandem.short[t.faults] < tandem.sh.environment.short[t.faults] {
		t.choices = 2
	}
}

// tandemCountBehaviours sets the number of alternatives of a pending connect or listen: the
// first one that the peers notice chooses how they behave.
func tandemCountBehaviours(t *tandemG) {
	t.choices, t.choice = 1, 0
	if n := tandem.sh.environment.behaviours; n > 1 && t.state == 0 && !tandem.behave {
		t.choices = uint32(n)
	}
}

// tandemBehaviour is what the connect or listen that is under way has chosen.
//
//go:linkname tandemBehaviour syscall.tandemBehaviour
func tandemBehaviour() uint32 {
	t := &getg().tandem
	if t.id == 0 {
		return 0
	}
	if env := &tandem.sh.environment; env.inputs&inputsPerConnection != 0 && env.behaviours > 1 {
		kind := uint8(accessWrite)
		if tandem.behave {
			kind = accessRead // connects commute but for the first
		}
		tandemTouchName(opConnect, groupObject, kind)
	}
	if tandem.behave {
		return 0
	}
	tandem.behave = true
	return t.choice
}

// tandemPassGates records what decides whether an operation finds something in its queue, if the
// checker has said so. One that waits goes on only with what has arrived. A try may find that
// nothing has.
func tandemPassGates(t *tandemG, ready uint8) {
	q := (*socketQueue)(unsafe.Pointer(t.state))
	tries := t.op == opSocketTry
	if q.gates[0] != 0 && (tries || ready&tandemNeed(t.op) != 0) {
		tandemPassGate(t, q.gates[0])
	}
	if q.gates[1] != 0 && tries && !q.readable {
		tandemPassGate(t, q.gates[1])
	}
}

func tandemPassGate(t *tandemG, object uint64) {
	tandemRecord(record{kind: recordAccess, op: t.op, flag: accessRead, ready: readyFree | readyReader,
		a: object, pc: uint64(t.caller), open: uint64(t.open)})
}

// tandemTouch records that the running transition uses a queue. It is called
// before it does.
//
//go:linkname tandemTouch syscall.tandemTouch
func tandemTouch(op uint8, q *socketQueue, kind uint8) {
	if q != nil {
		tandemTouchObject(op, q.object, kind, tandemQueueReady(q))
	}
}

// tandemTouchName is tandemTouch for what nobody waits for.
//
//go:linkname tandemTouchName syscall.tandemTouchName
func tandemTouchName(op uint8, object uint64, kind uint8) {
	tandemTouchObject(op, object, kind, readyFree|readyReader)
}

func tandemTouchObject(op uint8, object uint64, kind, ready uint8) {
	if raceenabled {
		tandemRaceTouch(getg(), object, kind)
	}
	if kind != accessRead && op != opDescriptorUse && op != opSocketRead && op != opSocketTry {
		tandemEffect()
	}
	t := &getg().tandem
	tandemRecord(record{kind: recordAccess, op: op, flag: kind, ready: ready, a: object,
		pc: uint64(t.caller), open: uint64(t.open)})
}

// Package internal/poll keeps in its file structures, out of sight, whether a file
// is closed and who reads and writes it. These functions put that into the log.

// tandemFileUse is called where a file is locked. The lock, if it is not nil,
// orders those who do the same.
//
//go:linkname tandemFileUse internal/poll.tandemFileUse
func tandemFileUse(file, lock unsafe.Pointer, fd int) {
	if !tandemIsOn() || fd >= 0 && !tandemIsSocket(uintptr(fd)) && !tandemIsPlainFile(fd) {
		return
	}
	tandemEndSingleAccess()
	tandemCountUse()
	tandemTouchName(opDescriptorUse, tandemName(uintptr(file)), accessRead)
	if lock != nil {
		tandemTouchName(opDescriptorUse, tandemName(uintptr(lock)), accessWrite)
	}
}

// tandemUsePatience is how often in a row a goroutine can use descriptors without coming to a
// point: a use of one that is closed has none.
const tandemUsePatience = 8

// tandemCountUse ends a transition with too many of them: it may be in a loop.
//
//go:nosplit
func tandemCountUse() {
	gp := getg()
	t := &gp.tandem
	t.vain++
	if t.uses++; t.uses <= tandemUsePatience || gp != gp.m.curg || gp.m.locks != 0 {
		return
	}
	gp.parkingOnChan.Store(true) // as in tandemEndSingleAccess
	tandemPointAt(opGoOn, nil, nil, sys.GetCallerPC(), getcallerfp())
	gp.parkingOnChan.Store(false)
}

// tandemFileClose is the point at which a file is closed: from then on those who
// wait for it see the error.
//
//go:linkname tandemFileClose internal/poll.tandemFileClose
func tandemFileClose(file unsafe.Pointer, fd int) {
	if !tandemIsOn() || fd >= 0 && !tandemIsSocket(uintptr(fd)) && !tandemIsPlainFile(fd) {
		return
	}
	t := &getg().tandem
	t.op, t.object, t.state, t.choices = opDescriptorClose, uintptr(file), 0, 1
	t.caller, t.frame = sys.GetCallerPC(), getcallerfp()
	tandemArrive()
}

// tandemRaw brackets the functions that a program passes to a syscall.RawConn:
// their system calls do not wait.
//
//go:linkname tandemRaw internal/poll.tandemRaw
func tandemRaw(by int) { getg().tandem.raw += int8(by) }

//go:linkname tandemIsRaw syscall.tandemIsRaw
func tandemIsRaw() bool { return getg().tandem.raw > 0 }

// tandemPollOpen and tandemPollClose keep virtual sockets out of epoll.
func tandemPollOpen(fd uintptr, pd *pollDesc) bool {
	if !tandemIsSocket(fd) {
		return false
	}
	tandemSockets[fd].pd, tandemSockets[fd].polled = pd, true
	return true
}

func tandemPollClose(fd uintptr) bool {
	if !tandem.on || fd >= tandemMaxSockets || tandemSockets[fd].pd == nil {
		return false
	}
	tandemSockets[fd].pd = nil
	return true
}

// tandemPollReset leaves it to the operation itself to see that its deadline has
// passed: there it is a part of the transition. What a program does with a
// descriptor is not known, so there it is a part of what came before.
func tandemPollReset(pd *pollDesc, mode int) bool {
	if !tandemIsSocket(pd.fd) {
		return false
	}
	if getg().tandem.raw == 0 {
		return true
	}
	s := &tandemSockets[pd.fd]
	if mode == 'w' {
		tandemTouch(opPollWrite, s.out, accessRead)
	} else {
		tandemTouch(opPollWait, s.in, accessRead)
	}
	return false
}

// tandemPollWait waits for a virtual socket where the caller insists on waiting.
func tandemPollWait(pd *pollDesc, mode int) bool {
	if !tandemIsSocket(pd.fd) {
		return false
	}
	s := &tandemSockets[pd.fd]
	op, q := uint8(opPollWait), s.in
	if mode == 'w' {
		op, q = opPollWrite, s.out
	}
	givesUp := int64(0)
	if s.alone && mode == 'w' {
		givesUp = tandemGiveUpLater(pd)
	}
	if q != nil && !tandemExpired(pd.fd, mode == 'w') {
		tandemSocketPoint(op, pd.fd, q, 1)
	}
	if givesUp != 0 && (nanotime() >= givesUp || !s.alone) {
		poll_runtime_pollSetDeadline(pd, 0, 'w') // it is not the program's: the connect fails, or not
	}
	return true
}

//go:linkname tandemLeaveAlone syscall.tandemLeaveAlone
func tandemLeaveAlone(fd uintptr) { tandemSockets[fd].alone = true }

//go:linkname tandemSetServing syscall.tandemSetServing
func tandemSetServing(fd uintptr, serves bool) { tandemSockets[fd].serves = serves }

//go:linkname tandemAnswered syscall.tandemAnswered
func tandemAnswered(fd uintptr) { tandemSockets[fd].alone = false }

// tandemGiveUpLater has a connect wait no longer than TCP does, as Linux has it with six
// repetitions. It returns when that is; 0: the program gives up before.
func tandemGiveUpLater(pd *pollDesc) int64 {
	const patience = 127_000_000_000 // ns
	if pd.wd != 0 && pd.wd <= nanotime()+patience {
		return 0
	}
	poll_runtime_pollSetDeadline(pd, patience, 'w')
	return pd.wd
}

// tandemPollDeadline is the point at which a deadline is set.
func tandemPollDeadline(pd *pollDesc, mode int) {
	if !tandemIsSocket(pd.fd) {
		return
	}
	s := &tandemSockets[pd.fd]
	if mode == 'w' {
		if s.out != nil {
			tandemSocketPoint(opDeadline, pd.fd, s.out, 0)
		}
		return
	}
	if s.in != nil {
		tandemSocketPoint(opDeadline, pd.fd, s.in, 0)
	}
	if mode != 'r' && s.out != s.in {
		tandemTouch(opDeadline, s.out, accessWrite)
	}
}

// tandemPollUnblock is called when a file begins to be closed, after its point.
func tandemPollUnblock(pd *pollDesc) {
	if tandemIsSocket(pd.fd) {
		s := &tandemSockets[pd.fd]
		tandemTouch(opDescriptorClose, s.in, accessWrite)
		tandemTouch(opDescriptorClose, s.out, accessWrite)
	}
}
