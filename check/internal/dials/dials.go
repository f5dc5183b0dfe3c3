// Package dials collects the addresses that a check dialled without a peer there, and those where
// it waited for clients that are not configured. A verdict that rests on that alone says nothing.
package dials

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// Set collects what the executions of one search have dialled. It is safe for concurrent use. The
// zero value is an empty set. Each method takes the lock for a short time only, so executors do not
// wait for each other.
type Set struct {
	mu      sync.Mutex
	failed  map[target]syscall.Errno // the first result of each that was not there
	own     map[target]bool          // the program serves it, at least in some executions
	dialled map[target]bool          // whatever came of it
	reached bool                     // there was a connection, or a message
	served  []proxy.Address
	waited  []proxy.Address // by executions that end there, since nobody connects
	dials   []sut.Dial      // of which the set is made, in their order
}

// target is what can be dialled: an address, or a name. It is comparable, so it is a key of maps.
// With a name, the address is empty.
type target struct {
	proxy.Address
	name string
}

// Notes are what there is to know of an execution, or of several. They can be saved as JSON.
type Notes struct {
	Dials   []sut.Dial      `json:"dials,omitempty"`
	Waited  []proxy.Address `json:"waited,omitempty"` // addresses where it ends, since nobody connects
	Reached bool            `json:"reached,omitempty"`
}

// News is what an execution tells that the set does not know, given where it waits for clients; nil
// if that is nothing. All events are looked at: those that an execution shares with the one before
// may be news still, since that one need not have been reported.
func (s *Set) News(events []sut.Event, waited []proxy.Address) *Notes {
	n := Notes{Waited: waited}
	for i := range events {
		switch events[i].Kind {
		case sut.Dialled:
			if d, ok := sut.DialAt(events, i); ok {
				n.Dials = append(n.Dials, d)
			}
		// Any answer of a peer shows that somebody was there.
		case sut.Delivered:
			n.Reached = true
		}
	}
	if !s.isNews(&n) {
		return nil
	}
	var own Set // without what the execution repeats
	own.Add(&n)
	return own.Notes()
}

// isNews reports whether notes tell what the set does not know.
func (s *Set) isNews(n *Notes) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return n.Reached && !s.reached || slices.ContainsFunc(n.Dials, s.isNew) ||
		slices.ContainsFunc(n.Waited, func(a proxy.Address) bool { return !slices.Contains(s.waited, a) })
}

// Add takes notes over, and reports whether they told something new. What of several is the first
// depends on their order.
func (s *Set) Add(n *Notes) (news bool) {
	if n == nil || !s.isNews(n) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range n.Dials {
		s.add(d)
	}
	for _, a := range n.Waited {
		if !slices.Contains(s.waited, a) {
			s.waited = append(s.waited, a)
		}
	}
	s.reached = s.reached || n.Reached
	return true
}

// Notes are all that the set knows: a set to which they are added knows the same.
func (s *Set) Notes() *Notes {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Notes{slices.Clone(s.dials), slices.Clone(s.waited), s.reached}
}

// isNew reports whether the set does not know what a dial tells. The caller holds the lock.
func (s *Set) isNew(d sut.Dial) bool {
	if d.Serves {
		return !slices.Contains(s.served, d.Address)
	}
	at := targetOf(d)
	_, failed := s.failed[at]
	return !s.dialled[at] || d.Own && !s.own[at] ||
		nobody(d.Result) && !failed || !nobody(d.Result) && !s.reached
}

// add takes a dial over, if it tells something new. The caller holds the lock.
func (s *Set) add(d sut.Dial) {
	if !s.isNew(d) {
		return
	}
	s.dials = append(s.dials, d)
	if d.Serves {
		s.served = append(s.served, d.Address)
		return
	}
	if s.failed == nil {
		s.failed, s.own = map[target]syscall.Errno{}, map[target]bool{}
		s.dialled = map[target]bool{}
	}
	at := targetOf(d)
	s.dialled[at] = true
	// Own says that the program serves the address in this very execution.
	if d.Own {
		s.own[at] = true
	}
	if !nobody(d.Result) {
		s.reached = true
		// Of several results the first is kept: a report names one.
	} else if _, known := s.failed[at]; !known {
		s.failed[at] = d.Result
	}
}

// targetOf is what was dialled. The resolver appends the dot of a full name.
func targetOf(d sut.Dial) target { return target{d.Address, strings.TrimSuffix(d.Name, ".")} }

// nobody reports whether a result is that of an address where nobody is. Other errors, such as one
// of the program's own deadline, say nothing about who is there.
func nobody(result syscall.Errno) bool {
	switch result {
	case syscall.ECONNREFUSED, syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EADDRNOTAVAIL,
		syscall.ENOENT, syscall.ENOTDIR:
		return true
	}
	return false
}

