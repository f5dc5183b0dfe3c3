package check

import (
	"fmt"
	"sync"
	"time"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/saved"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/iocache"
)

// Saving says how a check is saved while it runs. A run that was opened is gone on with.
type Saving struct {
	Run *saved.Run
	// Interval is the time between saves, while they take less than a twentieth of it. 0: the check
	// is saved only when it is interrupted.
	Interval time.Duration
	// Asked says how the check was asked for, in JSON, for saved.Run.Asked. It is called once,
	// before the first save.
	Asked func() ([]byte, error)
	// Failed is told once that the check cannot be saved. It goes on, and what was saved before
	// stays.
	Failed func(error)
}

const maxUnsaved = 256 << 20 // bytes of answers that are kept for the next save

// saver saves a check. What is saved is as it was between two executions: of one that is under way
// nothing is counted.
type saver struct {
	Saving
	asked []byte
	next  time.Time

	mu      sync.Mutex // guards what follows
	answers []byte     // of the peers, since the last save
	kept    int        // bytes of them that were there from the start: those of --cache
	settled int        // bytes of them that were there when an execution was last reported
	failed  bool       // Failed was told
	lost    bool       // answers were dropped, so that nothing can be saved any more
}

// record notes an answer of the peers. It is called with the driver's lock held. Beyond maxUnsaved
// bytes the answers are dropped, and the check cannot be saved again.
func (s *saver) record(e iocache.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return
	}
	if s.append(e); len(s.answers)-s.kept > maxUnsaved {
		s.fail(fmt.Errorf("what the peers have answered since the last save takes more than %d bytes",
			maxUnsaved))
		s.answers, s.lost = nil, true
	}
}

// append adds an answer to those that are to be saved. The caller holds mu, or nobody records yet.
func (s *saver) append(e iocache.Entry) {
	if len(s.answers) == 0 && !s.Run.HasAnswers() {
		s.answers = iocache.AppendHeader(nil, "answers of the peers of a saved run")
	}
	s.answers = iocache.AppendEntry(s.answers, e)
}

// fail tells once that the check cannot be saved: a disk that is full would be told of at every
// save. The check goes on.
func (s *saver) fail(err error) {
	if !s.failed && s.Failed != nil {
		s.Failed(fmt.Errorf("saving the check in %s: %w", s.Run.Path(), err))
	}
	s.failed = true
}

// settle takes the execution that has just been reported as finished. Answers of an execution under
// way are saved only once it is reported. A nil saver does nothing.
func (s *saver) settle() {
	if s != nil {
		s.mu.Lock()
		s.settled = len(s.answers)
		s.mu.Unlock()
	}
}

// due reports whether it is time to save the check.
func (s *saver) due(now time.Time) bool {
	return s != nil && s.Interval > 0 && !now.Before(s.next)
}

// saveOnTime saves the check, and decides when it is time again. The next save waits at least
// saved.Share times as long as this one took.
func (s *saver) saveOnTime(now time.Time, search *explore.Search, state *saved.State) {
	s.save(search, state)
	took := time.Since(now)
	s.next = now.Add(took + max(s.Interval, saved.Share*took))
}

// save saves the state of a check, with that of its search, and reports whether there is something
// to go on with. Nobody may be advancing the search.
func (s *saver) save(search *explore.Search, state *saved.State) bool {
	encoded, err := search.Save()
	if err == nil && encoded == nil {
		return false
	}
	if err == nil && s.asked == nil {
		s.asked, err = s.Asked()
	}
	state.Asked, state.Search = s.asked, encoded
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return s.Run.State() != nil
	}
	if err == nil {
		err = s.Run.Save(state, s.answers[:s.settled])
	}
	if err != nil {
		s.fail(err)
		return s.Run.State() != nil // what was saved before stays
	}
	s.answers, s.kept = s.answers[:copy(s.answers, s.answers[s.settled:])], max(0, s.kept-s.settled)
	s.settled = 0
	return true
}

// keepAnswers has a driver begin with the answers that are kept, and keep others.
func keepAnswers(d *driver.Driver, k *saved.AnswerFile) {
	d.Adopt(k.Cache(), "they are kept in "+k.Path(), k.Each)
	d.OnRecord(k.Record)
}

// keepOn has a driver, which goes on with the answers of a saved run, keep these and others. The
// file may have more already: what was answered after the run was last saved.
func keepOn(d *driver.Driver, k *saved.AnswerFile, o *Options) error {
	o.limit(k.Cache())
	d.OnRecord(func(e iocache.Entry) { k.Follow(d.Cache(), e) })
	// When each answer was recorded: later ones may have cut the ways to earlier ones.
	asItWas := driver.RoomyCache(o.Masks, o.CacheBytes)
	return o.Saving.Run.Answers(func(e iocache.Entry) error {
		err := asItWas.Restore(e)
		k.Follow(asItWas, e)
		return err
	})
}
