package nodes

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/nodes/datagram"
	"github.com/tandem-mc/tandem/check/internal/nodes/environment"
	"github.com/tandem-mc/tandem/check/internal/nodes/idle"
	"github.com/tandem-mc/tandem/check/internal/nodes/lives"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pasts"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// exploration is that of one node against what a skeleton says of the others.
//
// An execution that has left the skeleton is not cut off there. To end it would disable what others
// could have done, and the search does not know that as a dependence: it would then miss orders in
// which another goroutine leaves the skeleton first.
type exploration struct {
	x     *explorer
	item  skeleton.Item
	found skeleton.Exploration
	// Of what is independent in the node, some orders may be run, since the environment depends on
	// them. They count once: seen are their prints.
	seen map[uint64]bool
	// Most executions leave the skeleton, and many of them in one way: branched has those ways.
	branched map[string]bool
	// tried are the most connects across a partition in the epoch in which it begins, by that.
	tried  map[int]int
	notice idle.Notice
	// crashed are those that were found to be possible: after how many events, and what is lost.
	crashed map[[2]int]bool
}

// run explores the node with what the skeleton has arrive, and then with what else the network may
// have arrive in the epoch in which it is parted, or of datagrams. Those executions only show
// branches: where they do as the skeleton says, they do so in the first exploration, too.
func (e *exploration) run() error {
	begin := e.environment
	_, err := e.all(e.judge).Explore(begin)
	if err != nil || e.x.enough() {
		return err
	}
	holds, all := network.Holds(e.x.net, &e.item, e.tried)
	if !all && e.x.unknown == "" {
		e.x.unknown = "too much is sent to node " + e.x.net.Names[e.item.Component] +
			" at the time at which the network is parted"
	}
	var ways []func(*environment.Environment)
	for _, hold := range holds {
		ways = append(ways, func(n *environment.Environment) { n.Hold = hold })
	}
	for _, o := range datagram.Others(&e.item) {
		ways = append(ways, func(n *environment.Environment) {
			n.Datagrams.Carrier.(*datagram.Explored).Other = o
		})
	}
	for _, way := range ways {
		other := func() *environment.Environment {
			n := begin()
			way(n)
			return n
		}
		if _, err := e.all(e.branches).Explore(other); err != nil {
			return err
		}
	}
	return nil
}

// all has all lives of the node be looked at.
func (e *exploration) all(look judge) *throughLives {
	t := e.x.through(e.item.Component, look)
	t.Down, t.All = e.down, true
	return t
}

// down adds the branches of a node that is down.
func (e *exploration) down(n *environment.Environment, log *sut.Log) {
	for _, b := range lives.Rests(&e.item, len(n.Made), e.x.net.Down) {
		e.branch(b, n.Went(log))
	}
}

// crashes adds the branches in which the node crashes somewhere in an execution.
func (e *exploration) crashes(n *environment.Environment, log *sut.Log) {
	for _, at := range n.Points.List {
		for _, b := range lives.Crashes(e.item.Component, e.item.Local.Events, at,
			e.x.net.CrashLimit(e.item.Component)) {
			if which := [2]int{at.Made, network.Did(b.Event).Lost}; !e.crashed[which] {
				e.crashed[which] = true
				e.branch(b, n.Was.With(at.Ends(log.Events, n.Before)))
			}
		}
	}
}

// environment is that of an execution.
func (e *exploration) environment() *environment.Environment {
	return environment.New(e.x.net, e.item.Component, e.item.Local.Events, e.item.Arrivals)
}

// branches adds the branches that an execution shows. It never ends the search.
func (e *exploration) branches(n *environment.Environment, log *sut.Log, _ model.Outcome) bool {
	e.leaves(n, log)
	return false
}

