// Package agreed judges what nodes publish: all values of a name on which they are to agree are the
// same, whoever publishes them and whenever. So what has been decided stays decided, also after a
// crash. Two values need not be there at the same time, so any execution that has both will do.
package agreed

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// Names are the names on which nodes are to agree, or patterns of these, as package path has them.
type Names []string

// of returns the first pattern that a name has; empty: nobody needs to agree on it.
func (n Names) of(name string) string {
	for _, pattern := range n {
		if pattern == name {
			return pattern
		}
		if matches, err := path.Match(pattern, name); err == nil && matches {
			return pattern
		}
	}
	return ""
}

// missing lists the patterns of which nobody has published a name, of all that were published.
func (n Names) missing(published []string) (list []string) {
	used := map[string]bool{}
	for _, name := range published {
		used[n.of(name)] = true
	}
	for _, pattern := range n {
		if !used[pattern] {
			list = append(list, pattern)
		}
	}
	return list
}

// Add adds names that were published, as long as there is none of their pattern.
func (n Names) Add(known, published []string) []string {
	for _, name := range published {
		if with := append(known, name); len(n.missing(with)) < len(n.missing(known)) {
			known = with
		}
	}
	return known
}

// Why is what keeps a verdict from being that all is well, beside what is known to do so: that
// nobody has published something on which nodes are to agree. Most likely it has another name.
func (n Names) Why(known string, published []string) string {
	missing := n.missing(published)
	if len(missing) == 0 {
		return ""
	}
	why := fmt.Sprintf("no node has published %s, on which all are to agree", strings.Join(missing, " or "))
	if known != "" {
		why = "; " + why
	}
	return why
}

// Event is that of a node which publishes something.
func Event(net *network.Nodes, in model.Input) skeleton.Event {
	d := network.Event{Kind: model.Publish, Address: in.Addr}
	d.Sent.Add(in.Data)
	net.Data[d] = slices.Clone(in.Data)
	return skeleton.Event{Label: d, To: skeleton.Nobody}
}

// Follow has an event be wrong if it is so in a script, which has the same value at its place.
func Follow(net *network.Nodes, script, event *skeleton.Event) {
	d := network.Did(script)
	wrong := d.Violates
	if d.Violates = ""; d == network.Did(event) {
		d.Violates = wrong
		net.Data[d] = net.Data[network.Did(event)]
		event.Label, event.From, event.Got = d, script.From, script.Got
	}
}

// Said is what nodes have published so far in an execution. One goroutine uses it at a time.
type Said struct {
	names Names
	first map[string]skeleton.Event // by name
}

// New is that of an execution which has not begun.
func New(names Names) *Said { return &Said{names, map[string]skeleton.Event{}} }

// Judge notes what a node publishes. Event has its name and its label. If somebody has published
// another value before, the label says so, and the event takes that one: so it comes after it.
func (s *Said) Judge(net *network.Nodes, event *skeleton.Event) {
	d := network.Did(event)
	if s.names.of(d.Address) == "" {
		return
	}
	if first, known := s.first[d.Address]; !known {
		s.first[d.Address] = *event
	} else if network.Did(&first).Sent != d.Sent {
		object(net, event, &first)
	}
}

// object has an event that publishes a value be wrong, because of another one.
func object(net *network.Nodes, event, because *skeleton.Event) {
	d := network.Did(event)
	value, other := net.Data[d], net.Data[network.Did(because)]
	who, whose := net.Names[event.Component], net.Names[because.Component]
	d.Violates = fmt.Sprintf("nodes disagree on %s: %s says %s, %s says %s", d.Address, whose,
		shown(other), who, shown(value))
	if event.Component == because.Component {
		d.Violates = fmt.Sprintf("node %s disagrees with itself on %s: it says %s, and then %s", who,
			d.Address, shown(other), shown(value))
	}
	event.Label, net.Data[d] = d, value
	if event.Component != because.Component {
		event.From, event.Got = because.Name, because.Label
	}
}

// shown is a value, quoted and not too long.
func shown(value []byte) string {
	const most = 60
	if len(value) <= most {
		return fmt.Sprintf("%q", value)
	}
	return fmt.Sprintf("%q... (%d bytes)", value[:most], len(value))
}

// In an execution at random, each event is judged when it happens (Said). In a skeleton there is no
// order of all events, and nothing was judged when the nodes were run. So it is judged as a whole.

// Find looks for two values of one name in what all nodes have done. It returns the part of the
// execution that leads there, the node that publishes the second one, and what is wrong with that.
// The part is nil if there are none.
func Find(net *network.Nodes, g skeleton.Global, names Names) (part skeleton.Global, node int, wrong string) {
	first := map[string]*skeleton.Event{}
	for c := range g {
		for i := range g[c].Events {
			e := &g[c].Events[i]
			d := network.Did(e)
			if d.Kind != model.Publish || names.of(d.Address) == "" {
				continue
			}
			was, known := first[d.Address]
			switch {
			case !known:
				first[d.Address] = e
			case network.Did(was).Sent != d.Sent:
				return partOf(net, g, was, e)
			}
		}
	}
	return nil, 0, ""
}

// partOf is all that comes before one of two events, or both. The later one of them is wrong there.
//
// That is a part of an execution in which every event has all that is before it. So the nodes can
// do that much, and then go on: the node that is wrong ends, and others find that out. What they
// have done after it in the execution that the two events are from need not happen any more.
func partOf(net *network.Nodes, g skeleton.Global, a, b *skeleton.Event) (part skeleton.Global, node int,
	wrong string) {
	p := before{g: g, has: map[skeleton.Name]bool{}}
	if p.add(a.Name); p.has[b.Name] {
		a, b = b, a
	}
	p.add(a.Name)
	p.add(b.Name)
	part = make(skeleton.Global, len(g))
	for c := range g {
		for _, e := range g[c].Events {
			if p.has[e.Name] {
				if e.Name == b.Name {
					object(net, &e, a)
					wrong = network.Did(&e).Violates
				}
				part[c].Events = append(part[c].Events, e)
			}
		}
	}
	return part, b.Component, wrong
}

// before collects all events that come before some.
type before struct {
	g   skeleton.Global
	has map[skeleton.Name]bool
}

// add adds an event with all that comes before it.
func (p *before) add(name skeleton.Name) {
	for todo := []skeleton.Name{name}; len(todo) > 0; {
		name, todo = todo[0], todo[1:]
		if p.has[name] {
			continue
		}
		p.has[name] = true
		events := p.g[name.Component].Events
		e := &events[slices.IndexFunc(events, func(e skeleton.Event) bool { return e.Name == name })]
		todo = append(todo, e.Past...)
		if e.From.N > 0 {
			todo = append(todo, e.From)
		}
		if e.Tick > 0 {
			todo = append(todo, p.tick(e.Tick)...)
		}
	}
}

// tick names the events of all nodes that are one advance of the clock, and all events of nodes
// that have ended before it.
func (p *before) tick(k int) (names []skeleton.Name) {
	for c := range p.g {
		events := p.g[c].Events
		if i := slices.IndexFunc(events, func(e skeleton.Event) bool { return e.Tick == k }); i >= 0 {
			names = append(names, events[i].Name)
			continue
		}
		for i := range events {
			names = append(names, events[i].Name)
		}
	}
	return names
}

// Published are the names that were published, sorted, of data as network.Nodes has them.
func Published(data map[network.Event][]byte) (list []string) {
	for d := range data {
		if d.Kind == model.Publish && !slices.Contains(list, d.Address) {
			list = append(list, d.Address)
		}
	}
	slices.Sort(list)
	return list
}
