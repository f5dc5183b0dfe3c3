package saved

import "time"

// Share is one part in so many of the time that is spent on saving, at most.
const Share = 20

// Periodic saves a check without peers, now and then and at its end. It is used by one goroutine.
type Periodic struct {
	Run *Run
	// Interval is the time between saves, while they take less than a Share of it. 0: the check is
	// saved only at its end.
	Interval time.Duration
	// Asked says how the check was asked for, in JSON. It is called once, before the first save.
	Asked func() ([]byte, error)
	// Failed is told once that the check cannot be saved. It goes on, and what was saved before
	// stays.
	Failed func(error)

	build  string
	began  time.Time
	next   time.Time // when it is saved again
	asked  []byte
	failed bool // Failed was told
}

// Begin begins to save a check of a program, and returns the search that was saved: nil if it is a
// new run. What was saved of another program is not the same, and is not to be gone on with.
func (p *Periodic) Begin(build string) (search []byte, same bool) {
	p.build, p.began = build, time.Now()
	p.next = p.began.Add(p.Interval)
	state := p.Run.State()
	switch {
	case state == nil:
		return nil, true
	case state.Build != build:
		return nil, false
	}
	// Time that was used up counts.
	p.began = p.began.Add(-state.Counts.Elapsed)
	return state.Search, true
}

// Save saves the check if it is time, or for the last time. The next save waits at least Share
// times as long as this one took.
func (p *Periodic) Save(encode func() ([]byte, error), last bool) {
	now := time.Now()
	if !last && (p.Interval == 0 || now.Before(p.next)) {
		return
	}
	search, err := encode()
	if err == nil && p.asked == nil {
		p.asked, err = p.Asked()
	}
	if err == nil {
		state := &State{Asked: p.asked, Build: p.build, Search: search}
		state.Counts.Elapsed = time.Since(p.began)
		err = p.Run.Save(state, nil)
	}
	if err != nil {
		p.fail(err)
	}
	took := time.Since(now)
	p.next = now.Add(took + max(p.Interval, Share*took))
}

// End removes what was saved, since the check has ended with a result.
func (p *Periodic) End() {
	if err := p.Run.Remove(); err != nil {
		p.fail(err)
	}
}

// fail tells once that something cannot be saved: a disk that is full would be told of every time.
func (p *Periodic) fail(err error) {
	if !p.failed {
		p.failed = true
		p.Failed(err)
	}
}
