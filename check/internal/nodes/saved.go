package nodes

import (
	"errors"
	"maps"

	"github.com/tandem-mc/tandem/check/internal/nodes/course"
	"github.com/tandem-mc/tandem/check/internal/nodes/kept"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
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
	k := kept.Known{Runs: x.runs, Schedules: x.schedules, Data: x.net.Data, Nobody: x.net.Nobody,
		Outcomes: x.result.Outcomes, Unknown: x.unknown, Signatures: x.known,
		Stuck: map[string][]kept.Finding{}, Ordered: x.net.Ordered, Stage: x.stage}
	if x.never != nil {
		k.Never = x.never.Error()
	}
	for key, list := range x.stuck {
		for _, f := range list {
			k.Stuck[key] = append(k.Stuck[key], kept.Finding{Item: f.item, Outcome: f.outcome,
				Choices: f.choices})
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
	maps.Copy(x.schedules, k.Schedules)
	maps.Copy(x.net.Data, k.Data)
	maps.Copy(x.net.Nobody, k.Nobody)
	maps.Copy(x.known, k.Signatures)
	for key, list := range k.Stuck {
		for _, f := range list {
			x.stuck[key] = append(x.stuck[key], &finding{item: f.Item, outcome: f.Outcome,
				choices: f.Choices})
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
	replaced map[string][]model.Action // filled while the item is done
}

// ways are schedules that have led to events of a node, by the key of these. They are tried first
// when a node is to come there again. What arrives may be other than it was, so they are a guess.
type ways struct {
	schedules map[string][]model.Action
	// replaced has what was in the place of those that the present item has found; nil: nothing
	// was. A check that is saved within an item is as it was before.
	replaced map[string][]model.Action
	// fresh are those that a part has found. Its others are those before its batch, which several
	// parts may read at the same time. nil: this is no part.
	fresh map[string][]model.Action
}

// remember keeps a schedule, and what was there before the present item.
func (w *ways) remember(key string, log *sut.Log) { w.replace(key, course.ChoicesOf(log.Events)) }

// schedule is one that leads to some events; nil: none is known.
func (w *ways) schedule(key string) []model.Action {
	if s, ok := w.fresh[key]; ok {
		return s
	}
	return w.schedules[key]
}

// replace keeps a schedule in the place of what was there.
func (w *ways) replace(key string, schedule []model.Action) {
	if w.fresh != nil {
		w.fresh[key] = schedule
		return
	}
	if _, noted := w.replaced[key]; !noted {
		w.replaced[key] = w.schedules[key]
	}
	w.schedules[key] = schedule
}

// mark notes what is known before an item.
func (x *explorer) mark() mark {
	x.replaced = map[string][]model.Action{}
	return mark{x.runs, len(x.result.Outcomes), x.unknown, maps.Clone(x.known), maps.Clone(x.stuck),
		x.replaced}
}

// encodeAt is encode as of a mark. The explorer stays as it is.
func (x *explorer) encodeAt(m mark) ([]byte, error) {
	then := *x
	then.runs, then.unknown, then.known, then.stuck = m.runs, m.unknown, m.known, m.stuck
	then.result.Outcomes = x.result.Outcomes[:m.outcomes]
	then.schedules = maps.Clone(x.schedules)
	for key, was := range m.replaced {
		if then.schedules[key] = was; was == nil {
			delete(then.schedules, key)
		}
	}
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
	x.system, x.reports = skeleton.New(len(x.net.Names)), nil
	x.schedules, x.stuck, x.known = map[string][]model.Action{}, map[string][]*finding{}, map[string]bool{}
	x.found, x.result.Outcomes, x.unknown, x.never = nil, nil, "", nil
}
