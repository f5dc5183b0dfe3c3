// Package given says which programs are to be checked together, how, and within which bounds.
//
// It is what a check of several programs begins with, and does not change while it goes on. Each
// node is run by workers of its own, which all have the same surroundings but for what makes the
// node another one: its arguments, its addresses and its name.
package given

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/check/internal/nodes/away"
	"github.com/tandem-mc/tandem/check/internal/nodes/beside"
	"github.com/tandem-mc/tandem/check/internal/nodes/datagram"
	"github.com/tandem-mc/tandem/check/internal/nodes/grouped"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/check/internal/nodes/places"
	"github.com/tandem-mc/tandem/check/internal/nodes/properties"
	"github.com/tandem-mc/tandem/check/internal/nodes/slow"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/sut"
)

// Node is one of the programs.
type Node struct {
	// Name is the same for nobody else. It stands in reports, and in the names of connections.
	Name string
	// Program is what runs, and Package how the user names it. Several nodes may have the same.
	Program *sut.Program
	Package string
	Args    []string
	// Listen are the addresses at which others reach it, with blanks in between; empty: nowhere. A
	// connect to one of them counts as made before the node listens. One without a port, and any
	// that is not of loopback, is an address of the node, at which it can listen unsaid, too.
	Listen string
	// Group is the name of those with which it is one component; empty: it is one by itself. Walks
	// have no components.
	Group string
}

// Config says what to check, and within which bounds.
type Config struct {
	Nodes []Node
	// Directory is the one from which packages are seen, for the recordings.
	Directory string
	// Worker is for all of them; its Args and Environment are set by Run.
	Worker sut.Options
	// Executions bounds how many executions of single nodes there are; 0: there is no bound.
	Executions int
	Depth      int // transitions in an execution, at most; 0: no other bound than the log's
	// Delays bounds how often a goroutine is passed over whose turn it is, in an execution of a
	// node; nil: there is no bound. Within it there is no reduction.
	Delays *int
	// Violations is how many distinct ones are looked for; 0: one.
	Violations int
	Saving
	// Partitions are those that there can be, one at a time: each lists the pairs of nodes between
	// which nothing gets through, by their places, the smaller one first.
	Partitions [][][2]int
	Often
	// Walks has executions of all nodes be run at random; nil: all executions are explored.
	Walks *pick.Walks `json:"-"`
	// Crews is how many walks are made, or nodes explored, at the same time, at most; 0: one. More
	// than batch.Most are of no use. It changes nothing of what is found.
	Crews int
	Crash
	Elsewhere
	// Properties are what has to be so of what nodes publish.
	Properties properties.Wanted
	// Slow is how often a connection is slow in an execution, at most, in one direction.
	Slow int
	// Datagrams are the faults of datagrams, by their names among those of the network.
	Datagrams []string
	// Shrink is how many executions may be spent on making a violation simpler before it is shown;
	// 0: none.
	Shrink int
	// Leaks says that goroutines are a violation that are blocked for ever when a node ends.
	Leaks bool
	// Peers are real peers that nodes can connect to; nil: there are none.
	Peers *beside.Group
}

// Often is how often the network does something in an execution, at most.
type Often struct {
	// PartitionLimit is how many partitions there are; 0: one. DatagramLimit is how many datagrams
	// suffer.
	PartitionLimit, DatagramLimit int
}

// Crash is which nodes crash, and how often.
type Crash struct {
	// Crashes are the nodes that may crash, by their places, each CrashLimit times in an execution,
	// and then run again with what is left on their disk.
	Crashes    []int
	CrashLimit int
	// Down is how often the clock advances at most while a node is down, in an exploration; 0:
	// DefaultDown.
	Down int
	// Pauses are the nodes that are paused, by their places, each PauseLimit times in an execution
	// at most. Only walks have these.
	Pauses     []int
	PauseLimit int
}

// Elsewhere is what belongs to an exploration and is done by others.
type Elsewhere struct {
	// Between is called between two batches of an exploration, with its executions so far. It
	// returns how many there were elsewhere, which count for the bound, and whether enough was
	// found there, which ends the exploration. nil: nobody is called.
	Between func(runs int) (elsewhere int, enough bool, err error) `json:"-"`
	// Away are those who explore nodes in other processes; nil: nobody does.
	Away away.Workers `json:"-"`
	// Progress counts what is done; nil: nobody waits for it.
	Progress *Progress `json:"-"`
}

// DefaultDown is how often the clock advances at most while a node is down, where nothing is said.
const DefaultDown = 2

// longestSlow is after how many advances of the clock all has arrived that is sent on a slow
// connection, in an exploration.
const longestSlow = 3

// Saving is how a check goes on that was ended, or has to end.
type Saving struct {
	// Resume is what Save was given; nil: the check begins. Save is called between two items of
	// work, with what encodes the exploration, and for the last time where the check ends before it
	// is complete and without a violation. It may be nil. The state is that between two items, so
	// what was begun when it ends is done again.
	Resume []byte                                         `json:"-"`
	Save   func(encode func() ([]byte, error), last bool) `json:"-"`
	// Counted is how many executions of Resume are counted in Progress already.
	Counted int `json:"-"`
	// Full is why the check is to end because of what it takes, such as memory; empty: it need not.
	// nil: it never has to. Several goroutines call it.
	Full func() (why string) `json:"-"`
}

