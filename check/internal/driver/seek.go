package driver

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/strategy"
)

// seekWithCheckpoint brings the group to where the search goes on. If that took inputs, a
// checkpoint there may save them the next time. The checkpoint is wanted because many executions
// may pass through this place. The strategy decides, with the forecast.
func (s *Session) seekWithCheckpoint(g *groupState, to iocache.Position) error {
	given := s.Counts.Replayed
	if err := s.seek(g, to); err != nil || s.Counts.Replayed == given {
		return err
	}
	step := strategy.Step{Kind: strategy.Return, Forecast: s.forecast}
	if err := s.consult(g, step, ckptd.Reads{}); err != nil || g.at != nil {
		return err
	}
	return s.seek(g, to) // the attempt was the end of the group
}

// seek brings the group to a place in the cache: it is there, or can go on to there, or has to be
// taken back. Each step is compared with the cache. A different answer is an
// *iocache.Inconsistency, with an explanation of what may have caused it.
func (s *Session) seek(g *groupState, to iocache.Position) error {
	if err := s.nearest(g, to); err != nil || slices.Equal(g.at, to) {
		return err
	}
	d := s.d
	steps, err := d.cache.Missing(g.at, to)
	if err != nil {
		return err
	}
	// The text goes into reports: it says how the answer came about.
	if d.restored != "" && len(steps) > 0 {
		d.restored += fmt.Sprintf(", and given %s again", textutil.CountOf(len(steps), "input"))
	}
	for _, step := range steps {
		got, err := s.repeat(g, step)
		// The peers may have died of an input that they survived before.
		if err != nil {
			return d.withCrashOutput(g, err)
		}
		d.recordOutput(g, step.Node)
		if err := d.cache.Compare(step, got); err != nil {
			if s.disturbed < maxRepeated && d.machineTimes() && cameEarly(step.Reaction, got) {
				return errDisturbed
			}
			return d.found.explain(err, g.lost, d.earlier, d.config.Room)
		}
		g.history.add(step, d.scope, func(connection int) int {
			return d.naming.socketOf(step.Node, connection)
		})
		// Checkpoints on the way may be nearer now, so the way is unknown.
		g.at, g.way = d.cache.After(g.at, step.Node), nil
		s.Counts.Replayed++
	}
	return nil
}

// nearest brings the group to where it can be brought at once and from where the fewest inputs are
// missing: it stays, is restored, or starts anew. It loops while images turn out to be gone. Each
// turn drops one from the cache, so it ends.
func (s *Session) nearest(g *groupState, to iocache.Position) error {
	if err := s.lookForLate(g); err != nil {
		return err
	}
	cache := s.d.cache
	for {
		if g.group != nil && slices.Equal(g.at, to) {
			return nil
		}
		// above says that the group stands on the way to the place, far inputs before it.
		far, above := 0, false
		if g.group != nil && g.at != nil {
			far, above = cache.Distance(g.at, to)
		}
		if above && far == 0 {
			return nil
		}
		at, image, ok := cache.Nearest(to)
		if above && ok {
			nearest, _ := cache.Distance(at, to)
			// The group's own place wins if it is as near as the checkpoint: going on costs no
			// restore.
			above = far <= nearest
		}
		if above {
			return nil
		}
		// Without processes an image cannot be restored: it belongs to the proxy of a group.
		if !ok || g.group == nil {
			return s.restart(g)
		}
		err := s.restore(g, at, image)
		if !errors.Is(err, ckptd.ErrImageGone) {
			return err
		}
		cache.DropImage(at) // the store needed its room, or it was damaged, or has ended with the proxy
		g.lost = cmp.Or(g.lost, err.Error())
	}
}

// lookForLate gives up where the group stands if a timer of the peers has ended there meanwhile, by
// the machine's clock, and made them do something. What the timer did belongs to no input. The
// group is taken back to before it.
func (s *Session) lookForLate(g *groupState) error {
	if g.group == nil || g.at == nil || !g.group.Late() {
		return nil
	}
	// A late reaction that nobody can see leaves the group usable.
	shows, err := newReaction(s, g).late()
	if shows {
		g.leave()
	}
	return err
}

