package nodes

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/tandem-mc/tandem/check/internal/nodes/given"
	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// partedSystem is a server and a client, and a network between them that is parted at any moment,
// and heals with any later advance of the clock. It goes through all its states, one step at a
// time: a node does the next thing, one message arrives, the network is parted, or the clock
// advances.
type partedSystem struct {
	steps [2][]string // see testdata/parted; the server is the first one
	seen  map[partedState]bool
	got   [2]map[string]bool // what the nodes come to
	pairs map[[2]string]bool // and what they come to together
	both  bool               // both hold the lock in some state
}

// partedState is comparable, so that no state is gone through twice.
type partedState struct {
	now    int
	parted int // 0: not yet; 1: it is; 2: it has healed
	again  int // how often it may still be parted after that, when the clock has advanced
	nodes  [2]partedNode
	// ends are those of the connection, at the server and at the client. Its connect has arrived at
	// the server, and was accepted. closed: the server does not listen any more.
	ends                      [2]partedEnd
	arrived, accepted, closed bool
	// givesUp: a connect that has waited may be given up at the time at which it is made.
	givesUp bool
	// slows is how often a direction of the connection may still be slow for some time, in which
	// what is sent there does not arrive. When the clock has advanced longest times, it does; 0:
	// there is no such bound.
	slows, longest int
}

type partedNode struct {
	at     int  // step
	begun  bool // the step waits
	due    int  // so long
	got    string
	joined bool // it has the connection
	holds  bool // the lock
	done   bool
	// Its connect has waited for the network to heal. made: it is made, which is not noticed yet.
	// By then the connection may be reset.
	waited, made bool
	// It does nothing while it is paused, and may be so often.
	paused bool
	pauses int
}

// partedEnd is one end of the connection. What it sends is on its way: letters, + for the connect,
// . for the end of the stream, ! for a reset. What comes behind a digit is slow, and it says how
// often the clock has advanced since the first of that was sent.
type partedEnd struct {
	sent, got                           string
	ended, shut, fault, closed, aborted bool
}

// explore goes through all states from one on.
func (p *partedSystem) explore(s partedState) {
	if p.seen[s] {
		return
	}
	p.seen[s] = true
	p.both = p.both || s.nodes[0].holds && s.nodes[1].holds
	next := s.moves(p.steps)
	if len(next) == 0 {
		next = s.advances()
	}
	if t := s.quick(); len(next) == 0 && t != s { // all wait for what is slow
		p.explore(t)
		return
	}
	isPaused := s.nodes[0].paused || s.nodes[1].paused
	if len(next) == 0 && !isPaused {
		for n := range s.nodes {
			p.got[n][s.nodes[n].got] = true
		}
		p.pairs[[2]string{s.nodes[0].got, s.nodes[1].got}] = true
		return
	}
	if s.parted == 0 {
		parted := s
		parted.parted = 1
		for e := range parted.ends {
			parted.ends[e].drop()
		}
		if n := &parted.nodes[1]; n.begun && p.steps[1][n.at][0] == 'd' {
			n.waited = true
		}
		p.explore(parted)
	}
	for e := range s.ends {
		if slow := s; s.slows > 0 && s.nodes[1].joined {
			slow.ends[e].sent += "0"
			slow.slows--
			p.explore(slow)
		}
	}
	for n := range s.nodes {
		t := s
		switch node := &t.nodes[n]; {
		case node.paused:
			node.paused = false
			p.explore(t)
		case node.begun && node.pauses > 0:
			node.paused = true
			node.pauses--
			p.explore(t)
		}
	}
	for _, t := range next {
		p.explore(t)
	}
}

// drop forgets what nobody sends again.
func (e *partedEnd) drop() {
	if e.aborted && e.sent != "" {
		e.sent = strings.Map(func(c rune) rune {
			if unicode.IsDigit(c) {
				return c
			}
			return -1
		}, e.sent) + "!"
	}
}

// get has what the other end has sent arrive.
func (e *partedEnd) get(what byte) {
	switch {
	case what == '!':
		e.fault, e.ended, e.shut = e.fault || !e.ended, true, true
	case e.closed:
		if what != '.' && !e.aborted {
			e.aborted = true
			e.sent += "!"
		}
	case what == '.':
		e.ended = true
	default:
		e.got += string(what)
	}
}

// abort resets the connection.
func (e *partedEnd) abort() {
	e.closed, e.aborted = true, true
	e.sent += "!"
}

