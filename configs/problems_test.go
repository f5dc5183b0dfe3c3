package configs

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/proxy"
)

// anyConfig draws a configuration whose values are often not allowed.
func anyConfig(t *rapid.T) Config {
	number := rapid.OneOf(rapid.IntRange(-2, 3), rapid.SampledFrom([]int{1 << 20, 1 << 40}))
	n := func(name string) int { return number.Draw(t, name) }
	text := rapid.SampledFrom([]string{"", "auto", "a", "a=b", "\x00", "../x", "group", "after-io", "x/..."})
	texts := rapid.SliceOfN(text, 0, 3)
	duration := func(name string) time.Duration { return time.Duration(n(name)) * time.Hour }
	c := Default()
	c.Strategy, c.Backend = text.Draw(t, "strategy"), text.Draw(t, "backend")
	c.Scope, c.Quiescence = text.Draw(t, "scope"), text.Draw(t, "quiescence")
	c.Args, c.Env, c.PreemptIn = texts.Draw(t, "args"), texts.Draw(t, "env"), texts.Draw(t, "preempt in")
	c.CacheMib, c.CheckpointMib, c.Workers = n("cache"), n("checkpoint"), n("workers")
	c.Bounds.Executions, c.Bounds.Depth, c.Bounds.Time = n("executions"), n("depth"), duration("time")
	c.SaveInterval, c.PeerPatience = duration("save interval"), duration("peer patience")
	c.World.Faults, c.World.EarlyTimers, c.World.PeerTimers = n("faults"), n("early timers"), n("peer timers")
	if rapid.Bool().Draw(t, "bounded") {
		preemptions, delays := n("preemptions"), n("delays")
		c.Bounds.Preemptions, c.Bounds.Delays = &preemptions, &delays
	}
	for range rapid.IntRange(0, 2).Draw(t, "masks") {
		c.Masks = append(c.Masks, Mask{text.Draw(t, "peer"), text.Draw(t, "pattern")})
	}
	if rapid.Bool().Draw(t, "peers") {
		listen := rapid.SampledFrom([]string{"", "127.0.0.1:80", "nowhere"})
		c.Group = &peers.Group{ReadyTimeout: duration("ready timeout")}
		for range rapid.IntRange(1, 2).Draw(t, "number of peers") {
			c.Group.Peers = append(c.Group.Peers, peers.Peer{
				Name: text.Draw(t, "name"), Command: texts.Draw(t, "command"),
				Listen: listen.Draw(t, "listen"),
			})
		}
		at := proxy.Address{At: netip.MustParseAddrPort("127.0.0.1:80")}
		c.Absent = []Absent{{Address: at}, {Name: "a"}}
		c.World.FaultPeers = texts.Draw(t, "fault peers")
	}
	return c
}

// TestProblemsSayWhereAndWhat: each problem has a key that a file can have, and a reason in one
// line.
func TestProblemsSayWhereAndWhat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyConfig(t)
		problems := c.problems()
		for _, p := range problems {
			first, _, _ := strings.Cut(p.Key, ".")
			first, _, _ = strings.Cut(first, "[")
			if _, ok := schema.fields[first]; !ok {
				t.Errorf("%q is no key of a file: %s", p.Key, p.What)
			}
			if p.What == "" || strings.Contains(p.What, "\n") || strings.HasSuffix(p.What, ".") &&
				!strings.HasSuffix(p.What, "...") {
				t.Errorf("%s: %q is no reason", p.Key, p.What)
			}
		}
		if err := c.Validate(); (err == nil) != (len(problems) == 0) {
			t.Errorf("%d problems, and the error is %v", len(problems), err)
		}
	})
}

// TestShownProblems: the first ones are shown, in the order of their lines, and how many more
// there are.
func TestShownProblems(t *testing.T) {
	e := &Error{File: "x.yaml"}
	for n := range 30 {
		e.Problems = append(e.Problems, Problem{Line: 30 - n, Key: fmt.Sprintf("args[%d]", n), What: "wrong"})
	}
	e.Problems = append(e.Problems, Problem{What: "there is no line"},
		Problem{Key: "mask", What: "no line, but a key"})
	lines := strings.Split(e.orNil().Error(), "\n")
	want := []string{"x.yaml: there is no line", "x.yaml: mask: no line, but a key",
		"x.yaml:1: args[29]: wrong"}
	for i, line := range want {
		if lines[i] != line {
			t.Errorf("line %d is %q, want %q", i+1, lines[i], line)
		}
	}
	if len(lines) != 21 || lines[20] != "... and 12 more" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	if err := (&Error{File: "x.yaml"}).orNil(); err != nil {
		t.Errorf("no problem is %v", err)
	}
	if text := (&Error{Problems: []Problem{{Line: 3, Key: "scope",
		What: "wrong"}}}).Error(); text != "scope: wrong" {
		t.Errorf("without a file: %q", text)
	}
}

// TestKeysOfChildren: the line of a problem is that of the nearest key around it.
func TestKeysOfChildren(t *testing.T) {
	r := &reader{lines: map[string]int{"peers": 3, "peers[1]": 7, "peers[1].env": 9}}
	for key, want := range map[string]int{
		"peers": 3, "peers[0]": 3, "peers[0].name": 3, "peers[1].name": 7, `peers[1].env["A"]`: 9, "other": 0,
		"": 0,
	} {
		if got := r.lineOf(key); got != want {
			t.Errorf("%s is in line %d, want %d", key, got, want)
		}
	}
}
