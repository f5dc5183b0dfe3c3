package sut

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Run runs one execution. Peers answers for the other side of the connections;
// it may be nil for a program that has none. The log is valid until the next Run.
//
// An error means that the execution could not be run to its end; the worker
// must then be closed. If the peers gave the error, the log goes up to there.
func (w *Worker) Run(s Schedule, peers Peers) (*Log, error) {
	if err := w.load(s); err != nil {
		return nil, err
	}
	w.shared.peers = flag(peers != nil)
	defer w.cpu.share()()
	w.touch()
	defer w.started.Store(0)
	if err := w.tell(commandRun); err != nil {
		return nil, w.explain(err)
	}
	for {
		answer, err := w.hear()
		if errors.Is(err, errWorkerGone) && w.shared.outcome == outcomeFatal {
			return w.fatalLog()
		}
		if err != nil {
			return nil, w.explain(err)
		}
		switch answer {
		case answerRequest:
			if err := w.exchange(peers); err != nil {
				return w.soFar(), err
			}
		case answerEnd:
			return w.finish()
		default:
			return nil, fmt.Errorf("the worker answered %q in an execution", answer)
		}
	}
}

// soFar is the log of an execution that does not go on, if it can be read.
func (w *Worker) soFar() *Log {
	log, err := w.log()
	if err != nil {
		return nil
	}
	return log
}

func (w *Worker) touch() { w.started.Store(time.Now().UnixNano()) }

// load puts the schedule into the shared memory.
func (w *Worker) load(s Schedule) error {
	sh := w.shared
	if len(s.Prefix) > maxPrefix || len(s.Sleep) > maxSleepers {
		return fmt.Errorf("the schedule has %d choices and %d sleepers; the limits are %d and %d", len(s.Prefix), len(s.Sleep), maxPrefix, maxSleepers)
	}
	if s.SleepFrom < 0 || s.SleepFrom > len(s.Prefix) {
		return fmt.Errorf("the sleep set is that before choice %d, but the prefix of the schedule has %d choices", s.SleepFrom, len(s.Prefix))
	}
	for i, c := range s.Prefix {
		sh.prefix[i] = sharedAction{goroutine: c.Goroutine, choice: uint32(c.Alternative)}
	}
	sh.prefixLength, sh.sleepFrom = uint32(len(s.Prefix)), uint32(s.SleepFrom)
	sh.sleepLength = uint32(len(s.Sleep))
	used := 0
	for i, sleeper := range s.Sleep {
		if used+len(sleeper.Accesses) > maxSleepAccesses {
			return fmt.Errorf("the sleep set has more than %d accesses", maxSleepAccesses)
		}
		sh.sleeper[i] = sharedSleeper{goroutine: sleeper.Goroutine, choice: uint32(sleeper.Alternative), first: uint32(used), count: uint32(len(sleeper.Accesses))}
		for _, a := range sleeper.Accesses {
			sh.sleepAccesses[used] = sharedAccess{object: a.Object, kind: uint32(a.Kind), delta: a.Delta}
			used++
		}
	}
	sh.wantEnabled = flag(s.WantEnabled)
	sh.wantLeaks, sh.lenient, sh.tentative = flag(s.WantLeaks), flag(s.Lenient), flag(s.Tentative)
	if err := sh.guide(s); err != nil {
		return err
	}
	sh.roundLimit = uint32(max(s.Rounds, 0))
	sh.raceWatch, sh.raceEarlier, sh.raceLater = 0, memoryAccess{}, memoryAccess{}
	if s.Watch != nil {
		sh.raceWatch, sh.raceEarlier = 1, s.Watch.encode()
	}
	sh.stepLimit = MaxSteps
	if s.Steps > 0 && s.Steps < MaxSteps {
		sh.stepLimit = uint32(s.Steps)
	}
	if sh.onlyEnd = flag(s.OnlyEnd); s.OnlyEnd {
		sh.stepLimit = 1<<32 - 1
	}
	sh.recordLimit = uint32(s.MaxEvents())
	sh.records, sh.steps, sh.outcome, sh.exitCode, sh.position = 0, 0, outcomeRunning, 0, 0
	sh.messageLength, sh.stackLength = 0, 0
	return nil
}

// MaxEvents is how many events the log of the execution can have, but for what its end has to say: so many that transitions of a usual
// length fill it only after Steps of them, and those that are longer do not take all memory.
func (s *Schedule) MaxEvents() int {
	const least, perTransition = 1<<18 - 1<<13, 16
	switch most := maxRecords - endRecords; {
	case s.OnlyEnd:
		return least
	case s.Steps > 0:
		return min(max(least, perTransition*s.Steps), most)
	default:
		return most
	}
}

// guide says how goroutines are picked beyond the prefix.
func (sh *shared) guide(s Schedule) error {
	sh.seed, sh.byPriority, sh.changes = s.Seed, flag(s.Priorities != nil), 0
	if p := s.Priorities; p != nil {
		if len(p.Changes) > maxChanges {
			return fmt.Errorf("the schedule has %d changes of priorities; the limit is %d", len(p.Changes), maxChanges)
		}
		for i, at := range p.Changes {
			sh.change[i] = uint32(at)
		}
		sh.changes = uint32(len(p.Changes))
	}
	if len(s.Rare) > maxRare {
		return fmt.Errorf("the schedule has %d rare events; the limit is %d", len(s.Rare), maxRare)
	}
	for i, r := range s.Rare {
		sh.rare[i] = sharedRare{kind: uint32(r.Kind), at: uint32(r.At)}
	}
	sh.rares, sh.rarePoints = uint32(len(s.Rare)), [rareKinds]uint32{}
	limit := func(n *int) uint32 {
		if n == nil || uint64(*n) > math.MaxUint32 {
			return math.MaxUint32
		}
		return uint32(*n)
	}
	sh.preemptionLimit, sh.delayLimit = limit(s.Preemptions), limit(s.Delays)
	return nil
}

