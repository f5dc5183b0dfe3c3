package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/far"
	"github.com/tandem-mc/tandem/check/internal/nodes"
	"github.com/tandem-mc/tandem/check/internal/nodes/crew"
	"github.com/tandem-mc/tandem/check/internal/nodes/datagram"
	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/check/internal/nodes/portfolio"
	"github.com/tandem-mc/tandem/check/internal/nodes/properties"
	"github.com/tandem-mc/tandem/check/internal/nodes/room"
	"github.com/tandem-mc/tandem/check/internal/saved"
	"github.com/tandem-mc/tandem/check/internal/scratch"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/strategy"
	"github.com/tandem-mc/tandem/sut"
)

// NodesResult is what a check of several programs found, or a replay of them. Violations are those
// of single nodes, each in a whole execution of all of them.
type NodesResult struct {
	Run        report.Run
	Violations []report.Violation
	// Recordings are those of the violations, to be replayed; nil where there is none.
	Recordings []*report.NodesRecording
}

// Nodes checks the programs of a configuration that has several, whose packages are named as seen
// from a directory. Of the request only Package, Config, Tags, Violations, Flags, Save, Resume
// and Unsaved count. The check is saved as one of one program is, and goes on as that does.
func Nodes(ctx context.Context, r Request, dir string, listener Listener) (*NodesResult, error) {
	c := r.Config
	err := cmp.Or(r.Distribution.Refusal(r.Search.Name, &c), configs.NodesRefuse(c))
	if err != nil {
		return nil, err
	}
	before, err := r.goesOn()
	if err != nil {
		return nil, err
	}
	var saving *Saving
	if !r.Unsaved {
		if saving, err = r.saving(listener.Say); err != nil {
			return nil, err
		}
	}
	config, clean, err := nodesConfig(ctx, r, dir, listener)
	defer clean()
	if err != nil {
		return nil, err
	}
	saver, err := saveNodes(&config, saving)
	if err != nil {
		return nil, err
	}
	peers, err := newPeersBeside(r, &config)
	if err != nil {
		return nil, err
	}
	// The time is that of the search: building does not count.
	timed, cancel := context.WithTimeoutCause(ctx, c.Bounds.Time-before,
		fmt.Errorf("the time of %v is over", c.Bounds.Time)) // as of a program: see outOfTime
	defer cancel()
	began := time.Now().Add(-before)
	memory := room.New(int64(c.SearchMib) << 20)
	defer memory.Close()
	config.Full = memory.Full
	defer tellNodes(&config, listener, began)()
	r.Distribution.Say = listener.Say
	leader, err := far.LeadNodes(timed, &config, r.Distribution)
	if err != nil {
		return nil, err
	}
	defer leader.Close()
	var found *nodes.Result
	err = peers.during(timed, r, &config, listener, func() (err error) {
		found, err = portfolio.Run(timed, config)
		return err
	})
	if saver != nil && saver.Run.State() != nil && err != nil {
		err = fmt.Errorf("%w\nwhat was saved before stays: %s", err,
			resumeCommand(saver.Run.Path(), r.Distribution))
	}
	if err != nil {
		return nil, err
	}
	result := &NodesResult{Run: nodesRun(config, found)}
	result.Run.Package, result.Run.Counts.Elapsed = dir, time.Since(began)
	peers.tell(&result.Run)
	goOn(saver, &config, r, found, &result.Run)
	for _, v := range found.Violations {
		result.add(v)
	}
	return result, nil
}

// goOn says in a report how a check goes on that has not come to its end. What is saved of one that
// has is removed, and of one without an execution.
func goOn(saver *saved.Periodic, config *nodes.Config, r Request, found *nodes.Result,
	run *report.Run) {
	c := &r.Config
	switch {
	case saver == nil:
	case found.Verdict != model.Unknown || found.Runs == 0:
		saver.End()
	case saver.Run.State() != nil:
		runs := found.Runs
		if strings.Contains(found.Reason, config.OverLimit()) {
			runs = c.Bounds.Executions // a walk that has no room for all of its nodes is not begun
		}
		run.ResumeCommand = resumeCommand(saver.Run.Path(), r.Distribution) +
			raisedBy(c.Bounds, runs, run.Counts.Elapsed) + room.Raised(found.Reason, c.SearchMib)
	}
}

// peersBeside are the peers of a check of nodes.
type peersBeside struct {
	options    Options // of the peers alone
	crews      crew.Peers
	cacheBytes int64 // for all caches
	shares     int   // in which these are divided
}

