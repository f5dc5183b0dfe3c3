// Package kept is what an exploration of several programs knows between two items of work, as it is
// saved: with it, the exploration goes on as if it had not been interrupted.
package kept

import (
	"bytes"
	"encoding/gob"
	"fmt"

	"github.com/tandem-mc/tandem/check/internal/nodes/lives"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// Report is what was reported of an item: if neither is said, that it is impossible.
type Report struct {
	Key                     string
	IsCompleted, IsExplored bool
	Completed               skeleton.Global
	Explored                skeleton.Exploration
	// Failed is, of an item that is impossible, 1 and the node which cannot do what it does there;
	// 0: it is not known.
	Failed int
}

// Known is what is known after an item, beside what was reported.
type Known struct {
	Runs      int
	Schedules map[string]lives.Lives
	Data      map[network.Event][]byte
	Nobody    map[network.Stray]bool
	Outcomes  []string
	Never     string
	Unknown   string
	// Stuck are those of an explorer, and Signatures its known. Nothing was found.
	Stuck map[string][]Finding
	// Ordered are the nodes whose events are in one order; nil: all are.
	Ordered    []bool
	Stage      Stage
	Signatures map[string]bool
}

// Finding is a finding that is not confirmed yet: a deadlock, or a livelock.
type Finding struct {
	Item    skeleton.Item
	Outcome model.Outcome
	Lives   lives.Lives
}

// State is an exploration between two items.
type State struct {
	Reports []Report
	Known   Known
}

// Runs that were saved have the name that the type had then.
func init() {
	gob.RegisterName("github.com/tandem-mc/tandem/check/internal/nodes.Event", network.Event{})
}

// Stage is which partition is explored now, and what came of those before. Each one is explored as
// if there were no other one: the first is none. Others begin and end when the clock has advanced
// so and so often. What an execution does until the network heals does not depend on when that is.
// So if no execution comes so far, there is no need to try a later time.
type Stage struct {
	// Parted is that partition, after those of Before, and Links which of all partitions it is.
	Parted *network.Partition
	Links  int
	// Advances is how often the clock advances at most without that partition. In a later epoch
	// there is none to begin.
	Advances int
	// Before are the partitions before it, and Later are lists of partitions after which one more
	// can begin.
	Before *network.Partition
	Later  []Stages
	// Counts and Traces are those of earlier stages.
	Counts skeleton.Counts
	Traces [][]int
}

// Stages are those with one partition after some others, and how often the clock advances at most
// with these alone.
type Stages struct {
	Before   *network.Partition
	Advances int
}

// Next begins the next stage after one in which the clock advances so often at most, and returns
// its partitions, at most so many, each of which is one of those links that are given; nil: there
// are no more. Those with fewer partitions come first.
func (s *Stage) Next(advances int, links [][][2]int, most int) *network.Partition {
	all, before := s.Parted.All(), s.Before.All()
	first := 0
	if n := len(before); n > 0 {
		first = before[n-1].Until + 1
	}
	p := network.Partition{From: first, Until: first + 1}
	if n := len(all); n == 0 {
		s.Advances = advances
	} else {
		was := all[n-1]
		if n < most && advances > was.Until {
			s.Later = append(s.Later, Stages{s.Parted, advances})
		}
		switch {
		case advances >= was.Until:
			p.From, p.Until = was.From, was.Until+1
		case was.From < s.Advances:
			p.From, p.Until = was.From+1, was.From+2
		default:
			s.Links++
		}
	}
	if s.Links >= len(links) {
		if len(s.Later) == 0 {
			return nil
		}
		s.Before, s.Advances, s.Links = s.Later[0].Before, s.Later[0].Advances, 0
		s.Later = s.Later[1:]
		before = s.Before.All()
		p.From = before[len(before)-1].Until + 1
		p.Until = p.From + 1
	}
	p.Links = links[s.Links]
	s.Parted = s.Before.With(p)
	return s.Parted
}

// Encode returns what Decode takes.
func (s State) Encode() ([]byte, error) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(s); err != nil {
		return nil, fmt.Errorf("saving the exploration: %w", err)
	}
	return b.Bytes(), nil
}

// Decode is the inverse of Encode.
func Decode(data []byte) (s State, err error) {
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&s); err != nil {
		return s, fmt.Errorf("the exploration that was saved cannot be read: %w: check the nodes from the "+
			"beginning", err)
	}
	return s, nil
}
