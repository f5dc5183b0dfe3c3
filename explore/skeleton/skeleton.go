// Package skeleton finds out what several programs can do together from what each of them can do by
// itself: dynamic interface reduction (Guo, Wu, Zhou, Hu, Yang, Zhang: Practical Software Model
// Checking via Dynamic Interface Reduction, SOSP 2011).
//
// A system has components. What one of them does that others can notice is an interface event; all
// else is internal to it. A skeleton is the set of all interface events of an execution, in their
// partial order. Executions with the same skeleton differ only inside of components, so each
// component can be explored by itself against what the skeleton says of the others. Such an
// exploration may come to an event that the skeleton does not have: a branch. Branches are composed
// with the skeletons that are known, which gives new ones.
//
// The package is pure. It says which work there is, and takes reports of it. Reports may come in
// any order, and more than once.
package skeleton

import "slices"

// Item is a piece of work. Whoever does it reports the result with its key. Doing it twice does no
// harm.
type Item struct {
	// Key names the work: equal keys, equal work.
	Key string
	// Component is the one to explore; Completion: the system is to be run.
	Component int
	// Local is what the component to explore does, and Arrivals what the others send to it.
	Local    Local
	Arrivals []Arrival
	// Prefix is how the execution of a Completion begins. A component of it that has ended makes no
	// more events than it has there.
	Prefix Global
	branch *Branch // in which the prefix ends, where there are groups
}

// Completion is the component of an item that is about all of them: the system is run once, from
// the given prefix until no component can go on. System.Completed takes the result.
const Completion = -1

// Exploration is what the exploration of one component has found. All its executions are covered
// that take only what has arrived, each up to its first event that Item.Local does not have.
type Exploration struct {
	// Traces is how many executions made exactly the events of Item.Local, in their order. Those
	// that differ only in the order of independent transitions count as one.
	Traces int
	// Outcomes are how these ended, each once.
	Outcomes []string
	// Branches are what the others came to.
	Branches []Branch
	// Idle are arrivals that nobody asked for. Where some are left out, more is explored than has
	// to be.
	Idle []Idle
	// Like is the key of another item, if what is found here is known from that (System.Alike).
	Like string
}

// Branch is how a component leaves a local skeleton.
type Branch struct {
	Component int
	// Before are the events that it made until then. All of them are those of the skeleton. An
	// execution that stands for others may leave it in several places, which do not depend on each
	// other. Each is a branch, with all events before it that come of none of them.
	Before []Event
	// Event comes next; nil: the component has ended, or waits. Then Waits is that of Local.
	Event *Event
	Waits Label
}

// System is a system under exploration. It is used by one goroutine at a time.
type System struct {
	components int
	open       []Item            // without a report
	asked      map[string]bool   // keys of all items that there were
	explored   map[string]Result // of the items that were explored, by key
	found      []found
	known      map[string]bool  // keys of found
	having     map[string][]int // which of found have an event, or all of a component, by its key
	branches   []Branch
	branched   map[string]bool // keys of branches
	// alike are explorations to which something came that was idle, by localKey.
	alike map[string][]alike
	// grouping is what is known of groups of components; nil: there are none.
	grouping *grouping
}

// found is a global skeleton that was realised, with the items that explore its components.
type found struct {
	skeleton Global
	items    []string
}

// Result is what is known of one component in one skeleton.
type Result struct {
	Component int
	Traces    int
	Outcomes  []string
	Like      string // the key of the item that was explored for this one, too; "": itself
}

// New begins the exploration of a system of some components. The first item is to run it once.
func New(components int) *System {
	s := &System{components: components, asked: map[string]bool{}, explored: map[string]Result{},
		known: map[string]bool{}, having: map[string][]int{}, branched: map[string]bool{},
		alike: map[string][]alike{}}
	s.ask(completion(make(Global, components)))
	return s
}

// Work lists the items without a report, in the order in which they were found. With none, all is
// explored.
func (s *System) Work() []Item { return slices.Clone(s.open) }

