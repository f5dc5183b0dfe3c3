package global

import (
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/forms"
	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// first inserts the states in which a run may begin: all combinations of how the nodes may start.
func (w *worker) first() error {
	starts := make([]*table.Entry, w.Nodes)
	for node := range starts {
		e, err := w.Table.Start(node)
		if err != nil {
			return err
		}
		starts[node] = e
	}
	w.at = space.None
	return w.combine(starts, nil, nil)
}

// combine chooses how the next node starts.
func (w *worker) combine(starts []*table.Entry, locals []table.Local, sent []table.Message) error {
	node := len(locals)
	if node == w.Nodes {
		return w.insertFirst(locals, sent)
	}
	for _, o := range starts[node].Outcomes {
		// Nodes that start in several ways give the product of all.
		with := append(slices.Clone(locals), o.Next)
		if failure := w.startFailure(node, o); failure != "" {
			violation := Violation{Property: -1, Failure: failure, First: with}
			return w.end(&finding{Violation: violation, at: space.None}, "", nil)
		}
		if err := w.combine(starts, with, append(slices.Clone(sent), o.Sent...)); err != nil {
			return err
		}
	}
	return nil
}

// startFailure is what is wrong with how a node starts; empty if nothing is.
func (w *worker) startFailure(node int, o table.Outcome) string {
	if o.Failure != "" {
		return o.Failure
	}
	return w.Reader.State(node, o.Next).Failure
}

// insertFirst inserts one of the states at the start. Messages that were sent at the start are
// under way there.
func (w *worker) insertFirst(locals []table.Local, sent []table.Message) error {
	w.Next = system.State{Locals: locals, Left: w.Faults}
	if w.Ordered {
		// The messages go to the ends of their channels, as if they were sent in a step.
		w.Cur.Messages = nil
		w.Exchange(nil, sent)
	} else {
		slices.Sort(sent)
		if w.Duplicating {
			sent = slices.Compact(sent)
		}
		w.Next.Messages = sent
	}
	chosen, err := w.alike.choose(&w.Next)
	if err != nil {
		return err
	}
	at, isNew, err := w.form.Add(chosen, space.None)
	if w.metFirst != nil && err == nil {
		return w.metFirst(at)
	}
	if err != nil || !isNew {
		return err
	}
	w.starts = append(w.starts, at)
	return w.judgeState(at, &w.Next)
}

// depthFirst expands the state that was reached last. Within a bound on the depth a state that is
// reached by fewer steps than before is expanded again.
func (s *search) depthFirst(w *worker) error {
	defer w.flush()
	type place struct {
		at    space.Ref
		depth int
	}
	var stack []place
	depths := map[space.Ref]int{} // only within a bound
	depth, isCut := 0, false
	// The state that is reached last is on top.
	w.reached = func(at space.Ref) {
		stack = append(stack, place{at, depth + 1})
		if s.Depth > 0 {
			depths[at] = depth + 1
		}
	}
	w.isAgain = func(at space.Ref) bool { return s.Depth > 0 && depths[at] > depth+1 }
	for _, at := range s.starts {
		stack = append(stack, place{at, 0})
	}
	x := s.expander(s.form, w)
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if s.Depth > 0 && depths[top.at] < top.depth {
			continue // it has been expanded nearer to the start meanwhile
		}
		if s.Depth > 0 && top.depth == s.Depth {
			isCut = true
			continue
		}
		depth = top.depth
		s.depth = max(s.depth, depth)
		err := x.expandOne(top.at)
		if forms.IsNarrow(err) {
			// The state is expanded again; what it has reached already is on the stack.
			c, err := convert(s, err)
			if err != nil {
				return err
			}
			stack = append(stack, top)
			for i := range stack {
				stack[i].at = c.now(stack[i].at)
			}
			known := depths
			depths = map[space.Ref]int{}
			for at, depth := range known {
				depths[c.now(at)] = depth
			}
			c.release()
			x = s.expander(s.form, w)
			continue
		}
		if err != nil {
			return err
		}
	}
	if isCut {
		return s.end(nil, reasonDepth, nil)
	}
	return nil
}
