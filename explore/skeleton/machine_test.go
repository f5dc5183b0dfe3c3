package skeleton

import (
	"fmt"
	"maps"
	"math"
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
	read         opKind = iota // takes a variable into the register of the thread
	write                      // puts the register into a variable
	choose                     // one of two values
	send                       // a bit of the register, on a stream of the thread
	receive                    // what another component has sent on a stream
	receiveAny                 // what anybody has sent to this component's common place
	skip                       // the next operation, if the register is odd
	arm                        // sets the timer of the thread
	wait                       // waits until that is due
	receiveUntil               // receives what was sent on a stream, or gives up once that is due
	sendLate                   // as send; the network may have it be late
)

type op struct {
	kind   opKind
	n      int    // the variable, the component that it sends to, or how long it is
	stream string // that it sends on, or that it receives what was sent on
}

// machine has the operations of each thread.
type machine [][]op

const anyPlace = "any" // what the streams to a common place begin with

const late = "late" // what the label of something ends with that is late

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
	due       []int // of threads
	now       int
	ticks     int
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
		l.pc, l.reg, l.due = append(l.pc, 0), append(l.reg, 0), append(l.due, 0)
		l.clocks, l.trace = append(l.clocks, counts{}), append(l.trace, "")
	}
	return l
}

func (l *local) clone() *local {
	c := *l
	c.pc, c.reg, c.vars = slices.Clone(l.pc), slices.Clone(l.reg), slices.Clone(l.vars)
	c.due = slices.Clone(l.due)
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
		case choose, sendLate:
			list = append(list, l.step(t, 0, nil), l.step(t, 1, nil))
		case receive:
			if e := available(o.stream, l.taken[o.stream]+1); e != nil {
				list = append(list, l.step(t, 0, e))
			}
		case wait:
			if l.now >= l.due[t] {
				list = append(list, l.step(t, 0, nil))
			}
		case receiveUntil:
			if e := available(o.stream, l.taken[o.stream]+1); e != nil {
				list = append(list, l.step(t, 0, e))
			}
			if l.now >= l.due[t] {
				list = append(list, l.step(t, 1, nil))
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
	if o.kind == receiveUntil {
		if o.kind = receive; got == nil {
			o.kind, l.reg[t] = wait, (l.reg[t]*2+1)%8
		}
	}
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
	case send, sendLate:
		e := Event{Name: Name{l.component, o.stream, c[o.stream] + 1}, To: o.n,
			Label: text(fmt.Sprint(l.reg[t]%2) + strings.Repeat(late, alternative)), Past: l.past(c)}
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
		l.reg[t] = (l.reg[t]*2 + int(got.Label.Key()[0]-'0') + 3*got.Component + len(got.Label.Key()) - 1) % 8
	case arm:
		l.due[t] = l.now + o.n
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

// forever is what a component waits for that no timer wakes.
const forever = text("forever")

// rest says what a component waits for that can do nothing else; nil: it is gone. Else it says when
// its first timer is due; 0: it has none.
func (l *local) rest() (waits Label, due int) {
	for t := range l.m {
		if l.pc[t] == len(l.m[t]) {
			continue
		}
		if waits == nil {
			waits = forever
		}
		switch l.m[t][l.pc[t]].kind {
		case wait, receiveUntil:
			if due == 0 || l.due[t] < due {
				due = l.due[t]
			}
		}
	}
	if due > 0 {
		waits = text(fmt.Sprint("until ", due))
	}
	return waits, due
}

// first is when the first of some timers is due; 0: there are none.
func first(dues []int) (now int) {
	for _, due := range dues {
		if due > 0 && (now == 0 || due < now) {
			now = due
		}
	}
	return now
}

// tick has the clock advance to a time.
func (l *local) tick(now int) *local {
	waits, due := l.rest()
	l = l.clone()
	l.now = now
	l.ticks++
	c := counts{}
	for t := range l.m {
		c = c.with(l.clocks[t])
	}
	label := text(fmt.Sprint(now, " own ", due == now))
	l.events = append(l.events, Event{Name: Name{l.component, "clock", l.ticks}, To: Nobody,
		Label: label, Past: l.past(c), Tick: l.ticks, Waited: waits})
	c["clock"]++
	for t := range l.m {
		l.clocks[t] = maps.Clone(c)
		l.trace[t] += fmt.Sprint("tick ", now, ";")
	}
	return l
}

// advance has all components take part in the advance of the clock that have not ended; nil: there
// is no timer, or somebody is not there whose rest counts.
func advance(all []*local) []*local {
	var dues []int
	for _, l := range all {
		_, due := l.rest()
		dues = append(dues, due)
	}
	now := first(dues)
	if now == 0 {
		return nil
	}
	next := slices.Clone(all)
	for c, l := range all {
		if waits, _ := l.rest(); waits != nil {
			next[c] = l.tick(now)
		}
	}
	return next
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
	timed    bool // has timers
	faults   int  // how much is late in an execution at most
}

// isLate says whether an event sends something that is late.
func isLate(e *Event) bool { return !e.receives() && strings.HasSuffix(e.Label.Key(), late) }

// isPossible says whether no more is late than may be, in all components together.
func (s *system) isPossible(all []*local) bool {
	n := 0
	for _, l := range all {
		for i := range l.events {
			if isLate(&l.events[i]) {
				n++
			}
		}
	}
	return n <= s.faults
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
				if next[c] = n; s.isPossible(next) {
					stack = append(stack, next)
				}
			}
		}
		if end {
			if next := advance(all); next != nil {
				stack = append(stack, next)
				continue
			}
			ended(all)
		}
	}
	return true
}

