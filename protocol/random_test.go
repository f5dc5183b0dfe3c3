package protocol

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"
)

// spec is a random protocol: what each node does in each state at each event. A node that sends
// goes to a higher state, so runs are finite.
type spec struct {
	nodes, states, messages int
	network                 Network
	faults                  Faults
	// on has the effects by node, state and event; several are chosen from.
	on map[occasion][]effect
	// quorums are the messages of which two of different senders are taken together, by node and
	// state.
	quorums map[[2]int]int
	// bad and good are local states of the first two nodes; end is one of the first.
	bad, good [2]int
	end       int
}

// occasion is an event in a state of a node.
type occasion struct{ node, state, event int }

// Events that are no messages; messages are numbered from 0.
const (
	onStart = -1 - iota
	onAction
	onTimer
	onQuorum
)

// effect is what a node does.
type effect struct {
	next     int
	send     [][2]int // to whom, which message
	setTimer bool
}

// mostNodes is how many nodes a random protocol has at most.
const mostNodes = 5

// drawSpec draws a protocol that has a few thousand states at most, mostly.
func drawSpec(t *rapid.T) *spec {
	s := &spec{on: map[occasion][]effect{}, quorums: map[[2]int]int{}}
	draw := func(from, to int, name string) int { return rapid.IntRange(from, to).Draw(t, name) }
	s.nodes, s.states, s.messages = draw(1, 3, "nodes"), draw(2, 4, "states"), draw(1, 3, "messages")
	s.network = Network(draw(0, 2, "network"))
	if s.network != Duplicating {
		s.faults.Drops, s.faults.Duplicates = draw(-1, 1, "drops"), draw(0, 1, "duplicates")
	}
	s.faults.Crashes = draw(0, 1, "crashes")
	s.faults.Partitions = max(0, draw(-4, 1, "partitions"))
	for node := range s.nodes {
		for state := range s.states {
			for _, event := range []int{onStart, onAction, onTimer, onQuorum, 0, 1, 2} {
				if event < s.messages && draw(0, 2, "has") > 0 {
					s.drawEffects(draw, occasion{node, state, event})
				}
			}
		}
	}
	for i := range s.bad {
		s.bad[i], s.good[i] = draw(0, s.states-1, "bad"), draw(0, s.states-1, "good")
	}
	s.end = draw(0, s.states-1, "end")
	return s
}

// drawSparse draws a protocol of more nodes that do less. There are no faults, few nodes begin
// something, and a step goes on to another state. So there are messages that nobody can send before
// another one has come.
func drawSparse(t *rapid.T) *spec {
	s := &spec{on: map[occasion][]effect{}, quorums: map[[2]int]int{}}
	draw := func(from, to int, name string) int { return rapid.IntRange(from, to).Draw(t, name) }
	s.nodes, s.states = draw(3, mostNodes, "nodes"), draw(3, 4, "states")
	s.messages = draw(1, 3, "messages")
	s.network = Network(draw(0, 1, "network"))
	for node := range s.nodes {
		for state := range s.states - 1 {
			for _, event := range []int{onAction, onQuorum, 0, 1, 2} {
				isRare := event == onAction && (state > 0 || node > 1)
				if event >= s.messages || draw(0, 3, "has") < map[bool]int{true: 3, false: 1}[isRare] {
					continue
				}
				if event == onQuorum {
					s.quorums[[2]int{node, state}] = draw(0, s.messages-1, "quorum")
				}
				e := effect{next: draw(state+1, s.states-1, "next")}
				for range draw(1, 3, "sends") {
					to, message := draw(0, s.nodes-1, "to"), draw(0, s.messages-1, "message")
					e.send = append(e.send, [2]int{to, message})
				}
				s.on[occasion{node, state, event}] = []effect{e}
			}
		}
	}
	for i := range s.bad {
		s.bad[i], s.good[i] = draw(0, s.states-1, "bad"), draw(0, s.states-1, "good")
	}
	s.end = draw(0, s.states-1, "end")
	return s
}

func (s *spec) drawEffects(draw func(from, to int, name string) int, at occasion) {
	if at.event == onQuorum {
		s.quorums[[2]int{at.node, at.state}] = draw(0, s.messages-1, "quorum")
	}
	for range draw(1, 2, "effects") {
		e := effect{next: draw(at.state, s.states-1, "next")}
		// A timer that sets itself again does no harm, since the state stays the same.
		e.setTimer = draw(0, 3, "timer") == 0
		for range draw(0, 2, "sends") {
			if e.next > at.state {
				e.send = append(e.send, [2]int{draw(0, s.nodes-1, "to"), draw(0, s.messages-1, "message")})
			}
		}
		s.on[at] = append(s.on[at], e)
	}
}

// automaton is a node of a spec. The spec is a constant.
type automaton struct {
	spec  *spec
	id    int
	State int
}

