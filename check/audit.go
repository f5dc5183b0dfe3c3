package check

import (
	"context"
	"fmt"

	"github.com/tandem-mc/tandem/check/internal/audit"
	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/sut"
)

// newAuditor makes the auditor of scope auto, with peers of its own.
func newAuditor(ctx context.Context, o Options, of *driver.Driver) *audit.Auditor {
	side := driver.New(ctx, o.driver(iocache.Group))
	o.limit(side.Cache())
	return audit.New(side, of)
}

// auditSample follows an execution of so many transitions by as many others as its place in the
// search asks for.
func (x *executor) auditSample(s explore.Schedule, transitions int) error {
	a := x.run.auditor
	if x.talk == nil || a == nil {
		return nil
	}
	for _, other := range a.Schedules(s, transitions, x.talk.Connections(), sampled(s, audit.Share)) {
		other.Steps = x.run.options.Depth
		if err := x.audit(other); err != nil {
			return err
		}
	}
	return nil
}

// audit runs a schedule with the peers asked in the order that it has them asked in.
func (x *executor) audit(s sut.Schedule) error {
	a := x.run.auditor
	if a == nil || x.run.ctx.Err() != nil { // peers answer nobody whose check was interrupted
		return nil
	}
	twin, err := x.otherWorker()
	if err != nil {
		return err
	}
	x.counts.Audits++
	compared, err := a.Run(twin, s)
	x.counts.Compared += compared
	return err
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
