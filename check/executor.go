package check

import (
	"context"
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/modules"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// executor runs executions, one after the other: a worker with all that it takes.
type executor struct {
	run        *run
	number     int // of the executors of the run
	worker     *sut.Worker
	twin       *sut.Worker // for self-checks; nil until the first
	translator *translate.Translator
	modules    modules.Finder
	talk       *driver.Session // with the peers; nil if there are none
	counts     Counts          // of the execution under way
	unwatch    []func() bool   // of the context
	broken     error           // that ended a part: it is not to be used again

	// Guarded by the pool:
	executing bool
	waiting   bool // there is nothing to do
	failed    bool // it is not to be used again
}

func (r *run) newExecutor(number int) (*executor, error) {
	x := &executor{run: r, number: number, translator: &translate.Translator{}}
	if r.peers != nil {
		x.talk = r.peers.NewSession(&x.counts.PeerCounts)
	}
	var err error
	x.worker, err = x.start(r.options.Isolation)
	return x, err
}

// start starts a worker, which ends with the context.
func (x *executor) start(isolation sut.Isolation) (*sut.Worker, error) {
	o := x.run.options.worker()
	o.Isolation, o.Processor = isolation, x.number+1
	w, err := sut.Start(x.run.options.Program, o)
	if err == nil && x.run.ctx.Err() == nil { // afterwards, what was found is shown
		x.unwatch = append(x.unwatch, context.AfterFunc(x.run.ctx, w.Interrupt))
	}
	return w, err
}

// renew replaces a worker that cannot go on. Should there be none any more, the
// next use of the old one tells.
func (x *executor) renew() {
	if w, err := x.start(x.run.options.Isolation); err == nil {
		x.worker.Close()
		x.worker = w
	}
}

func (x *executor) close() {
	for _, stop := range x.unwatch {
		stop()
	}
	if x.worker != nil {
		x.worker.Close()
	}
	if x.twin != nil {
		x.twin.Close()
	}
}

// interrupt has the execution under way end with an error.
func (x *executor) interrupt() {
	x.worker.Interrupt()
}

// result is what somebody may want to know of an execution, beside that it was.
type result struct {
	kind        string     // what is to be judged; "" if nothing is
	kept        *violation // the execution, unless one of its kind has been reported
	isViolation bool
	limit       string // that cut it off, unless another was reported that it had cut off
	limited     string // the same, and where it was then
	checked     bool   // it was run twice more
	counts      Counts // of work with the peers
}

// execute runs a schedule of the search. The execution is in the memory of the translator.
// Violations of known kinds need not be kept. The first of a check is one of those that are run
// twice more.
func (x *executor) execute(schedule explore.Schedule, first bool, known func(kind string) bool) (
	explore.Execution, *result, error) {
	x.counts = Counts{}
	checked := sampled(schedule, x.run.options.SelfCheck) || first && x.run.options.SelfCheck > 0
	s := x.translator.Schedule(schedule)
	s.Steps, s.WantLeaks = x.run.options.Depth, x.run.options.Leaks
	if s.Seed == 0 {
		s.Rounds = maxRounds
	}
	log, err := x.runOne(s, checked)
	if err != nil {
		return explore.Execution{}, nil, err
	}
	from := translate.SourceOf(x.worker)
	if checked {
		from = translate.Source{} // a copy of an earlier log
	}
	x.modules.Note(x.run.options.Program, x.run.options.Modules, log.Events[from.Same:])
	execution, err := x.translator.Log(log, from)
	if err == nil {
		err = x.auditSample(schedule, len(execution.Transitions))
	}
	if err != nil {
		return explore.Execution{}, nil, err
	}
	f, err := x.find(log, execution.Outcome, known)
	if f.checked, f.counts = checked, x.counts; f == (result{}) {
		return execution, nil, err
	}
	return execution, &f, err
}

// runOne runs a schedule, and if it is to be checked, once and again.
func (x *executor) runOne(s sut.Schedule, checked bool) (*sut.Log, error) {
	var exchanges []driver.Exchange
	answers := x.answers()
	if checked && x.talk != nil {
		x.talk.Watch(func(e driver.Exchange) { exchanges = append(exchanges, e) })
		defer func() { x.talk.Watch(nil) }()
	}
	log, err := x.worker.Run(s, answers)
	if err != nil {
		return nil, err
	}
	if log.Outcome == sut.Refused {
		return nil, x.run.refusal(log)
	}
	if checked && log.Outcome != sut.Diverged {
		return x.selfCheck(s, log, exchanges)
	}
	return log, nil
}

// answers returns who answers for the peers in the next execution.
func (x *executor) answers() sut.Peers {
	if x.talk == nil {
		return nil
	}
	x.talk.Rewind()
	return x.talk
}

// sampled picks one of n schedules: the same ones, whoever runs them and when.
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

// find returns what there is to know of an execution. The log may be invalid afterwards.
func (x *executor) find(log *sut.Log, outcome explore.Outcome, known func(kind string) bool) (result, error) {
	var f result
	if outcome == explore.StepLimit {
		if limit, whole := x.run.limit(log); !known(cutOff + limit) {
			f.limit, f.limited = limit, whole
		}
	}
	kept, err := x.classify(log, outcome, &f)
	if err != nil || f.kind == "" || known(f.kind) {
		return f, err
	}
	if kept == nil {
		kept = x.keep(log)
	}
	f.kept = kept
	return f, nil
}

// classify determines the kind of an execution. If that takes others, it keeps this one.
func (x *executor) classify(log *sut.Log, outcome explore.Outcome, f *result) (kept *violation, err error) {
	f.isViolation = outcome.Violation()
	switch {
	case x.run.kind != nil:
		f.kind = x.run.kind(log, outcome)
	case f.isViolation && x.run.options.Violations <= 1:
		f.kind = violated
	case f.isViolation:
		kept = x.keep(log)
		var s narrate.Signature
		s, err = x.signature(&kept.log)
		f.kind = s.Key
	}
	return kept, err
}

// cutOff begins the kind of the first execution that a limit cut off.
const cutOff = "cut off"

// violated is the kind of all violations, where one of them is enough.
const violated = "violated"

// keep is an execution that outlives the next one, and who answered its inputs.
func (x *executor) keep(log *sut.Log) *violation {
	v := keep(log)
	if x.talk != nil {
		v.hits = slices.Clone(x.talk.Hits())
	}
	return v
}

// account takes an execution over into the result, in the order of the search.
func (r *run) account(f *result) error {
	if f == nil {
		return nil
	}
	r.counts.Add(f.counts)
	if f.checked {
		r.counts.SelfChecked++
	}
	r.noteLimit(f)
	if f.kind == "" {
		return nil
	}
	return r.consider(f)
}

// consider keeps an execution if it is a violation that somebody wants to see.
func (r *run) consider(f *result) error {
	switch {
	case r.judge == nil:
		r.collect(f, 1)
	case f.kept != nil:
		tests, err := r.judge(&f.kept.log, f.isViolation)
		if err != nil || len(tests) == 0 {
			return err
		}
		f.kept.tests = tests
		r.violations = append(r.violations, f.kept)
	}
	return nil
}

// refusalError says what the program did that cannot be checked, and where.
type refusalError struct {
	text   string
	stdout []byte // of the execution that did it
}

func (e *refusalError) Error() string { return e.text }

func (r *run) refusal(log *sut.Log) error {
	text := fmt.Sprintf("%s cannot be checked: %s%s", r.options.Package, log.Message, r.place(log.Stack))
	return &refusalError{text, slices.Clone(log.Stdout)}
}