// close closes the end. What has arrived and was not read makes that a reset.
func (e *partedEnd) close() {
	switch {
	case e.closed:
	case e.fault || e.shut:
		e.closed, e.sent = true, ""
	case e.got != "":
		e.abort()
	default:
		e.closed = true
		e.sent += "."
	}
}

// does reads or writes, if the end can now, and says what comes of it.
func (e *partedEnd) does(step string) (got string, can bool) {
	switch {
	case step[0] == 'w' && (e.fault || e.shut):
		e.fault = false
		return "p", true
	case step[0] == 'w':
		e.sent += step[1:]
	case e.got != "":
		got, e.got = e.got, ""
	case e.fault:
		e.fault = false
		return "x", true
	case e.ended:
		return "e", true
	default:
		return "", false
	}
	return got, true
}

// advances are the states after the clock has advanced: the network may heal then.
func (s partedState) advances() []partedState {
	due := 0
	for _, n := range s.nodes {
		if n.begun && !n.paused && (due == 0 || n.due < due) {
			due = n.due
		}
	}
	if due == 0 {
		return nil
	}
	s.now = due
	if s.parted == 2 && s.again > 0 {
		s.parted = 0
		s.again--
	}
	list := []partedState{s}
	for e := range s.ends {
		var next []partedState
		for _, sent := range s.ends[e].later(s.longest) {
			for _, t := range list {
				t.ends[e].sent = sent
				next = append(next, t)
			}
		}
		list = next
	}
	if s.parted != 1 {
		return list
	}
	for _, healed := range list {
		healed.parted = 2
		list = append(list, healed)
	}
	return list
}

// later lists what may be on its way after the clock has advanced.
func (e *partedEnd) later(longest int) (list []string) {
	list = []string{""}
	for i, c := range e.sent {
		var next []string
		for _, sent := range list {
			isSlow := unicode.IsDigit(c)
			if next = append(next, sent+string(c)); !isSlow {
				continue
			}
			next[len(next)-1] = sent
			if i+1 == len(e.sent) { // nothing is held
				next = append(next, sent+string(c))
			} else if n := int(c-'0') + 1; longest == 0 || n < longest {
				next = append(next, sent+strconv.Itoa(min(n, 9)))
			}
		}
		list = next
	}
	return list
}

// quick is the state in which nothing is slow.
func (s partedState) quick() partedState {
	for e := range s.ends {
		s.ends[e].sent = strings.Map(func(c rune) rune {
			if unicode.IsDigit(c) {
				return -1
			}
			return c
		}, s.ends[e].sent)
	}
	return s
}

// moves are the states after a step for which no time has to pass.
func (s partedState) moves(steps [2][]string) (list []partedState) {
	for e := range s.ends {
		if sent := s.ends[e].sent; sent != "" && s.parted != 1 && !s.nodes[1-e].paused &&
			!unicode.IsDigit(rune(sent[0])) {
			t := s
			what := t.ends[e].sent[0]
			t.ends[e].sent = t.ends[e].sent[1:]
			t.get(1-e, what)
			list = append(list, t)
		}
	}
	for n := range s.nodes {
		if node := &s.nodes[n]; node.done || node.paused {
			continue
		} else if node.at == len(steps[n]) {
			t := s
			t.exit(n)
			list = append(list, t)
			continue
		}
		list = append(list, s.does(n, steps[n])...)
	}
	return list
}

// get has a message arrive at an end.
func (s *partedState) get(e int, what byte) {
	end := &s.ends[e]
	if what != '+' {
		end.get(what)
		return
	}
	if s.arrived = true; s.closed && !end.closed {
		s.abort(e)
	}
}

// abort resets the connection.
func (s *partedState) abort(e int) {
	if s.ends[e].abort(); s.parted == 1 {
		s.ends[e].drop()
	}
}

// close closes an end.
func (s *partedState) close(e int) {
	if s.ends[e].close(); s.parted == 1 {
		s.ends[e].drop()
	}
}

// exit is the end of a node.
func (s *partedState) exit(n int) {
	s.nodes[n].done, s.nodes[n].holds = true, false
	if s.nodes[n].joined {
		s.close(n)
	}
	if n == 0 {
		s.closed = true
		if s.nodes[1].joined && !s.accepted && !s.ends[0].closed {
			s.abort(0) // nobody has accepted it
		}
	}
}

