package driver

import (
	"cmp"
	"errors"
	"time"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/strategy"
)

// checkpoint takes a physical checkpoint after a new input if the strategy asks for one. It
// describes the input and the answer for the strategy. A strategy may weigh whether the peers
// answered, and how much.
func (s *Session) checkpoint(g *groupState, in model.Input, r model.Reaction) error {
	s.d.cost.inputs++
	step := strategy.Step{Kind: strategyKinds[in.Kind]}
	step.Answered = r.Refused != 0 || len(r.Deliveries)+len(r.Opened)+len(r.Ended) > 0
	for _, d := range r.Deliveries {
		step.ResponseBytes += len(d.Data)
	}
	return s.consult(g, step, g.reads)
}

// strategyKinds translates the kinds of inputs. To choose a behaviour is no input to the peers, so
// it has none. Listen counts as Connect: both make a socket.
var strategyKinds = map[model.Kind]strategy.Kind{
	model.Connect: strategy.Connect, model.Listen: strategy.Connect, model.Send: strategy.Send,
	model.Shutdown: strategy.Shutdown, model.Close: strategy.Close, model.Pass: strategy.Pass,
}

// consult takes a checkpoint if the strategy asks for one where the group stands. step has the kind
// and what the caller knows. The place, the costs, and the reads are filled in here.
func (s *Session) consult(g *groupState, step strategy.Step, reads ckptd.Reads) error {
	d := s.d
	way := g.wayOf(d.cache, s.started)
	step.Depth, step.SincePhysical = way.depth, way.since
	if way.saved && way.since == 0 && step.Kind != strategy.Start {
		return nil // the place was known; only the way to it was not
	}
	// Chosen reads repeat after a replay, so they are no reason for a checkpoint.
	for _, read := range reads.Counted {
		if !read.Chosen {
			step.Reads += read.Calls
		}
	}
	step.Uninstrumented = len(reads.Uninstrumented) > 0
	d.cost.describe(&step, way.kinds, d.cache.Stats().Images)
	if !d.config.Strategy.Checkpoint(step) {
		return nil
	}
	return s.save(g)
}

// save takes a physical checkpoint where the group stands. Where that cannot be, the search goes on
// without it. An error is returned only for what ends the check. After a checkpoint that was not
// taken, g.at may be nil: the attempt can end the group.
func (s *Session) save(g *groupState) error {
	d, f := s.d, &s.d.found
	started := time.Now()
	image, err := g.group.Checkpoint(d.ctx)
	switch {
	case errors.Is(err, ckptd.ErrUnsavable):
		// Something waits in the group that no checkpoint can hold. A later place may be better.
		s.Counts.Skipped++
		// Only the first reason is kept, for the report.
		f.skipped = cmp.Or(f.skipped, err.Error())
		return nil
	// The group may have ended in the attempt.
	case errors.Is(err, ckptd.ErrNotStored):
		s.goOnWithout(g, err)
		return nil
	// The cache has all answers so far, so that nothing is lost but time.
	case wereKilled(err):
		s.Counts.Killed++
		d.noteKilled(g, err)
		return nil
	}
	if err != nil {
		return err
	}
	d.cost.saves.since(started)
	d.cache.SetImage(g.at, image.ID, image.Backend)
	g.noteSaved()
	s.Counts.Checkpoints++
	if image.Backend == ckptd.BackendMemory {
		s.Counts.InMemory++
	}
	// A refusal explains why CRIU was used, which is slower.
	f.refusal = cmp.Or(f.refusal, image.Refusal)
	s.Counts.CheckpointTime += time.Since(started)
	s.Counts.ImageBytes += image.Bytes
	s.Counts.MadeRoom += len(image.Dropped)
	// Images that were dropped are noticed later, when a restore misses them.
	f.crowded = f.crowded || len(image.Dropped) > 0
	return nil
}

// goOnWithout does without a checkpoint that could not be stored: it costs that inputs have to be
// given again. Where the attempt was the end of the group, it is brought back when it is needed.
// Check tells whether it was.
func (s *Session) goOnWithout(g *groupState, err error) {
	f := &s.d.found
	s.Counts.Unstored++
	f.unstored = cmp.Or(f.unstored, err.Error())
	f.crowded = f.crowded || errors.Is(err, ckptd.ErrNoRoom)
	if g.group.Check() != nil {
		g.leave()
	}
}