// leaves adds the branches that an execution shows, and says whether there are any.
func (e *exploration) leaves(n *environment.Environment, log *sut.Log) (c *pasts.Causality, leaves bool) {
	c = n.Analyse(log.Events, len(n.Arrivals))
	e.crashes(n, log)
	// It was run to its end without more arriving. Only what it did first counts, and what others
	// did that is not after that.
	for _, at := range c.Departures {
		event := n.Made[at]
		e.branch(skeleton.Branch{Component: e.item.Component, Before: n.Followed(c), Event: &event},
			n.Went(log))
	}
	if len(c.Departures) > 0 {
		return c, true
	}
	// It has ended, or waits, before it has done all, or for something else than is said.
	if !n.HasDone(c) || n.WaitsFor(log) != e.item.Local.Waits {
		e.branch(skeleton.Branch{Component: e.item.Component, Before: network.Sorted(n.Made),
			Waits: n.WaitsFor(log)}, n.Went(log))
		return c, true
	}
	return c, false
}

// branch adds a branch that an execution shows, unless an earlier one has shown it. It remembers
// what leads there: the first schedule that does is as good as any.
func (e *exploration) branch(b skeleton.Branch, went lives.Lives) {
	key, way := network.KeyOfBranch(&b)
	if e.branched[way] {
		return
	}
	e.branched[way], e.found.Branches = true, append(e.found.Branches, b)
	if e.x.ways.To(key) == nil {
		e.x.ways.Remember(key, went)
	}
}

// judge adds what an execution shows, and says whether that is enough.
func (e *exploration) judge(n *environment.Environment, log *sut.Log, outcome model.Outcome) bool {
	for epoch, tried := range n.Tried {
		e.tried[epoch] = max(e.tried[epoch], tried)
	}
	e.look(n, log)
	c, leaves := e.leaves(n, log)
	if leaves || n.IsLate() { // the connect was refused
		return false
	}
	if n.Ordered || !e.seen[c.Print] { // it is judged in any case: the print is a hash
		e.seen[c.Print] = true
		e.found.Traces++
	}
	if n.IsDue() {
		return false // it goes on when the clock advances
	}
	if o := outcome.String(); !slices.Contains(e.found.Outcomes, o) {
		e.found.Outcomes = append(e.found.Outcomes, o)
	}
	if outcome.Violation() { // it is to be found with each item
		e.notice.All()
	}
	e.x.judge(e.item, n, log, outcome)
	return e.x.enough()
}

// look notes of what that has arrived an execution takes notice.
func (e *exploration) look(n *environment.Environment, log *sut.Log) {
	if n.Ordered || e.x.net.Parted != nil {
		e.notice.All()
		return
	}
	x := idle.Execution{Log: log, Made: n.Made, Inputs: n.Inputs, Arrivals: len(n.Arrivals),
		Connections: n.Connections()}
	e.notice.Note(x)
}

// part is an item that a crew does, or has done. What it has come to is not yet known to others. It
// has an explorer of its own, so that whatever an item does is done as if there were no others: the
// system is only read, and all else that changes is a copy.
type part struct {
	*explorer
	item   skeleton.Item
	before int // executions before it
	result reported
	err    error
}

// part does an item, with what is known before its batch. Others may do other items meanwhile, so
// it changes nothing of the exploration.
func (x *explorer) part(crew []*sut.Worker, item skeleton.Item) *part {
	// An item has some dozens of executions. To bring the workers here for each of them takes long
	// where processors are busy.
	defer sut.Together(crew)()
	p := x.begin(crew, item)
	p.result, p.err = p.do(item)
	return p
}

// begin is part, of which nothing is done yet.
func (x *explorer) begin(crew []*sut.Worker, item skeleton.Item) *part {
	own, net := *x, *x.net
	net.Data, net.Nobody = maps.Clone(net.Data), maps.Clone(net.Nobody)
	if x.peers != nil {
		own.peers = x.peers.In(&net)
	}
	own.net, own.workers, own.ways = &net, crew, x.ways.Part()
	own.known, own.stuck = maps.Clone(x.known), maps.Clone(x.stuck)
	own.found, own.result.Outcomes = slices.Clone(x.found), slices.Clone(x.result.Outcomes)
	return &part{explorer: &own, item: item, before: x.runs}
}

