package explore

// Divide hands out a part of what a search has left to do, to be explored by
// somebody else at the same time; false if there is nothing to hand out now, or the
// search cannot be divided. It may be called whenever Next may be, and after Next has
// returned a Schedule with a Part.
//
// The result is that of the undivided search, execution for execution, since a part
// is what this one would have done by itself at a certain point, and depends on
// nothing before it. When the search gets there, Next returns a Schedule with that
// Part, once for each execution of it, and Report is given what the Part did
// (Part.Take). So a bound, and whoever else looks at the reports, sees the same
// executions in the same order, whether or not the search is divided.
func Divide(s Search) (*Part, bool) {
	if d, ok := s.(divisible); ok {
		return d.divide()
	}
	return nil, false
}

// divisible is a search that can be divided, or a decorator of one.
type divisible interface {
	divide() (*Part, bool)
	parted() []*Part // see Parts
}

// divide of a decorator is that of what it bounds: the parts may run ahead of
// the bound, which is found when their executions are taken.
func (b *bounded) divide() (*Part, bool) {
	if b.ended {
		return nil, false
	}
	return Divide(b.Search)
}

// Part is a part of a search, its owner, that runs ahead of it. Search is for whoever
// explores the part; Note and Take hand over what it does to whoever has the owner.
type Part struct {
	// Search is what is to be explored. It too can be divided.
	Search Search

	runs     []runs    // noted, and not taken yet
	burden   int       // bytes held for the owner, about
	random   *random   // Search without what decorates it, if it is random
	division *division // of Search, if it is DPOR
}

// runs are executions, one after the other, that are all alike to the owner.
type runs struct {
	length  int
	count   int32
	outcome Outcome
	last    bool
	above   *above // what was found for the owner
}

// Note tells the part of the next execution that was reported to Search, and whether
// it was the last one: whether Next has then returned false.
func (p *Part) Note(e Execution, last bool) {
	r := runs{length: e.length(), count: 1, outcome: e.Outcome, last: last, above: p.division.take()}
	if n := len(p.runs); n > 0 && !last && r.above == nil {
		before := &p.runs[n-1]
		if before.above == nil && before.length == r.length && before.outcome == r.outcome && before.count < 1<<30 {
			before.count++
			return
		}
	}
	p.runs = append(p.runs, r)
	p.burden += r.above.size()
}

// Take returns the earliest execution that was noted and not taken yet, to be reported
// to the owner; false if there is none.
func (p *Part) Take() (Execution, bool) {
	if len(p.runs) == 0 {
		return Execution{}, false
	}
	first := &p.runs[0]
	e := Execution{Outcome: first.outcome, Length: first.length, Last: first.last, above: first.above}
	p.burden -= first.above.size()
	if first.count--; first.count == 0 {
		p.runs = p.runs[1:]
	}
	return e, true
}

// Burden is about how many bytes are held for the owner, beside that there were executions.
func (p *Part) Burden() int { return p.burden }

// length is the number of transitions.
func (e *Execution) length() int { return max(len(e.Transitions), e.Length) }
