package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/examples/protocols/echo"
	"github.com/tandem-mc/tandem/examples/protocols/onepaxos"
	"github.com/tandem-mc/tandem/examples/protocols/paxos"
	"github.com/tandem-mc/tandem/examples/protocols/paxosregister"
	"github.com/tandem-mc/tandem/examples/protocols/storage"
	"github.com/tandem-mc/tandem/examples/protocols/synod"
	"github.com/tandem-mc/tandem/examples/protocols/tree"
	"github.com/tandem-mc/tandem/examples/protocols/twophase"
	"github.com/tandem-mc/tandem/protocol"
)

// column is a way to search: a new one is a line here.
type column struct {
	name string
	protocol.Options
}

var columns = []column{
	{"breadth first", protocol.Options{}},
	{"reduced", protocol.Options{Reduce: true}},
	{"depth first, reduced", protocol.Options{Search: protocol.DepthFirst, Reduce: true}},
	{"local", protocol.Options{Search: protocol.Local}},
}

// experiment is a row: a model, and what others have found out about it.
type experiment struct {
	name  string
	paper string
	model func() *protocol.Model
	// basset has the states of MP-Basset for each of splitColumns; zero is not known.
	basset []int
	// isViolated says that a violation is to be found.
	isViolated bool
	// isLong says that it takes longer than a minute.
	isLong bool
}

func experiments() []experiment {
	return slices.Concat(consensus(), multicasts(), registers(), others())
}

// consensus has Paxos and its kin.
func consensus() []experiment {
	paxosOf := func(c synod.Config) func() *protocol.Model {
		c.Proposers, c.Acceptors, c.Learners, c.Rounds = 2, 3, 1, max(c.Rounds, 1)
		return func() *protocol.Model { return synod.Model(c) }
	}
	return []experiment{
		{name: "Paxos, 3 nodes, one proposal",
			paper: "LMC: B-DFS 157,332 transitions, 1,514 s",
			model: func() *protocol.Model { return paxos.Model(3, 1) }},
		{name: "Paxos, 3 nodes, two proposals", isLong: true,
			paper: "LMC: B-DFS to depth 20, LMC to depth 39 of 68, in hours",
			model: func() *protocol.Model { return paxos.Model(3, 2) }},
		{name: "1Paxos, the wrong increment", isViolated: true,
			paper: "LMC: found online after 225 s",
			model: func() *protocol.Model {
				return onepaxos.Model(onepaxos.Config{Nodes: 3, Rivals: 1, Replacements: 1,
					WrongIncrement: true})
			}},
		{name: "Paxos (2,3,1), single messages",
			paper:  "MP-Basset: DPOR > 16,087,468, > 48 h; SPOR 6,247,530, 23 h",
			basset: []int{0, 6_247_530, 0, 0, 0},
			model:  paxosOf(synod.Config{})},
		{name: "Paxos (2,3,1), quorums",
			paper: "MP-Basset: 2,822,764, 9 h 37; reply split 1,087,486; quorum split 1,826,560; " +
				"combined 548,061, 3 h 30",
			basset: []int{0, 2_822_764, 1_087_486, 1_826_560, 548_061},
			model:  paxosOf(synod.Config{Quorums: true})},
		{name: "Paxos (2,3,1), quorums, two rounds each",
			model: paxosOf(synod.Config{Quorums: true, Rounds: 2}), isLong: true},
		{name: "faulty Paxos (2,3,1), single messages", isViolated: true,
			model: paxosOf(synod.Config{Faulty: true})},
		{name: "faulty Paxos (2,3,1), quorums", isViolated: true,
			paper:  "MP-Basset: 162 / 524 / 279 / 105",
			basset: []int{0, 162, 524, 279, 105},
			model:  paxosOf(synod.Config{Quorums: true, Faulty: true})},
		{name: "Paxos, 3 servers, 2 clients", paper: "stateright: 16,668",
			model: func() *protocol.Model { return paxosregister.Model(3, 2) }},
	}
}

// multicasts has those with Byzantine nodes.
func multicasts() []experiment {
	echoOf := func(receivers, initiators, traitors, byzantine int, quorums bool) func() *protocol.Model {
		return func() *protocol.Model {
			return echo.Model(echo.Config{HonestReceivers: receivers, HonestInitiators: initiators,
				ByzantineReceivers: traitors, ByzantineInitiators: byzantine, Quorums: quorums})
		}
	}
	return []experiment{
		{name: "Echo Multicast (3,0,1,1), single messages", model: echoOf(3, 0, 1, 1, false)},
		{name: "Echo Multicast (3,0,1,1), quorums",
			paper:  "MP-Basset: 2,911 / 9,222 / 652; combined 232",
			basset: []int{0, 2911, 9222, 652, 232},
			model:  echoOf(3, 0, 1, 1, true)},
		{name: "Echo Multicast (2,1,0,1), quorums",
			paper:  "MP-Basset: 2,010 / 9,986 / 2,787; combined 1,165",
			basset: []int{0, 2010, 9986, 2787, 1165},
			model:  echoOf(2, 1, 0, 1, true)},
		{name: "Echo Multicast (3,1,1,1), quorums",
			paper:  "MP-Basset: 12,023,663, > 48 h; combined 7,087,193, 42 h",
			basset: []int{0, 12_023_663, 0, 0, 7_087_193},
			model:  echoOf(3, 1, 1, 1, true)},
		{name: "Echo Multicast (2,1,2,1), wrong agreement, quorums", isViolated: true,
			paper:  "MP-Basset: 66 / 66 / 48",
			basset: []int{0, 0, 0, 0, 0},
			model:  echoOf(2, 1, 2, 1, true)},
	}
}