// newPeersBeside are the peers that a request has beside nodes; nil: it has none. Nobody is started
// yet. The nodes are told where connections can fail: they know no names of peers.
func newPeersBeside(r Request, c *nodes.Config) (b *peersBeside, err error) {
	if r.Config.Group == nil {
		return nil, nil
	}
	o := Options{World: c.Worker.Environment, PeerOptions: peerOptions(r.Config)}
	if o.Strategy, err = strategy.ByName(r.Config.Strategy); err == nil {
		err = o.prepare()
	}
	// Each crew has a cache of its own.
	all, shares := o.CacheBytes, max(c.Crews, 1)
	o.CacheBytes /= int64(shares)
	w := &c.Worker.Environment
	w.FaultPlaces, w.FaultsOpened = o.World.FaultPlaces, o.World.FaultsOpened
	b = &peersBeside{options: o, cacheBytes: all, shares: shares}
	c.Peers = b.crews.Beside(o.Group)
	return b, err
}

// during calls do while the nodes can have the peers beside them, if there are any.
func (b *peersBeside) during(ctx context.Context, r Request, c *nodes.Config, listener Listener,
	do func() error) error {
	if b == nil {
		return do()
	}
	// Nothing else of a job is needed than its daemon.
	j, o := &Job{request: r}, &b.options
	return j.withDaemon(ctx, listener, o, func() error {
		b.crews.Driver = func() *driver.Driver {
			d := driver.New(ctx, o.driver(iocache.Group))
			o.limit(d.Cache())
			return d
		}
		return errors.Join(do(), b.crews.Close())
	})
}

// tell adds to a report what the peers were asked.
func (b *peersBeside) tell(run *report.Run) {
	if b == nil {
		return
	}
	result := &Result{}
	counts, known := b.crews.Asked()
	result.Counts.PeerCounts, result.Reads, result.Uninstrumented = counts, known.Reads, known.Uninstrumented
	result.Refusal, result.Unstored, result.Skipped, result.WhyKilled = known.Refusal, known.Unstored,
		known.Skipped, known.Killed
	run.Details = append(run.Details, known.Crowded.Notes(b.cacheBytes, b.shares)...)
	// What nodes have done is counted by those who run them.
	was := run.Counts
	run.Counts = peerCounts(b.options, result)
	run.Counts.Executions, run.Counts.Elapsed, run.Counts.NodesCounts = was.Executions, was.Elapsed,
		was.NodesCounts
}

// nodesConfig builds the nodes of a request, and says how they are checked. What is returned to
// clean up is to be called in any case.
func nodesConfig(ctx context.Context, r Request, dir string, listener Listener) (
	config nodes.Config, clean func(), err error) {
	c := r.Config
	var cleaners []func()
	clean = func() {
		for _, f := range cleaners {
			f()
		}
	}
	cwd, err := os.Getwd()
	from, other := filepath.Abs(dir)
	if err = errors.Join(err, other); err != nil {
		return config, clean, err
	}
	// The rest of the environment is the same for all nodes. They all run in the directory in which
	// the check was started, as one program does.
	config = nodes.Config{Executions: c.Bounds.Executions, Depth: c.Bounds.Depth, Delays: c.Bounds.Delays,
		Violations: r.Violations, Shrink: r.Shrink, Leaks: c.Leaks, Directory: from,
		Partitions: c.Links(), Crews: usefulWorkers(c), Slow: c.Slow,
		Properties: properties.Wanted{Agree: c.Agree, Exclusive: c.Exclusive},
		Worker:     sut.Options{Env: c.Env, Dir: cwd, Environment: c.World}}
	asked := pick.Asked{Delays: c.Bounds.Delays, Peers: c.Group != nil,
		Pauses:  len(c.Pauses) > 0,
		Choices: c.Group != nil && c.Group.Behaviours() > 1}
	if config.Walks, err = pick.Of(r.Search.Name, r.Search.Seed, asked); err != nil {
		return config, clean, err
	}
	config.PartitionLimit = c.PartitionLimit
	config.Crash = nodes.Crash{Crashes: c.Crashing(), CrashLimit: c.CrashLimit, Pauses: c.Pausing(),
		PauseLimit: c.PauseLimit}
	config.Datagrams, config.DatagramLimit = datagram.Faults(&config.Worker.Environment)
	// It is the date of all nodes, which have one clock.
	config.Worker.Environment.Start = c.Date.Unix()
	// Nodes often have one package, with other arguments. A pattern has to match one of them.
	built, unmatched := map[string]*sut.Program{}, map[string]int{}
	for _, n := range c.Nodes {
		if built[n.Package] == nil {
			o := sut.BuildOptions{Dir: dir, Package: n.Package, PreemptIn: c.PreemptIn, Races: c.Races,
				Tags: r.Tags}
			program, remove, missed, err := scratch.BuildMatching(ctx, o, listener.Say)
			if err != nil {
				return config, clean, fmt.Errorf("node %s: %w", n.Name, err)
			}
			cleaners = append(cleaners, remove)
			for _, pattern := range missed {
				unmatched[pattern]++
			}
			built[n.Package] = program
		}
		config.Nodes = append(config.Nodes, nodes.Node{Name: n.Name, Program: built[n.Package],
			Package: n.Package, Args: n.Args, Listen: n.Listen, Group: n.Group})
	}
	for _, pattern := range slices.Concat(c.PreemptIn, c.Races) {
		if unmatched[pattern] == len(built) {
			return config, clean, fmt.Errorf("%s is no package that any node is made of: name another one",
				pattern)
		}
	}
	return config, clean, nil
}