// Completed reports a whole execution that begins with the prefix of an item. Every component of it
// has ended. A second report of an item is ignored.
//
// Where the clock would advance next, and a component of the prefix that waits would take something
// instead of that, the report has what all have done by then. The exploration of that component
// finds that it does not wait there.
func (s *System) Completed(key string, g Global) {
	if !s.settle(key) {
		return
	}
	defer s.complement()
	g = g.normal()
	if k := g.key(); s.known[k] {
		return
	} else {
		s.known[k] = true
	}
	if s.grouping != nil {
		s.completedGrouped(g)
		return
	}
	f := found{skeleton: g}
	clocks := g.clocks()
	for c, local := range g {
		arrivals := g.arrivals(c, clocks)
		item := Item{Component: c, Local: local, Arrivals: arrivals,
			Key: exploreKey(c, local, arrivals)}
		f.items = append(f.items, item.Key)
		s.ask(item)
	}
	s.note(g)
	s.found = append(s.found, f)
	for _, b := range s.branches {
		s.compose(g, b)
	}
}

// Asked says whether there is or was an item with a key. Reports of others are ignored.
func (s *System) Asked(key string) bool { return s.asked[key] }

// Impossible reports that no execution begins with the prefix of an item.
func (s *System) Impossible(key string) {
	if s.settle(key) {
		s.complement()
	}
}

// Cannot is Impossible, and says which component cannot do what it does in the prefix, with what
// arrives there. It need not be asked again together with what other groups do.
func (s *System) Cannot(key string, component int) {
	i := slices.IndexFunc(s.open, func(item Item) bool { return item.Key == key })
	if i < 0 {
		return
	}
	prefix := s.open[i].Prefix
	s.settle(key)
	if s.grouping != nil {
		s.cannotGrouped(prefix, component)
	}
	s.complement()
}

// Explored reports what the exploration of an item has found. A second report of an item is
// ignored.
func (s *System) Explored(key string, e Exploration) {
	i := slices.IndexFunc(s.open, func(item Item) bool { return item.Key == key })
	if i < 0 {
		return
	}
	item := s.open[i]
	s.settle(key)
	defer s.complement()
	outcomes := slices.Compact(slices.Sorted(slices.Values(e.Outcomes)))
	s.explored[key] = Result{Component: item.Component, Traces: e.Traces, Outcomes: outcomes, Like: e.Like}
	if len(e.Idle) > 0 && e.Like == "" {
		local := localKey(item.Component, item.Local)
		s.alike[local] = append(s.alike[local], alike{key, item.Arrivals, e.Idle})
	}
	for _, b := range e.Branches {
		b.Before = Local{Events: b.Before}.normal().Events
		k := b.key()
		if s.branched[k] {
			continue
		}
		s.branched[k] = true
		s.branches = append(s.branches, b)
		s.composeAll(b)
	}
}

// composeAll asks for all executions that a branch gives together with what was found.
func (s *System) composeAll(b Branch) {
	if s.grouping == nil {
		for _, f := range s.found {
			s.compose(f.skeleton, b)
		}
		return
	}
	for _, o := range s.grouping.list {
		for _, in := range o.insides[s.grouping.Of[b.Component]] {
			s.composeGrouped(in, &b)
		}
	}
}

// compose asks for the execution that a skeleton and a branch give together, if they fit.
func (s *System) compose(g Global, b Branch) {
	if next, fits := g.substitute(b); fits {
		s.complete(next, &b)
	}
}

// complete asks for an execution with a prefix that ends in a branch, unless one is known.
func (s *System) complete(prefix Global, b *Branch) {
	item := completion(prefix)
	if s.asked[item.Key] {
		return
	}
	for _, i := range s.having[signOf(prefix, b)] {
		if s.found[i].skeleton.extends(prefix) {
			return
		}
	}
	s.ask(item)
}

// signOf is a key of what only those have that begin with a prefix which ends in a branch.
func signOf(prefix Global, b *Branch) string {
	if b.Event != nil {
		return b.Event.key()
	}
	return prefix[b.Component].key()
}

// completion is the item that runs an execution with a prefix to its end.
func completion(prefix Global) Item {
	return Item{Key: "complete " + prefix.key(), Component: Completion, Prefix: prefix}
}

