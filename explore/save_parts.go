package explore

// Parts lists the parts that a search has handed out, and not taken to their end, in the
// order in which it will come to them. Those of a search that was resumed nobody explores yet.
func Parts(s Search) []*Part {
	if d, ok := s.(divisible); ok {
		return d.parted()
	}
	return nil
}

func (b *bounded) parted() []*Part { return Parts(b.Search) }

func (l *limited) parted() []*Part { return Parts(l.Search) }

func (r *random) parted() []*Part { return r.parts }

func (p *pct) parted() []*Part { return p.leg.parts }

func (d *dfs) parted() (list []*Part) {
	for i := range d.stack {
		list = append(d.stack[i].parts[:len(d.stack[i].parts):len(d.stack[i].parts)], list...)
	}
	return list
}

// Ahead sums up what the part has run, and its owner not taken, as the counts of a verdict.
func (p *Part) Ahead() Verdict {
	var t tally
	for _, r := range p.runs {
		t.add(r.outcome, r.length, int(r.count))
	}
	return t.counts
}

// maxNested bounds parts of parts of parts.
const maxNested = 1 << 12

// save writes what the part has run and its owner has not taken, and, by inner, what is left
// of its search, without limits on that: they are the owner's.
func (p *Part) save(e *encoder, inner func(saveable)) {
	e.count(len(p.runs))
	for _, r := range p.runs {
		e.count(r.length)
		e.count(int(r.count))
		e.data = append(e.data, byte(r.outcome))
		e.truth(r.last)
	}
	s := p.Search
	for l, ok := s.(*limited); ok; l, ok = s.(*limited) {
		s = l.Search
	}
	ended := e.ended
	inner(s.(saveable))
	e.ended = ended
}

// resumePart reads a part, with a search that is made anew.
func resumePart(d *decoder, s Search) *Part {
	p := &Part{Search: s}
	for range d.length() {
		r := runs{length: d.count(maxCount), count: int32(d.count(1 << 30)), outcome: Outcome(d.bytes(1)[0]), last: d.truth()}
		if r.count == 0 {
			d.fail("it is damaged: a part has run no executions")
		}
		p.runs = append(p.runs, r)
	}
	if d.nested++; d.nested > maxNested {
		d.fail("it has more than %d parts within each other", maxNested)
		return p
	}
	s.(saveable).resume(d)
	d.nested--
	return p
}
