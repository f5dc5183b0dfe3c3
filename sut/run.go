package sut

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/tandem-mc/tandem/sut/internal/abi"
	"github.com/tandem-mc/tandem/sut/internal/process"
)

// Run runs one execution. Peers answers for the other side of the connections;
// it may be nil for a program that has none. The log is valid until the next Run.
//
// An error means that the execution could not be run to its end; the worker
// must then be closed. If the peers gave the error, the log goes up to there.
func (w *Worker) Run(s Schedule, peers Peers) (*Log, error) {
	if err := w.find(s.Disk); err != nil {
		return nil, err
	}
	// The peers were given no input yet: the disk comes before main.main.
	log, err := w.run(s, peers)
	if errors.Is(err, errAnew) {
		w.early = true
		if err := w.relaunch(); err != nil {
			return nil, err
		}
		return w.run(s, peers)
	}
	return log, err
}

// run is Run with the disk in place.
func (w *Worker) run(s Schedule, peers Peers) (*Log, error) {
	if err := w.load(s); err != nil {
		return nil, err
	}
	w.process.Shared.Peers = flag(peers != nil)
	defer w.processor.Share()()
	peers = w.places.begin(&w.process.Shared.Places, &s, peers)
	w.process.Arm()
	defer func() { w.process.Disarm() }() // it may be another process then
	if err := w.process.Send(abi.CommandRun); err != nil {
		return nil, w.process.Explain(err)
	}
	for {
		answer, err := w.process.Receive()
		if errors.Is(err, process.ErrGone) && w.process.Shared.Outcome == abi.OutcomeFatal {
			return w.fatalLog()
		}
		if err != nil {
			return nil, w.process.Explain(err)
		}
		switch answer {
		case abi.AnswerRequest:
			if err := w.exchange(peers, s.States); err != nil {
				return w.soFar(), err
			}
		case abi.AnswerEnd:
			w.places.ended()
			return w.finish()
		default:
			return nil, fmt.Errorf("the worker answered %q in an execution", answer)
		}
	}
}

// errAnew says that an execution cannot begin in this process: package initialisation has not seen
// the disk, and would have found something else with it.
var errAnew = errors.New("the disk was not there before package initialisation")

// find has the next executions find a disk. What is in place already stays, so that a search of
// executions with one disk is as fast as one without.
func (w *Worker) find(disk []byte) error {
	if bytes.Equal(disk, w.disk) {
		return nil
	}
	if len(disk) > 0 {
		if w.environment.Inputs&abi.InputsCrashes == 0 {
			return errors.New("a schedule has a disk, but Environment.Crashes is not set")
		}
		if err := checkDisk(disk); err != nil {
			return fmt.Errorf("the disk of a schedule is damaged: %w", err)
		}
	}
	w.disk = bytes.Clone(disk)
	w.places.forget()
	if w.early {
		return w.relaunch()
	}
	return w.process.SetDisk(disk)
}

// cannotFind says why the program cannot find the disk.
func (w *Worker) cannotFind(h *abi.ExchangeHeader) error {
	if h.Length == 0 {
		return errAnew
	}
	if h.Length > abi.ExchangeBytes {
		return damage("a request has %d bytes of at most %d", h.Length, abi.ExchangeBytes)
	}
	return fmt.Errorf("the disk of a schedule does not fit the machine: %s",
		w.process.Shared.Data[:h.Length])
}

// soFar is the log of an execution that does not go on, if it can be read.
func (w *Worker) soFar() *Log {
	log, err := w.log()
	if err != nil {
		return nil
	}
	return log
}

