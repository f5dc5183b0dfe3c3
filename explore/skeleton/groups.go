package skeleton

import (
	"slices"
	"strconv"
)

// Components may be in groups. What those of one group do to each other is internal to the group,
// as what goroutines do is internal to a component. So many skeletons look the same from outside:
// they have the same *outside*, which is all that others can notice, in its partial order. A group
// has a number of *insides* with it. Any inside of one group goes with any of another one, since
// neither notices a difference. So not all of these combinations are run, but only so many of them
// that each inside is in one. The other ones are known.
//
// As many are missing as the product of the insides of all groups has more than their sum.

// Groups says which components are together.
type Groups struct {
	// Of is the group of each component. Groups are numbered from 0.
	Of []int
	// Shown says of an event inside of a group that it counts as one that others notice: there is
	// something that depends on it in more than one group. nil: there are none.
	Shown func(*Event) bool
}

// grouping is what is known of the groups of a system.
type grouping struct {
	Groups
	groups   int
	outsides map[string]*outside
	list     []*outside           // in the order in which they were found
	having   map[string][]*inside // by the keys of the events and components that they have
	composed []*composed
	// cannot are those items of components that were found to be impossible, by the localKey of
	// what the component does.
	cannot map[string]map[string]bool
}

// outside is what all groups do to each other in an execution.
type outside struct {
	insides [][]*inside // of each group
	known   map[string]bool
	size    int // how many insides it has
}

// inside is what one group does, as the groups do what an outside says.
type inside struct {
	*outside
	group    int
	skeleton Global   // the first one that was found with it
	items    []string // that explore its components, by component; empty: of others
}

// composed is an inside with a branch of it that fits.
type composed struct {
	*inside
	branch *Branch
	// settled is how many insides the outside had when all that they give with the branch was
	// known.
	settled int
}

// NewGrouped begins the exploration of a system whose components are in groups. It has the items of
// one that has none, but not all of them.
func NewGrouped(components int, groups Groups) *System {
	s := New(components)
	s.grouping = &grouping{Groups: groups, groups: slices.Max(groups.Of) + 1,
		outsides: map[string]*outside{}, having: map[string][]*inside{}, cannot: map[string]map[string]bool{}}
	return s
}

// isInner says whether an event is internal to its group.
func (g *grouping) isInner(e *Event) bool {
	own := g.Of[e.Component]
	if e.Tick > 0 || e.To == Everybody || e.To >= 0 && g.Of[e.To] != own ||
		e.receives() && g.Of[e.From.Component] != own {
		return false
	}
	return (e.To >= 0 || e.receives()) && (g.Shown == nil || !g.Shown(e))
}

// keyOfOutside has all of a skeleton that is not internal to a group. Two skeletons with the same
// key are the same from outside.
func (g *grouping) keyOfOutside(all Global, clocks map[Name]clock) string {
	outer := make([][]*Event, len(all))
	shown := map[stream][]int{} // numbers of events that are not internal
	for c := range all {
		for i := range all[c].Events {
			if e := &all[c].Events[i]; !g.isInner(e) {
				outer[c] = append(outer[c], e)
				s := stream{c, e.Stream}
				shown[s] = append(shown[s], e.N)
			}
		}
	}
	var parts []string
	for c := range all {
		parts = append(parts, strconv.FormatBool(all[c].Ended), keyOfLabel(all[c].Waits),
			strconv.Itoa(len(outer[c])))
		for _, e := range outer[c] {
			alone := *e
			if alone.Past = nil; e.receives() && g.Of[e.From.Component] == g.Of[c] {
				alone.From, alone.Got = Name{}, nil
			}
			// What its component itself has before it counts, too: others are told of that.
			own := clock{}
			for _, n := range e.Past {
				own[stream{n.Component, n.Stream}] = n.N
			}
			parts = append(parts, alone.key(), keyOfNames(own.only(shown)),
				keyOfNames(clocks[e.Name].only(shown)))
		}
	}
	return hashOf(keyOf(parts...))
}

// only lists the last event of each stream of those that are shown, whose numbers are sorted.
func (c clock) only(shown map[stream][]int) (names []Name) {
	for s, n := range c {
		at, found := slices.BinarySearch(shown[s], n)
		if found {
			at++
		}
		if at > 0 {
			names = append(names, Name{s.component, s.name, shown[s][at-1]})
		}
	}
	slices.SortFunc(names, Name.compare)
	return names
}

// keyOfInside names what a group does in a skeleton.
func (g *grouping) keyOfInside(all Global, group int) string {
	parts := []string{strconv.Itoa(group)}
	for c := range all {
		if g.Of[c] == group {
			parts = append(parts, all[c].key())
		}
	}
	return hashOf(keyOf(parts...))
}

