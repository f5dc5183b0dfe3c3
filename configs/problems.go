package configs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/strategy"
)

// problems checks all values that do not depend on how they were written. Flags set values, too, so
// there are no lines here: parse adds them.
func (c Config) problems() []Problem {
	problems := slices.Concat(c.choiceProblems(), c.limitProblems(), c.maskProblems(), c.peerTimerProblems(),
		c.boundProblems(), c.textProblems(), c.absentProblems(), nodeProblems(c.Nodes),
		publishedProblems("agree", c.Agree, len(c.Nodes)),
		publishedProblems("exclusive", c.Exclusive, len(c.Nodes)), besideProblems(c.Nodes, c.Group))
	if c.Group != nil {
		problems = append(problems, groupProblems(*c.Group)...)
	}
	return problems
}

// list collects problems. Its methods keep the checks short; keys are those of a file.
type list []Problem

// add appends a problem with the value of a key.
func (l *list) add(key, format string, a ...any) {
	*l = append(*l, Problem{Key: key, What: fmt.Sprintf(format, a...)})
}

// choiceProblems says what is wrong with values that are names. The messages name all that can be
// chosen.
func (c Config) choiceProblems() (wrong list) {
	if _, err := strategy.ByName(c.Strategy); err != nil {
		wrong.add("strategy", "%v", err)
	}
	if !slices.Contains(Backends, c.Backend) {
		wrong.add("backend", "there is no backend %.64q: choose one of %s",
			c.Backend, strings.Join(Backends, ", "))
	}
	if !slices.Contains(Quiescences, c.Quiescence) {
		wrong.add("quiescence", "there is no way %.64q to tell that peers are quiescent: choose one of %s",
			c.Quiescence, strings.Join(Quiescences, ", "))
	}
	if !slices.Contains(Scopes, c.Scope) {
		wrong.add("scope", "there is no scope %.64q: choose one of %s", c.Scope, strings.Join(Scopes, ", "))
	}
	return wrong
}

// boundProblems says what is wrong with bounds on executions, workers and time.
func (c Config) boundProblems() (wrong list) {
	if n := c.Bounds.Executions; n < 1 || n > MaxExecutions {
		wrong.add("bounds.executions", "%d is not allowed: give a number from 1 to %d", n, MaxExecutions)
	}
	if n := c.Bounds.Depth; n < 1 || n > MaxDepth {
		wrong.add("bounds.depth", "%d is not allowed: give a number from 1 to %d", n, MaxDepth)
	}
	if n := c.Workers; n < 0 || n > MaxWorkers {
		wrong.add("workers", "%d is not allowed: give a number up to %d, or 0 to leave it to the search",
			n, MaxWorkers)
	}
	if d := c.Bounds.Time; d <= 0 || d > MaxTime {
		wrong.add("bounds.time", "%v is not allowed: give a duration above 0 and up to %v", d, MaxTime)
	}
	if d := c.SaveInterval; d < 0 || d > MaxTime {
		wrong.add("save_interval", "%v is not allowed: give a duration up to %v, "+
			"or 0s to save only when the check is interrupted", d, MaxTime)
	}
	// A bound of 0 is allowed: no preemptions at all.
	for _, b := range []struct {
		key string
		n   *int
	}{{"bounds.preemptions", c.Bounds.Preemptions}, {"bounds.delays", c.Bounds.Delays}} {
		if b.n != nil && (*b.n < 0 || *b.n > MaxDepth) {
			wrong.add(b.key, "%d is not allowed: give a number from 0 to %d, or leave it out for any number",
				*b.n, MaxDepth)
		}
	}
	return wrong
}

// textProblems says what is wrong with arguments, variables and packages. The kernel ends texts at
// a zero byte, so a longer one would be cut without an error.
func (c Config) textProblems() (wrong list) {
	for i, arg := range c.Args {
		if strings.ContainsRune(arg, 0) {
			wrong.add(fmt.Sprintf("args[%d]", i), "%.64q contains a zero byte, which no argument can: "+
				"remove it", arg)
		}
	}
	// Variables of peers are checked by package peers.
	for i, entry := range c.Env {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" || strings.ContainsRune(entry, 0) {
			wrong.add(fmt.Sprintf("env[%q]", name), "entry %d, %.64q, is not a variable: "+
				"a name is not empty and without =, and neither name nor value contains a zero byte; "+
				"write NAME=value", i,
				entry)
		}
	}
	for i, pattern := range c.PreemptIn {
		if !validPackage(pattern) {
			wrong.add(fmt.Sprintf("preempt_in[%d]", i), "%.64q is not an import path: write it as in an "+
				"import declaration, or with /... at its end for all packages below", pattern)
		}
	}
	return wrong
}

// limitProblems says what is wrong with how much memory may be used, and with how much of
// something may happen in an execution, where it may at all.
func (c Config) limitProblems() (problems list) {
	if err := within(c.CacheMib, MaxMemoryMiB); err != nil {
		problems.add("cache_mib", "%v", err)
	}
	if n := c.CheckpointMib; n < MinCheckpointMiB || n > MaxMemoryMiB {
		problems.add("checkpoint_mib", "%d is not allowed: give a number from %d to %d",
			n, MinCheckpointMiB, MaxMemoryMiB)
	}
	if n := c.SearchMib; n < MinSearchMiB || n > MaxMemoryMiB {
		problems.add("search_mib", "%d is not allowed: give a number from %d to %d", n, MinSearchMiB,
			MaxMemoryMiB)
	}
	for _, limit := range []struct {
		key     string
		n, most int
	}{{"faults", c.World.Faults, MaxFaults}, {"early_timers", c.World.EarlyTimers, MaxEarlyTimers},
		{"peer_timers", c.World.PeerTimers, MaxPeerTimers}} {
		if err := within(limit.n, limit.most); limit.n != 0 && err != nil {
			problems.add(limit.key, "%v", err)
		}
	}
	if d := c.PeerPatience; d < 0 || d > MaxPeerPatience {
		problems.add("peer_patience", "%v is not allowed: give a duration up to %v, "+
			"or 0s not to wait for timers of peers at all", d, MaxPeerPatience)
	}
	return append(append(problems, c.faultProblems()...), c.partitionProblems()...)
}

