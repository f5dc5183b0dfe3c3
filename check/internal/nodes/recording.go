package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tandem-mc/tandem/check/internal/nodes/baton"
	"github.com/tandem-mc/tandem/check/internal/nodes/course"
	"github.com/tandem-mc/tandem/check/internal/nodes/environment"
	"github.com/tandem-mc/tandem/check/internal/nodes/lives"
	"github.com/tandem-mc/tandem/check/internal/nodes/pace"
	"github.com/tandem-mc/tandem/check/internal/nodes/recorded"
	"github.com/tandem-mc/tandem/check/internal/nodes/simpler"
	"github.com/tandem-mc/tandem/check/internal/nodes/told"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// recorder makes violations of what an explorer has found: it runs all nodes together. What was
// found counts in any case. That it cannot be run again is said of it.
type recorder struct{ *explorer }

// exploreAndTell explores, and makes the violations. To make one, executions are run that nobody
// has seen. If one of them shows that a node has to be in one order, the exploration begins anew.
// What it does not find any more within its bounds was found all the same.
func (x recorder) exploreAndTell() error {
	for {
		if err := x.exploreAll(); err != nil {
			return err
		}
		told := x.result.Violations
		if len(x.found) == 0 {
			return nil
		}
		x.result.Violations = nil
		err := x.tell()
		order := errOrder{}
		if !errors.As(err, &order) {
			return err
		}
		if len(x.result.Violations) == 0 {
			x.result.Violations = told
		}
		x.again(order.node)
	}
}

// tell makes the violations, each one once. No bound but that of time holds for the executions
// that this takes, and they are not counted: the numbers are those of the exploration, and stay the
// same however much is shown. The error is that of a check that was interrupted, or errOrder.
func (x recorder) tell() error {
	defer func(runs, limit int, unknown string, full func() string) {
		x.runs, x.config.Executions, x.unknown, x.config.Full = runs, limit, unknown, full
	}(x.runs, x.config.Executions, x.unknown, x.config.Full)
	x.config.Executions, x.config.Full = 0, nil
	seen := map[string]bool{}
	var again error
	for _, f := range x.found {
		v, err := x.record(f)
		if errors.Is(x.ctx.Err(), context.Canceled) {
			return x.ctx.Err()
		}
		if errors.Is(err, errEnough) || x.ctx.Err() != nil {
			err = errors.New(told.NotInTime)
		}
		if order := (errOrder{}); errors.As(err, &order) {
			again = err
		}
		if err != nil {
			v.Unrecorded = err.Error()
		}
		// The earlier access of a data race is known only now.
		if v.Signature != "" && seen[v.Signature] {
			continue
		}
		seen[v.Signature] = true
		x.result.Violations = append(x.result.Violations, v)
	}
	return again
}

// maxTried bounds how many executions of a node are tried so that it does no more than it did in
// the end. Any that does as much will do where the violation is not a deadlock.
const maxTried = 500

