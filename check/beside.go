package check

import (
	"context"
	"errors"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/nodes"
	"github.com/tandem-mc/tandem/check/internal/nodes/crew"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/strategy"
)

// peersBeside are the peers of a check of nodes.
type peersBeside struct {
	options Options // of the peers alone
	crews   crew.Peers
}

// newPeersBeside are the peers that a request has beside nodes, of which nobody is started yet; nil:
// it has none. The nodes are told where connections can fail.
func newPeersBeside(r Request, c *nodes.Config) (b *peersBeside, err error) {
	if r.Config.Group == nil {
		return nil, nil
	}
	o := Options{World: c.Worker.Environment, PeerOptions: peerOptions(r.Config)}
	if o.Strategy, err = strategy.ByName(r.Config.Strategy); err == nil {
		err = o.prepare()
	}
	o.CacheBytes /= int64(max(c.Crews, 1))
	w := &c.Worker.Environment
	w.FaultPlaces, w.FaultsOpened = o.World.FaultPlaces, o.World.FaultsOpened
	return &peersBeside{options: o}, err
}

// during calls do while the nodes can have the peers beside them, if there are any.
func (b *peersBeside) during(ctx context.Context, r Request, c *nodes.Config, listener Listener,
	do func() error) error {
	if b == nil {
		return do()
	}
	j, o := &Job{request: r}, &b.options
	return j.withDaemon(ctx, listener, o, func() error {
		b.crews.Driver = func() *driver.Driver {
			d := driver.New(ctx, o.driver(iocache.Group))
			o.limit(d.Cache())
			return d
		}
		c.Peers = b.crews.Beside(o.Group)
		return errors.Join(do(), b.crews.Close())
	})
}

// tell adds to a report what the peers were asked.
func (b *peersBeside) tell(run *report.Run) {
	if b == nil {
		return
	}
	result := &Result{}
	counts, known := b.crews.Asked()
	result.Counts.PeerCounts, result.Reads, result.Uninstrumented = counts, known.Reads, known.Uninstrumented
	result.Refusal, result.Unstored, result.Skipped, result.WhyKilled = known.Refusal, known.Unstored,
		known.Skipped, known.Killed
	was := run.Counts
	run.Counts = peerCounts(b.options, result)
	run.Counts.Executions, run.Counts.Elapsed, run.Counts.NodesCounts = was.Executions, was.Elapsed,
		was.NodesCounts
}