// complete finds an execution that begins with a prefix: depth first, in the order of r. A
// component that has ended in the prefix does nothing more that others notice, unless it waits, and
// the clock advances. If it can never wait there, the execution goes as far as that.
func (s *system) complete(prefix Global, r *rand.Rand) Global {
	seen := map[string]bool{}
	var until Global
	var search func(all []*local) Global
	search = func(all []*local) Global {
		if key := keyOfAll(all); seen[key] {
			return nil
		} else {
			seen[key] = true
		}
		end, rests := true, true
		for _, c := range r.Perm(len(all)) {
			done := len(all[c].events) >= len(prefix[c].Events)
			held := prefix[c].Ended && len(all[c].events) == len(prefix[c].Events)
			for _, n := range all[c].next(s.streams, sent(all)) {
				grown := len(n.events) > len(all[c].events)
				if held && grown {
					rests = false
					continue
				}
				end = end && held
				rests = false
				if grown && !done && !prefix[c].begins(n.events[len(n.events)-1:]) {
					continue
				}
				next := slices.Clone(all)
				if next[c] = n; !s.isPossible(next) {
					continue
				}
				if g := search(next); g != nil {
					return g
				}
			}
		}
		if !end {
			return nil
		}
		g, whole := s.ending(all, prefix, rests, search)
		if !whole {
			if until == nil {
				until = g
			}
			return nil
		}
		return g
	}
	if g := search(s.start()); g != nil {
		return g
	}
	return until
}

// ending is what becomes of a state in which no component goes on, but those that have ended in the
// prefix might. It is whole if the clock has not to advance for one that does not wait.
func (s *system) ending(all []*local, prefix Global, rests bool,
	search func([]*local) Global) (Global, bool) {
	g, dues := make(Global, len(all)), make([]int, len(all))
	complete, waits := true, true
	for c, l := range all {
		complete = complete && len(l.events) >= len(prefix[c].Events)
		g[c] = Local{Events: l.events, Ended: true}
		g[c].Waits, dues[c] = l.rest()
		if prefix[c].Ended && len(l.events) == len(prefix[c].Events) {
			waits = waits && g[c].Waits == prefix[c].Waits
			g[c].Waits, dues[c] = prefix[c].Waits, dueOf(prefix[c].Waits)
		}
	}
	now := first(dues)
	switch {
	case now == 0 && complete:
		return g, true
	case now == 0:
		return nil, true
	case rests && waits:
		next := advance(all)
		for c, l := range next {
			if last := len(l.events) - 1; last >= len(all[c].events) && last < len(prefix[c].Events) &&
				!prefix[c].begins(l.events[last:]) {
				return nil, true
			}
		}
		return search(next), true
	case complete:
		return g, false
	}
	return nil, true
}

// dueOf is when a component goes on that waits.
func dueOf(waits Label) (due int) {
	if waits != nil {
		fmt.Sscanf(waits.Key(), "until %d", &due)
	}
	return due
}