// record runs a violation again with all nodes together, and fills in what people want to see of
// it. What is known of it is in the result also with an error, which is one of the machinery.
//
// What the other nodes do is known by the events of the skeleton alone. So a schedule of each is
// looked for first that makes these. It is there: the skeleton was made by such executions.
func (x recorder) record(f *finding) (*Violation, error) {
	node := f.item.Component
	v := &Violation{Node: x.net.Names[node], Outcome: f.outcome}
	if f.lives == nil { // what it publishes is wrong, and nobody knew that when it ran
		if err := x.leadTo(f); err != nil {
			return v, err
		}
	}
	v.Events = told.Steps(x.net, course.InOneOrder(x.net, f.global))
	courses, went, err := x.courses(f, v)
	if err != nil {
		return v, err
	}
	g := course.Chained(f.global, courses)
	if v.Unrecorded == "" {
		v.Events = told.Steps(x.net, g)
	}
	p := x.player(g, node)
	p.apart = f.outcome == model.DataRace && !x.net.Ordered[node]
	for c := range p.schedules {
		p.fates = append(p.fates, went[c].Timing(g[c].Events))
		if len(went[c]) < 2 { // what is independent may be in another order
			p.schedules[c].Prefix = courses[c].Choices()
			p.later = append(p.later, nil)
			continue
		}
		first, later := went[c].Schedules(p.schedules[c])
		p.schedules[c], p.later = first, append(p.later, later)
	}
	var all []Played
	if v.Unrecorded == "" {
		var parted *baton.Parting
		var err error
		switch all, parted, err = p.run(); {
		case err != nil:
			return v, err
		case parted != nil:
			v.Unrecorded = parted.String()
		case all[node].outcome != f.outcome:
			v.Unrecorded = fmt.Sprintf("run with the others, node %s ended with %q", v.Node,
				all[node].Outcome)
		}
	}
	if v.Unrecorded != "" { // the node alone is known to do it, as it was explored
		p.global, p.explored, p.fates = f.global, true, make([]pace.Timing, len(g))
		p.fates[node] = f.lives.Timing(f.global[node].Events)
		p.schedules[node], p.later[node] = f.lives.Schedules(p.schedules[node])
	}
	race := f.race
	if v.Unrecorded == "" { // it is told by when the earlier access was, in the same run
		race = all[node].race
	}
	v.Counterexample, v.Signature, err = p.show(race)
	if err != nil || v.Unrecorded != "" {
		return v, err
	}
	x.keep(v, p, all)
	return v, nil
}

// keep makes the recording of a violation that all nodes have shown together. Before that, it looks
// for a simpler one, and takes it if all nodes show that together, too. Whatever goes wrong with
// that, what was found is kept. After a crash, only the last life of the node changes.
func (x recorder) keep(v *Violation, p *player, all []Played) {
	node := simpler.Node{Program: p.programs[p.judged], Follow: p.follow, Tell: x.config.Progress.Simpler}
	last := p.last()
	found := last.Prefix
	if best, tried := node.Schedule(x.ctx, found, x.config.Shrink); best != nil {
		last.Prefix = best
		again, parted, err := p.run()
		var shown *report.Counterexample
		var signature string
		if err == nil && parted == nil && again[p.judged].outcome == v.Outcome {
			shown, signature, err = p.show(again[p.judged].race)
		}
		if last.Prefix = found; shown != nil && err == nil {
			shown.Shrunk = &report.Shrinking{Executions: tried, Before: v.Counterexample.Size(),
				After: shown.Size()}
			all, v.Counterexample, v.Signature = again, shown, signature
		}
	}
	v.Recording = x.recording(p, all)
}

// courses finds an execution of each node that makes what a violation needs, in an order that is
// possible for all of them together, and their lives. Where there is none, Violation.Unrecorded
// says so, and other nodes than the one with the violation have no schedules.
func (x recorder) courses(f *finding, v *Violation) ([]*course.Course, []lives.Lives, error) {
	node, g := f.item.Component, f.global
	courses, went := make([]*course.Course, len(g)), make([]lives.Lives, len(g))
	for c := range g {
		courses[c] = course.Short(g[c])
	}
	// The schedule is known. The log of that execution is not any more, and says what is
	// independent in it.
	n := environment.New(x.net, node, g[node].Events, g.Arrivals(node))
	log, err := lives.Again(n, f.lives, x.runNext)
	if err != nil {
		return courses, went, err
	}
	f.race = cmp.Or(f.race, log.Race.First()) // not known of what was found elsewhere
	found := courseOf(&n.Track, log.Events, len(n.Arrivals))
	went[node] = f.lives
	for c := range g {
		k := found
		if x.net.IsBeside(c) {
			continue // it is the order of its events
		}
		if c != node {
			if k, went[c], err = x.realise(c, g, f.outcome.Stuck()); err != nil {
				return courses, went, err
			}
		}
		if k == nil {
			v.Unrecorded = "node " + x.net.Names[c] + " does not do again what it has done"
			break
		}
		courses[c] = k
	}
	if v.Unrecorded == "" && !course.Together(x.net, g, courses) {
		v.Unrecorded = "no order of what the nodes do was found in which all of them can do it"
	}
	courses[node] = found
	return courses, went, nil
}

