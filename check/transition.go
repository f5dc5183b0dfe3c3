package check

import (
	"slices"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// transition is a transition of an execution that was logged with what could have been
// picked instead.
type transition struct {
	model.Action
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
	ticks, canGoOn := 0, false
	var now turn
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case sut.Enabled:
			canGoOn = canGoOn || e.Subject == now.running && !now.rests(e)
		case sut.Ticked:
			if !e.TicksWithin() {
				ticks++
			}
		case sut.Stepped:
			s := transition{
				Action:  e.Action(),
				choices: int(e.Choices), environment: isEnvironment(e), ticks: ticks,
			}
			s.preempts = canGoOn && !s.environment && e.Subject != now.running
			steps, ticks, canGoOn = append(steps, s), 0, false
		}
		now.take(e)
	}
	return steps
}

// turn tells which goroutine of the program has just run, and how many transitions in a row.
type turn struct {
	running uint64 // 0: none, or there was something else in between
	length  int
}

// take takes the next event of an execution.
func (t *turn) take(e *sut.Event) {
	switch {
	case e.Kind == sut.Ticked && !e.TicksWithin(), e.Kind == sut.Stepped && isEnvironment(e):
		*t = turn{}
	case e.Kind == sut.Stepped && e.Subject != t.running:
		*t = turn{e.Subject, 1}
	case e.Kind == sut.Stepped:
		t.length++
	}
}

// rests reports whether the goroutine that has just run is not preempted if another one goes on,
// although it could, too: what it is enabled for is e.
func (t *turn) rests(e *sut.Event) bool {
	return e.Subject == t.running && (e.Operation == sut.Resume || e.Operation == sut.Begin || t.length >= sut.Turn)
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
		c[2] += s.Choice
		if i > 0 && s.Goroutine != steps[i-1].Goroutine {
			c[3]++
		}
	}
	return c
}

func (c cost) less(than cost) bool { return slices.Compare(c[:], than[:]) < 0 }

// block is what one goroutine does in a row: steps from to to-1.
type block struct {
	goroutine model.GoroutineID
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