func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// finish reads the log and makes the worker ready for the next execution.
func (w *Worker) finish() (*Log, error) {
	log, err := w.log()
	if err != nil || w.options.Isolation == Fork {
		return log, err
	}
	if err := w.settle(); err != nil {
		return nil, w.explain(err)
	}
	return log, nil
}

// LastLog tells of the log that Run has returned last its number, which is higher by one than that of the log before, and how many
// events, from the first on, are those of the log before.
func (w *Worker) LastLog() (number, same int) { return w.reader.number, w.reader.same }

func (w *Worker) log() (*Log, error) {
	l, err := w.reader.read(w.shared)
	if err != nil {
		return nil, err
	}
	if l.Stdout, err = takeOutput(w.stdout); err != nil {
		return nil, err
	}
	l.Stderr, err = takeOutput(w.stderr)
	return l, err
}

// takeOutput reads and empties what the program has written.
func takeOutput(f *os.File) ([]byte, error) {
	var info unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &info); err != nil || info.Size == 0 {
		return nil, err
	}
	b := make([]byte, min(info.Size, outputBytes+lastWordsBytes))
	if _, err := f.ReadAt(b, 0); err != nil {
		return nil, err
	}
	return b, f.Truncate(0)
}

// fatalLog is the log of an execution that took its process with it. A new
// process takes over.
func (w *Worker) fatalLog() (*Log, error) {
	log, err := w.log()
	if err != nil {
		return nil, err
	}
	w.Close()
	return log, w.launch()
}

// exchange serves one input of the program.
func (w *Worker) exchange(peers Peers) error {
	in, err := w.shared.readInput()
	if err != nil {
		return err
	}
	if peers == nil {
		return damage("it asks for peers, and there are none")
	}
	w.started.Store(0) // the peers have time limits of their own
	answer, err := peers.Exchange(in)
	w.touch()
	if err != nil {
		return err
	}
	return w.reply(answer)
}

// reply hands the answer over, in as many pieces as it needs.
func (w *Worker) reply(a Answer) error {
	h := &w.shared.exchange
	*h = exchangeHeader{
		errno: uint32(a.Errno), connection: uint32(a.Connection),
		passed: uint64(a.Time.Passed), shows: flag(a.Time.Shows), idle: flag(a.Time.Idle), tie: flag(a.Time.Tie),
	}
	pending := a.Deliveries
	for {
		pending = w.fill(pending)
		h.more = flag(len(pending) > 0)
		h.clients = uint32(a.Clients)
		if h.failed = flag(a.Failure != ""); h.failed != 0 {
			w.shared.messageLength = uint32(copy(w.shared.message[:], a.Failure))
		}
		if err := w.tell(commandReply); err != nil {
			return w.explain(err)
		}
		if len(pending) == 0 {
			return nil
		}
		if err := w.expect(answerRequest); err != nil {
			return w.explain(err)
		}
		if h.kind != exchangeMore {
			return fmt.Errorf("the worker asked for %d in the middle of an answer", h.kind)
		}
		*h = exchangeHeader{}
	}
}

// fill writes as many deliveries as fit into the shared memory and returns the rest.
func (w *Worker) fill(list []Delivery) []Delivery {
	const header = int(unsafe.Sizeof(deliveryHeader{}))
	sh := w.shared
	at := 0
	sh.exchange.deliveries = 0
	for len(list) > 0 {
		room := exchangeBytes - at - header - 8
		if room <= 0 {
			break
		}
		d := list[0]
		n, end := len(d.Data), d.End
		if n > room {
			n, end = room, Open
			list = append([]Delivery{{Connection: d.Connection, Data: d.Data[room:], End: d.End}}, list[1:]...)
		} else {
			list = list[1:]
		}
		binary.LittleEndian.PutUint32(sh.data[at:], uint32(d.Connection))
		binary.LittleEndian.PutUint32(sh.data[at+4:], uint32(end))
		binary.LittleEndian.PutUint32(sh.data[at+8:], uint32(n))
		binary.LittleEndian.PutUint32(sh.data[at+12:], 0)
		if d.Opened {
			binary.LittleEndian.PutUint32(sh.data[at+12:], uint32(d.Listener)+1)
		}
		copy(sh.data[at+header:], d.Data[:n])
		at += header + (n+7)&^7
		sh.exchange.deliveries++
	}
	sh.exchange.length = uint32(at)
	return list
}

// explain adds what is known about the end of the process to an error.
func (w *Worker) explain(err error) error {
	if at := w.hung.Load(); at != nil {
		return fmt.Errorf("the program ran for %v without a visible operation (a long computation, or a loop that waits without synchronisation): it cannot be controlled there%v", w.options.Patience, *at)
	}
	if !errors.Is(err, errWorkerGone) && !errors.Is(err, os.ErrClosed) && !isBrokenPipe(err) {
		return err
	}
	w.process.Wait()
	out, _ := takeOutput(w.stderr)
	return fmt.Errorf("the worker process ended unexpectedly (%v)%s", w.process.ProcessState, abridged(out))
}

// abridged formats an output: its first lines, which say what happened, and its last,
// which say where.
func abridged(out []byte) string {
	const first, last = 600, 1600
	if len(out) == 0 {
		return ""
	}
	if len(out) <= first+last {
		return ": " + string(out)
	}
	return ": " + string(out[:first]) + "\n...\n" + string(out[len(out)-last:])
}

func isBrokenPipe(err error) bool { return errors.Is(err, unix.EPIPE) }