// leadTo makes the skeleton of a finding whole, up to where its node publishes something wrong.
// That ends the node, which others may notice. It also finds a schedule of the node for that.
func (x recorder) leadTo(f *finding) error {
	g, err := complete(x.explorer, f.global, x.extend)
	found := false
	if node := f.item.Component; g != nil && err == nil {
		f.global = g
		t := x.through(node, func(n *environment.Environment, log *sut.Log, _ model.Outcome) bool {
			f.lives = n.Went(log)
			c := n.Analyse(log.Events, len(n.Arrivals))
			return len(c.Departures) == 0 && n.HasDone(c)
		})
		found, err = t.Explore(func() *environment.Environment {
			return environment.New(x.net, node, g[node].Events, g.Arrivals(node))
		})
	}
	if err == nil && !found {
		err = errors.New("the nodes do not do again what they have done")
	}
	return err
}

// player runs the nodes as a skeleton says, each of which has its worker: that of the exploration,
// which is over. The schedules are still to be filled in.
func (x recorder) player(g skeleton.Global, node int) *player {
	p := &player{net: x.net, global: g, judged: node, workers: x.workers[:x.net.Programs()]}
	for _, n := range x.config.Nodes {
		p.programs = append(p.programs, n.Program)
		p.schedules = append(p.schedules, sut.Schedule{Rounds: maxRounds, WantLeaks: x.config.Leaks})
	}
	return p
}

// recording is an execution of all nodes as a file has it: what was run, in what surroundings, what
// was chosen, and what has come of it. Hashes of the logs tell whether it is the same again.
func (x recorder) recording(p *player, all []Played) *report.NodesRecording {
	rec := &report.NodesRecording{Directory: x.config.Directory, Violated: p.judged + 1,
		Apart: p.apart, Events: recorded.Events(p.global, p.net), Partition: recorded.Partition(p.net.Parted)}
	if x.net.Beside != nil {
		rec.Peers = x.config.Peers.Name()
	}
	if p.timing != nil {
		rec.Walk = true
		recorded.SetComes(rec.Events, p.timing)
	} else {
		recorded.SetComes(rec.Events, p.fates)
	}
	for c, node := range x.config.Nodes {
		n := recorded.Node(node, x.options(c), all[c].chosen, p.lives(c))
		n.Expectation = report.Expectation{Outcome: all[c].Outcome.String(), EventLog: all[c].eventLog}
		rec.Nodes = append(rec.Nodes, n)
	}
	return rec
}

// realise finds a schedule with which a node does what a skeleton says; nil: there is none. With
// exact it must do no more than that. The node is to get the rest of what is sent to it after all
// that it does there.
func (x recorder) realise(node int, g skeleton.Global, exact bool) (k *course.Course, went lives.Lives,
	err error) {
	local := g[node]
	// An execution that does no more is the better one, since it is a whole one of the system.
	// Where only others were found, the first one will do.
	//
	// The schedules that are known for what others do are still those of the exploration.
	known := x.ways
	x.ways = known.Part()
	defer func() { x.ways = known }()
	tried := 0
	good := func(n *environment.Environment, log *sut.Log) bool {
		tried++
		isWhole := len(n.Made) == len(local.Events) && n.WaitsFor(log) == local.Waits
		if isWhole || k == nil && !exact {
			k, went = courseOf(&n.Track, log.Events, len(n.Arrivals)), n.Went(log)
		}
		return isWhole || tried >= maxTried && k != nil
	}
	_, _, err = x.extendUntil(node, local.Events, g.Arrivals(node), good)
	return k, went, err
}

// courseOf is the course of an execution that a node has run, of which these are the log and how
// much could arrive.
func courseOf(n *environment.Track, log []sut.Event, arrivals int) *course.Course {
	c := n.Analyse(log, arrivals)
	if n.Ordered {
		k := &course.Course{Made: n.Made}
		for _, a := range course.ChoicesOf(log) {
			k.Actions = append(k.Actions, &a)
		}
		return k
	}
	return course.Of(n.Made, n.Inputs, c)
}
