// Package audit samples whether scope connection may be used. That scope rests on the assumption
// that what arrives on a connection depends on that connection alone. Scope auto is connection
// scope, audited:
//
//   - Whatever is given again after a restore is given tree by tree, so in another order. Each
//     answer must be the one that is known.
//   - Some executions are run once more with other schedules. The peers, a group of their own, are
//     asked in the order that results, and what they answer is compared with what that
//     connection's tree says. The schedules are random, step by step, and by random priorities:
//     what shows only when one goroutine has done all it can before another goes on hardly ever
//     comes about step by step.
//   - So is every violation that is shown.
//
// A contradiction shows that connections depend on each other, or that the peers' answers are not
// determined at all. The search then starts over in group scope, which is right in either case.
// Where there is no contradiction that is a sample, and no proof: so scope group is the default.
package audit

import (
	"context"
	"errors"
	"sync"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/sut"
)

// The first execution with several connections is followed by First random ones, and then
// one of Share by one.
// They are dense at first, so that a dependence is likely to show early, when starting over costs
// little.
const (
	First = 12
	Share = 64
)

// Auditor asks a group of its own, and compares the answers with those of the group that is
// audited. It is safe for concurrent use: there is one audit at a time.
type Auditor struct {
	mu    sync.Mutex
	side  *driver.Driver // in group scope
	of    *driver.Driver // in connection scope: what is audited
	begun bool           // there was an execution with several connections
}

// New returns an auditor of a driver in connection scope. It asks side, which is in group scope.
func New(side, of *driver.Driver) *Auditor { return &Auditor{side: side, of: of} }

// Close ends the peers of the auditor.
func (a *Auditor) Close() error { return a.side.Close() }

// Of is what the audits of an execution follow from that has so many transitions and connections.
// drawn is whether its schedule is one of the sample of Share. It depends on the schedule and on
// what the program did, and not on who runs it or when. So a repeated check audits the same
// executions, and so does one that has workers elsewhere.
func Of(s explore.Schedule, transitions, connections int, drawn bool) *execution.Sample {
	seed := uint64(1)
	for _, a := range s.Prefix {
		seed = seed*0x9e3779b97f4a7c15 + uint64(a.Goroutine)
	}
	return &execution.Sample{Seed: seed, Transitions: transitions, Connections: connections, Drawn: drawn}
}

// Schedules lists the schedules of the audits that are to follow an execution. Executions with
// fewer than two connections have none.
func (a *Auditor) Schedules(s *execution.Sample) []sut.Schedule {
	var list []sut.Schedule
	for i := range a.runs(s.Connections, s.Drawn) {
		list = append(list, otherOrder(s.Seed+uint64(i), s.Transitions))
	}
	return list
}

// runs is how many audits follow an execution.
// It changes begun, so the first call with several connections gets First, whichever executor makes
// it.
func (a *Auditor) runs(connections int, drawn bool) int {
	if connections < 2 {
		// With one connection the order of requests is the same in both scopes.
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.begun {
		a.begun = true
		return First
	}
	if drawn {
		return 1
	}
	return 0
}

// otherOrder is one of several kinds of random schedules: step by step, or by priorities, which
// change at one transition or at none. In a row of seeds they take turns.
// transitions bounds where a rare event or a change of priorities is placed. An execution without
// any counts as one of length one.
func otherOrder(seed uint64, transitions int) sut.Schedule {
	// The lowest bit is set, since seed 0 stands for no random schedule.
	s := sut.Schedule{Seed: seed<<1 | 1}
	for kind := range sut.RareKinds { // one of each, wherever that is possible
		point := 1 + int(seed*uint64(2*kind+3)%uint64(max(transitions, 1)))
		s.Rare = append(s.Rare, sut.Rare{Kind: sut.RareKind(kind), At: point})
	}
	switch seed % 3 {
	case 1:
		s.Priorities = &sut.Priorities{}
	case 2:
		s.Priorities = &sut.Priorities{Changes: []int{1 + int(seed/3%uint64(max(transitions, 1)))}}
	}
	return s
}

// Run runs a schedule in a worker with the peers asked in the order that it has them asked in. It
// returns how many answers were compared. The error says which one contradicts another, or why the
// schedule could not be run.
// The session starts at the root of the auditor's own cache. Answers that it has got in an earlier
// audit are not asked for again. Waits on peers end with the context, which has to end with that of
// the driver.
func (a *Auditor) Run(ctx context.Context, worker *sut.Worker, s sut.Schedule) (compared int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	talk := &comparison{
		session: a.side.NewSession(&driver.Counts{}), // what it costs is not the search's
		// With one behaviour there is no choice to follow.
		mirror: a.of.Mirror(), chosen: a.side.Behaviours() <= 1,
	}
	talk.session.EndWith(ctx)
	talk.session.Rewind()
	_, err = worker.Run(s, talk)
	return talk.compared, err
}

// comparison is the peers' side of an execution whose answers are compared.
// It lives for one execution. Only the worker's goroutine uses it.
type comparison struct {
	session  *driver.Session
	mirror   *driver.Mirror // in the cache that is audited
	chosen   bool           // how the peers behave
	compared int
}

// Exchange implements sut.Peers.
// The program gets the answer of the auditor's own peers. The cache that is audited is only
// compared with it.
func (t *comparison) Exchange(in model.Input) (model.Answer, error) {
	var seen driver.Exchange
	// Watch is set anew each time, so that seen is the exchange of this very input.
	t.session.Watch(func(x driver.Exchange) { seen = x })
	answer, err := t.session.Exchange(in)
	if err != nil {
		return answer, err
	}
	if !t.chosen {
		// The choice is the first node of the mirror's tree, so it is followed before any input.
		t.chosen = true
		if err := t.mirror.Choose(in.Behaviour); err != nil {
			return answer, err
		}
	}
	// The worker's name tells which tree of the mirror the connection belongs to.
	seen.Input.Name = in.Name
	known, err := t.mirror.Compare(seen.Input, seen.Answer.Reaction)
	if known {
		t.compared++
	}
	return answer, err
}

// Contradicts reports whether an error says that connections may depend on each other.
// Both kinds of error count: another answer to the same requests, and data on a connection that
// nothing was sent on.
func Contradicts(err error) bool {
	var inconsistency *iocache.Inconsistency
	var dependence *iocache.Dependence
	return errors.As(err, &inconsistency) || errors.As(err, &dependence)
}