// take takes over what an item has come to, and says whether that is enough. Items are taken in the
// order in which there would be one crew. Those after one that is enough do not count, nor do their
// executions.
func (x *explorer) take(p *part) error {
	limit := x.config.Executions - x.others
	if x.runs += p.runs - p.before; x.config.Executions > 0 && x.runs > limit {
		// It did not know how many executions others of its batch would take.
		x.runs = limit
		p.unknown, p.err = x.config.OverLimit(), errEnough
	}
	maps.Copy(x.net.Nobody, p.net.Nobody)
	x.ways.Take(&p.ways)
	if x.never = cmp.Or(x.never, p.never); x.unknown == "" || p.err != nil { // why it ends counts
		x.unknown = cmp.Or(p.unknown, x.unknown)
	}
	x.result.Comes(p.explorer.result.Outcomes...)
	x.find(p)
	if list := p.stuck[p.item.Key]; len(list) > 0 {
		x.stuck[p.item.Key] = list
	}
	maps.Copy(x.known, p.known)
	if p.err != nil {
		return p.err
	}
	x.report(p.result)
	if p.result.IsExplored {
		x.judgeSaid(p.item.Key)
		if err := x.confirm(); err != nil {
			return err
		}
	}
	if x.enough() {
		return errEnough
	}
	return nil
}

// find takes over the violations that an item has come to.
func (x *explorer) find(p *part) {
	maps.Copy(x.net.Data, p.net.Data)
	for _, f := range p.found {
		if !x.known[f.key] { // another item may have found it meanwhile
			x.known[f.key] = true
			x.found = append(x.found, f)
		}
	}
}

// judge notes a violation. Only an execution that has made all events of its skeleton is judged:
// then what has arrived is all that ever does. A deadlock is one if confirm says so.
func (x *explorer) judge(item skeleton.Item, n *environment.Environment, log *sut.Log,
	outcome model.Outcome) {
	if !outcome.Violation() {
		return
	}
	f := &finding{item: item, outcome: outcome, lives: n.Went(log), race: log.Race.First()}
	// Executions that show the same are one violation. A deadlock may not be one, so it may come
	// again with another item.
	program := x.config.Nodes[item.Component].Program
	key := x.net.Names[item.Component] + "\n" + narrate.SignatureOf(program, log).Key
	if f.outcome.Stuck() {
		key += item.Key
	}
	if f.key = key; x.known[key] {
		return
	}
	x.known[key] = true
	if f.outcome.Stuck() {
		x.stuck[item.Key] = append(x.stuck[item.Key], f)
		return
	}
	f.global = x.system.With(item)
	x.found = append(x.found, f)
}

// judgeSaid looks for what nodes publish that violates a property, in skeletons that have turned
// out to be possible with an item. Others may be of no execution.
func (x *explorer) judgeSaid(item string) {
	for _, s := range x.system.Skeletons() {
		if x.enough() || !x.config.Properties.Any() || !slices.Contains(s.Items, item) || !s.Possible() {
			continue
		}
		for _, w := range x.config.Properties.Find(x.net, s.Global) {
			if x.known[w.Key] || x.enough() {
				continue
			}
			x.known[w.Key] = true
			f := &finding{outcome: model.AssertionFailed, global: w.Part, key: w.Key}
			f.item.Component = w.Node
			x.found = append(x.found, f)
			x.result.Comes(f.outcome.String())
		}
	}
}

// enough says whether so many violations were found as are looked for.
func (x *explorer) enough() bool { return len(x.found)+len(x.told) >= max(x.config.Violations, 1) }

// confirm looks for deadlocks that all nodes together have. One node by itself may only seem to
// wait for ever: another one goes on where it was taken to end, or a timer of it is due. Those who
// wait for a node that never listens have no deadlock, but the error for that.
func (x *explorer) confirm() error {
	for _, s := range x.system.Skeletons() {
		for _, key := range s.Items {
			for len(x.stuck[key]) > 0 && !x.enough() && s.Possible() && !network.IsDue(s.Global) &&
				x.net.IsWhole(s.Global) {
				if x.never != nil {
					return x.never
				}
				f := x.stuck[key][0]
				f.global, x.stuck[key] = s.Global, x.stuck[key][1:]
				x.found = append(x.found, f)
			}
		}
	}
	return nil
}
