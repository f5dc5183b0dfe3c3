package nodes

import (
	"context"
	"errors"
	"fmt"

	"github.com/tandem-mc/tandem/check/internal/nodes/baton"
	"github.com/tandem-mc/tandem/check/internal/nodes/recorded"
	"github.com/tandem-mc/tandem/check/internal/nodes/told"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// Replayed is what the nodes of a recording do now.
type Replayed struct {
	// Violation is what it leads to; nil: the node that had one ends well, or a node has parted.
	Violation *Violation
	Ended     string         // how the node ended that had the violation
	Changed   []string       // nodes whose programs are other ones than those recorded
	Parted    *baton.Parting // of a node that has changed; nil: all have done what is recorded
}

// maxSteps is how long an execution of a node that has changed may be, or twice as long as it was.
const maxSteps = 10_000

// Replay runs the nodes of a recording again, all together and so many times. Those programs that
// were recorded must do as recorded, or the error says which one does not. Others are followed as
// far as they agree. They are in the order of the recording.
func Replay(ctx context.Context, programs []*sut.Program, rec *report.NodesRecording, times int,
) (*Replayed, error) {
	p, closeAll, err := newReplay(ctx, programs, rec)
	defer closeAll()
	if err != nil {
		return nil, err
	}
	r := &Replayed{}
	for c := range rec.Nodes {
		if programs[c].Hash != rec.Nodes[c].Build {
			r.Changed = append(r.Changed, rec.Nodes[c].Name)
		}
	}
	// All runs of one build are the same, so any of them can be shown.
	var all []Played
	for i := range times {
		if all, r.Parted, err = p.run(); err == nil {
			err = asRecorded(programs, rec, all)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("run %d of %d: %w%s", i+1, times, err, told.Changed(r.Changed))
		}
	}
	judged := &all[p.judged]
	if r.Ended = judged.Outcome.String(); judged.Outcome == sut.Refused {
		r.Ended += ": " + judged.Message
	}
	if r.Parted != nil || !judged.outcome.Violation() {
		return r, nil
	}
	v := &Violation{Node: p.net.Names[p.judged], Outcome: judged.outcome, Recording: rec,
		Events: told.Steps(p.net, p.global)}
	v.Counterexample, v.Signature, err = p.show(judged.race)
	r.Violation = v
	return r, err
}

// newReplay starts a worker for each node that has a program, in the surroundings that were
// recorded. They are to be closed also after an error. A context that ends interrupts them.
func newReplay(ctx context.Context, programs []*sut.Program, rec *report.NodesRecording) (
	p *player, closeAll func(), err error) {
	p = &player{judged: rec.Violated - 1, apart: rec.Apart, programs: programs}
	closeAll = func() {}
	if p.net, err = recorded.Net(rec); err != nil {
		return nil, closeAll, err
	}
	if p.global, p.net.Data = recorded.Skeleton(rec, p.net); rec.Walk {
		p.timing = recorded.TimingOf(rec.Events, len(rec.Nodes))
	} else {
		p.fates = recorded.TimingOf(rec.Events, len(rec.Nodes))
	}
	var unwatch []func() bool
	closeAll = func() {
		for i, w := range p.workers {
			if w != nil {
				unwatch[i]()
				w.Close()
			}
		}
	}
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		s := sut.Schedule{Beginning: sut.Beginning{Draws: n.Draws}, Rounds: maxRounds,
			WantLeaks: n.Outcome == sut.Leaked.String()}
		s.Prefix = recorded.Actions(n.Schedule)
		// A program that has changed may not be able to follow, and may never end.
		if p := programs[i]; p != nil && p.Hash != n.Build {
			s.Lenient, s.Steps = true, max(maxSteps, 2*len(s.Prefix))
		}
		p.schedules = append(p.schedules, s)
		p.later = append(p.later, nil)
		for _, life := range n.Later {
			next := s
			next.Draws, next.Prefix = life.Draws, recorded.Actions(life.Schedule)
			p.later[i] = append(p.later[i], next)
		}
		if programs[i] == nil { // nobody looks at it
			p.workers, unwatch = append(p.workers, nil), append(unwatch, nil)
			continue
		}
		o := recorded.Options(n)
		o.Processor = i + 1
		w, err := sut.Start(programs[i], o)
		if err != nil {
			return p, closeAll, fmt.Errorf("node %s: %w", n.Name, err)
		}
		p.workers = append(p.workers, w)
		unwatch = append(unwatch, context.AfterFunc(ctx, w.Interrupt))
	}
	return p, closeAll, nil
}

// asRecorded tells which nodes do something else than what is recorded of the same programs.
func asRecorded(programs []*sut.Program, rec *report.NodesRecording, all []Played) (failed error) {
	for c, p := range programs {
		now := recorded.Now{Build: p.Hash, Outcome: all[c].Outcome.String(), EventLog: all[c].eventLog}
		failed = errors.Join(failed, now.Compare(&rec.Nodes[c]))
	}
	return failed
}