// saveNodes has a check be saved, and go on from what was saved, if anything was. Without a place
// to save it, nothing is changed.
func saveNodes(c *nodes.Config, saving *Saving) (*saved.Periodic, error) {
	if saving == nil {
		return nil, nil
	}
	hashes := ""
	for _, n := range c.Nodes {
		hashes += n.Program.Hash + " "
	}
	p := &saved.Periodic{Run: saving.Run, Interval: saving.Interval, Asked: saving.Asked,
		Failed: func(err error) {
			saving.Failed(fmt.Errorf("saving the check in %s: %w", saving.Run.Path(), err))
		}}
	search, same := p.Begin(hashes)
	if !same {
		return nil, errors.New("the run cannot go on: the programs of the nodes have changed since " +
			"the run began: check them from the beginning")
	}
	c.Resume, c.Save = search, p.Save
	return p, nil
}

// nodesRun is a check of several programs for a report. Nodes are in the order of the
// configuration, which is that of the lanes. What was found does not rest on what was assumed.
func nodesRun(c nodes.Config, found *nodes.Result) report.Run {
	run := report.Run{Verdict: report.Verdict(found.Verdict.String()), Reason: found.Reason}
	if c.Peers != nil {
		run.Beside = c.Peers.Name()
	}
	run.Counts.Executions, run.Counts.Sampled = found.Runs, found.Random
	run.Counts.NodesCounts = report.NodesCounts{Skeletons: found.Counts.Skeletons,
		Local: found.Counts.LocalTraces, Global: found.Counts.GlobalTraces, Traces: found.Traces}
	for _, n := range c.Nodes {
		run.Nodes = append(run.Nodes, report.Node{Name: n.Name, Package: n.Package, Args: n.Args,
			Listen: n.Listen, Group: n.Group})
		run.Assumptions.Preemptible = append(run.Assumptions.Preemptible, n.Program.Open...)
	}
	run.Details = found.Notes
	slices.Sort(run.Assumptions.Preemptible)
	run.Assumptions.Preemptible = slices.Compact(run.Assumptions.Preemptible)
	switch found.Verdict {
	case model.Violated:
		if found.Doubt != "" {
			run.Details = append(run.Details, found.Doubt+": see whether this order is possible")
		}
		run.Reason = "a violation was found"
	case model.Holds:
		run.Reason = "every order of what the nodes do is covered"
		if n := c.Delays; n != nil {
			run.Reason += ", with at most " + textutil.CountOf(*n, "delay") + " in an execution of a node"
		}
	}
	if found.Verdict != model.Violated {
		run.Assumptions.Other = nodesAssumed(&c)
	}
	return run
}

// RelativeTo has the places of counterexamples begin at the root of the source, as those of one
// program do. A violation that could not be run again has no places.
func (r *NodesResult) RelativeTo(root string) {
	for i := range r.Violations {
		if c := r.Violations[i].Counterexample; c != nil {
			c.RelativeTo(root)
		}
	}
}

// NodesName is what a check of several programs is called, such as in the name of a file: as the
// directory from which their packages are seen. The root directory has no name.
func NodesName(dir string) string {
	if path, err := filepath.Abs(dir); err == nil && path != "/" {
		return filepath.Base(path)
	}
	return "nodes"
}

