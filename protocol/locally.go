package protocol

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/local"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// locally is a local search under way. First comes the fixpoint, then candidates for violations,
// and then a search for a run to each of them.
type locally struct {
	*machine
	config   global.Config
	bounds   *bounds
	fixpoint *local.Fixpoint
	result   *Result
	start    time.Time
	leftOut  string // why something was left out; empty if nothing was
}

// Limits of the number of searches for candidates of one property. Beyond, one search for all of
// them costs less.
const (
	mostGoals      = 64
	mostGoodGoals  = 8
	combinationsAt = 1 << 12 // after so many the bounds are looked at
)

// checkLocally is Check with the search Local.
func checkLocally(m *machine, o Options, start time.Time) (*Result, error) {
	if len(m.exchanges) > 0 {
		return nil, errAlike
	}
	if m.judge.has(eventually) {
		return nil, fmt.Errorf("a local search looks at no ends of runs: check properties made by " +
			"Eventually with another search")
	}
	s := &locally{machine: m, config: newConfig(m), bounds: newBounds(o, start), result: &Result{},
		start: start}
	s.config.Workers, s.config.Stop = 1, s.bounds.stop
	defer s.bounds.teller.Close()
	err := s.run()
	if err != nil {
		return nil, err
	}
	r := s.result
	r.Locals, r.Messages, r.Handlers = s.config.Table.Sizes()
	r.Elapsed = time.Since(start)
	// What a bound has left out does not end the search, and hides no violation elsewhere.
	if r.Violation == nil {
		r.Reason = cmp.Or(r.Reason, s.leftOut)
	}
	r.conclude()
	return r, nil
}

