// Package nodes checks several programs together: each is explored by itself, against what the
// others say to it (package explore/skeleton). Between them is a network of this package.
//
// An event of a node is what it sends, what it takes of what has arrived, a connect, a listen, an
// accept, or a close. The local skeleton of a node is called the script here. An execution that
// follows a script gets what the others have sent. Nothing else runs meanwhile: a node waits for
// nobody, and one worker at a time is busy.
//
// The same nodes with the same bounds do the same things in the same order.
package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/batch"
	"github.com/tandem-mc/tandem/check/internal/nodes/beside"
	"github.com/tandem-mc/tandem/check/internal/nodes/datagram"
	"github.com/tandem-mc/tandem/check/internal/nodes/environment"
	"github.com/tandem-mc/tandem/check/internal/nodes/found"
	"github.com/tandem-mc/tandem/check/internal/nodes/given"
	"github.com/tandem-mc/tandem/check/internal/nodes/lives"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/places"
	"github.com/tandem-mc/tandem/check/internal/nodes/slow"
	"github.com/tandem-mc/tandem/check/internal/nodes/turns"
	"github.com/tandem-mc/tandem/check/internal/nodes/ways"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// Node is one of the programs, and Config is what to check, and within which bounds.
type (
	Node   = given.Node
	Config = given.Config
	// Saving is how a check goes on that was ended.
	Saving = given.Saving
	Crash  = given.Crash
	// Progress is how far a check is.
	Progress = given.Progress
)

// Result is what was found, and Violation is an execution that one of the nodes should not have.
type (
	Result    = found.Result
	Violation = found.Violation
)

// explorer is one check.
type explorer struct {
	ctx     context.Context
	config  Config
	net     *network.Nodes
	system  *skeleton.System
	workers []*sut.Worker // by node; those of further crews follow
	unwatch []func() bool // of the context, by worker
	ways    ways.Ways
	runs    int
	others  int // executions elsewhere, which count for the bound (Config.Between)
	stage   stage
	told    []*Violation // of earlier stages
	result  Result
	unknown string // why the verdict cannot be that it holds
	never   error  // that a node does not listen
	notes   []string
	peers   *beside.Explorer // nil: there are none here, or walks have them
	// stuck are executions of a node that end in a deadlock, by the key of the item that explores
	// it. found are the violations, and known is which of both there are.
	stuck map[string][]*finding
	found []*finding
	known map[string]bool
	// reports are those of all items that were done.
	reports []reported
}

// maxRounds is how often a goroutine goes round a loop that waits, without any effect, while others
// can go on.
const maxRounds = 32

// errEnough ends the exploration: there is a violation, or a bound.
var errEnough = errors.New("enough")

// finding is an execution of a node that it should not have, and the skeleton that it is in.
type finding struct {
	item    skeleton.Item
	global  skeleton.Global
	outcome model.Outcome
	lives   lives.Lives       // how the node has come there; nil: it is not known
	race    *sut.MemoryAccess // the earlier access of a data race
	key     string            // the same for executions that show the same
}

