package online

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandem-mc/tandem/protocol"
)

// system is a system that runs: two goroutines for each node, of which one receives.
type system struct {
	Config
	live       *protocol.Live
	ctx        context.Context
	cancel     context.CancelCauseFunc
	goroutines sync.WaitGroup
	nodes      []*node
	cuts       chan cut // has room for one of each node
	epoch      uint64   // of the last snapshot
	start      time.Time
	sent, lost atomic.Int64
	result     Result
}

// cut is what a node contributes to a snapshot.
type cut struct {
	node  int
	state protocol.LiveState
	out   []outgoing // by receiver
	in    []incoming // by sender
}

// newSystem starts all nodes.
func newSystem(ctx context.Context, c Config, live *protocol.Live) *system {
	s := &system{Config: c, live: live, cuts: make(chan cut, len(c.Model.Nodes)), start: time.Now()}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	key := rand.Uint64()
	for id := range c.Model.Nodes {
		rng := rand.New(rand.NewPCG(c.Seed, uint64(id)))
		n := &node{
			system: s, id: id, key: key, rng: rng, live: live.Node(protocol.ID(id), rng.IntN),
			out: make([]outgoing, len(c.Model.Nodes)), in: make([]incoming, len(c.Model.Nodes)),
			due: map[string]time.Time{}, marks: make(chan uint64, 1), datagrams: make(chan []byte),
		}
		s.nodes = append(s.nodes, n)
	}
	for _, n := range s.nodes {
		s.goroutines.Go(func() { s.end(n.receive()) })
		s.goroutines.Go(func() { s.end(n.run()) })
	}
	return s
}

// end ends the system if a node has an error.
func (s *system) end(err error) {
	if err != nil {
		s.cancel(err)
	}
}

// stop ends all goroutines, and waits for them.
func (s *system) stop() error {
	s.cancel(nil)
	err := s.Transport.Close()
	s.goroutines.Wait()
	return err
}

// watch takes snapshots and searches them, until there is a reason to end.
func (s *system) watch() (*Result, error) {
	ticks := time.NewTicker(s.Every)
	defer ticks.Stop()
	for s.result.Violation == nil && (s.Snapshots == 0 || s.result.Snapshots < s.Snapshots) {
		select {
		case <-ticks.C:
		case <-s.ctx.Done():
			return s.ended()
		}
		taken, err := s.snapshot()
		if err == nil && taken != nil {
			err = s.search(taken)
		}
		if err != nil {
			return nil, err
		}
		s.tell()
		if s.Watch != nil && taken != nil {
			s.Watch(s.result)
		}
	}
	return &s.result, nil
}

// tell brings the counters of the result up to date.
func (s *system) tell() {
	s.result.Elapsed = time.Since(s.start)
	s.result.Sent, s.result.Lost = s.sent.Load(), s.lost.Load()
}

// ended is the result when the context has ended, or a node has.
func (s *system) ended() (*Result, error) {
	s.tell()
	var failure *protocol.Failure
	switch cause := context.Cause(s.ctx); {
	case errors.As(cause, &failure):
		s.result.Violation, s.result.Happened = &protocol.Violation{What: failure.What}, true
	case !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded):
		return nil, cause
	}
	return &s.result, nil
}

// maxSnapshot bounds the bytes of a snapshot.
const maxSnapshot = 64 << 20

// snapshot is a consistent one of all nodes.
type snapshot struct {
	states  []protocol.LiveState
	packets []protocol.Packet // under way
	size    int
}

// snapshot has all nodes take part in a snapshot. It is nil if the system has ended before.
func (s *system) snapshot() (*snapshot, error) {
	s.epoch++
	for _, n := range s.nodes {
		select {
		case n.marks <- s.epoch:
		case <-s.ctx.Done():
			return nil, nil
		}
	}
	cuts := make([]cut, len(s.nodes))
	for range s.nodes {
		select {
		case c := <-s.cuts:
			cuts[c.node] = c
		case <-s.ctx.Done():
			return nil, nil
		}
	}
	taken := join(cuts)
	if taken.size > maxSnapshot {
		return nil, fmt.Errorf("a snapshot has %d MB, and %d are the most: have the nodes keep less",
			taken.size>>20, maxSnapshot>>20)
	}
	s.result.Bytes = taken.size
	return taken, nil
}

// join puts the parts of a snapshot together.
func join(cuts []cut) *snapshot {
	taken := &snapshot{}
	for _, from := range cuts {
		taken.states = append(taken.states, from.state)
		taken.size += from.state.Size()
		for to := range cuts {
			for _, p := range underWay(&from.out[to], &cuts[to].in[from.node]) {
				taken.packets = append(taken.packets, p)
				taken.size += len(p.Image)
			}
		}
	}
	return taken
}

// search looks for violations from a snapshot on, with small bounds first.
func (s *system) search(taken *snapshot) (err error) {
	begin := time.Now()
	s.result.Snapshots++
	if s.result.Snapshot, err = s.live.Model(taken.states, taken.packets); err != nil {
		return err
	}
	defer func() { s.result.Searching = time.Since(begin) }()
	for _, depth := range s.Depths {
		isOpen := false
		for round := 0; ; round++ {
			bounded, err := s.bounded(taken, round)
			if err != nil {
				return err
			}
			if bounded == nil || s.ctx.Err() != nil {
				break
			}
			o := s.Config.Search
			o.Depth = depth
			r, err := protocol.Check(bounded, o)
			if err != nil {
				return err
			}
			s.result.Searches++
			if r.Violation != nil {
				s.result.Violation, s.result.Snapshot = r.Violation, bounded
				s.result.Happened = r.Violation.Steps == 0
				return nil
			}
			isOpen = isOpen || r.Verdict == protocol.Unknown
		}
		// If everything was explored, a larger bound finds no more.
		if !isOpen {
			return nil
		}
	}
	return nil
}

// bounded is a model that begins at a snapshot, with nodes that Bound has changed; nil if there are
// no more rounds.
func (s *system) bounded(taken *snapshot, round int) (*protocol.Model, error) {
	model, err := s.live.Model(taken.states, taken.packets)
	if err != nil || !s.Bound(model.Nodes, round) {
		return nil, err
	}
	return model, nil
}