// load puts the schedule into the shared memory.
func (w *Worker) load(s Schedule) error {
	sh := w.process.Shared
	if len(s.Prefix) > abi.MaxPrefix || len(s.Sleep) > abi.MaxSleepers {
		return fmt.Errorf("the schedule has %d choices and %d sleepers; the limits are %d and %d",
			len(s.Prefix), len(s.Sleep), abi.MaxPrefix, abi.MaxSleepers)
	}
	if s.SleepFrom < 0 || s.SleepFrom > len(s.Prefix) {
		return fmt.Errorf("the sleep set is that before choice %d, but the prefix of the schedule has "+
			"%d choices", s.SleepFrom, len(s.Prefix))
	}
	for i, c := range s.Prefix {
		sh.Prefix[i] = abi.SharedAction{Goroutine: uint64(c.Goroutine), Choice: uint32(c.Choice)}
	}
	if s.States != nil && w.environment.Inputs&abi.InputsStates == 0 {
		return errors.New("a schedule asks for states, but Environment.States is not set")
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
	if err := guide(&sh.Guide, s); err != nil {
		return err
	}
	sh.RoundLimit = uint32(max(s.Rounds, 0))
	sh.RaceEarlier, sh.RaceLater = abi.MemoryAccess{}, abi.MemoryAccess{}
	d := &sh.Details
	d.RaceWatch, d.Want, d.Count = 0, flag(s.Show != nil), 0
	if s.Show != nil && s.Show.Watch != nil {
		d.RaceWatch, sh.RaceEarlier = 1, s.Show.Watch.encode()
	}
	sh.StepLimit = MaxSteps
	if s.Steps > 0 && s.Steps < MaxSteps {
		sh.StepLimit = uint32(s.Steps)
	}
	if sh.OnlyEnd = flag(s.OnlyEnd); s.OnlyEnd {
		sh.StepLimit = 1<<32 - 1
	}
	sh.RecordLimit = uint32(s.MaxEvents())
	sh.Points = abi.SharedPoints{}
	sh.Records, sh.Steps, sh.Outcome, sh.ExitCode, sh.Position = 0, 0, abi.OutcomeRunning, 0, 0
	sh.MessageLength, sh.StackLength = 0, 0
	return nil
}

// MaxEvents is how many events the log of the execution can have, but for what its end has to say:
// so many that transitions of a usual length fill it only after Steps of them, and those that are
// longer do not take all memory.
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

// flag is a truth value as the shared memory has it.
func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// finish reads the log and makes the worker ready for the next execution.
func (w *Worker) finish() (*Log, error) {
	log, err := w.log()
	if err != nil {
		return nil, err
	}
	if err := w.process.PutBackNewPages(); err != nil {
		return nil, w.process.Explain(err)
	}
	w.places.end(w.process.Shared, w.process.Regions(), log, w.reader.same)
	return log, nil
}

// LastLog tells of the log that Run has returned last its number, which is higher by one than that
// of the log before, and how many events, from the first on, are those of the log before.
func (w *Worker) LastLog() (number, same int) { return w.reader.number, w.reader.same }

// log reads the log of the last execution, and takes what the program has printed.
func (w *Worker) log() (*Log, error) {
	l, err := w.reader.read(w.process.Shared)
	if err != nil {
		return nil, err
	}
	l.EarlyTimers = int(max(w.environment.EarlyTimers, uint64(w.process.Shared.Guide.EarlyTimers)))
	if l.Outcome == Crashed {
		if l.Disk, err = w.process.TakeDisk(w.environment.DiskBytes); err == nil {
			err = checkDisk(l.Disk)
		}
		if err != nil {
			return nil, damage("of the disk: %v", err)
		}
	}
	l.Stdout, l.Stderr, err = w.process.TakeOutput()
	l.From, l.Stdout, l.Stderr = w.places.splice(l.Stdout, l.Stderr)
	l.Stdout, l.Replay = takeReplays(l.Stdout)
	return l, err
}

// replayMark begins a line in which package tandem names a schedule.
const replayMark = "\x16=== TANDEM REPLAY "

// takeReplays takes the lines out of what a program has printed that are not the program's: those
// in which package tandem names schedules. It returns the first of the schedules.
func takeReplays(stdout []byte) (rest []byte, first string) {
	if !bytes.Contains(stdout, []byte(replayMark)) {
		return stdout, ""
	}
	for {
		before, after, found := bytes.Cut(stdout, []byte(replayMark))
		rest = append(rest, before...)
		if !found {
			return rest, first
		}
		var schedule []byte
		schedule, stdout, _ = bytes.Cut(after, []byte("\n"))
		first = cmp.Or(first, string(schedule))
	}
}

// fatalLog is the log of an execution that took its process with it. A new
// process takes over.
func (w *Worker) fatalLog() (*Log, error) {
	log, err := w.log()
	if err != nil {
		return nil, err
	}
	return log, w.relaunch()
}

// relaunch has a new process take over.
func (w *Worker) relaunch() error {
	w.Close()
	return w.launch()
}

// watch shows peers that want to know of it what the program has done so far.
func (w *Worker) watch(peers Peers) error {
	watcher, ok := peers.(Watcher)
	if !ok {
		return nil
	}
	s := w.process.Shared
	if s.Records > abi.MaxRecords {
		return damage("it has %d records of at most %d", s.Records, abi.MaxRecords)
	}
	if err := w.watched.readEvents(s.Record[:s.Records], s.OnlyEnd != 0); err != nil {
		return err
	}
	watcher.Watch(w.watched.events)
	return nil
}

// exchange serves one input of the program.
func (w *Worker) exchange(peers Peers, states States) error {
	switch h := &w.process.Shared.Exchange; h.Kind {
	case abi.ExchangeAnew:
		return w.cannotFind(h)
	case abi.ExchangeState:
		return w.named(states)
	}
	in, err := readInput(w.process.Shared)
	if err != nil {
		return err
	}
	if peers == nil {
		return damage("it asks for peers, and there are none")
	}
	if err := w.watch(peers); err != nil {
		return err
	}
	w.process.Disarm() // the peers have time limits of their own
	answer, err := peers.Exchange(in)
	w.process.Arm()
	if err != nil {
		return err
	}
	w.places.exchanged(in, answer, int(w.process.Shared.Records))
	return w.reply(answer)
}
