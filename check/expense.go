package check

import (
	"time"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/strategy"
)

// expense is what work with the peers has cost so far, for strategies that weigh it.
type expense struct {
	inputs, returns int // new inputs; how often the peers were taken back
	starts, saves   measured
	given           map[model.Kind]measured // inputs; to listen has clients started, which takes longer than all the rest
	guess           time.Duration           // what the first checkpoint costs
}

// gave counts an input that has been given.
func (e *expense) gave(kind model.Kind, started time.Time) {
	m := e.given[kind]
	m.since(started)
	if e.given == nil {
		e.given = map[model.Kind]measured{}
	}
	e.given[kind] = m
}

// replay is how long it takes to give inputs again, so many of each kind.
func (e *expense) replay(inputs map[model.Kind]int) (total time.Duration) {
	for kind, n := range inputs {
		m := e.given[kind]
		total += m.mean(0) * time.Duration(n)
	}
	return total
}

// measured is how often something was done, and how long it took in all.
type measured struct {
	times int
	took  time.Duration
}

func (m *measured) since(started time.Time) {
	m.times++
	m.took += time.Since(started)
}

// mean is how long it takes, and otherwise where it has not been done yet.
func (m *measured) mean(otherwise time.Duration) time.Duration {
	if m.times == 0 {
		return otherwise
	}
	return m.took / time.Duration(m.times)
}

// guessedCost is what the first checkpoint by a backend is taken to cost: about what it needs for a small peer.
func guessedCost(backend string) time.Duration {
	if backend == ckptd.BackendCRIU {
		return 20 * time.Millisecond
	}
	return 2 * time.Millisecond
}

// describe adds to a step what is known of costs and of the inputs since the nearest physical checkpoint.
func (e *expense) describe(s *strategy.Step, inputs map[model.Kind]int, images int) {
	s.Inputs, s.Returns, s.Images, s.Cost = e.inputs, e.returns, images, e.saves.mean(e.guess)
	if s.Replay = e.replay(inputs); s.Kind == strategy.Start {
		s.Replay = e.starts.mean(0)
	}
}
