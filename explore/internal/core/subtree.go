package core

// A depth-first search can be divided: a Part explores a branch that the search has planned and not
// come to, at the same time. When the search comes there, it does not explore the branch, but joins
// the part, and goes on where that is, as if it had got there itself: what is explored, in which
// order, what is counted and what is shown do not depend on what was divided when. (Parallel
// searches usually share the tree, and let chance decide who adds to it first: then it is the same
// only as far as it is optimal.)
//
// That takes that a branch is explored in the same way whatever is found before the search comes to
// it. A part of DPOR is given what will be asleep there, and what is to do on the branch; if that
// is different when the search comes there, the part is given up (agrees, giveUpChanged). What is
// to be inserted in wakeup trees above, the part tells (told), and the search inserts when it joins
// the part. It is told in the order in which it was found, which is that in which the search would
// have found it, without what was covered in the tree as it was when the part began: that is
// covered in the tree as it is now, since a leaf stays one, and what is inserted comes after what
// is there, so that the same leaf is found. What a part does depends on a tree above only where
// that is noted (depend).

// Subtree is a search through a branch of what another search has still to explore. It shares
// nothing with that which changes: each is used by one goroutine. When it has ended or is no longer
// to go on, which is between Report and Next, it can be merged (Search.Merge). It must not be after
// an error.
type Subtree struct {
	Search    Tree
	Before    Verdict // the counts before the last execution that was asked for
	Cancelled bool    // it was given up; of the search that it is a part of

	Node   int    // of the path of the search that it is a part of, where it turns off
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

// Division is what a search knows of its parts.
type Division struct {
	Subtrees []*Subtree // that it has not come to
	Reached  *Subtree   // that it has come to
	dropped  []*Subtree // given up, and not listed yet
	// of a part: one more than the node where it turns off, and beyond which it does not go back
	Floor int
}

// begin adds a part.
func (d *Division) Add(p *Subtree) *Subtree {
	d.Subtrees = append(d.Subtrees, p)
	return p
}

// Has reports whether a branch of a node is a part already.
func (d *Division) Has(node int, is func(*Subtree) bool) bool {
	for _, p := range d.Subtrees {
		if p.Node == node && is(p) {
			return true
		}
	}
	return false
}

// giveUp gives up some of the parts.
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

// Arrive notes which part the search has come to, if any, now that it goes on with a branch of a
// node.
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

// leave gives up the part that the search has come to, since it explores the branch itself.
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
