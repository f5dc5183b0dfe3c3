// Package sut runs the program under test. It builds an unmodified Go program
// on a patched toolchain and runs it in workers: decisions go in, a log of what
// happened and the outcome come out.
//
//	toolchain, err := sut.NewToolchain(ctx, dir, cache)
//	program, err := toolchain.Build(ctx, sut.BuildOptions{Dir: dir, Package: "./cmd/client"})
//	worker, err := sut.Start(program, sut.Options{Args: args})
//	log, err := worker.Run(schedule, peers)
//
// Every execution starts from the same memory, that of the program just before
// main.main, and the same schedule gives the same log, bit for bit.
package sut

import (
	"time"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// Schedule tells a worker how to run one execution: Prefix as it is, then on by
// itself, staying with the running goroutine while that is enabled and not
// asleep.
type Schedule struct {
	Prefix []model.Action
	Beginning
	// Sleep is the sleep set in the state before choice SleepFrom of Prefix.
	Sleep       []Sleeper
	SleepFrom   int
	Tentative   bool // Prefix ends before the first choice from SleepFrom on that cannot be taken
	WantEnabled bool // log every goroutine that could have been picked
	WantLeaks   bool // end as Leaked when the program ends and leaves goroutines blocked for ever
	// Pass over what Prefix asks for and cannot be done; else the execution ends as Diverged.
	Lenient    bool
	Holds      []Hold
	Seed       uint64 // non-zero: after Prefix pick pseudo-randomly
	Priorities *Priorities
	Random
	// EarlyTimers is how often the clock may advance although goroutines can go on, if that is more
	// often than the Environment allows. Then it does so only for timers due within a second.
	EarlyTimers int
	Preemptions *int // greatest number beyond Prefix; nil: any
	Delays      *int // likewise
	Rounds      int  // limit on rounds of a loop that waits while others can go on; 0: none
	Steps       int  // limit on transitions; 0: the greatest that there is
	OnlyEnd     bool // however long the execution is, keep an end of its log, and set no limit
	// Show is what a report shows, and a search does not need. The events are the same with it.
	Show *Show
	Naming
}

// Naming says who is told of the states that the program names (tandem.State).
type Naming struct {
	// States is told of those in transitions from choice StatesFrom of Prefix on; nil: nobody is.
	// It takes Environment.States.
	States     States
	StatesFrom int
}

// States is told of the states that a program names. An execution that is to end at one ends as
// Known.
type (
	States     = model.States
	NamedState = model.NamedState
)

// Beginning is what an execution begins with.
type Beginning struct {
	// Disk is what is on the program's disk: the Log.Disk of an execution that has crashed. nil:
	// what the machine has.
	Disk []byte
	// Draws says which random numbers the program gets after its initialisation: equal ones, equal
	// numbers.
	Draws uint64
	// After is how long after Environment.Start it is, as after a crash.
	After time.Duration
}

// Random says how goroutines are picked with a Seed, if not uniformly.
type Random struct {
	// PartialOrder has pending operations ordered by random priorities. An operation gets a new one
	// when something has happened that conflicts with it.
	PartialOrder bool
	Walk         *Walk
	Rare         []Rare // rare events, in no order
}

// Show has an execution fill Log.Details.
type Show struct {
	// Watch is the earlier access of a data race that the same choices led to: its
	// stack is noted this time. nil: there is none.
	Watch *MemoryAccess
}

// Priorities have goroutines picked by priority: at first a random order, which follows
// from Schedule.Seed. Alternatives of operations are random. A goroutine that goes round
// in a loop that waits, or has had its turn, goes behind all others.
type Priorities struct {
	// Changes lists transitions, counted from 1. The goroutine that executes the i-th of
	// them then has priority i, which is less than that of any that has executed none.
	Changes []int
}

// Hold keeps a goroutine back, beyond Prefix, before its Nth transition, counted from 1: it is not
// picked as long as another one can be. If only held goroutines can be picked, or the others only
// go round in loops that wait, the first Hold of which that is true is released for good. That is
// done before time passes or a signal arrives.
//
// Readings of the clock are not counted: they are transitions only where it may advance early, and
// a hold means the same where it may not. Reading has the goroutine held before one of the readings
// that come between the transition before and the Nth.
type Hold struct {
	Goroutine model.GoroutineID
	Nth       int
	Reading   int // counted from 1; 0: before the Nth transition itself
}

// Walk has, with a Seed, the interesting transitions ordered uniformly: those that access one of
// Objects. Weights is how many of them goroutines and their descendants have; those that are not
// listed have none.
type Walk struct {
	Weights []Weight // each goroutine at most once
	Objects []model.ObjectID
}

// Weight is how many interesting transitions a goroutine and its descendants have.
type Weight struct {
	Goroutine model.GoroutineID
	Events    int
}

// The greatest lengths of lists in a Schedule.
const (
	MaxHolds   = abi.MaxHolds
	MaxWeights = abi.MaxWeights
	MaxObjects = abi.MaxObjects
)

// Rare has an event happen at a point where it can, if those of its kind are counted from 1. Faults
// of the network and short reads and writes happen nowhere else where alternatives are picked at
// random. Early timers and signals happen elsewhere only if nothing else can be picked, or by
// Priorities: they then have no points.
type Rare struct {
	Kind RareKind
	At   int
}

// RareKind is a kind of rare event.
type RareKind uint32

// The kinds of rare events.
const (
	RareFault      RareKind = abi.RareFault
	RareShortRead  RareKind = abi.RareShortRead
	RareShortWrite RareKind = abi.RareShortWrite
	RareEarlyTimer RareKind = abi.RareEarlyTimer
	RareSignal     RareKind = abi.RareSignal
	RareKinds               = abi.RareKinds
)

// MaxSteps is how many transitions an execution can have, since a schedule cannot prescribe more.
const MaxSteps = abi.MaxPrefix

// Turn is how many transitions in a row a goroutine makes before, beyond the end of the
// schedule, the others have their turn.
const Turn = abi.TurnLength

// GoOn, as an alternative in a lenient schedule, has the goroutine go on for as long as
// it can, always with its first alternative.
const GoOn = -1

// Sleeper is a choice that is not taken before a transition that conflicts
// with one of its accesses.
type Sleeper struct {
	model.Action
	// Accesses are those of the transition; Delta is what an access and those before it add to the
	// counter of the object. Count and Ready are not looked at.
	Accesses []model.Access
}

// Log is what one execution did. It is valid until the worker's next Run, and its
// events must not be changed.
type Log struct {
	Events   []Event
	Outcome  Outcome
	ExitCode int
	Position int // Diverged: the choice of the prefix that could not be followed
	// Refused, AssertionFailed, OtherLimit: in words; Exited: the signal that ended it, if one did;
	// Deadlock: what still happens beside it, if anything.
	Message string
	// Refused, AssertionFailed, OtherLimit: program counters of the calls that led there.
	Stack []uint64
	Race  *Race // DataRace
	// Weight is, if there was a Seed and goroutines were picked uniformly, one over the probability
	// of the execution; +Inf if it is too large.
	Weight float64
	// RarePoints is, if there was a Seed, how many points there were for each kind of rare event.
	RarePoints [RareKinds]int
	Timers     int // that the program has set or stopped
	// EarlyTimers is how often the clock could advance although goroutines could go on. An
	// execution of the same schedule is the same only if it is as often.
	EarlyTimers int
	Stdout      []byte
	Stderr      []byte
	// From is the choice at which the execution began, since all before was done by executions
	// before it; 0: it began at main.main.
	From    int
	Details *Details // nil: they were not wanted
	// Disk is, of a Crashed, what is on the disk after it, for Schedule.Disk. Equal disks are equal
	// byte for byte. Unsynced is how many operations were not durable; some of them may be lost.
	Disk     []byte
	Unsynced int
	// Replay is the first schedule that the program has given to tandem.Replay; empty: none.
	Replay string
}

// Outcome is how an execution ended.
type Outcome uint8

const (
	Completed       Outcome = abi.OutcomeCompleted
	Deadlock        Outcome = abi.OutcomeDeadlock
	Panicked        Outcome = abi.OutcomePanic
	Exited          Outcome = abi.OutcomeExit   // with a status other than 0
	AssertionFailed Outcome = abi.OutcomeAssert // tandem.Assert
	Redundant       Outcome = abi.OutcomeRedundant
	StepLimit       Outcome = abi.OutcomeSteps
	// The log can have no more events; it ends with the last transition that is whole.
	LogLimit Outcome = abi.OutcomeLogFull
	// Another limit of an execution was reached: Message says which.
	OtherLimit Outcome = abi.OutcomeLimit
	Diverged   Outcome = abi.OutcomeDiverged // the schedule could not be followed
	// A fatal error of the runtime, such as concurrent map writes.
	Fatal   Outcome = abi.OutcomeFatal
	Refused Outcome = abi.OutcomeRefused // the program did what cannot be checked
	// A loop went on waiting though others could have gone on.
	RoundLimit Outcome = abi.OutcomeRounds
	Leaked     Outcome = abi.OutcomeLeaked // it ended well, but left goroutines blocked for ever
	// Goroutines go on, but only go round in loops without effect, for ever.
	Livelock Outcome = abi.OutcomeLivelock
	// Unjudged: it ended well, but whether it left goroutines blocked for ever is not known: when
	// OvertimeTimers timers had fired, or OvertimeYears had passed, some still waited for one.
	Unjudged Outcome = abi.OutcomeUnjudged
	DataRace Outcome = abi.OutcomeRace    // two unordered accesses to memory; see Log.Race
	Crashed  Outcome = abi.OutcomeCrashed // as an answer said; see Log.Disk
	// It has come to a state that is known, as States said.
	Known Outcome = abi.OutcomeKnown
)

// OvertimeTimers and OvertimeYears bound what comes after main where leaks are looked for: timers
// that fire, and how far the clock advances.
const (
	OvertimeTimers = abi.OvertimeTimers
	OvertimeYears  = abi.OvertimeYears
)

// Race is a data race: two accesses to the same memory that nothing orders, of
// which at least one writes, and not both are atomic.
type Race struct{ Earlier, Later MemoryAccess }

// First is a copy of the earlier access, and nil where there is no race: what to watch for
// when the same choices are made again.
func (r *Race) First() *MemoryAccess {
	if r == nil {
		return nil
	}
	first := r.Earlier
	return &first
}

// MemoryAccess is an access to a byte of memory.
type MemoryAccess struct {
	Address   uint64
	Size      int // bytes from Address on, at least; 0: a variable of a basic type
	Write     bool
	Atomic    bool
	Goroutine uint64   // the earlier access: only if it was watched
	Stack     []uint64 // program counters of the calls, innermost first; likewise

	slot, clock uint32
}

// Peers answers for the other side of the program's connections.
type Peers interface {
	// Exchange is called with each input to the peer group, in order. Its data are valid during
	// the call. An error ends the execution, and Run returns it.
	Exchange(model.Input) (model.Answer, error)
}

// Watcher is implemented by Peers whose answers depend on what the program has done by itself.
// Watch is called before each Exchange with all events of the execution until then, the accesses of
// the input among them. They are valid during the call.
type Watcher interface {
	Watch([]Event)
}
