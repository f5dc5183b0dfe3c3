package configs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/sut"
)

// Faults are faults of the network, as --faults and the key faults name them: how many, and which.
// A limit of 0 stands for no faults.
type Faults struct {
	// Limit is how many there are in an execution at most: of Kinds together in each program, of
	// Crashes and Pauses at each node, and of partitions and slow connections each.
	Limit int
	// Kinds are of sut.FaultKinds; empty: sut.DefaultFaultKinds.
	Kinds []string
	// Operations are of sut.FaultOperations; empty: all.
	Operations []string
	// Peers are the names of those whose connections can fail; empty: all.
	Peers []string
	// Partitions are those of Others: the network is parted Limit times at most.
	Partitions []string
	// Crashes are those of Others: each of these nodes crashes Limit times at most.
	Crashes []string
	// Pauses are those of Others: each of these nodes is paused Limit times at most.
	Pauses []string
	// Slow says that connections between nodes are slow, Limit times in an execution at most.
	Slow bool
}

// ParseFaults reads a number and what narrows it, with commas in between: kinds, peer=NAME and
// on=OPERATION, each as often as needed, such as 2,reset,end,peer=redis,on=read. Blanks may stand
// for commas. The error is one line and says what can be given. Whether there are such peers is not
// known here: see Config.Validate.
func ParseFaults(list string) (Faults, error) {
	words := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	var f Faults
	if len(words) == 0 {
		return f, fmt.Errorf("%q has no number: give one from 0 to %d, and after it what narrows it, "+
			"such as 1,reset",
			list, MaxFaults)
	}
	var err error
	if f.Limit, err = strconv.Atoi(words[0]); err != nil {
		return f, fmt.Errorf("%.40q is not a number: give how many faults there can be first, such as 1 "+
			"or 1,reset",
			words[0])
	}
	for _, word := range words[1:] {
		if err := f.narrow(word); err != nil {
			return f, err
		}
	}
	// Which kinds can happen at which operations, the environment knows.
	w := sut.Environment{}
	f.setTo(&w)
	return f, w.CheckFaults()
}

// narrow takes one word of a selection. A word that is given twice is an error, since it may be
// meant to make that fault more frequent.
func (f *Faults) narrow(word string) error {
	to, key, value := &f.Kinds, "", word
	if k, v, ok := strings.Cut(word, "="); ok {
		key, value = k, v
	}
	switch {
	case key == "peer":
		to = &f.Peers
	case word == "partition":
		to, value = &f.Partitions, anyNode
	case key == "partition":
		to = &f.Partitions
	case word == "crash":
		to, value = &f.Crashes, anyNode
	case key == "crash":
		to = &f.Crashes
	case word == "pause":
		to, value = &f.Pauses, anyNode
	case key == "pause":
		to = &f.Pauses
	case word == "slow" && !f.Slow:
		f.Slow = true
		return nil
	case key == "on":
		if to = &f.Operations; !slices.Contains(sut.FaultOperations, value) {
			return fmt.Errorf("%.40q is no operation at which the network fails: give on=%s",
				value, strings.Join(sut.FaultOperations, ", on="))
		}
	case word == "slow":
		return fmt.Errorf("%q is given twice: leave one out", word)
	case key != "" || !slices.Contains(sut.FaultKinds, value):
		return fmt.Errorf("%.40q is no kind of fault: choose one of %s; peer=NAME and on=%s narrow them; "+
			"partition, crash, pause and slow are for nodes",
			word, strings.Join(sut.FaultKinds, ", "), strings.Join(sut.FaultOperations, ", on="))
	}
	if slices.Contains(*to, value) {
		return fmt.Errorf("%.40q is given twice: leave one out", word)
	}
	*to = append(*to, value)
	return nil
}

// SetFaults makes these the faults of the world, in place of those that the file has.
func (c *Config) SetFaults(f Faults) {
	f.setTo(&c.World)
	c.setMishaps(f)
}

// setMishaps sets what of the faults happens to nodes, and to the network between them.
func (c *Config) setMishaps(f Faults) {
	c.Partitions, c.PartitionLimit = f.partitions()
	c.Crashes, c.CrashLimit = f.ofNodes(f.Crashes)
	c.Pauses, c.PauseLimit = f.ofNodes(f.Pauses)
	c.Slow = f.slow()
}

// slow is how often connections are slow.
func (f Faults) slow() int {
	if !f.Slow {
		return 0
	}
	return f.Limit
}

// ofNodes are the nodes to which something may happen, if any fault is allowed, and how often.
func (f Faults) ofNodes(names []string) ([]string, int) {
	if f.Limit == 0 || len(names) == 0 {
		return nil, 0
	}
	return names, f.Limit
}