// add adds a violation to the result. What it has in common with one of a single program is in the
// same fields: the execution of the node that has it. So what is made of these, such as SARIF or a
// page, can be made of it, too.
func (r *NodesResult) add(v *nodes.Violation) {
	one := report.Violation{Outcome: v.Outcome.String()}
	if shown := v.Counterexample; shown != nil {
		shown.Run = r.Run
		shown.Run.Package = "node " + v.Node + " of the " + r.Run.Together()
		one = shown.Summary
		one.Counterexample = shown
	}
	one.Node, one.Network, one.Unkept = v.Node, v.Events, v.Unrecorded
	r.Violations, r.Recordings = append(r.Violations, one), append(r.Recordings, v.Recording)
}

// NodesDirectory is the directory from which the packages of nodes are seen: that of the
// configuration.
func NodesDirectory(file, dir string) string {
	if file != "" {
		dir = filepath.Dir(file)
	}
	return strings.TrimSuffix(dir, "/...")
}

// NodesReplayed is what the nodes of a recording do now. Of a program that was not changed, it is
// known that it has done the same, event by event: else the replay is an error.
type NodesReplayed struct {
	// Result has the violation that it leads to now, if there is one.
	Result *NodesResult
	Node   string // the node that had the violation
	Ended  string // how that ended; empty: a node has parted before
	// Changed are the nodes whose programs are other ones than those recorded, and Parted says
	// where one of them does something else; empty: all have done what is recorded.
	Changed []string
	Parted  string
}

// Ending is how it ends now without a violation, in a line. A node that parts does something else
// to others. Nobody knows what they would do then, so it is not said how they end.
func (r *NodesReplayed) Ending() string {
	if r.Parted != "" {
		return r.Parted
	}
	return "node " + r.Node + " ends: " + r.Ended
}

// Since says which nodes have changed, in a line. There is one at least where a violation is not
// there any more: one build takes one way.
func (r *NodesReplayed) Since() string {
	return "changed since: node " + strings.Join(r.Changed, ", node ")
}

// ReplayNodes builds the programs of a recording in a directory, which is that of its
// configuration, and runs all of them together, so many times. The programs run where they did, as
// seen from there. Nodes that have one package are built once, as in a check.
func ReplayNodes(ctx context.Context, rec *report.NodesRecording, dir string, times int) (
	*NodesReplayed, error) {
	// The recording is the caller's, and stays as it is.
	there := *rec
	there.Nodes = append([]report.NodeRecording{}, rec.Nodes...)
	built := map[string]*sut.Program{}
	var programs []*sut.Program
	for i := range there.Nodes {
		n := &there.Nodes[i]
		o := nodeBuild(n, dir, false)
		// All of a build that may differ between nodes.
		key := fmt.Sprintf("%q", []any{o.Package, o.PreemptIn, o.Races, o.Tags})
		if built[key] == nil {
			program, clean, err := scratch.Build(ctx, o)
			if err != nil {
				return nil, fmt.Errorf("node %s: %w", n.Name, err)
			}
			defer clean()
			built[key] = program
		}
		programs = append(programs, built[key])
		n.Directory = moved(n.Directory, rec.Directory, dir)
	}
	again, err := nodes.Replay(ctx, programs, &there, times)
	if err != nil {
		return nil, err
	}
	r := &NodesReplayed{Node: rec.Nodes[rec.Violated-1].Name, Ended: again.Ended, Changed: again.Changed}
	if again.Parted != nil {
		r.Parted, r.Ended = again.Parted.String(), ""
	}
	r.Result = &NodesResult{Run: report.Run{Package: dir, Verdict: report.Violated, Reason: "as recorded",
		Beside: rec.Peers}}
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		r.Result.Run.Nodes = append(r.Result.Run.Nodes,
			report.Node{Name: n.Name, Package: n.Package, Args: n.Args, Listen: n.Listen})
	}
	if again.Violation != nil {
		r.Result.add(again.Violation)
	}
	return r, nil
}

// nodeBuild is how the program of a recorded node is built. One that is to be debugged takes the
// same steps.
func nodeBuild(n *report.NodeRecording, dir string, debugged bool) sut.BuildOptions {
	return sut.BuildOptions{Dir: dir, Package: n.Package, PreemptIn: n.Preemptible, Races: n.Races,
		Tags: n.Tags, Debugged: debugged}
}

// moved is where a directory is when another one, from which it is seen, is somewhere else now.
func moved(path, from, to string) string {
	way, err := filepath.Rel(from, path)
	if err != nil { // one of them is not absolute, so nothing is known
		return path
	}
	return filepath.Join(to, way)
}
