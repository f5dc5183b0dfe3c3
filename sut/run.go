package sut

import (
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/sut/internal/abi"
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
	w.shared.Peers = flag(peers != nil)
	defer w.cpu.share()()
	w.touch()
	defer w.started.Store(0)
	if err := w.tell(abi.CommandRun); err != nil {
		return nil, w.explain(err)
	}
	for {
		answer, err := w.hear()
		if errors.Is(err, errWorkerGone) && w.shared.Outcome == abi.OutcomeFatal {
			return w.fatalLog()
		}
		if err != nil {
			return nil, w.explain(err)
		}
		switch answer {
		case abi.AnswerRequest:
			if err := w.exchange(peers); err != nil {
				return w.soFar(), err
			}
		case abi.AnswerEnd:
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
	if len(s.Prefix) > abi.MaxPrefix || len(s.Sleep) > abi.MaxSleepers {
		return fmt.Errorf("the schedule has %d choices and %d sleepers; the limits are %d and %d", len(s.Prefix), len(s.Sleep), abi.MaxPrefix, abi.MaxSleepers)
	}
	if s.SleepFrom < 0 || s.SleepFrom > len(s.Prefix) {
		return fmt.Errorf("the sleep set is that before choice %d, but the prefix of the schedule has %d choices", s.SleepFrom, len(s.Prefix))
	}
	for i, c := range s.Prefix {
		sh.Prefix[i] = abi.SharedAction{Goroutine: uint64(c.Goroutine), Choice: uint32(c.Choice)}
	}
	sh.PrefixLength, sh.SleepFrom = uint32(len(s.Prefix)), uint32(s.SleepFrom)
	sh.SleepLength = uint32(len(s.Sleep))
	used := 0
	for i, sleeper := range s.Sleep {
		if used+len(sleeper.Accesses) > abi.MaxSleepAccesses {
			return fmt.Errorf("the sleep set has more than %d accesses", abi.MaxSleepAccesses)
		}
		sh.Sleeper[i] = abi.SharedSleeper{
			Goroutine: uint64(sleeper.Goroutine), Choice: uint32(sleeper.Choice),
			First: uint32(used), Count: uint32(len(sleeper.Accesses)),
		}
		for _, a := range sleeper.Accesses {
			sh.SleepAccesses[used] = abi.SharedAccess{
				Object: uint64(a.Object), Kind: uint32(a.Kind), Delta: a.Delta,
			}
			used++
		}
	}
	sh.WantEnabled = flag(s.WantEnabled)
	sh.WantLeaks, sh.Lenient, sh.Tentative = flag(s.WantLeaks), flag(s.Lenient), flag(s.Tentative)
	if err := guide(sh, s); err != nil {
		return err
	}
	sh.RoundLimit = uint32(max(s.Rounds, 0))
	sh.RaceWatch, sh.RaceEarlier, sh.RaceLater = 0, abi.MemoryAccess{}, abi.MemoryAccess{}
	if s.Watch != nil {
		sh.RaceWatch, sh.RaceEarlier = 1, s.Watch.encode()
	}
	sh.StepLimit = MaxSteps
	if s.Steps > 0 && s.Steps < MaxSteps {
		sh.StepLimit = uint32(s.Steps)
	}
	if sh.OnlyEnd = flag(s.OnlyEnd); s.OnlyEnd {
		sh.StepLimit = 1<<32 - 1
	}
	sh.RecordLimit = uint32(s.MaxEvents())
	sh.Records, sh.Steps, sh.Outcome, sh.ExitCode, sh.Position = 0, 0, abi.OutcomeRunning, 0, 0
	sh.MessageLength, sh.StackLength = 0, 0
	return nil
}

// MaxEvents is how many events the log of the execution can have, but for what its end has to say: so many that transitions of a usual
// length fill it only after Steps of them, and those that are longer do not take all memory.
func (s *Schedule) MaxEvents() int {
	const least, perTransition = 1<<18 - 1<<13, 16
	switch most := abi.MaxRecords - abi.EndRecords; {
	case s.OnlyEnd:
		return least
	case s.Steps > 0:
		return min(max(least, perTransition*s.Steps), most)
	default:
		return most
	}
}

// guide says how goroutines are picked beyond the prefix.
func guide(sh *abi.Shared, s Schedule) error {
	sh.Seed, sh.ByPriority, sh.Changes = s.Seed, flag(s.Priorities != nil), 0
	if p := s.Priorities; p != nil {
		if len(p.Changes) > abi.MaxChanges {
			return fmt.Errorf("the schedule has %d changes of priorities; the limit is %d", len(p.Changes), abi.MaxChanges)
		}
		for i, at := range p.Changes {
			sh.Change[i] = uint32(at)
		}
		sh.Changes = uint32(len(p.Changes))
	}
	if len(s.Rare) > abi.MaxRare {
		return fmt.Errorf("the schedule has %d rare events; the limit is %d", len(s.Rare), abi.MaxRare)
	}
	for i, r := range s.Rare {
		sh.Rare[i] = abi.SharedRare{Kind: uint32(r.Kind), At: uint32(r.At)}
	}
	sh.Rares, sh.RarePoints = uint32(len(s.Rare)), [abi.RareKinds]uint32{}
	limit := func(n *int) uint32 {
		if n == nil || uint64(*n) > math.MaxUint32 {
			return math.MaxUint32
		}
		return uint32(*n)
	}
	sh.PreemptionLimit, sh.DelayLimit = limit(s.Preemptions), limit(s.Delays)
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
	b := make([]byte, min(info.Size, abi.OutputBytes+abi.LastWordsBytes))
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
	in, err := readInput(w.shared)
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