func (a *automaton) do(env *Env, event int) {
	effects := a.spec.on[occasion{a.id, a.State, event}]
	if len(effects) == 0 {
		return
	}
	e := effects[env.Choose(len(effects))]
	a.State = e.next
	for _, send := range e.send {
		env.Send(ID(send[0]), send[1])
	}
	if e.setTimer {
		env.SetTimer("tick")
	}
}

func (a *automaton) Receive(env *Env, _ ID, message any) { a.do(env, message.(int)) }
func (a *automaton) Start(env *Env)                      { a.do(env, onStart) }
func (a *automaton) Timeout(env *Env, _ any)             { a.do(env, onTimer) }
func (a *automaton) Act(env *Env, _ any)                 { a.do(env, onAction) }

func (a *automaton) Actions() []any {
	if len(a.spec.on[occasion{a.id, a.State, onAction}]) == 0 {
		return nil
	}
	return []any{"act"}
}

// Crash forgets the state but for whether it was odd.
func (a *automaton) Crash() { a.State %= 2 }

func (a *automaton) Quorums() []Quorum {
	wanted, ok := a.spec.quorums[[2]int{a.id, a.State}]
	if !ok {
		return nil
	}
	return []Quorum{{
		Name: "two", Size: 2,
		Waits:  func(_ ID, message any) bool { return message == wanted },
		Handle: func(env *Env, _ []Message) { a.do(env, onQuorum) },
	}}
}

// model is the protocol as a Model.
func (s *spec) model() *Model {
	state := func(_ ID, n Node) int { return n.(*automaton).State }
	m := &Model{Network: s.network, Faults: s.faults, Constants: []any{s}, Properties: []Property{
		Always("not bad", state, func(v []int) bool { return !s.isAt(v, s.bad) }),
		Sometimes("good", state, func(v []int) bool { return s.isAt(v, s.good) }),
		Eventually("end", state, func(v []int) bool { return v[0] != s.end }),
	}}
	for i := range s.nodes {
		m.Nodes = append(m.Nodes, &automaton{spec: s, id: i})
	}
	return m
}

// isAt says whether the first nodes are in some states.
func (s *spec) isAt(states []int, want [2]int) bool {
	return slices.Equal(states[:min(2, len(states))], want[:min(2, len(states))])
}

// simple is a global state in its simplest form, for the twin.
type simple struct {
	states   [mostNodes]int
	down     [mostNodes]bool
	timer    [mostNodes]bool
	left     Faults
	cut      int    // the nodes that are parted from node 0, as bits
	messages string // from, to and message, of three bytes each, sorted or in the order of sending
}

// twin explores a spec in the simplest way.
type twin struct {
	*spec
	steps       map[simple]int // from the start, to all states
	queue       []simple
	transitions int
	bad, ended  int  // the least steps to a violation; -1 if there is none
	good        bool // a good state was reached
}

// explore goes through all states, or gives up when there are too many.
func (s *spec) explore(most int) (w *twin, ok bool) {
	w = &twin{spec: s}
	starts := []simple{{left: s.faults}}
	for node := range s.nodes {
		var next []simple
		for _, x := range starts {
			w.handle(x, node, onStart, func(y simple) { next = append(next, y) })
		}
		starts = next
	}
	w = s.exploreFrom(starts, most)
	return w, len(w.queue) == 0
}

// exploreFrom goes through the states from some on.
func (s *spec) exploreFrom(starts []simple, most int) *twin {
	w := &twin{spec: s, steps: map[simple]int{}, bad: -1, ended: -1}
	for _, x := range starts {
		w.reach(x, 0)
	}
	for len(w.queue) > 0 && len(w.steps) < most {
		x := w.queue[0]
		w.queue = w.queue[1:]
		before := w.transitions
		w.expand(x, func(y simple) {
			w.transitions++
			w.reach(y, w.steps[x]+1)
		})
		if w.transitions == before && x.states[0] == s.end && w.ended < 0 {
			w.ended = w.steps[x]
		}
	}
	return w
}

func (w *twin) reach(x simple, steps int) {
	if _, known := w.steps[x]; known {
		return
	}
	w.steps[x] = steps
	w.queue = append(w.queue, x)
	if w.isAt(x.states[:w.nodes], w.spec.bad) && w.bad < 0 {
		w.bad = steps
	}
	w.good = w.good || w.isAt(x.states[:w.nodes], w.spec.good)
}

