package explore

// Divide hands out a part of what a search has left to do, to be explored by
// somebody else at the same time; false if there is nothing to hand out now, or the
// search cannot be divided. It may be called whenever Next may be.
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
}

// divide of a decorator is that of what it bounds: the parts may run ahead of
// the bound, which is found when their executions are taken.
func (b *bounded) divide() (*Part, bool) {
	if b.ended {
		return nil, false
	}
	return Divide(b.Search)
}

// Part is a part of a search, its owner, that runs ahead of it. It has two sides, and
// only Search may be used without regard to the other one: Note and End are called
// by whoever explores the part, Take by whoever has its owner.
type Part struct {
	// Search is what is to be explored. It too can be divided.
	Search Search

	runs  []runs // noted, and not taken yet
	ahead int    // executions in them
	ended bool

	probes *probes // of Search, if it is random
}

// runs are executions, one after the other, that are all alike to the owner.
type runs struct {
	length  int
	count   int32
	outcome Outcome
}

// Note tells the part that an execution has been reported to Search.
func (p *Part) Note(e Execution) {
	p.ahead++
	length := e.length()
	if n := len(p.runs); n > 0 {
		if last := &p.runs[n-1]; last.length == length && last.outcome == e.Outcome && last.count < 1<<30 {
			last.count++
			return
		}
	}
	p.runs = append(p.runs, runs{length: length, count: 1, outcome: e.Outcome})
}

// End tells the part that Search has ended.
func (p *Part) End() { p.ended = true }

// Ahead is the number of executions that Take would return, one after the other.
func (p *Part) Ahead() int {
	if p.ended {
		return p.ahead
	}
	return max(p.ahead-1, 0) // the last one is not known to be the last of the part
}

// Take returns the next execution of the part, to be reported to the owner; false
// if there is none yet.
func (p *Part) Take() (Execution, bool) {
	if p.Ahead() == 0 {
		return Execution{}, false
	}
	first := &p.runs[0]
	e := Execution{Outcome: first.outcome, Length: first.length, Last: p.ahead == 1}
	if first.count--; first.count == 0 {
		p.runs = p.runs[1:]
	}
	p.ahead--
	return e, true
}

// length is the number of transitions.
func (e *Execution) length() int { return max(len(e.Transitions), e.Length) }