// run goes through the kinds of candidates until one is a violation.
func (s *locally) run() (err error) {
	// What does not depend on a property comes first: it is the most of the work.
	s.fixpoint, s.result.Reason, err = local.Explore(local.Config{Table: s.config.Table,
		Nodes: s.config.Nodes, Crashes: s.config.Faults.Crashes != 0, Depth: s.bounds.Depth,
		Stop: s.bounds.stopEvents})
	if err != nil || s.result.Reason != "" {
		return err
	}
	if s.fixpoint.IsCut {
		s.leftOut = "the bound on the depth was reached"
		s.config.Within = s.fixpoint.Has
	}
	if err := s.failures(); err != nil {
		return err
	}
	for i, p := range s.judge.properties {
		if s.isOver() {
			return nil
		}
		if p.kind == always || p.kind == sometimes {
			if err := s.property(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// isOver says whether there is nothing more to do: a violation was found, or a bound was met.
func (s *locally) isOver() bool { return s.result.Violation != nil || s.result.Reason != "" }

// failures looks for runs to steps that fail, and to local states in which an assertion does.
func (s *locally) failures() error {
	for node, edges := range s.fixpoint.Edges {
		steps, states := make([]bool, len(edges)), make([]bool, len(edges))
		for l, list := range edges {
			steps[l] = slices.ContainsFunc(list, func(e local.Edge) bool { return e.Fails })
		}
		for _, l := range s.fixpoint.Reached[node] {
			states[l] = s.config.Table.State(node, l).Failure != ""
		}
		for failing, in := range map[int][]bool{node: steps, -1: states} {
			if !slices.Contains(in, true) || s.isOver() {
				continue
			}
			goal := s.goal(failing)
			goal.In[node] = in
			if _, err := s.search(&goal, nil); err != nil {
				return err
			}
		}
	}
	if s.fixpoint.FailsAtStart && !s.isOver() {
		_, err := s.search(nil, nil)
		return err
	}
	return nil
}

// goal is one in which no node has a target yet.
func (s *locally) goal(failing int) local.Goal {
	return local.Goal{In: make([][]bool, s.config.Nodes), Failing: failing, Ordered: s.config.Ordered,
		Drops: s.config.Faults.Drops != 0}
}

// property looks for combinations of views that violate an invariant, or that reach what is to be
// reached, and then for runs to them.
func (s *locally) property(number int) error {
	wanted := s.judge.properties[number].kind == sometimes
	goals := s.combinations(number, wanted)
	if s.isOver() || len(goals) == 0 {
		if wanted && !s.isOver() {
			s.result.Unreached = append(s.result.Unreached, s.judge.properties[number].name)
		}
		return nil
	}
	// A state that is to be reached is taken for a violation, so that the search ends there.
	judge := func(classes []uint32) global.Judgement {
		if s.judge.holds(number, classes) == wanted {
			return global.Judgement{Violated: number}
		}
		return global.Judgement{Violated: -1}
	}
	if len(goals) > mostGoals || wanted && len(goals) > mostGoodGoals {
		// One search without a goal finds all of them, or none.
		goals = [][]uint32{nil}
	}
	for _, views := range goals {
		found, err := s.search(s.goalOf(number, views), judge)
		if err != nil || s.isOver() || found && wanted {
			return err
		}
	}
	if wanted {
		s.result.Unreached = append(s.result.Unreached, s.judge.properties[number].name)
	}
	return nil
}

// goalOf turns views into local states; nil if there are no views.
func (s *locally) goalOf(property int, views []uint32) *local.Goal {
	if views == nil {
		return nil
	}
	goal := s.goal(-1)
	for node, view := range views {
		if view == local.AnyView {
			continue
		}
		// All local states with the view are targets.
		goal.In[node] = make([]bool, len(s.fixpoint.Edges[node]))
		for _, l := range s.fixpoint.Reached[node] {
			goal.In[node][l] = s.viewOf(property, node, l) == view
		}
	}
	return &goal
}

// viewOf is the number of a local state's view.
func (s *locally) viewOf(property, node int, l table.Local) uint32 {
	return s.judge.members[s.config.Table.State(node, l).Class][property]
}

// combinations are those of the views of all nodes of which a property is true, or is false. Local
// states with the same view are not told apart: that is LMC-OPT of the paper, for any property.
func (s *locally) combinations(property int, holds bool) (found [][]uint32) {
	views := make([][]uint32, s.config.Nodes)
	for node := range views {
		for _, l := range s.fixpoint.Reached[node] {
			if v := s.viewOf(property, node, l); !slices.Contains(views[node], v) {
				views[node] = append(views[node], v)
			}
		}
	}
	// Views are numbered by the local states that the fixpoint has met.
	values, chosen := s.judge.views[property].Values, make([]any, len(views))
	return local.Combinations(views, s.isOver, func(numbers []uint32) bool {
		s.result.Combinations++
		if s.result.Combinations%combinationsAt == 0 {
			s.result.Reason = s.bounds.stop(global.Progress{})
		}
		for node, v := range numbers {
			chosen[node] = values[v]
		}
		return s.judge.properties[property].holds(chosen) == holds
	})
}

// search looks for a run to a goal; without one, anywhere. What the run shows is a violation,
// unless it is a state that is to be reached.
func (s *locally) search(goal *local.Goal, judge func([]uint32) global.Judgement) (found bool, err error) {
	c := s.config
	c.Judge = judge
	if goal != nil {
		// Each goal has its own cones.
		targets := local.NewTargets(s.fixpoint, *goal)
		c.Within = targets.Within
		// A partition takes messages from all nodes at once.
		if c.Faults.Partitions == 0 {
			c.Select = targets.Select
		}
	}
	r, err := global.Search(c)
	if err != nil {
		return false, err
	}
	s.result.Searches++
	s.result.States += r.States
	s.result.Transitions += r.Transitions
	s.result.Depth = max(s.result.Depth, r.Depth)
	s.result.Bytes = max(s.result.Bytes, r.Bytes)
	if r.Violation == nil {
		// Time and memory are those of all searches, and the bound on states is that of each.
		s.leftOut = cmp.Or(s.leftOut, r.Reason)
		s.result.Reason = s.bounds.stop(global.Progress{})
		return false, nil
	}
	if p := r.Violation.Property; p >= 0 && s.judge.properties[p].kind == sometimes {
		return true, nil
	}
	s.result.Violation, err = s.explain(s.config, r.Violation)
	return true, err
}