// maskProblems says what is wrong with the rules for answers that differ. A pattern that matches
// the empty text would match between any two bytes.
func (c Config) maskProblems() (wrong list) {
	if len(c.Masks) > maxMasks {
		wrong.add("mask", "there are %d rules, and %d is the limit: leave some out", len(c.Masks), maxMasks)
	}
	for i, m := range c.Masks {
		key := fmt.Sprintf("mask[%d]", i)
		listens := func(p peers.Peer) bool { return p.Name == m.Peer && p.Listen != "" }
		if m.Peer != "" && (c.Group == nil || !slices.ContainsFunc(c.Group.Peers, listens)) {
			wrong.add(key+".peer", "there is no peer %.64q that listens: name one that does, or leave it "+
				"out", m.Peer)
		}
		if pattern, err := regexp.Compile(m.Pattern); err != nil {
			wrong.add(key+".pattern", "this is no regular expression: %v; write one as for Go's package "+
				"regexp", err)
		} else if pattern.MatchString("") {
			wrong.add(key+".pattern", "%.64q matches where there is nothing, so that all answers would be "+
				"the same: say what is around the field", m.Pattern)
		}
	}
	return wrong
}

// groupProblems puts what is wrong with the peers under the keys of the file. Each problem of
// package peers begins with its key. Two are found here, since they are about what is written in
// the file: an address that is used twice, and how long to wait.
func groupProblems(g peers.Group) (problems list) {
	// By the address, the index of the peer that listens there.
	taken := map[string]int{}
	for i, p := range g.Peers {
		for _, address := range strings.Fields(p.Listen) {
			if other, ok := taken[address]; ok && other != i {
				problems.add(fmt.Sprintf("peers[%d].listen", i),
					"%s is where peers[%d] listens: give each peer its own port", address, other)
			} else {
				taken[address] = i
			}
		}
	}
	if g.ReadyTimeout <= 0 || g.ReadyTimeout > MaxReadyTimeout {
		problems.add("ready_timeout", "%v is not allowed: give a duration above 0 and up to %v",
			g.ReadyTimeout, MaxReadyTimeout)
		// Else Validate would say it again, in other words.
		g.ReadyTimeout = peers.DefaultReadyTimeout
	}
	for _, err := range flatten(g.Validate()) {
		key, what, ok := strings.Cut(err.Error(), ": ")
		if !ok {
			key, what = "peers", err.Error()
		}
		problems = append(problems, Problem{Key: key, What: what})
	}
	return problems
}

// flatten undoes errors.Join. One error stays one, and nil is none.
func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// peerTimerProblems says what keeps time from passing for the peers. Such a bound without effect
// would look as if time had passed for them.
func (c Config) peerTimerProblems() (problems []Problem) {
	virtual := func(p peers.Peer) bool { return p.VirtualClock }
	switch {
	case c.World.PeerTimers == 0:
	case c.Group == nil || !slices.ContainsFunc(c.Group.Peers, virtual):
		problems = []Problem{{Key: "peer_timers", What: "no peer has a clock that can be advanced: set " +
			"`clock` to virtual for one that uses the C library"}}
	case c.Scope != "group":
		problems = []Problem{{Key: "peer_timers", What: "timers of the peers concern all " +
			"connections: use scope group, and not " + c.Scope}}
	}
	return problems
}

// absentProblems says which entries contradict the peers: one of them is there, or it is a client
// that waits for the program to listen there.
func (c Config) absentProblems() (wrong list) {
	for i, a := range c.Absent {
		key := fmt.Sprintf("absent[%d]", i)
		// A name that can be looked up leads to an address, and that is what is dialled.
		if c.hasHost(a.Name) {
			wrong.add(key, "%s is the name of a known host: see hosts, and the names of peers", a)
		}
		if c.Group == nil || a.Name != "" {
			continue
		}
		for j, p := range c.Group.Peers {
			listens, _ := p.Addresses() // what is wrong with them is found elsewhere
			if slices.ContainsFunc(listens, func(at proxy.Address) bool { return at.Serves(a.Address) }) {
				wrong.add(key, "%s is where peers[%d] listens: leave out one of them", a, j)
			}
			// The program listens on loopback, whatever address it names.
			near := a.Address.Network.IsUnix() || a.Address.At.Addr().IsLoopback()
			if near && p.Waits(a.Address) {
				wrong.add(key, "%s is where the program is to listen for peers[%d]: leave it out", a, j)
			}
		}
	}
	return wrong
}

// hasHost reports whether a name can be looked up, in whatever case it is written. Lines of hosts
// are an address, a blank and a name.
func (c Config) hasHost(name string) bool {
	return name != "" && slices.ContainsFunc(c.World.Hosts, func(line string) bool {
		_, host, _ := strings.Cut(line, " ")
		return strings.EqualFold(host, name)
	})
}