// completedGrouped takes a skeleton that is new. Where all insides of it are known, it is, too.
func (s *System) completedGrouped(all Global) {
	g := s.grouping
	clocks := all.clocks()
	key := g.keyOfOutside(all, clocks)
	o := g.outsides[key]
	if o == nil {
		o = &outside{insides: make([][]*inside, g.groups), known: map[string]bool{}}
		g.outsides[key], g.list = o, append(g.list, o)
	}
	f := found{skeleton: all, items: make([]string, len(all))}
	var added []*inside
	for group := range g.groups {
		key := g.keyOfInside(all, group)
		if o.known[key] {
			continue
		}
		o.known[key] = true
		in := &inside{outside: o, group: group, skeleton: all, items: make([]string, len(all))}
		for c := range all {
			if g.Of[c] != group {
				continue
			}
			arrivals := all.arrivals(c, clocks)
			item := Item{Component: c, Local: all[c], Arrivals: arrivals,
				Key: exploreKey(c, all[c], arrivals)}
			in.items[c], f.items[c] = item.Key, item.Key
			s.ask(item)
		}
		o.insides[group], o.size = append(o.insides[group], in), o.size+1
		g.note(in)
		added = append(added, in)
	}
	if len(added) == 0 {
		return
	}
	s.found = append(s.found, f)
	// Some of what is to be run may be known now.
	s.open = slices.DeleteFunc(s.open, func(item Item) bool {
		return item.Component == Completion && item.branch != nil && g.isKnown(item.Prefix, item.branch)
	})
	for _, in := range added {
		for _, b := range s.branches {
			s.composeGrouped(in, &b)
		}
	}
}

// note has an inside be found by its events, and by the whole of what each component does.
func (g *grouping) note(in *inside) {
	for c := range in.skeleton {
		if g.Of[c] != in.group {
			continue
		}
		k := in.skeleton[c].key()
		g.having[k] = append(g.having[k], in)
		for i := range in.skeleton[c].Events {
			k := in.skeleton[c].Events[i].key()
			g.having[k] = append(g.having[k], in)
		}
	}
}

// extendsGroup is extends of what one group does.
func (g *grouping) extendsGroup(all, prefix Global, group int) bool {
	for c := range prefix {
		if g.Of[c] == group && !all[c].extends(&prefix[c]) {
			return false
		}
	}
	return true
}

// branched lists the insides with which the group of a branch goes on from a prefix that ends in
// it.
func (g *grouping) branched(prefix Global, b *Branch) (list []*inside) {
	group := g.Of[b.Component]
	for _, in := range g.having[signOf(prefix, b)] {
		if in.group == group && g.extendsGroup(in.skeleton, prefix, group) {
			list = append(list, in)
		}
	}
	return list
}

// goesWith says whether an outside has an inside of a group that goes on from a prefix.
func (g *grouping) goesWith(o *outside, prefix Global, group int) bool {
	return slices.ContainsFunc(o.insides[group],
		func(in *inside) bool { return g.extendsGroup(in.skeleton, prefix, group) })
}

// isKnown says whether insides of one outside go on from a prefix that ends in a branch.
func (g *grouping) isKnown(prefix Global, b *Branch) bool {
	return slices.ContainsFunc(g.branched(prefix, b), func(in *inside) bool {
		for group := range g.groups {
			if group != in.group && !g.goesWith(in.outside, prefix, group) {
				return false
			}
		}
		return true
	})
}

// composeGrouped asks for the execution that an inside and a branch of its group give together with
// the others of the skeleton in which it was found, if they fit.
func (s *System) composeGrouped(in *inside, b *Branch) {
	g := s.grouping
	if g.Of[b.Component] != in.group {
		return
	}
	if next, fits := in.skeleton.substitute(*b); fits {
		g.composed = append(g.composed, &composed{inside: in, branch: b})
		s.completeGrouped(next, b)
	}
}

// completeGrouped asks for an execution with a prefix that ends in a branch, unless one is known,
// and says whether it does.
func (s *System) completeGrouped(prefix Global, b *Branch) bool {
	item := completion(prefix)
	if s.asked[item.Key] || s.grouping.isKnown(prefix, b) ||
		s.grouping.isImpossible(prefix, s.grouping.Of[b.Component]) {
		return false
	}
	item.branch = b
	s.ask(item)
	return true
}

// A component takes no notice of what other groups do inside. So what it cannot do with one inside
// of theirs, it cannot do with any.

