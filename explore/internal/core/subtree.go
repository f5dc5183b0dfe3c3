package core

// A depth-first search can be split: a Subtree explores a branch that the search has planned and
// not reached, at the same time. When the search reaches that branch, it takes over what the
// subtree has explored, and goes on from there as if it had explored that itself. What is
// explored, in which order, and what is counted do not depend on when the search was split.
// (Parallel searches usually share the tree, and chance decides who adds to it first: then results
// are the same only as far as the search is optimal.)
//
// This requires that a branch is explored in the same way whatever is found before the search
// reaches it. A subtree of DPOR is given what will be asleep there and what is to be done on the
// branch; if either differs when the search arrives, the subtree is cancelled. What has to be
// inserted into wakeup trees above the subtree is exported, in the order in which it was found,
// and inserted by the search when it merges the subtree. That is the order in which the search
// itself would have found it. What the trees covered when the subtree began is left out: they
// still cover it, since a leaf stays a leaf, and what is inserted comes after what is there. Where
// a subtree depends on the trees above in any other way, that is noted (dpor, depend).

// Size says how large a branch is to be that is split off, in executions. The one that the search
// reaches first is taken of those that have Enough, or else the one that it reaches last, of those
// that have at least Least. Before the search reaches it, it is to run Ahead executions. If Quiet
// is not 0, nothing may have been inserted below the branch in so many executions, and for twice as
// long as ever between two insertions.
type Size struct {
	Least, Enough, Ahead float64
	Quiet                int
}

// Subtree is a search through a branch of what another search has still to explore. The two share
// nothing that changes, so each is used by one goroutine. Between Report and Next, when the
// subtree has ended or is not to go on, it can be merged (explore.Search.Merge). After an error it
// must not be.
type Subtree struct {
	Search    Tree
	Before    Verdict // the counts before the last execution that was asked for
	Cancelled bool    // by the search that was split

	Node   int    // on the path of that search, where the branch begins
	Begins Action // there
}

// Next is as Search.Next, until the branch is explored or there is so much to tell the other search
// that this one is to be merged.
func (p *Subtree) Next() (Schedule, bool) {
	if p.Search.Full() {
		return Schedule{}, false
	}
	before := p.Search.Counted()
	schedule, more := p.Search.Next()
	if more {
		p.Before = before
	}
	return schedule, more
}

// Report is as Search.Report.
func (p *Subtree) Report(e Execution) error { return p.Search.Report(e) }

// Verdict is as Search.Verdict, for the branch.
func (p *Subtree) Verdict() Verdict { return p.Search.Verdict() }

// Forecast is as Search.Forecast.
func (p *Subtree) Forecast() float64 { return p.Search.Forecast() }

// Division is what a search knows of its subtrees.
type Division struct {
	Subtrees []*Subtree // that it has not come to
	Reached  *Subtree   // that it has come to
	dropped  []*Subtree // cancelled, and not listed yet
	// of a subtree: one more than the node where it begins; it does not go back beyond that
	Floor int
}

// Add adds a subtree.
func (d *Division) Add(p *Subtree) *Subtree {
	d.Subtrees = append(d.Subtrees, p)
	return p
}

// Has reports whether a branch of a node is explored by a subtree already.
func (d *Division) Has(node int, is func(*Subtree) bool) bool {
	for _, p := range d.Subtrees {
		if p.Node == node && is(p) {
			return true
		}
	}
	return false
}

// Cancel cancels some of the subtrees.
func (d *Division) Cancel(which func(*Subtree) bool) {
	kept := d.Subtrees[:0]
	for _, p := range d.Subtrees {
		if which(p) {
			p.Cancelled, d.dropped = true, append(d.dropped, p)
		} else {
			kept = append(kept, p)
		}
	}
	clear(d.Subtrees[len(kept):])
	d.Subtrees = kept
}

// Arrive notes which subtree the search has reached, if any, now that it goes on with a branch of
// a node. Subtrees that it has passed are cancelled.
func (d *Division) Arrive(node int, is func(*Subtree) bool) {
	if len(d.Subtrees) == 0 {
		return
	}
	for i, p := range d.Subtrees {
		if p.Node == node && is(p) {
			d.Reached, d.Subtrees[i] = p, d.Subtrees[len(d.Subtrees)-1]
			d.Subtrees = d.Subtrees[:len(d.Subtrees)-1]
			break
		}
	}
	d.Cancel(func(p *Subtree) bool { return p.Node > node })
}

// Arrived implements Tree.
func (d *Division) Arrived() *Subtree { return d.Reached }

// Recycle implements Tree: there is nothing to gain.
func (d *Division) Recycle(*Subtree) {}

// Full implements Tree.
func (d *Division) Full() bool { return false }

// CancelArrived cancels the subtree that the search has reached, since it explores the branch
// itself.
func (d *Division) CancelArrived() {
	if d.Reached != nil {
		d.Reached.Cancelled, d.dropped, d.Reached = true, append(d.dropped, d.Reached), nil
	}
}

// Cancelled implements Tree.
func (d *Division) Cancelled() []*Subtree {
	list := d.dropped
	d.dropped = nil
	return list
}
