// Package recording makes recordings of executions, and follows them again: to show what they lead
// to, or for a debugger. A recording has the choices of an execution and what the peers answered in
// it, so no peers are needed to follow it.
package recording

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// New is a recording of an execution of a program: about says what was checked, and leaves out what
// the program and the log say.
func New(p *sut.Program, about report.Program, log *sut.Log, exchanges []driver.Exchange,
) *report.Recording {
	about.World.EarlyTimers = log.EarlyTimers
	about.Tests, about.Preemptible, about.Races, about.Tags = p.Tests, p.Open, p.Races, p.Tags
	about.GoVersion, about.Build = p.Version, p.Hash
	rec := &report.Recording{
		Program:  about,
		Expect:   report.Expectation{Outcome: log.Outcome.String(), EventLog: narrate.EventHash(log.Events)},
		Schedule: narrate.Chosen(p, log.Events),
	}
	for _, x := range exchanges {
		rec.Exchanges = append(rec.Exchanges, recordExchange(x))
	}
	return rec
}

// Actions is the schedule of a recording as a worker takes it. A goroutine is known by its
// place in the spawn tree, which edits of other goroutines do not change.
func Actions(rec *report.Recording) (list []model.Action) {
	for _, c := range rec.Schedule {
		list = append(list, model.Action{Goroutine: model.GoroutineID(c.Goroutine), Choice: c.Choice})
	}
	return list
}

// Printed is a recording as a string; empty if it cannot be one, or would be too long to print.
// The package has its import path there, since nobody knows where the string will be used. The
// directory in which the program ran is told from there on.
func Printed(p *sut.Program, rec *report.Recording) report.Schedule {
	path := strings.TrimSuffix(p.ImportPath, ".test")
	dir, err := filepath.Rel(p.Dir, rec.Program.Directory)
	if err != nil || path == "command-line-arguments" { // files, which have no path
		return ""
	}
	// Whatever is wrong with it, the file has all that it would have.
	s, err := report.NewSchedule(rec, path, dir)
	if err != nil || len(s) > report.MaxPrinted {
		return ""
	}
	return s
}

// recordExchange is an exchange as a recording keeps it. A replay has no peers: whatever the
// program can notice of them has to be in it.
func recordExchange(x driver.Exchange) report.Exchange {
	e := report.Exchange{
		Input: x.Input, Refused: x.Answer.Refused, Deliveries: x.Answer.Deliveries,
		Clients: x.Answer.Clients, Failure: x.Answer.Failure,
	}
	if t := x.Answer.Time; t != (model.Time{}) {
		e.Time = &report.PassedTime{Passed: t.Passed, Idle: t.Idle, Tie: t.Tie, Due: t.Due, Peer: x.TimerOf}
	}
	for i, listener := range x.Answer.Opened {
		e.Opened = append(e.Opened, report.Opening{Conn: x.Answer.First + i, Listener: listener})
	}
	for _, end := range x.Ended {
		e.Ended = append(e.Ended, report.Ending{Peer: end.Peer, Status: int(end.Status)})
	}
	for _, w := range x.Wrote {
		e.Wrote = append(e.Wrote, report.Wrote{Peer: w.Peer, Text: []byte(w.Text)})
	}
	e.Unheard = !x.Heard
	return e
}

// recordedExchange is the inverse of recordExchange.
func recordedExchange(e report.Exchange) driver.Exchange {
	x := driver.Exchange{Input: e.Input, Cached: true, Heard: !e.Unheard}
	x.Answer = model.Answer{
		Reaction: model.Reaction{Refused: e.Refused, Deliveries: e.Deliveries},
		Conn:     e.Input.Conn, Clients: e.Clients, Failure: e.Failure,
	}
	if t := e.Time; t != nil {
		x.Answer.Time = model.Time{Passed: t.Passed, Idle: t.Idle, Tie: t.Tie, Due: t.Due}
		x.TimerOf = t.Peer
	}
	for i, o := range e.Opened {
		if i == 0 {
			x.Answer.First = o.Conn
		}
		x.Answer.Opened = append(x.Answer.Opened, o.Listener)
	}
	for _, gone := range e.Ended {
		x.Ended = append(x.Ended, driver.End{Peer: gone.Peer, Status: unix.WaitStatus(gone.Status)})
	}
	for _, w := range e.Wrote {
		x.Wrote = append(x.Wrote, driver.Written{Peer: w.Peer, Text: string(w.Text)})
	}
	return x
}
