package check

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/sut"
)

// Scope connection rests on the assumption that what arrives on a connection depends on that
// connection alone. Scope auto is connection scope, audited:
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

// The first execution with several connections is followed by firstAudits random ones, and then
// one of auditShare by one.
const (
	firstAudits = 12
	auditShare  = 64
)

// auditor asks a group of its own.
type auditor struct {
	mu    sync.Mutex     // one audit at a time
	side  *driver.Driver // in group scope
	of    *driver.Driver // in connection scope: what is audited
	begun bool           // there was an execution with several connections
}

func newAuditor(ctx context.Context, o Options, of *driver.Driver) *auditor {
	a := &auditor{side: driver.New(ctx, o.driver(iocache.Group)), of: of}
	o.limit(a.side.Cache())
	return a
}

// runs is how many audits follow an execution.
func (a *auditor) runs(s explore.Schedule, connections int) int {
	if a == nil || connections < 2 {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.begun {
		a.begun = true
		return firstAudits
	}
	if sampled(s, auditShare) {
		return 1
	}
	return 0
}

// auditSample follows an execution of so many transitions by as many others as its place in the
// search asks for.
func (x *executor) auditSample(s explore.Schedule, transitions int) error {
	if x.talk == nil {
		return nil
	}
	for i := range x.run.auditor.runs(s, x.talk.Connections()) {
		seed := uint64(i + 1)
		for _, a := range s.Prefix {
			seed = seed*0x9e3779b97f4a7c15 + uint64(a.Goroutine)
		}
		other := otherOrder(seed, transitions)
		other.Steps = x.run.options.Depth
		if err := x.audit(other); err != nil {
			return err
		}
	}
	return nil
}

// otherOrder is one of several kinds of random schedules: step by step, or by priorities, which
// change at one transition or at none. In a row of seeds they take turns.
func otherOrder(seed uint64, transitions int) sut.Schedule {
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

// audit runs a schedule with the peers asked in the order that it has them asked in.
func (x *executor) audit(s sut.Schedule) error {
	a := x.run.auditor
	if a == nil || x.run.ctx.Err() != nil { // peers answer nobody whose check was interrupted
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	twin, err := x.otherWorker()
	if err != nil {
		return err
	}
	x.counts.Audits++
	talk := &audited{
		session: a.side.NewSession(&PeerCounts{}), // what it costs is not the search's
		mirror:  a.of.Mirror(), chosen: a.side.Behaviours() <= 1, compared: &x.counts.Compared,
	}
	talk.session.Rewind()
	_, err = twin.Run(s, talk)
	return err
}

// audited is the peers' side of an execution whose answers are compared.
type audited struct {
	session  *driver.Session
	mirror   *driver.Mirror // in the cache that is audited
	chosen   bool           // how the peers behave
	compared *int
}

// Exchange implements sut.Peers.
func (t *audited) Exchange(in model.Input) (model.Answer, error) {
	var seen driver.Exchange
	t.session.Watch(func(x driver.Exchange) { seen = x })
	answer, err := t.session.Exchange(in)
	if err != nil {
		return answer, err
	}
	if !t.chosen {
		t.chosen = true
		t.mirror.Choose(in.Behaviour)
	}
	seen.Input.Name = in.Name
	known, err := t.mirror.Compare(seen.Input, seen.Answer.Reaction)
	if known {
		*t.compared++
	}
	return answer, err
}

// contradicts reports whether an error says that connections may depend on each other.
func contradicts(err error) bool {
	var inconsistency *iocache.Inconsistency
	var dependence *iocache.Dependence
	return errors.As(err, &inconsistency) || errors.As(err, &dependence)
}

// inGroupScope starts a check over of which a contradiction has ended the one in scope auto.
func (o Options) inGroupScope(contradiction error) Options {
	o.Scope, o.Audited, o.contradiction = iocache.Group, false, contradiction.Error()
	o.Search = o.Again()
	return o
}

// scope says what a verdict rests on, for reports.
func (o *Options) scope(c Counts) string {
	switch {
	case o.contradiction != "":
		return "group (auto; the connections depend on each other)"
	case o.Audited && c.Audits == 0:
		return "connection (auto; there was nothing to compare: no execution had several connections)"
	case o.Audited:
		return fmt.Sprintf(
			"connection (auto; in %s with other orders of the requests %s of the peers were the same)",
			textutil.CountOf(c.Audits, "execution"), textutil.CountOf(c.Compared, "answer"))
	}
	return o.Scope.String()
}