// partitions are those that there are, if any fault is allowed, and how often the network is
// parted.
func (f Faults) partitions() ([]string, int) {
	if f.Limit == 0 || len(f.Partitions) == 0 {
		return nil, 0
	}
	return f.Partitions, f.Limit
}

// setTo makes these the faults of an environment. A worker of one node knows nothing of partitions,
// and is told when it crashes. So where only these are named, there are no faults for it.
func (f Faults) setTo(w *sut.Environment) {
	w.Faults, w.FaultKinds, w.FaultOperations, w.FaultPeers = f.Limit, f.Kinds, f.Operations, f.Peers
	if (len(f.Partitions)+len(f.Crashes)+len(f.Pauses) > 0 || f.Slow) && len(f.Kinds) == 0 {
		w.Faults = 0
	}
}

// partitionProblems says what is wrong with the nodes whose network is parted, and that crash.
func (c Config) partitionProblems() (wrong list) {
	if c.Slow > 0 && len(c.Nodes) == 0 {
		wrong.add("faults", "only connections between nodes are slow, and there are none: leave it out")
	}
	for _, of := range []struct {
		names      []string
		word, does string
	}{{c.Crashes, "crash", "crash"}, {c.Pauses, "pause", "are paused"}} {
		for _, name := range of.names {
			switch {
			case len(c.Nodes) == 0:
				wrong.add("faults", "only nodes %s, and there are none: leave it out", of.does)
				return wrong
			case name != anyNode && c.node(name) < 0:
				wrong.add("faults", "there is no node %.64q to %s: give %s=NAME, or %s for all of them",
					name, of.word, of.word, of.word)
			}
		}
	}
	for _, p := range c.Partitions {
		if len(c.Nodes) == 0 {
			wrong.add("faults", "a partition is between nodes, and there are none: leave it out")
			return wrong
		}
		if p == anyNode {
			continue
		}
		names := strings.SplitN(p, ":", 2)
		for _, name := range names {
			if c.node(name) < 0 {
				wrong.add("faults", "there is no node %.64q to part: give partition=NAME, or "+
					"partition=NAME:NAME for two of them", name)
			}
		}
		if len(names) == 2 && names[0] == names[1] {
			wrong.add("faults", "node %s cannot be parted from itself: name another one", names[0])
		}
	}
	return wrong
}

// node is the place of a node in the list; -1: there is none of that name.
func (c Config) node(name string) int {
	return slices.IndexFunc(c.Nodes, func(n Node) bool { return n.Name == name })
}

// Crashing are the places of the nodes that may crash.
func (c Config) Crashing() []int { return c.placesOf(c.Crashes) }

// Pausing are the places of the nodes that may be paused.
func (c Config) Pausing() []int { return c.placesOf(c.Pauses) }

// placesOf are the places of nodes by their names, or of all of them.
func (c Config) placesOf(names []string) (list []int) {
	for i, n := range c.Nodes {
		if slices.Contains(names, anyNode) || slices.Contains(names, n.Name) {
			list = append(list, i)
		}
	}
	return list
}

// Links are the partitions that there can be, one at a time: each lists the pairs of nodes
// between which nothing gets through, by their places, the smaller one first.
func (c Config) Links() (list [][][2]int) {
	// Of two nodes, the partition of either one is the same.
	add := func(links [][2]int) {
		if !slices.ContainsFunc(list, func(l [][2]int) bool { return slices.Equal(l, links) }) {
			list = append(list, links)
		}
	}
	for _, p := range c.Partitions {
		// A second name narrows the links to one.
		a, b, both := strings.Cut(p, ":")
		for i, one := range c.Nodes {
			if p != anyNode && one.Name != a {
				continue
			}
			var links [][2]int
			for j, other := range c.Nodes {
				if j != i && (!both || other.Name == b) {
					links = append(links, [2]int{min(i, j), max(i, j)})
				}
			}
			add(links)
		}
	}
	return list
}

// faultProblems says what is wrong with the peers whose connections can fail. A fault is put into
// connections to peers that are named, so it must be known whose each connection is.
func (c Config) faultProblems() (problems []Problem) {
	if len(c.World.FaultPeers) == 0 {
		return nil
	}
	// Without peers each name is wrong.
	var group peers.Group
	if c.Group != nil {
		group = *c.Group
	}
	if err := group.CheckFaults(c.World.FaultPeers); err != nil {
		problems = append(problems, Problem{Key: "faults", What: err.Error()})
	}
	return problems
}
