package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/check/internal/modules"
	"github.com/tandem-mc/tandem/check/internal/naming"
	"github.com/tandem-mc/tandem/check/internal/nodes"
	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/explore"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/report"
)

// Summary describes a finished check for a report.
func Summary(o Options, result *Result) report.Run {
	v, c := result.Verdict, result.Counts
	assumptions := Assumptions(o)
	assumptions.Scope = result.Scope
	first := sealed(o)
	if v.Kind == explore.Violated { // what was found does not rest on it
		first, assumptions.Other = nil, append(first, assumptions.Other...)
	}
	assumptions.Other = append(assumptions.Other, assumedOfTime(o, v.Executions, c.Early,
		c.EarlyCutOff))
	assumptions.Other = append(assumptions.Other, naming.Assumed(v, len(o.Program.Races) > 0)...)
	counts := peerCounts(o, result)
	counts.Phases = report.Phases{Systematic: v.Phases.Systematic, Aimed: v.Phases.Aimed,
		Sampled: v.Phases.Sampled, CutOff: v.Phases.CutOff, FirstViolation: v.Phases.At}
	counts.Executions, counts.Redundant, counts.Limited = v.Executions, v.Redundant, v.Limited
	counts.Transitions, counts.SelfChecked, counts.Elapsed = v.Transitions, c.SelfChecked, c.Elapsed
	return report.Run{
		Package: o.Package, Args: o.Args, Verdict: report.Verdict(v.Kind.String()), Reason: v.Reason,
		CutOff: result.CutOff, Details: slices.Concat(details(v), first, result.Notes),
		Counts:      counts,
		Assumptions: assumptions, Missed: result.Missed,
	}
}

// peerCounts says what the peers were asked, and how often they were saved and taken back.
func peerCounts(o Options, result *Result) report.Counts {
	// The way is the daemon's choice, if there was one.
	c, method := result.Counts, ""
	if o.Client != nil {
		method, _ = o.Client.Quiescence()
	}
	return report.Counts{
		CacheHits: c.Hits, CacheMisses: c.Misses, ReadInputs: c.ReadInputs, Reads: result.Reads,
		Uninstrumented: result.Uninstrumented,
		Waits:          c.Waits, Cuts: c.Cuts, CutTime: c.CutTime, Quiescence: method,
		CheckpointCounts: report.CheckpointCounts{
			Checkpoints: c.Checkpoints, InMemory: c.InMemory, Refusal: result.Refusal,
			Unstored: c.Unstored, WhyUnstored: result.Unstored, Skipped: c.Skipped,
			WhySkipped: result.Skipped, MadeRoom: c.MadeRoom,
			Room:   cmp.Or(o.CheckpointBytes, ckptd.DefaultMaxBytes),
			Killed: c.Killed, WhyKilled: result.WhyKilled, Disturbed: c.Disturbed,
			Restores: c.Restores, Replayed: c.Replayed,
		},
	}
}

// details say more of a search that has shown nothing for certain.
func details(v explore.Verdict) (lines []string) {
	if text := phasesOf(v.Phases); text != "" {
		lines = append(lines, text)
	}
	if v.Kind != explore.Unknown {
		return lines
	}
	if v.Estimate.Executions > 0 && !v.Complete {
		lines = append(lines, v.Estimate.String())
	}
	if v.Guarantee.Drawn > 0 {
		lines = append(lines, v.Guarantee.String())
	}
	return lines
}

// phasesOf says in words what the parts of a portfolio have done; empty: the search was none.
func phasesOf(p explore.Phases) string {
	if p.All() == 0 {
		return ""
	}
	text := fmt.Sprintf("search auto: %s systematic, %s aimed and %s sampled executions",
		textutil.Count(p.Systematic), textutil.Count(p.Aimed), textutil.Count(p.Sampled))
	if p.At > 0 {
		text += fmt.Sprintf("; the first violation was execution %s, which was %v", textutil.Count(p.At),
			p.Found)
	}
	return text
}

// sealed is the line that names modules in which goroutines are not preempted; none if none matter.
func sealed(o Options) []string {
	if line := o.Modules.Line(); line != "" {
		return []string{line}
	}
	return nil
}

// assumedOfTime says when timers fired: in so many executions some could do so although goroutines
// could go on.
func assumedOfTime(o Options, executions, early, cutOff int) string {
	const last = "timers fire only when nothing else can go on"
	switch n := o.World.EarlyTimers; {
	case n > 0:
		return fmt.Sprintf("timers fire early only among the first %d advances of the clock", n)
	case early > 0:
		text := fmt.Sprintf("%s; in %s of %s, a sample, some fire early", last,
			textutil.Count(early), textutil.CountOf(executions, "execution"))
		if cutOff > 0 {
			text += fmt.Sprintf(", and %s of these were cut off", textutil.Count(cutOff))
		}
		return text
	}
	return last + "; --early-timers explores earlier ones"
}

