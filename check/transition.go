package check

import (
	"slices"

	"github.com/tandem-mc/tandem/sut"
)

// transition is a transition of an execution that was logged with what could have been
// picked instead.
type transition struct {
	sut.Choice
	choices     int  // how many alternatives there were
	environment bool // the clock or a signal: not a goroutine of the program
	ticks       int  // how often the clock has advanced just before, since nothing else could happen
	// preempts: the goroutine of the program that ran just before could have gone on, and
	// another one does. That is what a preemption is, here as for the bound on them. It is
	// none if that goroutine has blocked or yielded, has ended, or has had its turn, nor if
	// time has passed or a signal arrived in between.
	preempts bool
}

// transitionsOf reads the transitions of a log, which must have been made with WantEnabled.
func transitionsOf(events []sut.Event) []transition {
	var steps []transition
	ticks, running, turn := 0, uint64(0), 0 // 0: nobody
	canGoOn := false
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case sut.Enabled:
			isResumed := e.Operation == sut.Resume || e.Operation == sut.Begin
			canGoOn = canGoOn || e.Subject == running && !isResumed && turn < sut.Turn
		case sut.Ticked:
			if e.Number != sut.TickEarly {
				ticks, running = ticks+1, 0
			}
		case sut.Stepped:
			s := transition{Choice: sut.Choice{Goroutine: e.Subject, Alternative: int(e.Number)}, choices: int(e.Choices), environment: isEnvironment(e), ticks: ticks}
			if running != e.Subject {
				s.preempts, turn = canGoOn && !s.environment, 0
			}
			if running, turn = e.Subject, turn+1; s.environment {
				running = 0
			}
			steps, ticks, canGoOn = append(steps, s), 0, false
		}
	}
	return steps
}

// cost is what shrinking makes less, the most important first: preemptions,
// transitions, the sum of the alternatives taken, switches.
type cost [4]int

func costOf(steps []transition) (c cost) {
	for i, s := range steps {
		if s.preempts {
			c[0]++
		}
		c[1] += 1 + s.ticks
		c[2] += s.Alternative
		if i > 0 && s.Goroutine != steps[i-1].Goroutine {
			c[3]++
		}
	}
	return c
}

func (c cost) less(than cost) bool { return slices.Compare(c[:], than[:]) < 0 }

// block is what one goroutine does in a row: steps from to to-1.
type block struct {
	goroutine uint64
	from, to  int
	preempted bool // it ends although the goroutine could have gone on
}

func blocksOf(steps []transition) []block {
	var blocks []block
	last := -1 // block of a goroutine of the program
	for i, s := range steps {
		if i > 0 && s.Goroutine == steps[i-1].Goroutine {
			blocks[len(blocks)-1].to++
			continue
		}
		if s.preempts {
			blocks[last].preempted = true
		}
		if !s.environment {
			last = len(blocks)
		}
		blocks = append(blocks, block{goroutine: s.Goroutine, from: i, to: i + 1})
	}
	return blocks
}
