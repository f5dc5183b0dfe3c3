package skeleton

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// A machine is a small abstract component: threads that share variables, and exchange messages with
// threads of other components. It is explored without any reduction.

// text is a label.
type text string

func (t text) Key() string { return string(t) }

type opKind int

const (
	read       opKind = iota // takes a variable into the register of the thread
	write                    // puts the register into a variable
	choose                   // one of two values
	send                     // a bit of the register, on a stream of the thread
	receive                  // what another component has sent on a stream
	receiveAny               // what anybody has sent to this component's common place
	skip                     // the next operation, if the register is odd
)

type op struct {
	kind   opKind
	n      int    // the variable, or the component that it sends to
	stream string // that it sends on, or that it receives what was sent on
}

// machine has the operations of each thread.
type machine [][]op

const anyPlace = "any" // what the streams to a common place begin with

// counts count by threads and streams; so they say of each operation what was before it.
type counts map[string]int

func (c counts) with(d counts) counts {
	joined := maps.Clone(c)
	for k, n := range d {
		joined[k] = max(joined[k], n)
	}
	return joined
}

// local is a partial execution of a machine.
type local struct {
	m         machine
	component int
	pc, reg   []int
	vars      []int
	clocks    []counts          // of threads
	written   []counts          // of variables: the last write
	readers   []counts          // of variables: all reads since
	streams   map[string]counts // of streams of receives: the last receive
	taken     map[string]int    // received of each stream of sends
	events    []Event
	trace     []string // of each thread: what it did, each with its clock
}

func start(m machine, component int) *local {
	l := &local{m: m, component: component, vars: make([]int, 2), written: make([]counts, 2),
		readers: make([]counts, 2), streams: map[string]counts{}, taken: map[string]int{}}
	for range m {
		l.pc, l.reg = append(l.pc, 0), append(l.reg, 0)
		l.clocks, l.trace = append(l.clocks, counts{}), append(l.trace, "")
	}
	return l
}

func (l *local) clone() *local {
	c := *l
	c.pc, c.reg, c.vars = slices.Clone(l.pc), slices.Clone(l.reg), slices.Clone(l.vars)
	c.clocks, c.written = slices.Clone(l.clocks), slices.Clone(l.written)
	c.readers = slices.Clone(l.readers)
	c.streams, c.taken = maps.Clone(l.streams), maps.Clone(l.taken)
	c.events, c.trace = slices.Clone(l.events), slices.Clone(l.trace)
	return &c
}

// key is the same for partial executions that differ in the order of independent operations only.
func (l *local) key() string { return strings.Join(l.trace, "|") }

// outcome is all that the end of an execution shows.
func (l *local) outcome() string { return fmt.Sprint(l.pc, l.reg, l.vars) }

// offer says what can be received of a stream of sends next; nil: nothing.
type offer func(stream string, n int) *Event

// next lists the executions that are one operation longer.
func (l *local) next(streams []string, available offer) (list []*local) {
	for t := range l.m {
		if l.pc[t] == len(l.m[t]) {
			continue
		}
		switch o := l.m[t][l.pc[t]]; o.kind {
		case choose:
			list = append(list, l.step(t, 0, nil), l.step(t, 1, nil))
		case receive:
			if e := available(o.stream, l.taken[o.stream]+1); e != nil {
				list = append(list, l.step(t, 0, e))
			}
		case receiveAny:
			for _, s := range streams {
				if !strings.HasPrefix(s, anyPlace) {
					continue
				}
				if e := available(s, l.taken[s]+1); e != nil && e.To == l.component {
					list = append(list, l.step(t, 0, e))
				}
			}
		default:
			list = append(list, l.step(t, 0, nil))
		}
	}
	return list
}