// exploreLocal explores one component against what a skeleton says of the others.
func (s *system) exploreLocal(item Item) (x Exploration) {
	wanted, times := map[string]bool{}, map[int]int{}
	for i := range item.Local.Events {
		e := &item.Local.Events[i]
		wanted[e.key()] = true
		if e.Tick > 0 {
			now := 0
			fmt.Sscanf(e.Label.Key(), "%d", &now)
			times[e.Tick] = now
		}
	}
	seen, asked := map[string]bool{}, map[Name]bool{}
	defer func() { x.Idle = idle(item.Arrivals, asked) }()
	stack := []*local{start(s.machines[item.Component], item.Component)}
	for len(stack) > 0 {
		l := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[l.key()] {
			continue
		}
		seen[l.key()] = true
		next := l.next(s.streams, offered(item.Arrivals, l, asked))
		for _, n := range next {
			if last := len(n.events) - 1; last < len(l.events) || wanted[n.events[last].key()] {
				stack = append(stack, n)
			} else {
				x.Branches = append(x.Branches,
					Branch{Component: item.Component, Before: l.events, Event: &n.events[last]})
			}
		}
		if len(next) > 0 {
			continue
		}
		waits, due := l.rest()
		if now := times[l.ticks+1]; waits != nil && now > 0 && (due == 0 || now <= due) {
			if n := l.tick(now); wanted[n.events[len(n.events)-1].key()] {
				stack = append(stack, n)
				continue
			}
		}
		if len(l.events) == len(wanted) && waits == item.Local.Waits {
			x.Traces++
			x.Outcomes = append(x.Outcomes, l.outcome())
		} else {
			x.Branches = append(x.Branches,
				Branch{Component: item.Component, Before: l.events, Waits: waits})
		}
	}
	return x
}

// exploreSome is exploreLocal as a search does it that runs one execution of those that differ only
// in the order of independent operations, each to its end. Such an execution may leave the skeleton
// in several places. Each is a branch, with all that comes of none of them before it.
func (s *system) exploreSome(item Item) (x Exploration) {
	wanted := map[Name]string{}
	for i := range item.Local.Events {
		wanted[item.Local.Events[i].Name] = item.Local.Events[i].key()
	}
	seen, asked := map[string]bool{}, map[Name]bool{}
	defer func() { x.Idle = idle(item.Arrivals, asked) }()
	stack := []*local{start(s.machines[item.Component], item.Component)}
	for len(stack) > 0 {
		l := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[l.key()] {
			continue
		}
		seen[l.key()] = true
		follows, departures := l.compare(wanted)
		next := l.next(s.streams, offered(item.Arrivals, &local{events: follows}, asked))
		if stack = append(stack, next...); len(next) > 0 {
			continue
		}
		for i := range departures {
			x.Branches = append(x.Branches,
				Branch{Component: item.Component, Before: follows, Event: &departures[i]})
		}
		if len(departures) > 0 {
			continue
		}
		waits, due := l.rest()
		if n := l.ticksAs(item.Local.Events, waits, due); n != nil {
			stack = append(stack, n)
		} else if len(l.events) == len(wanted) && waits == item.Local.Waits {
			x.Traces++
			x.Outcomes = append(x.Outcomes, l.outcome())
		} else {
			x.Branches = append(x.Branches,
				Branch{Component: item.Component, Before: l.events, Waits: waits})
		}
	}
	return x
}

// compare lists the events that are those of a skeleton and come of no others, and those others
// that come of no others.
func (l *local) compare(wanted map[Name]string) (follows, departures []Event) {
	astray := map[string]int{} // the first one of each stream that is not wanted, or comes of such
	for _, e := range l.events {
		lost := slices.ContainsFunc(e.Past,
			func(n Name) bool { return astray[n.Stream] > 0 && astray[n.Stream] <= n.N })
		if !lost && wanted[e.Name] == e.key() {
			follows = append(follows, e)
			continue
		}
		if !lost {
			departures = append(departures, e)
		}
		if astray[e.Stream] == 0 {
			astray[e.Stream] = e.N
		}
	}
	return follows, departures
}

// ticksAs has the clock advance if the events of a skeleton say so; nil: they do not.
func (l *local) ticksAs(events []Event, waits Label, due int) *local {
	for i := range events {
		if events[i].Tick != l.ticks+1 || waits == nil {
			continue
		}
		now := 0
		fmt.Sscanf(events[i].Label.Key(), "%d", &now)
		if due > 0 && now > due {
			return nil
		}
		if n := l.tick(now); n.events[len(n.events)-1].key() == events[i].key() {
			return n
		}
	}
	return nil
}

// idle lists the arrivals that were not asked for.
func idle(arrivals []Arrival, asked map[Name]bool) (list []Idle) {
	for i := range arrivals {
		if n := arrivals[i].Send.Name; !asked[n] {
			list = append(list, Idle{Arrival: n})
		}
	}
	return list
}

