// Package executor runs executions: a worker that runs the program, a session with the peers that
// answers for them, and the choice of executions that a report may show.
package executor

import (
	"context"
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/audit"
	"github.com/tandem-mc/tandem/check/internal/dials"
	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/check/internal/modules"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/pool"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// Config says what the executors of a check run, and what is to be known of it. It does not change
// once there is one, but for Dials.
type Config struct {
	Program *sut.Program
	Package string         // as the user named it
	Worker  sut.Options    // its Processor is set by New
	Peers   *driver.Driver // nil: there are none
	Auditor *audit.Auditor // of scope auto; else nil
	// Audited says that executors elsewhere audit these executions: results have the samples.
	Audited bool
	Modules *modules.Set // see modules.Finder; may be nil
	Dials   dials.Set    // of the executions that were reported to the search

	Depth     int  // greatest number of transitions in an execution; 0: no other than the log's
	Leaks     bool // goroutines that are left blocked for ever are violations
	SelfCheck int  // the first and then one of so many executions is run twice more; 0: none is

	// Kind says which executions are alike: the first of each kind is kept, those of kind "" are
	// not. With nil, violations are. Distinct says whether violations of a kind are told apart.
	Kind     func(*sut.Log, explore.Outcome) string
	Distinct bool
}

// MaxRounds is how often a goroutine goes round a loop that waits, without any effect, while others
// can go on. More rounds than this are not explored.
const MaxRounds = 32

// Violating is the schedule of a violation that is run again, with early timers as it had them. The
// depth and the wish for leaks are those of the search, or the execution could end otherwise.
func (c *Config) Violating(prefix []model.Action, earlyTimers int) sut.Schedule {
	return sut.Schedule{Prefix: prefix, WantLeaks: c.Leaks, Steps: c.Depth, EarlyTimers: earlyTimers}
}

// Executor runs executions, one after the other: a worker with all that it takes. Only Interrupt
// may be called by another goroutine than the one that uses it.
type Executor struct {
	ctx        context.Context
	live       context.Context    // the same, until Interrupt
	interrupt  context.CancelFunc // ends live
	config     *Config
	number     int // of the executors of the check
	worker     *sut.Worker
	twin       *sut.Worker // for self-checks; nil until the first
	translator *translate.Translator
	modules    modules.Finder
	session    *driver.Session  // with the peers; nil if there are none
	counts     execution.Counts // of the execution under way
	isBeside   bool             // the execution under way has a limit of its own (limit)
	unwatch    []func() bool    // of the context
}

// New starts an executor, which is interrupted when the context ends. number is the executor's
// place among those of the check, from 0 on, or -1 if it is none of these. It selects the processor
// of the worker. After an error the executor is still to be closed.
func New(ctx context.Context, c *Config, number int) (*Executor, error) {
	x := &Executor{ctx: ctx, config: c, number: number, translator: &translate.Translator{}}
	if c.Peers != nil {
		x.session = c.Peers.NewSession(&x.counts.PeerCounts)
	}
	x.begin()
	var err error
	x.worker, err = x.start(c.Worker.Isolation)
	return x, err
}

// begin has the executor wait until the context ends, or until Interrupt.
func (x *Executor) begin() {
	x.live, x.interrupt = context.WithCancel(x.ctx)
	if x.session != nil {
		x.session.EndWith(x.live)
	}
}

// start starts a worker, which is interrupted with the executor.
func (x *Executor) start(isolation sut.Isolation) (*sut.Worker, error) {
	o := x.config.Worker
	o.Isolation, o.Processor = isolation, x.number+1
	w, err := sut.Start(x.config.Program, o)
	if err == nil && x.live.Err() == nil { // afterwards, what was found is shown
		x.unwatch = append(x.unwatch, context.AfterFunc(x.live, w.Interrupt))
	}
	return w, err
}

// Renew replaces a worker that cannot go on. Should there be none any more, the next use of the old
// one tells. The new worker has the isolation of the configuration.
func (x *Executor) Renew() {
	if x.live.Err() != nil { // it is to show what was found
		x.begin()
		x.closeTwin() // which was interrupted, too
	}
	if w, err := x.start(x.config.Worker.Isolation); err == nil {
		x.worker.Close()
		x.worker = w
	}
}

// Close ends the workers. It may be called after an error of New. The session is left to the
// driver.
func (x *Executor) Close() {
	for _, stop := range x.unwatch {
		stop()
	}
	x.interrupt()
	if x.worker != nil {
		x.worker.Close()
	}
	x.closeTwin()
}

// closeTwin ends the twin. It is started anew when it is needed.
func (x *Executor) closeTwin() {
	if x.twin != nil {
		x.twin.Close()
		x.twin = nil
	}
}

// Interrupt has the execution under way end soon with an error, also where it waits for peers.
func (x *Executor) Interrupt() { x.interrupt() }

// Stay keeps the calling goroutine on the processor of the worker, as sut.Worker.Stay does.
func (x *Executor) Stay() (leave func()) { return x.worker.Stay() }

// Expect says how many executions are expected to go on where the next one does.
func (x *Executor) Expect(executions float64) {
	if x.session != nil {
		x.session.Expect(executions)
	}
}

// Detach implements pool.Executor: executions are in the memory of translators.
func (x *Executor) Detach(spare pool.Memory) pool.Memory {
	mine := x.translator
	if x.translator = (&translate.Translator{}); spare != nil {
		x.translator = spare.(*translate.Translator)
	}
	return mine
}

// Worker is what runs the program.
func (x *Executor) Worker() *sut.Worker { return x.worker }

// Session is what answers for the peers; nil if there are none.
func (x *Executor) Session() *driver.Session { return x.session }

// Answers returns who answers for the peers in the next execution. The session is put back to its
// start. The result is nil, and not an empty interface with a nil session, if there are no peers.
func (x *Executor) Answers() sut.Peers {
	if x.session == nil {
		return nil
	}
	x.session.Rewind()
	return x.session
}

// TakeCounts is what work with the peers was counted since this was last called, or since the last
// execution of the search.
func (x *Executor) TakeCounts() execution.PeerCounts {
	c := x.counts.PeerCounts
	x.counts.PeerCounts = execution.PeerCounts{}
	return c
}

// Run runs a schedule of the worker, and nothing besides. The log is valid until the next execution
// of the worker.
func (x *Executor) Run(s sut.Schedule) (*sut.Log, error) { return x.worker.Run(s, x.Answers()) }

// Watch has f told of every exchange with the peers, if there are some, until stop is called.
func (x *Executor) Watch(f func(driver.Exchange)) (stop func()) {
	if x.session == nil {
		return func() {}
	}
	x.session.Watch(f)
	return func() { x.session.Watch(nil) }
}

// Execute runs a schedule of the search. The execution is in the memory of the executor. Violations
// of known kinds need not be kept. The first of a check is one of those that are run twice more. A
// result of nil says that there is nothing to report or count. An error ends the use of the
// executor.
func (x *Executor) Execute(schedule explore.Schedule, first bool, known func(kind string) bool) (
	explore.Execution, *execution.Result, error) {
	x.counts = execution.Counts{}
	checked := sampled(schedule, x.config.SelfCheck) || first && x.config.SelfCheck > 0
	s := x.translator.Schedule(schedule)
	s.Steps, s.WantLeaks = x.config.Depth, x.config.Leaks
	n := schedule.Most
	if x.isBeside = n > 0 && (s.Steps == 0 || n < s.Steps); x.isBeside {
		s.Steps = n
	}
	// A random schedule may go round a loop by chance and still leave it, so it has no limit of
	// rounds.
	if s.Seed == 0 {
		s.Rounds = MaxRounds
	}
	log, err := x.runOne(s, checked)
	if err != nil {
		return explore.Execution{}, nil, err
	}
	ends := x.ends() // before others are run
	from := translate.SourceOf(x.worker)
	// The translator must not reuse its last execution then.
	if checked {
		from = translate.Source{} // a copy of an earlier log
	}
	x.modules.Note(x.config.Program, x.config.Modules, log.Events[from.Same:])
	translated, err := x.translator.Log(log, from)
	if log.EarlyTimers > 0 {
		x.counts.Early = 1
		if translated.Outcome == explore.StepLimit {
			x.counts.EarlyCutOff = 1
		}
	}
	waited, isNoDeadlock := x.config.waitsForClients(log)
	// A deadlock that only waits for clients is no violation of the program.
	if err == nil && isNoDeadlock {
		translated.Outcome = explore.Completed
	}
	dialled := x.config.Dials.News(log.Events, waited) // find runs others
	var sample *execution.Sample
	if err == nil {
		sample, err = x.auditSample(schedule, len(translated.Transitions))
	}
	if err != nil {
		return explore.Execution{}, nil, err
	}
	r, err := x.find(log, translated.Outcome, known)
	r.Checked, r.Counts, r.Dialled, r.Ends, r.Sample = checked, x.counts, dialled, ends, sample
	if r == (execution.Result{}) {
		return translated, nil, err
	}
	kept := r // most results are not, and r need not be in memory that is to be collected
	return translated, &kept, err
}

// ends is where the last execution has ended in the I/O cache.
func (x *Executor) ends() *execution.Ends {
	if x.session == nil {
		return nil
	}
	at, _ := x.session.At()
	ends := execution.Ends(slices.Clone(at))
	return &ends
}

// runOne runs a schedule, and if it is to be checked, once and again. A diverged execution is not
// repeated: its outcome is an error already.
func (x *Executor) runOne(s sut.Schedule, checked bool) (*sut.Log, error) {
	if checked {
		return x.runChecked(s)
	}
	log, err := x.Run(s)
	if err == nil && log.Outcome == sut.Refused {
		return nil, x.refusal(log)
	}
	return log, err
}

// runChecked is runOne for an execution that is to be checked.
func (x *Executor) runChecked(s sut.Schedule) (*sut.Log, error) {
	var exchanges []driver.Exchange
	answers := x.Answers()
	record(&s)
	defer x.Watch(func(e driver.Exchange) { exchanges = append(exchanges, e) })()
	log, err := x.worker.Run(s, answers)
	switch {
	case err != nil:
		return nil, err
	case log.Outcome == sut.Refused:
		return nil, x.refusal(log)
	case log.Outcome == sut.Diverged:
		return log, nil
	}
	return x.SelfCheck(s, log, func() sut.Peers { return Recorded(x.session != nil, exchanges) })
}

// sampled picks one of n schedules: the same ones, whoever runs them and when. The hash mixes the
// prefix and the seed. Which executor runs the schedule plays no part, so a check with more workers
// samples the same.
func sampled(s explore.Schedule, n int) bool {
	if n <= 1 {
		return n == 1
	}
	hash := s.Seed
	for _, a := range s.Prefix {
		hash = (hash ^ uint64(a.Goroutine) ^ uint64(a.Choice)<<32) * 0x9e3779b97f4a7c15
		hash ^= hash >> 29
	}
	return hash%uint64(n) == 0 && hash != 0
}

// Refusal is the error of a program that does what cannot be checked. It is told apart from other
// errors, since the output shows which tests were under way.
type Refusal struct {
	text   string // what it did, and where
	Stdout []byte // of the execution that did it
}

// Error implements error.
func (e *Refusal) Error() string { return e.text }

// refusal is the error of an execution that was refused. It keeps what was printed, since the log
// is gone with the next execution.
func (x *Executor) refusal(log *sut.Log) error {
	c := x.config
	text := fmt.Sprintf("%s cannot be checked: %s%s", c.Package, log.Message, c.place(log.Stack))
	return &Refusal{text, slices.Clone(log.Stdout)}
}

// place is the innermost call in a stack that is not in the standard library. The text begins with
// a line feed. It is empty if the program's own code is not on the stack.
func (c *Config) place(stack []uint64) string {
	at, ok := narrate.Innermost(c.Program, stack)
	if !ok || !c.Program.IsOwn(at) {
		return ""
	}
	return fmt.Sprintf("\n\tat %v, in %s", at, at.Name())
}
