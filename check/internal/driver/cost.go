package driver

import (
	"time"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/strategy"
)

// costModel is what work with the peers has cost so far, for strategies that weigh it.
type costModel struct {
	// They grow with the whole search, restarts included, and are never reset.
	inputs, returns int // new inputs; how often the peers were taken back
	starts, saves   measured
	// given are inputs. To listen has clients started, which takes longer than all the rest.
	given map[model.Kind]measured
	guess time.Duration // what the first checkpoint costs
}

// gave counts an input that has been given. started is when the input was given. Waiting for
// quiescence is a part of the cost.
func (c *costModel) gave(kind model.Kind, started time.Time) {
	m := c.given[kind]
	m.since(started)
	if c.given == nil {
		c.given = map[model.Kind]measured{}
	}
	c.given[kind] = m
}

// replay is how long it takes to give inputs again, so many of each kind. Kinds that were never
// given count nothing.
func (c *costModel) replay(inputs map[model.Kind]int) (total time.Duration) {
	for kind, n := range inputs {
		m := c.given[kind]
		total += m.mean(0) * time.Duration(n)
	}
	return total
}

// measured is how often something was done, and how long it took in all. Its zero value has
// measured nothing.
type measured struct {
	times int
	took  time.Duration
}

// since counts something that was begun at a time and is done now.
func (m *measured) since(started time.Time) {
	m.times++
	m.took += time.Since(started)
}

// mean is how long it takes, and otherwise where it has not been done yet.
func (m *measured) mean(otherwise time.Duration) time.Duration {
	// The division below needs at least one sample.
	if m.times == 0 {
		return otherwise
	}
	return m.took / time.Duration(m.times)
}

// describe adds to a step what is known of costs, and of the inputs since the nearest physical
// checkpoint. inputs are those that a restore would have to give again, by kind. images is how many
// checkpoints there are.
func (c *costModel) describe(s *strategy.Step, inputs map[model.Kind]int, images int) {
	s.Inputs, s.Returns, s.Images, s.Cost = c.inputs, c.returns, images, c.saves.mean(c.guess)
	// The way back to the start is the start itself, not a replay.
	if s.Replay = c.replay(inputs); s.Kind == strategy.Start {
		s.Replay = c.starts.mean(0)
	}
}
