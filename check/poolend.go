package check

// How a pool ends: with an error, at the end of the search, or when it is interrupted.

// leave ends an executor with which an execution has failed. That error is told when the search
// waits for it; without any executor that is as soon as what others have run is reported. The
// caller holds mu.
func (p *pool) leave(x *executor, err error) {
	x.failed = true
	if p.leader == x {
		p.leader = nil
	}
	for _, other := range p.executors {
		if !other.failed {
			p.changed()
			return
		}
	}
	p.busy.Add(1)
	go p.conclude(err)
}

// conclude takes the search as far as it gets without executors, and ends it: with an error,
// unless it comes to its end.
func (p *pool) conclude(err error) {
	defer p.busy.Done()
	p.advancing.Lock()
	defer p.advancing.Unlock()
	for p.ask() {
		p.mu.Lock()
		done := p.asked.state == finished
		p.mu.Unlock()
		if !done || !p.report(p.asked) {
			break
		}
	}
	p.stop(err)
}

// finish ends everything. The caller holds mu.
func (p *pool) finish(err error) {
	if p.over {
		p.err = endedWith(p.run.ctx, p.err, err)
		return
	}
	p.over, p.err = true, err
	p.changed()
	for _, x := range p.executors {
		if x.executing { // what nobody will ask for any more
			x.failed = true
			x.interrupt()
		}
	}
	close(p.ended)
}

// wait waits until all executors are done, and leaves the run one that can be used, if
// there is one, and what the search has found out. When it was interrupted, that is
// also what has been run ahead of it.
func (p *pool) wait() error {
	p.filling.Lock() // nobody is added from now on
	defer p.filling.Unlock()
	p.busy.Wait()
	var usable *executor
	for _, x := range p.executors {
		if x.failed || usable != nil {
			x.close()
		} else {
			usable = x
		}
	}
	r := p.run
	r.verdict = r.search.Verdict()
	if usable != nil {
		r.executor = usable
	} else if p.err == nil {
		r.executor.renew()
	}
	results := p.parts.rest()
	r.vain.Add(p.parts.vain)
	r.counts.InVain += p.parts.vain.InVain
	for _, j := range p.ahead.rest(p.asked) {
		r.counts.InVain++
		if f := j.result; f != nil {
			r.vain.Add(f.counts)
			results = append(results, f)
		}
	}
	for _, f := range results {
		if r.ctx.Err() != nil && f.isViolation && f.kept != nil && r.judge == nil {
			r.unclaimed = append(r.unclaimed, f)
		}
	}
	return p.err
}
