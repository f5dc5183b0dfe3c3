package nodes

import (
	"context"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/naming"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// Run checks the nodes. It ends their workers. When the context has ended, the verdict is unknown.
// If it was cancelled and there is a violation, that is an error, since it cannot be shown.
func Run(ctx context.Context, c Config) (*Result, error) {
	x, err := newExplorer(ctx, c)
	if err != nil {
		return nil, err
	}
	defer x.close()
	explore := stages{x}.explore
	if c.Walks != nil {
		explore = (&walks{explorer: x}).explore
	} else if c.Resume != nil {
		if err := x.resume(c.Resume); err != nil {
			return nil, err
		}
	}
	if err := explore(); err != nil {
		return nil, err
	}
	r := &x.result
	if len(x.found)+len(x.told) == 0 && x.never != nil {
		return nil, x.never
	}
	r.Counts, r.Runs, r.Traces = x.stage.Counts, x.runs, x.stage.Traces
	r.Note(append(network.StraysOf(x.net.Nobody), x.notes...)...)
	for _, n := range c.Nodes {
		r.Note(naming.WithNodes(n.Program))
	}
	switch {
	case len(r.Violations) > 0:
		r.Verdict = model.Violated
	case x.unknown == "":
		r.Verdict = model.Holds
		var all []skeleton.Global
		for _, s := range x.system.Skeletons() {
			all = append(all, s.Global)
		}
		if len(c.Partitions) == 0 { // else these are the skeletons of the last partition alone
			r.Note(x.net.Unvisited(all)...)
		}
	case c.Walks == nil && c.Between == nil:
		r.Note("executions at random may show a violation sooner: --search random")
	}
	r.Reason = x.unknown
	slices.Sort(r.Outcomes)
	return r, nil
}
