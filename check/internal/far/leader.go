package far

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem/check/internal/audit"
	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/pool"
	"github.com/tandem-mc/tandem/distribute"
	"github.com/tandem-mc/tandem/explore"
)

// Leader has parts explored by the workers of a server.
type Leader struct {
	lead
	config    *executor.Config  // of the check: what was found is run again with it
	published *driver.Published // what the peers answer; nil: there are none
	replied   atomic.Int64      // bytes of these answers

	mu    sync.Mutex  // guards what follows
	slots int         // executors that may have a part under way
	gone  error       // why the workers were let go; nil: they were not
	stop  func(error) // ends the search; nil until there is one
	// contradiction is of the peers, and was found for a worker before there was a search; or nil.
	contradiction error

	here here

	writing sync.Mutex // guards common
	common  explore.Common
}

// more is another executor, if there are workers for it; else nil. There is one for each: a part
// that waits for a worker to be done with another one is mostly reached by the search first.
func (l *Leader) more(ctx context.Context) *Slot {
	// Who is there changes at any time. A slot too many finds out with its next part.
	most := l.Workers()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.slots >= most || l.gone != nil {
		return nil
	}
	l.slots++
	// Its parts end with the check, or with it.
	s := &Slot{leader: l}
	s.ctx, s.end = context.WithCancel(ctx)
	return s
}

// tooMany reports whether there are more slots than there are workers for, since some have gone.
func (l *Leader) tooMany() bool {
	most := l.Workers()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.slots > most || l.gone != nil
}

// letGo lets the workers go once they cannot be told any more what the peers answer, and reports
// whether they have gone. What they were about is explored here.
func (l *Leader) letGo() bool {
	if l.published == nil {
		return false
	}
	why := l.published.Problem()
	l.mu.Lock()
	if l.gone != nil || why == nil {
		defer l.mu.Unlock()
		return l.gone != nil
	}
	l.gone = why
	l.mu.Unlock()
	l.options.Say("the workers are let go, and the check goes on by itself: %v", why)
	// That may take as long as an answer of the peers that is under way. Meanwhile the check goes
	// on.
	go l.leave()
	return true
}

// Notes are lines that are shown with the verdict.
func (l *Leader) Notes() (lines []string) {
	if l != nil && l.gone != nil {
		lines = append(lines, fmt.Sprintf("the workers were let go early: %v", l.gone))
	}
	return lines
}

// write writes a part. Most of it is as in the last one, of whichever slot.
func (l *Leader) write(p *explore.Subtree) ([]byte, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	return explore.SaveSubtree(p, &l.common)
}

// Silence has no question of a worker be answered any more, after the search has ended. What waits
// for the peers to answer one ends.
func (l *Leader) Silence() {
	if l != nil {
		l.Leader.Silence()
	}
}

// Slot is an executor of a pool that has one part after the other explored.
type Slot struct {
	leader *Leader
	ctx    context.Context
	end    context.CancelFunc
	once   sync.Once
}

// Stay implements pool.Far: there is no worker here.
func (s *Slot) Stay() (leave func()) { return func() { s.free() } }

// free makes room for another slot.
func (s *Slot) free() {
	s.once.Do(func() {
		s.leader.mu.Lock()
		s.leader.slots--
		s.leader.mu.Unlock()
	})
}

// Interrupt implements pool.Far.
func (s *Slot) Interrupt() { s.end() }

// Close implements pool.Far.
func (s *Slot) Close() {
	s.end()
	s.free()
}

// errNoWorker ends the use of a slot: there are fewer workers than there were.
var errNoWorker = errors.New("no worker is left for it")

// ExploreFar implements pool.Far.
func (s *Slot) ExploreFar(p *explore.Subtree, b pool.Bounds, wanted <-chan struct{},
	known func(kind string) bool) (*pool.Explored, error) {
	// Workers may have gone since the last part.
	if s.leader.tooMany() {
		return nil, errNoWorker
	}
	part, err := s.leader.write(p)
	if errors.Is(err, explore.ErrNotPortable) {
		return nil, fmt.Errorf("%w: %w", pool.ErrUnexplored, err)
	}
	if err != nil {
		return nil, err
	}
	// The worker rests by itself within these bounds, also if it does not hear from here any more.
	data, err := frame(task{Bounds: b}, part)
	if err != nil {
		return nil, fmt.Errorf("%w: writing a part: %w", pool.ErrUnexplored, err)
	}
	// This waits for a worker, for seconds mostly.
	result, err := s.leader.Explore(s.ctx, data, wanted)
	if errors.Is(err, distribute.ErrUnexplored) {
		return nil, fmt.Errorf("%w: %w", pool.ErrUnexplored, err)
	}
	if err != nil {
		return nil, err
	}
	// From here on nothing is taken over unless all of it can be read.
	var a answer
	explored, err := unframe(result, &a)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", pool.ErrUnexplored, err)
	}
	if err := s.leader.refuses(&a); err != nil {
		return nil, fmt.Errorf("%w: what a worker has found: %w", pool.ErrUnexplored, err)
	}
	x, err := a.take(p, explored, known, s)
	if audit.Contradicts(err) && s.leader.config.Auditor != nil {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", pool.ErrUnexplored, err)
	}
	if peers := s.leader.published; peers != nil {
		peers.NoteUsed(a.Used)
	}
	return x, nil
}