// step has a thread go one operation further.
func (l *local) step(t, alternative int, got *Event) *local {
	l = l.clone()
	o := l.m[t][l.pc[t]]
	l.pc[t]++
	c := maps.Clone(l.clocks[t])
	c[fmt.Sprint("thread ", t)]++
	switch o.kind {
	case read:
		c = c.with(l.written[o.n])
		l.readers[o.n] = c.with(l.readers[o.n])
		l.reg[t] = (l.reg[t]*2 + l.vars[o.n] + 1) % 8
	case write:
		c = c.with(l.written[o.n]).with(l.readers[o.n])
		l.written[o.n], l.readers[o.n] = c, counts{}
		l.vars[o.n] = (l.reg[t] + t + 1) % 4
	case choose:
		l.reg[t] = (l.reg[t]*2 + alternative) % 8
	case send:
		e := Event{Name: Name{l.component, o.stream, c[o.stream] + 1}, To: o.n,
			Label: text(fmt.Sprint(l.reg[t] % 2)), Past: l.past(c)}
		l.events = append(l.events, e)
		c[o.stream]++
	case receive, receiveAny:
		stream := "from " + o.stream
		c = c.with(l.streams[stream])
		e := Event{Name: Name{l.component, stream, c[stream] + 1}, To: Nobody,
			Label: got.Label, Got: got.Label,
			From: got.Name, Past: l.past(c)}
		l.events = append(l.events, e)
		c[stream]++
		l.streams[stream] = c
		l.taken[got.Stream]++
		l.reg[t] = (l.reg[t]*2 + int(got.Label.Key()[0]-'0') + 3*got.Component) % 8
	case skip:
		if l.reg[t]%2 == 1 && l.pc[t] < len(l.m[t]) {
			l.pc[t]++
		}
	}
	l.clocks[t] = c
	// A map is printed in the order of its keys.
	l.trace[t] += fmt.Sprint(l.pc[t], alternative, c, ";")
	if got != nil {
		l.trace[t] += fmt.Sprint(got.Name, got.Label, ";")
	}
	return l
}

// past is what of a clock others can notice.
func (l *local) past(c counts) (names []Name) {
	for s, n := range c {
		if !strings.HasPrefix(s, "thread ") {
			names = append(names, Name{l.component, s, n})
		}
	}
	slices.SortFunc(names, Name.compare)
	return names
}

// system is several machines, and the streams between them.
type system struct {
	machines []machine
	streams  []string
}

func (s *system) start() (all []*local) {
	for c, m := range s.machines {
		all = append(all, start(m, c))
	}
	return all
}

// sent offers what components have sent.
func sent(all []*local) offer {
	return func(stream string, n int) *Event {
		for _, l := range all {
			for i := range l.events {
				if e := &l.events[i]; e.Stream == stream && e.N == n && !e.receives() {
					return e
				}
			}
		}
		return nil
	}
}

func keyOfAll(all []*local) string {
	var b strings.Builder
	for _, l := range all {
		b.WriteString(l.key() + "\n")
	}
	return b.String()
}

// explore explores all components together, and calls ended for each execution. It gives up beyond
// a number of partial executions.
func (s *system) explore(most int, ended func([]*local)) bool {
	seen := map[string]bool{}
	stack := [][]*local{s.start()}
	for len(stack) > 0 {
		all := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		key := keyOfAll(all)
		if seen[key] {
			continue
		}
		if seen[key] = true; len(seen) > most {
			return false
		}
		end := true
		for c, l := range all {
			for _, n := range l.next(s.streams, sent(all)) {
				end = false
				next := slices.Clone(all)
				next[c] = n
				stack = append(stack, next)
			}
		}
		if end {
			ended(all)
		}
	}
	return true
}

// complete finds an execution that begins with a prefix: depth first, in the order of r.
func (s *system) complete(prefix Global, r *rand.Rand) Global {
	seen := map[string]bool{}
	var search func(all []*local) Global
	search = func(all []*local) Global {
		if key := keyOfAll(all); seen[key] {
			return nil
		} else {
			seen[key] = true
		}
		end := true
		for _, c := range r.Perm(len(all)) {
			done := len(all[c].events) >= len(prefix[c].Events)
			if done && prefix[c].Ended {
				continue
			}
			for _, n := range all[c].next(s.streams, sent(all)) {
				end = false
				if grown := len(n.events) > len(all[c].events); grown && !done &&
					!prefix[c].begins(n.events[len(n.events)-1:]) {
					continue
				}
				next := slices.Clone(all)
				next[c] = n
				if g := search(next); g != nil {
					return g
				}
			}
		}
		if !end {
			return nil
		}
		g := make(Global, len(all))
		for c, l := range all {
			if len(l.events) < len(prefix[c].Events) {
				return nil
			}
			g[c] = Local{Events: l.events, Ended: true}
		}
		return g
	}
	return search(s.start())
}

