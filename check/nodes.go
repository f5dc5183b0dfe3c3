package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tandem-mc/tandem/check/internal/nodes"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// Nodes checks the programs of a configuration that has several, whose packages are named as seen
// from a directory. Of the request, only Config and Tags count.
func Nodes(ctx context.Context, r Request, dir string, listener Listener) (*report.Nodes, error) {
	c := r.Config
	if err := nodesRefuse(c); err != nil {
		return nil, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	// The rest of the environment is the same for all nodes.
	config := nodes.Config{Executions: c.Bounds.Executions, Depth: c.Bounds.Depth,
		Worker: sut.Options{Env: c.Env, Dir: cwd, Environment: c.World}}
	// It is the date of all nodes, which have one clock.
	config.Worker.Environment.Start = c.Date.Unix()
	// Nodes often have one package, with other arguments.
	built := map[string]*sut.Program{}
	for _, n := range c.Nodes {
		if built[n.Package] == nil {
			program, clean, err := buildTold(ctx, sut.BuildOptions{Dir: dir, Package: n.Package,
				PreemptIn: c.PreemptIn, Races: c.Races, Tags: r.Tags}, listener.Say, "building "+n.Package)
			if err != nil {
				return nil, fmt.Errorf("node %s: %w", n.Name, err)
			}
			defer clean()
			built[n.Package] = program
		}
		config.Nodes = append(config.Nodes,
			nodes.Node{Name: n.Name, Program: built[n.Package], Args: n.Args, Listen: n.Listen})
	}
	// The time is that of the search: building does not count.
	timed, cancel := context.WithTimeout(ctx, c.Bounds.Time)
	defer cancel()
	result, err := nodes.Run(timed, config)
	if err != nil {
		return nil, err
	}
	return reportNodes(c, result), nil
}

// nodesRefuse is the error of a configuration that has more than several programs can have yet. To
// ignore a part of it would give a verdict about something else.
func nodesRefuse(c configs.Config) error {
	for _, part := range []struct {
		key   string
		given bool
	}{
		{"peers", c.Group != nil}, {"args", len(c.Args) > 0}, {"leaks", c.Leaks},
		{"faults", c.World.Faults > 0}, {"early_timers", c.World.EarlyTimers > 0},
		{"peer_timers", c.World.PeerTimers > 0}, {"signals", len(c.World.Signals) > 0},
		{"short_reads", c.World.ShortReads > 0}, {"short_writes", c.World.ShortWrites > 0},
		{"bounds.preemptions", c.Bounds.Preemptions != nil}, {"bounds.delays", c.Bounds.Delays != nil},
	} {
		if part.given {
			return fmt.Errorf("%s cannot be used together with nodes: leave one of them out", part.key)
		}
	}
	return nil
}

// reportNodes is a result for people. Names are those of the configuration, in its order, which is
// that of the lanes.
func reportNodes(c configs.Config, result *nodes.Result) *report.Nodes {
	n := &report.Nodes{Reason: result.Reason, Executions: result.Runs, Skeletons: result.Counts.Skeletons,
		Local: result.Counts.LocalTraces, Global: result.Counts.GlobalTraces}
	switch result.Verdict {
	case model.Holds:
		n.Verdict = report.Holds
	case model.Violated:
		n.Verdict = report.Violated
	default:
		n.Verdict = report.Unknown
	}
	for _, node := range c.Nodes {
		n.Names = append(n.Names, node.Name)
	}
	if v := result.Violation; v != nil {
		n.Note, n.Reason = n.Reason, fmt.Sprintf("node %s: %v", v.Node, v.Outcome)
		if shown := v.Counterexample; shown != nil {
			shown.Run = report.Run{Package: "node " + v.Node, Verdict: report.Violated}
			n.Counterexample = shown
		}
		for _, step := range v.Events {
			n.Steps = append(n.Steps, report.NodeStep{Node: step.Node, What: step.What})
		}
	}
	return n
}

// NodesDirectory is the directory from which the packages of nodes are seen: that of the
// configuration.
func NodesDirectory(file, dir string) string {
	if file != "" {
		dir = filepath.Dir(file)
	}
	return strings.TrimSuffix(dir, "/...")
}