// registers has those of the paper, and the atomic one. There, it is not said how often is written.
func registers() []experiment {
	registerOf := func(readers, writes, reads int, atomic, noInversions bool) func() *protocol.Model {
		return func() *protocol.Model {
			return storage.Model(storage.Config{Objects: 3, Readers: readers, Writes: writes,
				Reads: reads, Atomic: atomic, NoInversions: noInversions, Quorums: true})
		}
	}
	return []experiment{
		{name: "regular storage (3,1), two writes, one read, quorums",
			paper:  "MP-Basset: 2,358,345, 8 h 57; 185,711; 20,039; combined 18,451",
			basset: []int{2_358_345, 0, 0, 0, 18_451},
			model:  registerOf(1, 2, 1, false, false)},
		{name: "regular storage (3,1), two writes, two reads, quorums",
			model: registerOf(1, 2, 2, false, false)},
		{name: "regular storage (3,2), wrong regularity, quorums", isViolated: true,
			paper:  "MP-Basset: 286,410; 72,937; 41,331; combined 6,987",
			basset: []int{0, 0, 0, 0, 6987},
			model:  registerOf(2, 1, 1, false, true)},
		{name: "atomic register (3,1), one write, two reads, quorums",
			model: registerOf(1, 1, 2, true, true)},
	}
}

// others has what is neither.
func others() []experiment {
	commitOf := func(managers int) func() *protocol.Model {
		return func() *protocol.Model { return twophase.Model(managers) }
	}
	alikeOf := func(managers int) func() *protocol.Model {
		return func() *protocol.Model {
			m := twophase.Model(managers)
			m.Alike = twophase.Resources(managers)
			return m
		}
	}
	return []experiment{
		{name: "tree of 5 nodes",
			model: func() *protocol.Model { return tree.Model([]int{0, 0, 0, 1, 1}, -1) }},
		{name: "two-phase commit, 3 managers", paper: "stateright: 288", model: commitOf(3)},
		{name: "two-phase commit, 5 managers", paper: "stateright: 8,832",
			model: commitOf(5)},
		{name: "two-phase commit, 5 managers, alike", paper: "stateright, with symmetry: 665",
			model: alikeOf(5)},
		{name: "two-phase commit, 7 managers", paper: "SPIN: 296,448", model: commitOf(7)},
		{name: "two-phase commit, 7 managers, alike", model: alikeOf(7)},
	}
}

// experimentTable runs the experiments whose names are wanted.
func experimentTable(list []experiment, wanted *regexp.Regexp, all bool, progress io.Writer) (string, error) {
	var s strings.Builder
	s.WriteString("| experiment | papers |")
	for _, c := range columns {
		s.WriteString(" " + c.name + " |")
	}
	s.WriteString(" transitions | bytes for a state | handlers run |\n" +
		strings.Repeat("|---", len(columns)+5) + "|\n")
	count := 0
	for _, e := range list {
		if !wanted.MatchString(e.name) || e.isLong && !all {
			continue
		}
		count++
		fmt.Fprintf(progress, "%s\n", e.name)
		row, err := e.row()
		if err != nil {
			return "", fmt.Errorf("%s: %w", e.name, err)
		}
		s.WriteString(row)
	}
	if count == 0 {
		return "", fmt.Errorf("no name matches %q, a regular expression: see README.md for the names, "+
			"and put a \\ before ( and )", wanted)
	}
	return s.String(), nil
}

// row searches one model in all ways.
func (e *experiment) row() (string, error) {
	paper := e.paper
	if paper == "" {
		paper = "–"
	}
	s := fmt.Sprintf("| %s | %s |", e.name, paper)
	var first *protocol.Result
	for _, c := range columns {
		if len(e.model().Alike) > 0 && (c.Reduce || c.Search == protocol.Local) {
			s += " – |" // these searches know no symmetry
			continue
		}
		c.Time = e.time()
		r, err := e.search(c)
		if err != nil {
			return "", err
		}
		if first == nil {
			first = r
		}
		s += " " + cell(r) + " |"
	}
	return fmt.Sprintf("%s %s | %d | %s |\n", s, grouped(int(first.Transitions)),
		first.Bytes/int64(max(first.States, 1)), grouped(first.Handlers)), nil
}

// search searches in one way. A verdict that is not the known one is an error.
func (e *experiment) search(c column) (*protocol.Result, error) {
	r, err := protocol.Check(e.model(), c.Options)
	if err != nil {
		return nil, err
	}
	if e.isViolated != (r.Verdict == protocol.Violated) && r.Verdict != protocol.Unknown {
		return nil, fmt.Errorf("%s: %v", c.name, r)
	}
	return r, nil
}

// time bounds a search that has no end.
func (e *experiment) time() time.Duration {
	if e.isLong {
		return 20 * time.Minute
	}
	return 20 * time.Second
}

// cell is what one search took. If it has not ended, the number of states is a lower bound; there
// are none if it is still about local states.
func cell(r *protocol.Result) string {
	s := grouped(r.States) + " states, " + seconds(r.Elapsed)
	if r.Whole != "" {
		s += ", whole"
	}
	switch {
	case r.Violation != nil:
		s = grouped(r.Violation.Steps) + " steps: " + s
	case r.Verdict == protocol.Unknown && r.States == 0:
		s = "no end"
	case r.Verdict == protocol.Unknown:
		s = "> " + s
	}
	return s
}

// grouped writes a number with commas.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// seconds writes a time with as many digits as it is good for.
func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}
