package check

import (
	"context"
	"fmt"

	"github.com/tandem-mc/tandem/check/internal/audit"
	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/iocache"
)

// newAuditor makes the auditor of scope auto, with peers of its own. The auditor asks a second
// group of peers, in group scope, so that its questions do not disturb the cursor of the search.
func newAuditor(ctx context.Context, o Options, of *driver.Driver) *audit.Auditor {
	side := driver.New(ctx, o.driver(iocache.Group))
	// The auditor's cache has the same limits and masks as the one that is audited.
	o.limit(side.Cache())
	return audit.New(side, of)
}

// inGroupScope starts a check over of which a contradiction has ended the one in scope auto.
func (o Options) inGroupScope(contradiction error) Options {
	// The contradiction stays in the options: the report shows why the scope is another one than
	// asked for.
	o.Scope, o.Audited, o.contradiction = iocache.Group, false, contradiction.Error()
	// A search cannot be used twice, so the options make a new one.
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
