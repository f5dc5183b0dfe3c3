package explore

// A depth-first search can be divided: a Part explores a branch that the search has planned and not come to, at the same
// time. When the search comes there, it does not explore the branch, but joins the part, and goes on where that is, as if it had got there itself:
// what is explored, in which order, what is counted and what is shown do not depend on what was divided when.
// (Parallel searches usually share the tree, and let chance decide who adds to it first: then it is the same only as
// far as it is optimal.)
//
// That takes that a branch is explored in the same way whatever is found before the search comes to it. A part of DPOR
// is given what will be asleep there, and what is to do on the branch; if that is different when the search comes there, the part is given up (agrees,
// giveUpChanged). What is to be inserted in wakeup trees above, the part tells (told), and the search inserts when it joins
// the part. It is told in the order in which it was found, which is that in which the search would have found it, without what was covered
// in the tree as it was when the part began: that is covered in the tree as it is now, since a leaf stays one, and what
// is inserted comes after what is there, so that the same leaf is found. What a part does depends on a tree above only where that is noted (depend).

// Subtree is a search through a branch of what another search has still to explore. It shares nothing
// with that which changes: each is used by one goroutine. When it has ended or is no longer to go on, which is
// between Report and Next, it can be merged (Search.Merge). It must not be after an error.
type Subtree struct {
	search tree
	before Verdict // the counts before the last execution that was asked for
	gone   bool    // it was given up; of the search that it is a part of

	node   int    // of the path of the search that it is a part of, where it turns off
	begins Action // there

	// Of DPOR:
	branch  *branch    // that begins there
	base    []wakeups  // of the nodes up to there, as it found them
	assumed []*Sleeper // at its node
}

// Next is as Search.Next, until the branch is explored or there is so much to tell the other search that this
// one is to be merged.
func (p *Subtree) Next() (Schedule, bool) {
	if p.search.full() {
		return Schedule{}, false
	}
	before := p.search.counted()
	schedule, more := p.search.Next()
	if more {
		p.before = before
	}
	return schedule, more
}

// Report is as Search.Report.
func (p *Subtree) Report(e Execution) error { return p.search.Report(e) }

// Verdict is as Search.Verdict, for the branch.
func (p *Subtree) Verdict() Verdict { return p.search.Verdict() }

// Forecast is as Search.Forecast.
func (p *Subtree) Forecast() float64 { return p.search.expected() }

// tree is an algorithm whose executions form a tree: it can be divided.
type tree interface {
	core
	saveable
	divide(least float64) *Subtree
	arrived() *Subtree
	join(*Subtree) bool
	drop() []*Subtree
	reuse(*Subtree)
	full() bool // of what it has to tell the search that it is a part of
	expected() float64
}

// division is what a search knows of its parts.
type division struct {
	parts   []*Subtree // that it has not come to
	due     *Subtree   // that it has come to
	dropped []*Subtree // given up, and not listed yet
	floor   int        // of a part: one more than the node where it turns off, and beyond which it does not go back
}

// begin adds a part.
func (d *division) begin(p *Subtree) *Subtree {
	d.parts = append(d.parts, p)
	return p
}

// has reports whether a branch of a node is a part already.
func (d *division) has(node int, is func(*Subtree) bool) bool {
	for _, p := range d.parts {
		if p.node == node && is(p) {
			return true
		}
	}
	return false
}

// giveUp gives up some of the parts.
func (d *division) giveUp(which func(*Subtree) bool) {
	kept := d.parts[:0]
	for _, p := range d.parts {
		if which(p) {
			p.gone, d.dropped = true, append(d.dropped, p)
		} else {
			kept = append(kept, p)
		}
	}
	clear(d.parts[len(kept):])
	d.parts = kept
}

// arrive notes which part the search has come to, if any, now that it goes on with a branch of a node.
func (d *division) arrive(node int, is func(*Subtree) bool) {
	if len(d.parts) == 0 {
		return
	}
	for i, p := range d.parts {
		if p.node == node && is(p) {
			d.due, d.parts[i] = p, d.parts[len(d.parts)-1]
			d.parts = d.parts[:len(d.parts)-1]
			break
		}
	}
	d.giveUp(func(p *Subtree) bool { return p.node > node })
}

func (d *division) arrived() *Subtree { return d.due }

func (d *division) reuse(*Subtree) {}

func (d *division) full() bool { return false }

// leave gives up the part that the search has come to, since it explores the branch itself.
func (d *division) leave() {
	if d.due != nil {
		d.due.gone, d.dropped, d.due = true, append(d.dropped, d.due), nil
	}
}

func (d *division) drop() []*Subtree {
	list := d.dropped
	d.dropped = nil
	return list
}

// add adds counts of executions that came after those counted.
func (v *Verdict) add(later Verdict) {
	if later.Executions > 0 {
		v.Last = later.Last
	}
	v.Executions += later.Executions
	v.Redundant += later.Redundant
	v.Limited += later.Limited
	v.Violations += later.Violations
	v.Transitions += later.Transitions
	v.Deepest = max(v.Deepest, later.Deepest)
}

// join counts what a part has counted, instead of the execution that was asked for.
func (t *tally) join(p *Subtree) {
	t.counts.add(p.search.counted())
	t.waiting = false
}

// divide returns the node where a search with so many nodes is divided best (Divide), of those where there is something to take; -1 if there
// is none. A branch is taken to be as large as those that were explored there, on average, or the one under way.
func (s *subtrees) divide(nodes, executions int, least float64, some func(node int) bool) int {
	size, best := 1.0, -1
	for i := nodes - 1; i >= 0; i-- {
		if i < len(s.nodes) {
			size = max(size, s.ofBranch(i), float64(executions-s.nodes[i].begun))
		}
		if some(i) {
			if best = i; size >= least {
				break
			}
		}
	}
	return best
}

// join takes over what comes after a node from a part that turns off there, before which there were so many executions.
func (s *subtrees) join(part *subtrees, node, executions int) {
	for i := node + 1; i < len(part.nodes); i++ {
		n := part.nodes[i]
		n.begun += executions
		s.nodes = append(s.nodes[:min(i, len(s.nodes))], n)
	}
}
