package nodes

import (
	"errors"
	"maps"

	"github.com/tandem-mc/tandem/check/internal/nodes/kept"
	"github.com/tandem-mc/tandem/check/internal/nodes/ways"
)

// An exploration can go on later: what is known after an item of work is all that is needed for the
// next one. Items that were reported are reported again to a new system, which then has the same
// work left. What an item had done when it was interrupted is dropped, and it is done again.

// reported is what was reported of an item.
type reported = kept.Report

// stage is which partition is explored now, and what came of those before.
type stage = kept.Stage

// encode returns what Config.Resume takes.
func (x *explorer) encode() ([]byte, error) {
	k := kept.Known{Runs: x.runs, Schedules: x.ways.All(), Data: x.net.Data, Nobody: x.net.Nobody,
		Outcomes: x.result.Outcomes, Unknown: x.unknown, Signatures: x.known,
		Stuck: map[string][]kept.Finding{}, Ordered: x.net.Ordered, Stage: x.stage}
	if x.never != nil {
		k.Never = x.never.Error()
	}
	for key, list := range x.stuck {
		for _, f := range list {
			k.Stuck[key] = append(k.Stuck[key], kept.Finding{Item: f.item, Outcome: f.outcome,
				Lives: f.lives})
		}
	}
	return kept.State{Reports: x.reports, Known: k}.Encode()
}

// resume takes over what encode has returned. The explorer must not have begun.
func (x *explorer) resume(data []byte) error {
	s, err := kept.Decode(data)
	if err != nil {
		return err
	}
	k := s.Known
	if x.net.Ordered = k.Ordered; k.Ordered == nil {
		x.net.Ordered = ordered(len(x.net.Names))
	}
	x.stage, x.net.Parted = k.Stage, k.Stage.Parted
	for _, r := range s.Reports {
		if !x.system.Asked(r.Key) { // names of items have changed
			return errors.New("the exploration was saved by another version of Tandem: check the nodes " +
				"from the beginning")
		}
		x.report(r)
	}
	x.runs, x.result.Outcomes, x.unknown = k.Runs, k.Outcomes, k.Unknown
	x.config.Progress.Ran(x.runs)
	x.ways = ways.New(k.Schedules)
	maps.Copy(x.net.Data, k.Data)
	maps.Copy(x.net.Nobody, k.Nobody)
	maps.Copy(x.known, k.Signatures)
	for key, list := range k.Stuck {
		for _, f := range list {
			x.stuck[key] = append(x.stuck[key], &finding{item: f.Item, outcome: f.Outcome,
				lives: f.Lives})
		}
	}
	if k.Never != "" {
		x.never = errors.New(k.Never)
	}
	return nil
}

// report reports an item to the system, and keeps that for when the exploration goes on.
func (x *explorer) report(r reported) {
	switch {
	case r.IsExplored:
		x.system.Explored(r.Key, r.Explored)
	case r.IsCompleted:
		x.system.Completed(r.Key, r.Completed)
	case r.Failed > 0:
		x.system.Cannot(r.Key, r.Failed-1)
	default:
		x.system.Impossible(r.Key)
	}
	x.reports = append(x.reports, r)
}

// mark is what an item may change before it is reported. Data that are sent are no part of it: they
// are the same whenever they are sent.
type mark struct {
	runs     int
	outcomes int
	unknown  string
	known    map[string]bool
	stuck    map[string][]*finding
	ways     ways.Mark
}

// mark notes what is known before an item.
func (x *explorer) mark() mark {
	return mark{x.runs, len(x.result.Outcomes), x.unknown, maps.Clone(x.known), maps.Clone(x.stuck),
		x.ways.Mark()}
}

// encodeAt is encode as of a mark. The explorer stays as it is.
func (x *explorer) encodeAt(m mark) ([]byte, error) {
	then := *x
	then.runs, then.unknown, then.known, then.stuck = m.runs, m.unknown, m.known, m.stuck
	then.result.Outcomes = x.result.Outcomes[:m.outcomes]
	then.ways = x.ways.Before(m.ways)
	return then.encode()
}

// save hands the exploration over to be saved, as of a mark. Where nothing was explored there is
// nothing to save. What was found ends the check, so it need not go on.
func (x *explorer) save(m mark, last bool) {
	begun := len(x.reports) > 0 || x.stage.Parted != nil
	if x.config.Save != nil && begun && len(x.found)+len(x.told) == 0 {
		x.config.Save(func() ([]byte, error) { return x.encodeAt(m) }, last)
	}
}

// again begins the exploration anew, with all events of a node in one order. What has been sent is
// the same, and executions count.
func (x *explorer) again(node int) {
	// Events of the node have other names now, so no skeleton that has some of them is any use.
	// What is known of the other nodes refers to these skeletons.
	x.net.Ordered[node] = true
	x.system, x.reports = x.config.System(len(x.net.Names)), nil
	x.ways, x.stuck, x.known = ways.New(nil), map[string][]*finding{}, map[string]bool{}
	x.found, x.result.Outcomes, x.unknown, x.never = nil, nil, "", nil
}
