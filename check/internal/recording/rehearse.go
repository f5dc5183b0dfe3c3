package recording

import (
	"errors"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// Rehearsed is a recording that has been followed once, without a debugger, to see where it goes.
type Rehearsed struct {
	Options sut.Options // of a worker that can follow it again
	Log     *sut.Log    // of what can be followed; it stays as it is
	Parted  string      // where the program as it is now leaves the recording; empty: nowhere

	schedule  sut.Schedule
	peers     bool
	exchanges []driver.Exchange
}

// Rehearse follows a recording once. If the program as it is now cannot follow all of it, what can
// be followed of the rest is.
func Rehearse(p *sut.Program, rec *report.Recording) (_ *Rehearsed, err error) {
	r := newReplaying(p, rec)
	if r.worker, err = r.start(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.worker.Close()) }()
	done := &Rehearsed{Options: r.options(), schedule: r.schedule(), peers: rec.Program.Peers,
		exchanges: r.exchanges}
	// If the peers would be asked for something else, the session ends there, too.
	log, err := r.worker.Run(done.schedule, executor.Recorded(done.peers, r.exchanges))
	if parted := narrate.Parted(p, rec, log, err); parted != nil {
		done.Parted = parted.String()
	}
	if log == nil {
		return nil, err
	}
	kept := executor.Keep(log)
	if err == nil && log.Outcome == sut.Diverged {
		followed, err := r.followed(&done.schedule)
		if err != nil {
			return nil, err
		}
		if followed != nil {
			kept = executor.Keep(followed)
		}
	}
	done.Log = &kept.Log
	return done, nil
}

// Given is what the peers were given, and what they answered.
func (r *Rehearsed) Given() []driver.Exchange { return driver.NewRecorded(r.exchanges).Given() }

// Again follows the recording in a worker that was started with the options.
func (r *Rehearsed) Again(w *sut.Worker) (*sut.Log, error) {
	return w.Run(r.schedule, executor.Recorded(r.peers, r.exchanges))
}