// note has a skeleton be found by its events, and by the whole of what each component does.
func (s *System) note(g Global) {
	for c := range g {
		s.having[g[c].key()] = append(s.having[g[c].key()], len(s.found))
		for i := range g[c].Events {
			k := g[c].Events[i].key()
			s.having[k] = append(s.having[k], len(s.found))
		}
	}
}

// ask adds an item, unless it was there before.
func (s *System) ask(item Item) {
	if !s.asked[item.Key] {
		s.asked[item.Key] = true
		s.open = append(s.open, item)
	}
}

// settle takes an item off the list, and says whether it was there.
func (s *System) settle(key string) bool {
	before := len(s.open)
	s.open = slices.DeleteFunc(s.open, func(item Item) bool { return item.Key == key })
	return len(s.open) < before
}

// Skeleton is a global skeleton, with what is known of each component in it. A component without
// traces cannot end there: no execution of the system has that skeleton, since it goes on.
type Skeleton struct {
	Global     Global
	Components []Result
	Items      []string // the keys of those that explore the components
	// Each is how many executions each group has in it, or each component if there are no groups,
	// in all skeletons that look the same from outside. Their product is how many executions of the
	// system these are. Inner says that these are counted with another skeleton.
	Each  []int
	Inner bool
}

// Possible reports whether executions have the skeleton, as far as is known.
func (s *Skeleton) Possible() bool {
	return !slices.ContainsFunc(s.Components, func(r Result) bool { return r.Traces == 0 })
}

// Skeletons lists what was found, in the order in which it was. A component that is not explored
// yet has no traces.
func (s *System) Skeletons() []Skeleton {
	if s.grouping != nil {
		return s.grouping.skeletons(s.explored)
	}
	list := make([]Skeleton, len(s.found))
	for i, f := range s.found {
		list[i].Global, list[i].Items = f.skeleton, f.items
		for _, key := range f.items {
			result := s.explored[key]
			list[i].Components = append(list[i].Components, result)
			list[i].Each = append(list[i].Each, result.Traces)
		}
	}
	return list
}

// Traces is how many executions of the system it stands for.
func (s *Skeleton) Traces() float64 {
	product := 1.0
	for _, n := range s.Each {
		product *= float64(n)
	}
	return product
}

// With is the first skeleton in which the component of an item does what the item explores; nil: it
// is not asked for.
func (s *System) With(item Item) Global {
	for _, f := range s.found {
		if f.items[item.Component] == item.Key {
			return f.skeleton
		}
	}
	return nil
}

// Counts says how much was explored, and what it stands for.
type Counts struct {
	Skeletons int // that executions have; those that look the same from outside of groups are one
	// LocalTraces is how many executions of single components were explored within skeletons. Those
	// that stand for several explorations count once.
	LocalTraces int
	// GlobalTraces is how many executions of the system these stand for: the sum over skeletons of
	// the product over components.
	GlobalTraces float64
	Branches     int
}

// Counts returns what is counted so far.
func (s *System) Counts() Counts {
	c := Counts{Branches: len(s.branches)}
	for _, result := range s.explored {
		if result.Like == "" {
			c.LocalTraces += result.Traces
		}
	}
	for _, skeleton := range s.Skeletons() {
		if n := skeleton.Traces(); n > 0 && !skeleton.Inner {
			c.Skeletons, c.GlobalTraces = c.Skeletons+1, c.GlobalTraces+n
		}
	}
	return c
}

// Outcomes calls yield for the ways in which the system can end, each once and in no particular
// order, until yield returns false: how each component ends. The slice is only valid in the call.
func (s *System) Outcomes(yield func([]string) bool) {
	if s.grouping != nil {
		s.grouping.outcomes(s.explored, yield)
		return
	}
	seen := map[string]bool{}
	vector := make([]string, s.components)
	var choose func(parts []Result) bool
	choose = func(parts []Result) bool {
		c := s.components - len(parts)
		if len(parts) == 0 {
			key := keyOf(vector...)
			if seen[key] {
				return true
			}
			seen[key] = true
			return yield(vector)
		}
		for _, outcome := range parts[0].Outcomes {
			vector[c] = outcome
			if !choose(parts[1:]) {
				return false
			}
		}
		return true
	}
	for _, skeleton := range s.Skeletons() {
		if !choose(skeleton.Components) {
			return
		}
	}
}