// cannotGrouped notes that a component cannot do what it does in a prefix.
func (s *System) cannotGrouped(prefix Global, component int) {
	local := localKey(component, prefix[component])
	if s.grouping.cannot[local] == nil {
		s.grouping.cannot[local] = map[string]bool{}
	}
	s.grouping.cannot[local][exploreKey(component, prefix[component], prefix.Arrivals(component))] = true
	s.open = slices.DeleteFunc(s.open, func(item Item) bool {
		return item.branch != nil && s.grouping.isImpossible(item.Prefix, s.grouping.Of[component])
	})
}

// isImpossible says whether it is known of a component of a group that it cannot do what it does in
// a prefix.
func (g *grouping) isImpossible(prefix Global, group int) bool {
	for c := range prefix {
		if g.Of[c] != group {
			continue
		}
		if items := g.cannot[localKey(c, prefix[c])]; items != nil &&
			items[exploreKey(c, prefix[c], prefix.Arrivals(c))] {
			return true
		}
	}
	return false
}

// An inside and a branch also go with all other insides that the other groups have with the same
// outside. What that gives is most often known: insides are found by branches of their own groups.
// Where a branch leads to another outside, they may not be. So once there is no other work, it is
// looked whether something is missing.

// complement asks for one execution that is missing, if nothing else is to be done.
func (s *System) complement() {
	if s.grouping == nil || len(s.open) > 0 {
		return
	}
	for _, c := range s.grouping.composed {
		if c.settled == c.size {
			continue
		}
		if s.missing(c) {
			return
		}
		c.settled = c.size
	}
}

// missing asks for an execution that goes on from an inside with a branch, and other insides of the
// other groups, if none is known.
func (s *System) missing(c *composed) bool {
	g := s.grouping
	prefix, _ := c.skeleton.substitute(*c.branch)
	if g.isImpossible(prefix, c.group) {
		return false
	}
	var outsides []*outside // with which the group goes on
	for _, in := range g.branched(prefix, c.branch) {
		if !slices.Contains(outsides, in.outside) {
			outsides = append(outsides, in.outside)
		}
	}
	// What is left of an inside after an event of another group, that inside goes on from. So where
	// the outside stays the same, nothing is missing.
	if c.branch.Event != nil && slices.Contains(outsides, c.outside) {
		return false
	}
	var choices []choice
	for group := range g.groups {
		if group != c.group {
			choices = append(choices, g.choiceOf(c, group, outsides))
		}
	}
	// Groups with the fewest ways are first: most have one.
	slices.SortStableFunc(choices, func(a, b choice) int { return len(a.sets) - len(b.sets) })
	var look func(rest []choice, left []bool, ways [][]*inside) bool
	look = func(rest []choice, left []bool, ways [][]*inside) bool {
		if len(rest) == 0 {
			return !slices.Contains(left, true) && s.completeAny(c, ways, c.skeleton)
		}
		for i, set := range rest[0].sets {
			if look(rest[1:], both(left, set), append(slices.Clone(ways), rest[0].insides[i])) {
				return true
			}
		}
		return false
	}
	return look(choices, slices.Repeat([]bool{true}, len(outsides)), nil)
}

// choice is the insides of a group by the outsides with which they go on after a branch of another
// group. Those for which these are the same are one way.
type choice struct {
	sets    [][]bool
	insides [][]*inside
}

// choiceOf is the choice of a group.
func (g *grouping) choiceOf(c *composed, group int, outsides []*outside) (k choice) {
	for _, in := range c.insides[group] {
		prefix, fits := g.with(c.skeleton, in).substitute(*c.branch)
		if !fits {
			continue
		}
		var set []bool
		for _, o := range outsides {
			set = append(set, g.goesWith(o, prefix, group))
		}
		at := slices.IndexFunc(k.sets, func(other []bool) bool { return slices.Equal(set, other) })
		if at < 0 {
			at = len(k.sets)
			k.sets, k.insides = append(k.sets, set), append(k.insides, nil)
		}
		k.insides[at] = append(k.insides[at], in)
	}
	return k
}

// completeAny asks for an execution from any choice of insides on that was not asked for yet.
func (s *System) completeAny(c *composed, ways [][]*inside, all Global) bool {
	if len(ways) == 0 {
		prefix, fits := all.substitute(*c.branch)
		return fits && s.completeGrouped(prefix, c.branch)
	}
	return slices.ContainsFunc(ways[0], func(in *inside) bool {
		return s.completeAny(c, ways[1:], s.grouping.with(all, in))
	})
}

// with has a group do in a skeleton what it does in an inside of the same outside.
func (g *grouping) with(all Global, in *inside) Global {
	next := slices.Clone(all)
	for c := range next {
		if g.Of[c] == in.group {
			next[c] = in.skeleton[c]
		}
	}
	return next
}

// both are those in two sets.
func both(a, b []bool) []bool {
	c := slices.Clone(a)
	for i := range c {
		c[i] = c[i] && b[i]
	}
	return c
}