// Options are those of the worker of a node. It is told what the program takes, and asks before
// time passes, since all nodes have one clock.
func (c *Config) Options(node int, p *places.Places) sut.Options {
	o := c.Worker
	o.Args = c.Nodes[node].Args
	o.Environment.Taken, o.Environment.PeerTime, o.Environment.Clients = true, true, 1
	o.Environment.PerConnection = true
	o.Environment.Published = c.Properties.Any()
	o.Environment.Crashes = slices.Contains(c.Crashes, node)
	p.Describe(&o.Environment, node)
	return o
}

// System begins an exploration of so many components, which are the nodes and what is beside them.
func (c *Config) System(components int) *skeleton.System {
	var names []string
	for _, n := range c.Nodes {
		names = append(names, n.Group)
	}
	return grouped.System(components, names)
}

// OverLimit is why a verdict is unknown after as many executions as there may be.
func (c *Config) OverLimit() string {
	return fmt.Sprintf("the limit of %d executions of nodes was reached", c.Executions)
}

// MostPartitions is how often the network is parted in an execution, at most.
func (c *Config) MostPartitions() int { return max(c.PartitionLimit, 1) }

// MostRuns is how many executions of single nodes a walk has at most.
func (c *Config) MostRuns() int { return len(c.Nodes) + len(c.Crashes)*c.CrashLimit }

// Explored is how often the crash of a node is explored in an execution. Walks do not explore.
func (c *Config) Explored(node int) int {
	if c.Walks != nil || !slices.Contains(c.Crashes, node) {
		return 0
	}
	return c.CrashLimit
}

// NeedsOrder says whether the events of each node are in one order: what faults of the network and
// slow connections change is more than the connection that has them.
func (c *Config) NeedsOrder() bool {
	return c.Worker.Environment.Faults > 0 || c.Worker.Environment.EarlyTimers > 0 || c.Slow > 0
}

// SlowLimits are those of slow connections in an exploration.
func (c *Config) SlowLimits() slow.Limits {
	return slow.Limits{Most: c.Slow, Longest: longestSlow}
}

// Limits are the faults of datagrams.
func (c *Config) Limits() datagram.Limits {
	return datagram.Limits{Kinds: c.Datagrams, Most: c.DatagramLimit}
}

// Exception says in words which messages take time; empty: none do.
func (c *Config) Exception() string {
	if c.Slow == 0 {
		return ""
	}
	return ", but on a slow connection"
}

// Mishaps says in words what happens to the network and to nodes, where they are explored.
func (c *Config) Mishaps() string {
	network, and := "the network loses no connection", ", and "
	if w := c.Worker.Environment; w.Faults > 0 {
		network, and = fmt.Sprintf("connections fail: at most %s at each node%s",
			textutil.CountOf(w.Faults, "time"), w.FaultWords()), "; "
	}
	if len(c.Crashes) == 0 {
		return network + and + "no node crashes" + c.parts()
	}
	names := c.names(c.Crashes)
	who := "each of " + strings.Join(names, ", ")
	if len(names) == 1 {
		who = "node " + names[0]
	}
	return fmt.Sprintf("%s; %s crashes at most %s, and is down while the clock advances at most %s%s",
		network, who, textutil.CountOf(c.CrashLimit, "time"),
		textutil.CountOf(cmp.Or(c.Down, DefaultDown), "time"), c.parts())
}

// names are those of nodes, by their places.
func (c *Config) names(places []int) (list []string) {
	for _, node := range places {
		list = append(list, c.Nodes[node].Name)
	}
	return list
}

// parts says in words what else the network does than to fail connections: datagrams suffer, and it
// is parted; empty: it does neither. It also says which nodes are paused.
func (c *Config) parts() (words string) {
	if c.DatagramLimit > 0 {
		words = fmt.Sprintf("; datagrams suffer at most %s in an execution, by %s",
			textutil.CountOf(c.DatagramLimit, "time"), strings.Join(c.Datagrams, ", "))
	}
	if l := c.SlowLimits(); l.Most > 0 {
		words += fmt.Sprintf("; a connection is slow at most %s in an execution: what is sent there in one "+
			"direction arrives when the clock has advanced up to %s", textutil.CountOf(l.Most, "time"),
			textutil.CountOf(l.Longest, "time"))
	}
	if len(c.Pauses) > 0 {
		words += fmt.Sprintf("; each of %s is paused at most %s in an execution at random",
			strings.Join(c.names(c.Pauses), ", "), textutil.CountOf(c.PauseLimit, "time"))
	}
	if len(c.Partitions) > 0 {
		often := "once"
		if n := c.MostPartitions(); n > 1 {
			often = textutil.CountOf(n, "time")
		}
		words += fmt.Sprintf("; the network is parted at most %s, and heals within %.0f s, when a timer "+
			"is due", often, network.Longest.Seconds())
	}
	return words
}