// Assumptions is what the verdict of a check rests on, for a report, besides how time passed.
func Assumptions(o Options) report.Assumptions {
	a := report.Assumptions{Preemptible: o.Program.Open}
	for _, line := range o.Without {
		a.Other = append(a.Other, "ran without "+line)
	}
	races := ""
	if len(o.Program.Races) > 0 {
		races = modules.RacesIn(o.Program)
	}
	a.Other = append(a.Other, racesAssumed(races), leaksAssumed(o.Leaks))
	if start := o.World.Start; start != 0 {
		a.Other = append(a.Other, "the clocks start at "+startOf(start)+
			": the program's, and those of peers with choices or a virtual clock")
	}
	if n := o.World.Faults; n > 0 && o.Group != nil {
		a.Other = append(a.Other,
			fmt.Sprintf("connections to the peers fail, or datagrams: at most %s in an execution%s",
				textutil.CountOf(n, "time"), o.World.FaultWords()))
	}
	if o.Group != nil {
		a.Other = append(a.Other, o.assumedOfPeerTime())
	}
	if n := o.World.PeerTimers; n > 0 && o.Group != nil {
		a.Other = append(a.Other, fmt.Sprintf("timers of the peers fire early: at most %s in an execution",
			textutil.CountOf(n, "time")))
	}
	a.Other = append(a.Other, o.Assumed...)
	if len(o.Absent) > 0 {
		a.Other = append(a.Other, "without a peer on purpose (absent): "+namesOf(o.Absent))
	}
	if o.Group != nil {
		a.Scope, a.Strategy, a.Backend = o.Scope.String(), o.StrategyName, o.BackendName
		if o.Audited {
			a.Scope = "auto: connection as long as other orders of the requests made no difference, then " +
				"group"
		}
		for _, m := range o.Masks {
			a.Other = append(a.Other, fmt.Sprintf("answers may differ in what %q matches (mask)", m.Pattern))
		}
		a.Other = append(a.Other, arrivals(o.Group)...)
		for _, p := range o.Group.Peers {
			if p.Choices > 0 {
				a.Other = append(a.Other,
					fmt.Sprintf("%s behaves in %s: its time and random numbers follow from which", p.Name,
						textutil.CountOf(p.Choices, "way")))
			}
			if p.VirtualClock {
				ends := ": none of its time-outs ends"
				if o.World.PeerTimers > 0 {
					ends = ""
				}
				a.Other = append(a.Other, fmt.Sprintf("the clock of %s is virtual%s", p.Name, ends))
			}
		}
	}
	return a
}

// arrivals says what a verdict rests on where several clients connect.
func arrivals(g *peers.Group) []string {
	switch {
	case g.Clients() < 2:
		return nil
	case g.AnyArrival:
		return []string{"clients connect in every order"}
	}
	return []string{"clients connect in the order of the configuration"}
}

// namesOf are entries as they are written, with commas in between.
func namesOf(absent []configs.Absent) string {
	var names []string
	for _, a := range absent {
		names = append(names, a.String())
	}
	return strings.Join(names, ", ")
}

// assumedOfPeerTime says which timers of the peers a verdict knows nothing of.
func (o *Options) assumedOfPeerTime() string {
	patience := max(cmp.Or(o.PeerPatience, watch.DefaultPatience), 0)
	if o.Scope != iocache.Group || patience == 0 {
		return "timers of peers with the machine's clock are not waited for"
	}
	return fmt.Sprintf(
		"timers of peers with the machine's clock that are due in more than %v are not waited for", patience)
}

// nodesAssumed is what a verdict on several programs rests on, a line each, if there is no
// violation. What is said of one program is said of them, too.
func nodesAssumed(c *nodes.Config) (lines []string) {
	var races []string
	for _, n := range c.Nodes {
		if len(n.Program.Races) == 0 {
			continue
		}
		if in := modules.RacesIn(n.Program); !slices.Contains(races, in) {
			races = append(races, in)
		}
	}
	lines = append(lines, racesAssumed(strings.Join(races, "; ")), leaksAssumed(c.Leaks))
	if start := c.Worker.Environment.Start; start != 0 {
		lines = append(lines, "the clock of the nodes starts at "+startOf(start))
	}
	lines = append(lines,
		"a connect waits until the node listens for the first time",
		"time passes only when no node can do anything else, and messages take none"+c.Exception(),
		"a write never waits for who reads",
		c.Mishaps(),
	)
	if c.Peers != nil {
		lines = append(lines,
			"the answers of the peers depend on what they are sent, and in which order, and on no more",
			"what one node sends to the peers reaches them in its order, and no timer of theirs ends")
	}
	return lines
}

// racesAssumed says where data races are looked for; empty: nowhere.
func racesAssumed(in string) string {
	if in == "" {
		return "there are no data races: they are not looked for"
	}
	return "data races are looked for in: " + in
}

// leaksAssumed says whether goroutine leaks are looked for.
func leaksAssumed(wanted bool) string {
	if wanted {
		return "goroutine leaks are looked for"
	}
	return "goroutine leaks are not looked for"
}

// startOf is the date of a clock, in seconds since 1970.
func startOf(seconds int64) string {
	return time.Unix(seconds, 0).UTC().Format("2006-01-02 15:04:05 UTC")
}