// restart starts the group from nothing. The strategy is asked for a checkpoint of the fresh group.
func (s *Session) restart(g *groupState) error {
	reads, err := s.start(g)
	if err == nil {
		err = s.consult(g, strategy.Step{Kind: strategy.Start}, reads)
	}
	if err == nil && g.at == nil { // the attempt to save it was its end
		_, err = s.start(g)
	}
	return err
}

// start starts the group from nothing, and tells what it has read until it was ready. Old processes
// are closed first, so two groups are never alive for one behaviour. An error is returned if a peer
// has choices but cannot be instrumented.
func (s *Session) start(g *groupState) (reads ckptd.Reads, err error) {
	d := s.d
	g.dropSockets()
	if g.group != nil {
		if err := g.group.Close(); err != nil {
			return reads, err
		}
		// A start that fails below leaves no group behind.
		g.group = nil
		s.Counts.Restarts++
		d.cost.returns++
		d.restored = d.names() + " started anew"
	}
	if d.config.Start == nil {
		return reads, errNoPeers
	}
	started := time.Now()
	group, err := d.config.Start(s.ctx, d.spec.Behaving(s.behaviour))
	if err != nil {
		return reads, err
	}
	d.cost.starts.since(started)
	// Its place is the one after the choice of a behaviour.
	g.start(group, s.started)
	d.cache.NoteStart(s.started)
	d.recordOutput(g, s.started)
	if reads, err = group.Reads(); err != nil {
		return reads, err
	}
	// A peer whose reads are chosen must not read past the shim.
	for _, b := range reads.Uninstrumented {
		if b.Chosen {
			return reads, fmt.Errorf("how %s behaves cannot be chosen (choices, clock): "+
				"what %v reads of the time and of random numbers is not under control", b.Peer, b)
		}
	}
	return reads, nil
}

var errNoPeers = errors.New("the program opens a connection, but no peers are configured: " +
	"name them under `peers` in the configuration")

// restore takes the group back to a checkpoint. On ckptd.ErrImageGone the caller tries another one.
// On success the descriptors of all open sockets are those of the restored group.
func (s *Session) restore(g *groupState, at iocache.Position, image string) error {
	d := s.d
	// The descriptors would refer to the sockets of the ended incarnation.
	g.leave()
	started := time.Now()
	if err := g.group.Restore(s.ctx, image); err != nil {
		return err
	}
	s.Counts.Restores++
	d.cache.NoteRestore(at)
	d.cost.returns++
	s.Counts.RestoreTime += time.Since(started)
	// The history has to match the image. It decides which sockets exist.
	var err error
	if g.history, err = d.naming.historyOf(at); err != nil {
		return err
	}
	g.at = at
	depth := g.wayOf(d.cache, s.started).depth
	after := textutil.CountOf(depth, "input")
	d.restored = fmt.Sprintf("%s restored from the checkpoint after %s", d.names(), after)
	h := &g.history
	for number, listens := range h.open {
		fd, err := g.group.Sockets().CreateSocket(s.ctx, proxy.ID(number)) // it is there
		if err != nil {
			return err
		}
		g.sockets[number] = &socket{
			fd: fd, kind: h.kinds[number], ended: h.finished[number], shut: h.shut[number], listens: listens,
		}
	}
	_, err = g.group.Reads() // before the next input
	return err
}

// repeat gives the group an input again. The reaction has the connections as the cache counts them:
// in connection scope, inside the step's own tree.
func (s *Session) repeat(g *groupState, step iocache.Step) (model.Reaction, error) {
	d := s.d
	in := step.Input
	in.Conn = d.naming.socketOf(step.Node, in.Conn)
	r, err := s.perform(g, in, maxRepeated)
	if err != nil || d.scope == iocache.Group {
		return r, err
	}
	d.naming.renumber(&r, d.naming.withOpened([]string{d.cache.Name(step.Node)}, in, r))
	return iocache.Own(r, step.Input)
}