// Found says whom the executions missed, where the peers are those of a group, which may be nil,
// and where nobody is on purpose. It is called when the search has ended. A nil group stands
// for a configuration without peers.
func (s *Set) Found(group *peers.Group, absent []configs.Absent) Found {
	s.mu.Lock()
	defer s.mu.Unlock()
	missing := s.missing(group, absent)
	f := Found{Missed: report.Missed{Clients: reachable(s.waited)}}
	for _, at := range missing {
		f.Dialled = append(f.Dialled, report.Dial{
			Address: at.text(), IsName: at.name != "", Result: s.result(at),
		})
	}
	// Waiting clients come first in the text: they explain more than refused connections do.
	switch {
	case len(s.waited) > 0:
		f.Vacuous = "nobody connects to " + strings.Join(f.Clients, ", ") +
			": the program waits for clients, and none is configured"
	// One dial that reached somebody is enough for the verdict to mean something.
	case len(missing) > 0 && !s.reached && s.allMissing(group):
		f.Vacuous = "the program reached no peer: " + unconfigured(missing)
	}
	f.Configure = configuration(missing, s.waited)
	f.Undialled = s.undialled(absent)
	return f
}

// Draft is what a first configuration is made of: all that was dialled where nobody was, and where
// the program listens for others. It is called when the search has ended.
func (s *Set) Draft() (d configs.Draft) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.missing(nil, nil) {
		d.Dialled = append(d.Dialled, configs.Wanted{Address: at.Address, Name: at.name})
	}
	// A server that the program itself dials is one that nobody else need connect to.
	for _, a := range s.served {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(s.own)), func(at target) bool {
			return at.name == "" && a.Serves(at.Address)
		}) || slices.Contains(s.waited, a) {
			d.Listened = append(d.Listened, configs.Wanted{Address: a})
		}
	}
	return d
}

// undialled are the entries that stand for nothing that was dialled, in the order of the
// configuration.
func (s *Set) undialled(absent []configs.Absent) (list []string) {
	for _, a := range absent {
		dialled := false
		for at := range s.dialled {
			dialled = dialled || a.Covers(at.Address, at.name)
		}
		if !dialled {
			list = append(list, a.String())
		}
	}
	return list
}

// unconfigured says where no peer is configured, of the first few.
func unconfigured(missing []target) string {
	var texts []string
	for _, at := range missing[:min(len(missing), maxEntries)] {
		if at.name == "" {
			texts = append(texts, "at "+at.text())
		} else {
			texts = append(texts, "with the name "+at.name)
		}
	}
	if more := len(missing) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return "none is configured " + strings.Join(texts, ", ")
}

// Found is whom the executions of a search missed.
type Found struct {
	report.Missed
	// Vacuous is why the search has said nothing about the program, although every execution is
	// covered; "": it has.
	Vacuous string
}

// missing are the targets where a peer would have been, in the order of their texts. Of several
// loopback addresses with one port, one is among them. The order does not depend on the map, so
// that reports are the same each time.
func (s *Set) missing(group *peers.Group, absent []configs.Absent) (list []target) {
	known := map[target]bool{}
	for at := range s.failed {
		if s.isOwn(at) || isConfigured(at, group) || isAbsent(at, absent) {
			continue
		}
		// Of the two loopback addresses, which localhost leads to, the user needs one entry.
		if one := s.merged(at); !known[one] && !isAbsent(one, absent) {
			known[one] = true
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b target) int { return strings.Compare(a.text(), b.text()) })
	return list
}

// merged is a target, or the other loopback address with the same port, which stands for both. Only
// dials of IPv6 loopback are merged, and only if the IPv4 address was refused as well.
func (s *Set) merged(at target) target {
	if four := at.loopback(); four != at {
		if _, known := s.failed[four]; known {
			return four
		}
	}
	return at
}

// result is what the program got. Two merged targets may have failed differently. The greater error
// number is shown, which is an arbitrary choice but always the same one.
func (s *Set) result(missing target) string {
	if missing.name != "" {
		return "no such host"
	}
	var results []syscall.Errno
	for at, result := range s.failed {
		if s.merged(at) == missing {
			results = append(results, result)
		}
	}
	return cmp.Or(slices.Max(results).Error(), "connection refused")
}

// isAbsent reports whether nobody is at a target on purpose.
func isAbsent(at target, absent []configs.Absent) bool {
	return slices.ContainsFunc(absent, func(a configs.Absent) bool { return a.Covers(at.Address, at.name) })
}

// allMissing reports whether nothing was dialled that the program serves, or a peer. What is absent
// on purpose shows nobody, either.
func (s *Set) allMissing(group *peers.Group) bool {
	for at := range s.failed {
		if s.isOwn(at) || isConfigured(at, group) {
			return false
		}
	}
	return true
}

// isOwn reports whether the program serves an address, though perhaps not when it is dialled.
func (s *Set) isOwn(at target) bool {
	return s.own[at] || slices.ContainsFunc(s.served, func(a proxy.Address) bool {
		return at.name == "" && a.Serves(at.Address)
	})
}

// isConfigured reports whether a peer of a group is at an address. Names are never configured:
// peers have addresses. A nil group has nobody.
func isConfigured(at target, group *peers.Group) bool {
	if group == nil || at.name != "" {
		return false
	}
	for _, p := range group.Peers {
		listens, _ := p.Addresses() // what is wrong with them was found before
		if slices.ContainsFunc(listens, func(a proxy.Address) bool { return a.Serves(at.Address) }) {
			return true
		}
	}
	return false
}