// offered offers what arrives, as soon as what it comes of has happened. It notes what is asked
// for, whether it is there yet or not.
func offered(arrivals []Arrival, l *local, asked map[Name]bool) offer {
	happened := map[Name]bool{}
	for i := range l.events {
		happened[l.events[i].Name] = true
	}
	return func(stream string, n int) *Event {
		for i := range arrivals {
			a := &arrivals[i]
			if a.Send.Stream != stream || a.Send.N != n {
				continue
			}
			asked[a.Send.Name] = true
			if !slices.ContainsFunc(a.After, func(n Name) bool { return !happened[n] }) {
				return &a.Send
			}
		}
		return nil
	}
}

// reduce explores the system component by component. The items are done in the order of r, some of
// them twice.
func (s *system) reduce(r *rand.Rand) *System { return s.finish(New(len(s.machines)), r) }

// finish does all the work of an exploration.
func (s *system) finish(d *System, r *rand.Rand) *System { return s.finishWithin(d, r, math.MaxInt) }

// finishWithin is finish within so many items; nil: there are more.
func (s *system) finishWithin(d *System, r *rand.Rand, most int) *System {
	for work := d.Work(); len(work) > 0; work = d.Work() {
		if most--; most < 0 {
			return nil
		}
		item := work[r.IntN(len(work))]
		for range 1 + r.IntN(2) {
			if item.Component == Completion {
				if g := s.complete(item.Prefix, r); g != nil {
					d.Completed(item.Key, g)
				} else {
					d.Impossible(item.Key)
				}
			} else if e, found := d.Alike(item); found {
				d.Explored(item.Key, e)
			} else if r.IntN(2) == 0 {
				d.Explored(item.Key, s.exploreLocal(item))
			} else {
				d.Explored(item.Key, s.exploreSome(item))
			}
		}
	}
	return d
}

// generate makes a random system, with timers or without.
func generate(r *rand.Rand, timed bool) *system { return generateOf(2+r.IntN(2), r, timed) }

// generateOf makes a random system of so many components.
func generateOf(components int, r *rand.Rand, timed bool) *system {
	return generateFaulty(components, r, timed, 0)
}

// generateFaulty makes a random system in which so much is late at most.
func generateFaulty(components int, r *rand.Rand, timed bool, faults int) *system {
	s := &system{timed: timed, faults: faults}
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
	if s.timed {
		often = append(often, wait, receiveUntil, receiveUntil)
	}
	if s.faults > 0 {
		often = append(often, sendLate, sendLate, sendLate)
	}
	for range 2 + r.IntN(4) {
		o := op{kind: often[r.IntN(len(often))], n: r.IntN(2)}
		switch o.kind {
		case send, sendLate:
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
		case receiveUntil:
			// What comes to the common place is received by whoever wants it.
			if o.stream = ""; len(in) > 0 && !strings.HasPrefix(in[0], anyPlace) {
				o.stream = in[0]
			}
		}
		if o.kind == wait || o.kind == receiveUntil {
			ops = append(ops, op{kind: arm, n: 1 + r.IntN(2)})
		}
		ops = append(ops, o)
	}
	return ops
}

// generateWaits makes a random system whose components choose what they send, and how long they
// wait.
func generateWaits(r *rand.Rand) *system { return generateWaitsOf(2+r.IntN(2), r) }

// generateWaitsOf makes such a system of so many components.
func generateWaitsOf(components int, r *rand.Rand) *system {
	s := &system{timed: true}
	for c := range components {
		to := (c + 1) % components
		s.streams = append(s.streams, fmt.Sprintf("%d.0-%d", c, to))
	}
	for c := range components {
		var ops []op
		for range 1 + r.IntN(2) {
			ops = append(ops, op{kind: choose}, op{kind: skip},
				op{kind: send, n: (c + 1) % components, stream: s.streams[c]})
			if ops = append(ops, op{kind: arm, n: 1 + r.IntN(2)}); r.IntN(2) == 0 {
				ops = append(ops, op{kind: choose}, op{kind: skip}, op{kind: arm, n: 3})
			}
			if last := (c + components - 1) % components; r.IntN(3) == 0 {
				ops = append(ops, op{kind: receiveUntil, stream: s.streams[last]})
				continue
			}
			ops = append(ops, op{kind: wait})
		}
		s.machines = append(s.machines, machine{ops})
	}
	return s
}