// does is what a node can do now: begin to wait, give up, or what it waits for.
func (s partedState) does(n int, steps []string) (list []partedState) {
	node, step := s.nodes[n], steps[s.nodes[n].at]
	long, _ := strconv.Atoi(step[1:])
	waits := strings.ContainsAny(step[:1], "asdr")
	if waits && !node.begun {
		s.nodes[n].begun, s.nodes[n].due = true, s.now+long
		s.nodes[n].waited = step[0] == 'd' && s.parted == 1
		return []partedState{s}
	}
	done := func(t partedState, got string) {
		to := &t.nodes[n]
		to.at, to.begun, to.due, to.got = to.at+1, false, 0, to.got+got
		to.waited, to.made = false, false
		if got != "" && strings.ContainsAny(step[:1], "ad") {
			to.at = len(steps)
		}
		list = append(list, t)
	}
	t := s
	end := &t.ends[n]
	switch {
	case step[0] == 'a' && s.arrived && !s.accepted && !end.closed:
		t.accepted, t.nodes[n].joined = true, true
		done(t, "")
	case step[0] == 'd' && node.made && end.fault:
		end.closed, end.sent, t.nodes[n].joined = true, "", false
		done(t, "x")
	case step[0] == 'd' && node.made:
		done(t, "")
	case step[0] == 'd' && s.parted != 1 && s.closed:
		done(t, "f")
	case step[0] == 'd' && s.parted == 2 && node.waited:
		t.nodes[n].joined, t.nodes[n].made, end.sent = true, true, "+"
		list = append(list, t)
	case step[0] == 'd' && s.parted != 1:
		t.nodes[n].joined = true
		end.sent = "+"
		done(t, "")
	case step[0] == 'r', step[0] == 'w':
		if got, can := end.does(step); can {
			done(t, got)
		}
	case step[0] == 'c':
		t.close(n)
		done(t, "")
	case step[0] == 'h', step[0] == 'u':
		t.nodes[n].holds = step[0] == 'h'
		done(t, "")
	}
	if waits && s.now >= node.due && (!node.made || s.givesUp) { // a connect is made, or given up
		if node.made {
			s.close(n)
		}
		done(s, map[bool]string{true: "", false: "t"}[step[0] == 's'])
	}
	return list
}

// TestPartitionsAgainstTwin: random nodes whose network is parted come to the same as a system
// whose states are all gone through, and to nothing else.
func TestPartitionsAgainstTwin(t *testing.T) {
	program := build(t, "./testdata/parted")
	kinds := map[rune]int{}
	for seed := range uint64(*systems) {
		r := rand.New(rand.NewPCG(seed, 9))
		scripts := randomParted(r)
		who := r.IntN(2)
		want := partedOutcomes(scripts, who, partedState{})
		w := twin{seed, scripts, who, want, func(check string) Config {
			return Config{Nodes: partedNodes(program, scripts, who, check), Partitions: both()}
		}}
		w.count(kinds)
		w.explored(t, 0)
	}
	t.Log(kinds)
	for _, kind := range "abtex" {
		if *systems >= enough && kinds[kind] == 0 {
			t.Errorf("no node comes to %c", kind)
		}
	}
}

// TestPartitionsFollowEachOther: likewise if the network is parted twice.
func TestPartitionsFollowEachOther(t *testing.T) {
	program := build(t, "./testdata/parted")
	for seed := range uint64(1 + *systems/10) {
		r := rand.New(rand.NewPCG(seed, 10))
		scripts := randomParted(r)
		who := r.IntN(2)
		want := partedOutcomes(scripts, who, partedState{again: 1})
		w := twin{seed, scripts, who, want, func(check string) Config {
			return Config{Nodes: partedNodes(program, scripts, who, check), Partitions: both(),
				Often: given.Often{PartitionLimit: 2}}
		}}
		w.explored(t, 1)
	}
}