// handle visits each way in which a node may handle an event.
func (w *twin) handle(x simple, node, event int, visit func(simple)) {
	effects := w.on[occasion{node, x.states[node], event}]
	if len(effects) == 0 {
		visit(x)
		return
	}
	seen := map[string]bool{}
	for _, e := range effects {
		y := x
		y.states[node] = e.next
		y.timer[node] = y.timer[node] || e.setTimer
		send := slices.Clone(e.send)
		if w.network != Ordered {
			slices.SortFunc(send, func(a, b [2]int) int { return 10*(a[0]-b[0]) + a[1] - b[1] })
		}
		// Handlers that do the same are one step.
		key := fmt.Sprint(e.next, y.timer[node], send)
		if seen[key] {
			continue
		}
		seen[key] = true
		for _, s := range send {
			if m := string([]byte{byte(node), byte(s[0]), byte(s[1])}); !crosses(y.cut, m) {
				y.messages = w.with(y.messages, m)
			}
		}
		visit(y)
	}
}

// with adds a message.
func (w *twin) with(messages, m string) string {
	list := split(messages)
	if w.network == Duplicating && slices.Contains(list, m) {
		return messages
	}
	list = append(list, m)
	// The order between two nodes matters only if the network is ordered.
	slices.SortStableFunc(list, func(a, b string) int {
		if w.network == Ordered {
			a, b = a[:2], b[:2]
		}
		return compare(a, b)
	})
	return join(list)
}

// crosses says whether a message is between the two sides of a cut.
func crosses(cut int, m string) bool { return (cut>>m[0]^cut>>m[1])&1 == 1 }

// part parts the nodes, or heals the partition.
func (w *twin) part(x simple, visit func(simple)) {
	if x.cut != 0 {
		x.cut = 0
		visit(x)
		return
	}
	for cut := 2; x.left.Partitions > 0 && cut < 1<<w.nodes; cut += 2 {
		y := x
		y.cut = cut
		y.left.Partitions--
		isLost := func(m string) bool { return crosses(cut, m) }
		y.messages = join(slices.DeleteFunc(split(x.messages), isLost))
		visit(y)
	}
}

func (w *twin) expand(x simple, visit func(simple)) {
	w.part(x, visit)
	for node := range w.nodes {
		w.expandOwn(x, node, visit)
	}
	list := split(x.messages)
	for i, m := range list {
		isFirst := !slices.Contains(list[:i], m)
		if w.network == Ordered {
			isFirst = i == 0 || list[i-1][:2] != m[:2]
		}
		if isFirst {
			w.arrive(x, list, i, visit)
		}
	}
}

// expandOwn is for events without a message, and for quorums.
func (w *twin) expandOwn(x simple, node int, visit func(simple)) {
	if x.down[node] {
		x.down[node] = false
		w.handle(x, node, onStart, visit)
		return
	}
	if x.timer[node] {
		y := x
		y.timer[node] = false
		w.handle(y, node, onTimer, visit)
	}
	if len(w.on[occasion{node, x.states[node], onAction}]) > 0 {
		w.handle(x, node, onAction, visit)
	}
	if x.left.Crashes > 0 {
		y := x
		y.left.Crashes--
		y.down[node], y.timer[node] = true, false
		y.states[node] %= 2
		visit(y)
	}
	wanted, ok := w.quorums[[2]int{node, x.states[node]}]
	if !ok {
		return
	}
	list := split(x.messages)
	for i, a := range list {
		for j, b := range list[:i] {
			isHead := func(k int) bool {
				if w.network == Ordered {
					return k == 0 || list[k-1][:2] != list[k][:2]
				}
				return !slices.Contains(list[:k], list[k])
			}
			suffix := string([]byte{byte(node), byte(wanted)})
			if a[0] != b[0] && a[1:] == suffix && b[1:] == suffix && isHead(i) && isHead(j) {
				y := x
				if w.network != Duplicating {
					y.messages = join(slices.Delete(slices.Delete(slices.Clone(list), i, i+1), j, j+1))
				}
				w.handle(y, node, onQuorum, visit)
			}
		}
	}
}

// arrive delivers a message, once or once more, or loses it.
func (w *twin) arrive(x simple, list []string, i int, visit func(simple)) {
	m, without := list[i], x
	if w.network != Duplicating {
		without.messages = join(slices.Delete(slices.Clone(list), i, i+1))
	}
	node := int(m[1])
	wanted, hasQuorum := w.quorums[[2]int{node, x.states[node]}]
	if !x.down[node] && !(hasQuorum && wanted == int(m[2])) {
		w.handle(without, node, int(m[2]), visit)
		if x.left.Duplicates > 0 {
			y := x
			y.left.Duplicates--
			w.handle(y, node, int(m[2]), visit)
		}
	}
	if x.left.Drops != 0 {
		y := without
		y.left.Drops = max(y.left.Drops-1, min(y.left.Drops, -1))
		visit(y)
	}
}

// split and join turn messages of three bytes into a list and back.
func split(messages string) (list []string) {
	for i := 0; i < len(messages); i += 3 {
		list = append(list, messages[i:i+3])
	}
	return list
}

func join(list []string) (messages string) {
	for _, m := range list {
		messages += m
	}
	return messages
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