// exploreLocal explores one component against what a skeleton says of the others.
func (s *system) exploreLocal(item Item) (x Exploration) {
	wanted := map[string]bool{}
	for i := range item.Local.Events {
		wanted[item.Local.Events[i].key()] = true
	}
	seen := map[string]bool{}
	stack := []*local{start(s.machines[item.Component], item.Component)}
	for len(stack) > 0 {
		l := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[l.key()] {
			continue
		}
		seen[l.key()] = true
		next := l.next(s.streams, offered(item.Arrivals, l))
		for _, n := range next {
			if last := len(n.events) - 1; last < len(l.events) || wanted[n.events[last].key()] {
				stack = append(stack, n)
			} else {
				x.Branches = append(x.Branches,
					Branch{Component: item.Component, Before: l.events, Event: &n.events[last]})
			}
		}
		switch {
		case len(next) > 0:
		case len(l.events) == len(wanted):
			x.Traces++
			x.Outcomes = append(x.Outcomes, l.outcome())
		default:
			x.Branches = append(x.Branches, Branch{Component: item.Component, Before: l.events})
		}
	}
	return x
}

// offered offers what arrives, as soon as what it comes of has happened.
func offered(arrivals []Arrival, l *local) offer {
	happened := map[Name]bool{}
	for i := range l.events {
		happened[l.events[i].Name] = true
	}
	return func(stream string, n int) *Event {
		for i := range arrivals {
			a := &arrivals[i]
			if a.Send.Stream == stream && a.Send.N == n &&
				!slices.ContainsFunc(a.After, func(n Name) bool { return !happened[n] }) {
				return &a.Send
			}
		}
		return nil
	}
}

// reduce explores the system component by component. The items are done in the order of r, some of
// them twice.
func (s *system) reduce(r *rand.Rand) *System {
	d := New(len(s.machines))
	for work := d.Work(); len(work) > 0; work = d.Work() {
		item := work[r.IntN(len(work))]
		for range 1 + r.IntN(2) {
			if item.Component == Completion {
				d.Completed(item.Key, s.complete(item.Prefix, r))
			} else {
				d.Explored(item.Key, s.exploreLocal(item))
			}
		}
	}
	return d
}

// generate makes a random system.
func generate(r *rand.Rand) *system {
	s := &system{}
	components := 2 + r.IntN(2)
	// What is sent on a stream may be received at the other side, or never.
	to := map[int][]string{}
	sends := map[string]int{}
	name := func(c, t, d int) string {
		if r.IntN(4) == 0 {
			return fmt.Sprintf("%s%d.%d-%d", anyPlace, c, t, d)
		}
		return fmt.Sprintf("%d.%d-%d", c, t, d)
	}
	for c := range components {
		for t := range 2 {
			d := (c + 1 + r.IntN(components-1)) % components
			stream := name(c, t, d)
			s.streams = append(s.streams, stream)
			sends[fmt.Sprint(c, t)] = d
			to[d] = append(to[d], stream)
		}
	}
	for c := range components {
		var m machine
		for t := range 1 + r.IntN(2) {
			m = append(m, generateThread(r, s, c, t, sends[fmt.Sprint(c, t)], to[c]))
		}
		s.machines = append(s.machines, m)
	}
	return s
}

// generateThread makes a thread that sends on its stream only.
func generateThread(r *rand.Rand, s *system, c, t, to int, in []string) (ops []op) {
	var stream string
	for _, name := range s.streams {
		if strings.HasSuffix(name, fmt.Sprintf("%d.%d-%d", c, t, to)) {
			stream = name
		}
	}
	// Messages are more frequent than the rest.
	often := []opKind{read, write, write, choose, send, send, send, receive, receive, receiveAny, skip}
	for range 2 + r.IntN(4) {
		o := op{kind: often[r.IntN(len(often))], n: r.IntN(2)}
		switch o.kind {
		case send:
			o.n, o.stream = to, stream
		case receive:
			if len(in) == 0 {
				continue
			}
			if o.stream = in[r.IntN(len(in))]; strings.HasPrefix(o.stream, anyPlace) {
				o = op{kind: receiveAny, stream: anyPlace}
			}
		case receiveAny:
			o.stream = anyPlace
		}
		ops = append(ops, o)
	}
	return ops
}
