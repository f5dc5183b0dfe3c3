package far

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/audit"
	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/distribute"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
)

// The peers of a program are where its check is led: one group, with one cache. Each worker has a
// copy of that cache, and asks for what it does not know. So all have the same history, and a
// worker needs neither the peers nor what it takes to run them.

// peersSetup is what a worker has to know of the peers of a check.
type peersSetup struct {
	Group peers.Group // as far as it matters to who does not run them
	Scope iocache.Scope
	Masks []iocache.Mask
	Bytes int64 // limit of the cache
}

// peersOf is what workers have to know of the peers that a driver has; nil: there are none.
func peersOf(d *driver.Driver) *peersSetup {
	if d == nil {
		return nil
	}
	spec, scope := d.Spec()
	s := &peersSetup{Group: peers.Group{AnyArrival: spec.AnyArrival}, Scope: scope}
	// Their files and environment may have secrets, and are of no use elsewhere.
	for _, p := range spec.Peers {
		s.Group.Peers = append(s.Group.Peers, peers.Peer{Name: p.Name, Listen: p.Listen, After: p.After,
			Expect: p.Expect, Choices: p.Choices, VirtualClock: p.VirtualClock})
	}
	s.Masks, s.Bytes = d.Cache().Rules()
	return s
}

// follower is a driver that has no peers, and asks the one of the check.
func (s *peersSetup) follower(ctx context.Context, ask distribute.Ask) *driver.Follower {
	d := driver.Follow(ctx, driver.Config{Spec: s.Group, Scope: s.Scope}, asker(ask))
	d.Cache().SetMasks(s.Masks)
	d.Cache().Limit(s.Bytes)
	return d
}

// reply is what is sent with answers of the peers.
type reply struct {
	driver.Reply
	Problem string // why there is none; empty: there is one
}

// asker asks the driver of a check what the peers answer.
type asker distribute.Ask

// Ask implements driver.Far.
func (a asker) Ask(ctx context.Context, q *driver.Question) (driver.Reply, error) {
	question, err := json.Marshal(q)
	if err != nil {
		return driver.Reply{}, err
	}
	answer, err := a(ctx, question)
	if err != nil {
		return driver.Reply{}, fmt.Errorf("asking the peers of the check: %w", err)
	}
	var r reply
	r.Answers, err = unframe(answer, &r)
	if err == nil && r.Problem != "" {
		err = errors.New(r.Problem)
	}
	return r.Reply, err
}

// answer implements distribute.Answer.
func (l *Leader) answer(ctx context.Context, question []byte) []byte {
	var q driver.Question
	var r reply
	err := json.Unmarshal(question, &q)
	if err == nil {
		r.Reply, err = l.published.Answer(ctx, &q)
	}
	l.contradicted(err)
	if l.published.Problem() != nil {
		return nil // the workers are about to be let go
	}
	if err != nil {
		r.Problem = err.Error()
	}
	answers := r.Answers
	r.Answers = nil
	answer, err := frame(&r, answers)
	if err != nil {
		answer, _ = frame(&reply{Problem: err.Error()}, nil)
	}
	l.replied.Add(int64(len(answer)))
	return answer
}

// PeerCounts is what work with the peers was done for workers.
func (l *Leader) PeerCounts() (c driver.Counts) {
	if l == nil || l.published == nil {
		return c
	}
	return l.published.Counts()
}

// refuses says what is wrong with what a worker tells of the peers.
func (l *Leader) refuses(a *answer) error {
	if l.published == nil {
		return nil
	}
	ends := slices.Clone(a.Ended)
	for i := range a.Findings {
		if more := a.Findings[i].Ends; more != nil {
			ends = append(ends, *more...)
		}
	}
	return l.published.Refuses(ends, a.Used)
}

// sayAsked says what the workers have asked, if there are peers.
func (l *Leader) sayAsked() {
	if l.published == nil {
		return
	}
	asked, news := l.published.Asked()
	l.options.Say("the workers have asked what the peers answer to %d inputs, %d of which were new; %d KB "+
		"were sent", asked, news, l.replied.Load()>>10)
}

// contradicted ends the search if an error of the peers is one with which scope auto ends it. A
// worker that has asked gives its part up. Whoever explores that next may not meet the error.
func (l *Leader) contradicted(err error) {
	if l.config.Auditor == nil || !audit.Contradicts(err) {
		return
	}
	l.mu.Lock()
	l.contradiction = err
	stop := l.stop
	l.mu.Unlock()
	if stop != nil {
		stop(err)
	}
}

// mayStop says how the search is ended, from when there is one.
func (l *Leader) mayStop(stop func(error)) {
	l.mu.Lock()
	l.stop = stop
	err := l.contradiction
	l.mu.Unlock()
	if err != nil { // there is nothing to end twice
		stop(err)
	}
}