// TestRareEndsBehindPartitions: what random nodes seldom come to, explored and at random.
func TestRareEndsBehindPartitions(t *testing.T) {
	program := build(t, "./testdata/parted")
	for _, c := range []struct {
		name    string
		scripts []string
		from    partedState
		got     string
	}{
		// Data come before the network is parted, and the reset after them does not.
		{"a reset alone is held", []string{"a10000 wa s27 wb", "d3 wa s243 r729 r2187"}, partedState{},
			"abt"},
		// The server has closed the connection and gets a letter, so it resets that. Its own letter
		// and the end are slow, and are not sent again once the network was parted.
		{"a slow end is lost", []string{"a10000 r9 wa", "d81 r729 wb r2187"}, partedState{slows: 1}, "tx"},
		// Each of two letters is late, and the first one arrives before the second one is sent.
		{"parted twice", []string{"a10000 wa s27 wb s6561", "d81 r3 r9 r81 r729"},
			partedState{again: 1}, "tatb"},
	} {
		if want := partedOutcomes(c.scripts, 1, c.from); !slices.Contains(want, c.got) {
			t.Errorf("%s: the client comes to %q, want %s among it", c.name, want, c.got)
		}
		list := partedNodes(program, c.scripts, 1, "not:"+c.got)
		config := Config{Nodes: list, Partitions: both(), Slow: c.from.slows,
			Often: given.Often{PartitionLimit: 1 + c.from.again}}
		for _, walks := range []*pick.Walks{nil, {Seed: 1, Picks: allPicks}} {
			if config.Walks = walks; walks != nil {
				config.Executions = 20_000
			}
			r, err := Run(t.Context(), config)
			if err != nil || r.Violation() == nil || r.Violation().Recording == nil {
				t.Errorf("%s, at random %t: %+v, %v", c.name, walks != nil, r, err)
				continue
			}
			again, err := Replay(t.Context(), programsOf(list), throughFile(t, r.Violation().Recording), 2)
			if err != nil || again.Violation == nil {
				t.Errorf("%s: %+v, %v", c.name, again, err)
			}
		}
	}
}

// partedOutcomes lists what one of the nodes that follow the scripts can come to, from a state on.
func partedOutcomes(scripts []string, who int, from partedState) []string {
	return slices.Sorted(maps.Keys(exploreParted(scripts, from).got[who]))
}

// exploreParted goes through all states of nodes that follow the scripts.
func exploreParted(scripts []string, from partedState) *partedSystem {
	p := &partedSystem{seen: map[partedState]bool{}, got: [2]map[string]bool{{}, {}},
		pairs: map[[2]string]bool{}}
	for n := range scripts {
		p.steps[n] = strings.Fields(scripts[n])
	}
	p.explore(from)
	return p
}

// partedNodes are nodes that follow the scripts. One of them checks what it has got.
func partedNodes(program *sut.Program, scripts []string, who int, check string) (list []Node) {
	for i, script := range scripts {
		node := Node{Name: string(rune('a' + i)), Program: program, Package: "./testdata/parted",
			Args: []string{"not:-"}}
		if i == 0 {
			node.Listen = "127.0.0.1:7600"
		}
		if i == who {
			node.Args[0] = check
		}
		node.Args = append(node.Args, strings.Fields(script)...)
		list = append(list, node)
	}
	return list
}

// randomParted are scripts of a server and a client. No sum of some times is that of others.
func randomParted(r *rand.Rand) []string {
	long := r.Perm(9)
	next := func(what string) string {
		n := 1
		for range long[0] {
			n *= 3
		}
		long = long[1:]
		return what + strconv.Itoa(n)
	}
	steps := func(script []string, steps int) string {
		for range steps {
			switch what := r.IntN(7); {
			case what < 3:
				script = append(script, "w"+string(rune('a'+r.IntN(2))))
			case what < 6:
				script = append(script, next("r"))
			default:
				script = append(script, next("s"))
			}
		}
		if r.IntN(3) == 0 && len(long) > 2 {
			script = append(script, "c", next("s"))
		}
		return strings.Join(script, " ")
	}
	var client []string
	if r.IntN(2) == 0 {
		client = append(client, next("s"))
	}
	client = append(client, next("d"))
	accept := "a10000"
	if r.IntN(4) == 0 {
		accept = next("a")
	}
	return []string{steps([]string{accept}, 1+r.IntN(3)), steps(client, 1+r.IntN(3))}
}

// TestPartedForTooLong: if no timer is due before connects are given up, walks with a partition are
// cut off. The result says so.
func TestPartedForTooLong(t *testing.T) {
	program := build(t, "./testdata/parted")
	for sleep, isCut := range map[string]bool{"s20000": false, "s200000": true} {
		r, err := Run(t.Context(), Config{
			Nodes:      partedNodes(program, []string{"a9 " + sleep, "s1 d9 " + sleep}, 0, "not:x"),
			Partitions: both(), Executions: 200, Walks: &pick.Walks{Seed: 1, Picks: allPicks}})
		if err != nil || r.Verdict != model.Unknown ||
			strings.Contains(r.Reason, "while the network was parted") != isCut {
			t.Errorf("%s: %+v, error %v", sleep, r, err)
		}
	}
}