// newExplorer begins a check. It is to be closed, unless there is an error.
func newExplorer(ctx context.Context, c Config) (*explorer, error) {
	x := &explorer{ctx: ctx, config: c, system: c.System(len(c.Nodes)),
		ways:  ways.New(nil),
		stuck: map[string][]*finding{}, known: map[string]bool{},
		net: &network.Nodes{Ordered: make([]bool, len(c.Nodes)), Down: cmp.Or(c.Down, given.DefaultDown),
			Data: map[network.Event][]byte{}, Nobody: map[network.Stray]bool{}}}
	x.net.Exclusive = c.Properties.IsExclusive()
	var list []places.Given
	for i, node := range c.Nodes {
		x.net.Names = append(x.net.Names, node.Name)
		x.net.Crashes = append(x.net.Crashes, c.Explored(i))
		x.net.Ordered[i] = x.net.Crashes[i] > 0 || c.NeedsOrder()
		list = append(list, places.Given{Name: node.Name, Listen: node.Listen})
	}
	var err error
	if x.net.Places, err = places.New(list); err != nil {
		return nil, err
	}
	if c.Peers != nil {
		x.net.Beside, x.net.Names = c.Peers.IsAt, append(x.net.Names, c.Peers.Name())
		x.net.Ordered = append(x.net.Ordered, true)
		x.system = c.System(len(x.net.Names))
		if c.Walks == nil && c.Peers.New != nil {
			x.peers = beside.NewExplorer(c.Peers, x.net)
		}
	}
	if err := x.start(); err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

// exploreAll does all work that there is, or as much as is wanted. The oldest items come first, so
// violations near the beginning are found early. Several are done at the same time, by crews with
// workers of their own. What is found does not depend on how many crews there are: an item knows
// only what there was before its batch, and results are taken in the order of the items.
func (x *explorer) exploreAll() error {
	crews := [][]*sut.Worker{x.workers[:len(x.config.Nodes)]}
	for work := x.system.Work(); len(work) > 0; work = x.system.Work() {
		done := uint64(len(x.reports))
		work = work[:min(len(work), int(batch.End(done)-done))]
		for len(crews) < min(x.config.Crews, len(work)) && x.peers == nil {
			if err := x.start(); err != nil {
				return err
			}
			crews = append(crews, x.workers[len(crews)*len(x.config.Nodes):])
		}
		err := x.between()
		if x.save(x.mark(), err != nil); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
		list := batch.Share(len(crews), len(work), func(crew, job int) (*part, bool) {
			p := x.part(crews[crew], work[job])
			return p, p.err != nil
		}, elsewhere(x, work))
		for _, p := range list {
			before := x.mark()
			err := x.take(p)
			if order := (errOrder{}); errors.As(err, &order) {
				x.again(order.node)
				break // what is known of the others refers to what is gone
			}
			if err == nil {
				continue
			}
			if x.save(before, true); errors.Is(err, errEnough) {
				x.rescue(list)
				return nil
			}
			return err
		}
	}
	return nil
}

// rescue takes over what items of a batch have found that are not taken any more, where the end of
// the exploration depends on the machine: nobody may find it again.
func (x *explorer) rescue(list []*part) {
	for _, p := range list {
		if x.full() == nil && x.ctx.Err() == nil || x.enough() {
			return
		}
		x.find(p)
	}
}

// between has others do what is done between two batches, such as executions at random.
func (x *explorer) between() (err error) {
	enough := false
	if x.config.Between != nil {
		x.others, enough, err = x.config.Between(x.runs)
	}
	if enough {
		x.unknown = "enough was found at random"
		return errEnough
	}
	return err
}

// start starts one worker more for each node. Each is told what the program takes, and asks before
// time passes. Who has started some and not all is to close those.
func (x *explorer) start() error {
	crew := len(x.workers) / len(x.config.Nodes)
	for i, node := range x.config.Nodes {
		o := x.options(i)
		o.Processor = crew + 1 // of a crew, one worker runs at a time
		w, err := sut.Start(node.Program, o)
		if err != nil {
			return fmt.Errorf("node %s: %w", node.Name, err)
		}
		x.workers = append(x.workers, w)
		x.unwatch = append(x.unwatch, context.AfterFunc(x.ctx, w.Interrupt))
	}
	return nil
}

// options are those of the worker of a node.
func (x *explorer) options(node int) sut.Options { return x.config.Options(node, x.net.Places) }

// close ends the workers, and what interrupts them.
func (x *explorer) close() {
	for i, w := range x.workers {
		x.unwatch[i]()
		w.Close()
	}
}

// do does an item of work. Items do not depend on each other, but for what is known of schedules,
// which only saves executions.
func (x *explorer) do(item skeleton.Item) (reported, error) {
	if x.net.IsBeside(item.Component) {
		return explorePeers(x, item)
	}
	if item.Component != skeleton.Completion {
		return x.explore(item)
	}
	failed := 0
	g, err := complete(x, item.Prefix, func(node int, script []skeleton.Event, arrivals []skeleton.Arrival) (
		local skeleton.Local, found bool, err error) {
		local, found, err = x.extend(node, script, arrivals)
		if !found && turns.IsGiven(x.net, item.Prefix, node, script) {
			failed = 1 + node
		}
		return local, found, err
	})
	if err == nil && g != nil && x.peers != nil {
		err = x.peers.Rest(g)
	}
	if err != nil {
		return reported{}, cannot(x, err)
	}
	// Without a whole execution, all orders of the nodes were tried.
	return reported{Key: item.Key, IsCompleted: g != nil, Completed: g, Failed: failed}, nil
}

// errOrder says that the events of a node have to be in one order.
type errOrder struct{ node int }

func (e errOrder) Error() string { return fmt.Sprintf("node %d has to be in one order", e.node) }

// ordered says of so many nodes that all their events are in one order.
func ordered(nodes int) []bool { return slices.Repeat([]bool{true}, nodes) }

// complete runs all nodes in turns from a prefix on (package turns). It returns nil if no execution
// begins with that.
func complete(x *explorer, prefix skeleton.Global, extend turns.Extend) (skeleton.Global, error) {
	if !datagram.IsPossible(x.net, prefix, x.config.Limits()) ||
		!slow.IsPossible(prefix, x.config.SlowLimits()) {
		return nil, nil
	}
	g, limit, err := turns.Complete(x.net, prefix, extend)
	x.unknown = cmp.Or(x.unknown, limit)
	if g != nil && !network.IsDue(g) && lives.AreAllUp(g) {
		x.never = cmp.Or(x.never, network.NeverListens(x.net, g))
	}
	return g, err
}

// search runs executions of a node until one of them is enough, and reports whether it was. The
// environment is new in each. The search is DPOR without bounds: what one exploration leaves out,
// no other one would find. With a bound on delays it is every execution within that.
func (x *explorer) search(node int, begin func() *environment.Environment, enough judge) (bool, error) {
	how := explore.Config{Delays: x.config.Delays}
	if how.Delays != nil {
		how.Algorithm = explore.DFS
	}
	search, err := explore.New(how)
	if err != nil {
		return false, err
	}
	// It must not be that of another search: it goes on from its last log.
	translator := translate.Translator{}
	for schedule, more := search.Next(); more; schedule, more = search.Next() {
		s := translator.Schedule(schedule)
		s.Rounds = maxRounds
		n := begin()
		log, err := x.run(node, s, n)
		if err != nil {
			return false, err
		}
		execution, err := translator.Log(log, translate.SourceOf(x.workers[node]))
		if err == nil {
			err = search.Report(execution)
		}
		if err != nil {
			return false, fmt.Errorf("node %s: %w", x.net.Names[node], err)
		}
		// One that was given up says nothing: another one covers it.
		if execution.Outcome != model.Redundant && enough(n, log, execution.Outcome) {
			return true, nil
		}
	}
	return false, nil
}

// through goes through the lives of a node.
func (x *explorer) through(node int, look judge) *throughLives {
	return &throughLives{Look: look, Run: x.runNext, Search: func(begin func() *environment.Environment,
		enough func(*environment.Environment, *sut.Log, model.Outcome) bool) (bool, error) {
		return x.search(node, begin, enough)
	}}
}

// judge looks at an execution of a node, and says whether it is enough.
type judge func(*environment.Environment, *sut.Log, model.Outcome) bool

type throughLives = lives.Explorer[*environment.Environment]

// runNext runs an execution in which a node goes on from where it is.
func (x *explorer) runNext(n *environment.Environment, s sut.Schedule) (*sut.Log, error) {
	s.Rounds = maxRounds
	return x.run(n.Node, s, n)
}

// run runs one execution of a node. It notes what keeps the verdict from being that it holds, and
// what the end of the node does to its connections.
func (x *explorer) run(node int, s sut.Schedule, n *environment.Environment) (*sut.Log, error) {
	if err := cmp.Or(x.interrupted(), x.full()); err != nil {
		return nil, err
	}
	if x.config.Executions > 0 && x.runs+x.others >= x.config.Executions {
		x.unknown = x.config.OverLimit()
		return nil, errEnough
	}
	x.runs++
	x.config.Progress.Ran(1)
	s.Steps, s.WantLeaks, s.Disk, s.After = x.config.Depth, x.config.Leaks, n.Disk, n.Born
	log, err := x.workers[node].Run(s, n.Watched())
	if err != nil {
		if err := x.interrupted(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("node %s: %w", x.net.Names[node], err)
	}
	switch {
	case n.Datagrams.NeedsOrder:
		return nil, errOrder{node}
	case n.Datagrams.NotExplored != nil:
		x.unknown = fmt.Sprintf("node %s: %v", x.net.Names[node], n.Datagrams.NotExplored)
		return nil, errEnough
	}
	switch log.Outcome {
	case sut.Refused:
		return nil, fmt.Errorf("node %s cannot be checked: %s", x.net.Names[node], log.Message)
	case sut.StepLimit, sut.LogLimit, sut.OtherLimit, sut.RoundLimit:
		x.unknown = cmp.Or(x.unknown, "executions of node "+x.net.Names[node]+" were cut off: "+
			cmp.Or(log.Message, log.Outcome.String()))
	default:
		n.End(log)
	}
	if !n.Ordered && network.MayBeReset(x.net, n.Made, n.Arrivals) {
		return nil, errOrder{node}
	}
	return log, nil
}

// interrupted says whether the exploration is to end, and how.
func (x *explorer) interrupted() error {
	err := x.ctx.Err()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		x.unknown = context.Cause(x.ctx).Error() // the caller says which time it was
		return errEnough
	case err != nil && len(x.found) == 0:
		x.unknown = "it was interrupted"
		return errEnough
	}
	return err
}

// full says whether the exploration is to end since it takes too much, such as memory.
func (x *explorer) full() error {
	if x.config.Full == nil {
		return nil
	}
	if why := x.config.Full(); why != "" {
		x.unknown = why
		return errEnough
	}
	return nil
}

// extend runs a node until it has made some events, and then as far as it comes.
//
// Two executions that make the same events may differ inside, so that one goes on where the other
// one does not. Either will do: the exploration finds both.
func (x *explorer) extend(node int, script []skeleton.Event, arrivals []skeleton.Arrival) (
	local skeleton.Local, found bool, err error) {
	if x.net.IsBeside(node) {
		l, err := x.peers.Extend(script, arrivals)
		if l == nil || err != nil {
			return local, false, err
		}
		return *l, true, nil
	}
	anyOne := func(*environment.Environment, *sut.Log) bool { return true }
	return x.extendUntil(node, script, arrivals, anyOne)
}

// extendUntil is extend with executions that are good, too. It goes on until one is, or there are
// no others. What is known to lead there is tried first in any case. The schedule of one that was
// not good enough is kept, too: it leads to the same events.
func (x *explorer) extendUntil(node int, script []skeleton.Event, arrivals []skeleton.Arrival,
	good func(*environment.Environment, *sut.Log) bool) (local skeleton.Local, found bool, err error) {
	begin := func() *environment.Environment {
		n := environment.New(x.net, node, script, arrivals)
		n.GoesOn = true
		// What is new arrives after the script, so that what led there does so again. In a search
		// that is only known of a node that is ordered.
		n.Later = n.Ordered
		return n
	}
	enough := func(n *environment.Environment, log *sut.Log, _ model.Outcome) bool {
		if c := n.Analyse(log.Events, len(n.Arrivals)); len(c.Departures) > 0 || !n.HasDone(c) {
			return false
		}
		local = skeleton.Local{Events: network.Sorted(n.Made), Waits: n.WaitsFor(log)}
		x.ways.Remember(network.KeyOf(local.Events), n.Went(log))
		return good(n, log)
	}
	// Without a schedule all are tried, the one that the worker takes by itself first.
	// Most often, what is known to lead there does so again. Without its last advance of the clock
	// it ends where the clock advances now.
	keys := []string{network.KeyOf(script)}
	if without, found := network.LastTick(script); found {
		keys = append(keys, network.KeyOf(without))
	}
	if known := x.ways.ToAny(keys); known != nil {
		n := begin()
		n.Later = true
		log, err := lives.Again(n, known, x.runNext)
		if err != nil {
			return local, false, err
		}
		if enough(n, log, 0) {
			return local, true, nil
		}
	}
	found, err = x.through(node, enough).Explore(begin)
	return local, found, err
}

// explore explores a node against what a skeleton says of the others (exploration). Executions that
// leave the skeleton are branches. The first violation ends it, and everything else.
func (x *explorer) explore(item skeleton.Item) (reported, error) {
	e := exploration{x: x, item: item, seen: map[uint64]bool{}, branched: map[string]bool{},
		tried: map[int]int{}, crashed: map[[2]int]bool{}}
	if like, found := x.system.Alike(item); found {
		e.found = like
	} else if err := e.run(); err != nil {
		return reported{}, err
	} else {
		e.found.Idle = e.notice.Idle(item.Arrivals)
	}
	x.result.Comes(e.found.Outcomes...)
	if x.enough() {
		return reported{}, errEnough
	}
	e.found.Branches = append(e.found.Branches, slices.Concat(network.Reorder(x.net, item),
		network.OtherDoors(x.net, item))...)
	if x.net.Ordered[item.Component] {
		e.found.Branches = append(e.found.Branches, slices.Concat(network.Resets(x.net, item),
			datagram.Branches(x.net, item, x.config.Limits()),
			slow.Branches(x.net, item, x.config.SlowLimits()))...)
	}
	// The network does nothing to a node that is down.
	e.found.Branches = slices.DeleteFunc(e.found.Branches, func(b skeleton.Branch) bool {
		return b.Event != nil && network.Did(b.Event).Kind != model.Restarted &&
			network.Did(b.Event).Kind != model.Close && lives.IsDown(b.Before)
	})
	return reported{Key: item.Key, IsExplored: true, Explored: e.found}, nil
}
