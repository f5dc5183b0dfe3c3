package protocol

import (
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// herd is a random protocol of alike nodes, and maybe one more: what a node does in each phase at
// each event.
type herd struct {
	alike, others int
	network       Network
	faults        Faults
	quorum        int // the phase in which two messages are taken together; negative is none
	on            map[[2]int][]deed
}

// phases and kinds of messages are few.
const phases, kinds = 3, 2

// deed is what a node does at an event.
type deed struct {
	next                          int
	keepsPeer, keepsSeen, setsAge bool
	sends                         []parcel
}

// parcel is a message to a target.
type parcel struct{ target, kind, about int }

// Targets of messages, and whom they are about.
const (
	sender = iota
	self
	peer
	seen   // the nodes that were seen
	chosen // any node
	targets
)

// letter is a message.
type letter struct {
	Kind  int
	About ID
}

// member is a node of a herd, which is a constant.
type member struct {
	herd  *herd
	Phase int
	Peer  *ID
	Seen  map[ID]bool
	Log   []ID
}

func (m *member) do(env *Env, event int, from ID) {
	deeds := m.herd.on[[2]int{m.Phase, event}]
	if len(deeds) == 0 {
		return
	}
	d := deeds[env.Choose(len(deeds))]
	m.Phase = d.next
	if d.keepsPeer {
		m.Peer = &from
	}
	if d.keepsSeen {
		m.Seen[from] = true
		m.Log = append(m.Log[:min(1, len(m.Log))], from)
	}
	for _, s := range d.sends {
		about := m.pick(env, s.about, from)
		for _, to := range m.pick(env, s.target, from) {
			env.Send(to, letter{s.kind, append(about, env.ID())[0]})
		}
	}
	if d.setsAge {
		env.SetTimer(from)
	}
}

// pick is whom a deed means.
func (m *member) pick(env *Env, target int, from ID) []ID {
	switch target {
	case sender:
		return []ID{from}
	case self:
		return []ID{env.ID()}
	case peer:
		if m.Peer == nil {
			return nil
		}
		return []ID{*m.Peer}
	case chosen:
		return []ID{ID(env.Choose(env.Nodes()))}
	}
	// A handler is not to depend on the order of a map, nor on that of IDs if one is about all.
	ids := slices.Sorted(maps.Keys(m.Seen))
	return ids[:len(ids)*min(1, 2/max(1, len(ids)))]
}

func (m *member) Receive(env *Env, from ID, message any) {
	l := message.(letter)
	if l.Kind == 0 {
		from = l.About
	}
	m.do(env, l.Kind, from)
}

// Events that are no messages.
const (
	atStart = kinds + iota
	atAction
	atTimer
	atQuorum
	events
)

func (m *member) Start(env *Env)               { m.do(env, atStart, env.ID()) }
func (m *member) Timeout(env *Env, timer any)  { m.do(env, atTimer, timer.(ID)) }
func (m *member) Act(env *Env, action any)     { m.do(env, atAction, action.(ID)) }
func (m *member) Crash()                       { m.Phase, m.Log = 0, nil }
func (m *member) waits(_ ID, message any) bool { return message.(letter).Kind == 1 }
func (m *member) together(e *Env, s []Message) { m.do(e, atQuorum, s[0].Body.(letter).About) }
func (m *member) isQuorum(list []Message) bool { return len(list) == 2 && list[0].Body == list[1].Body }

func (m *member) Actions() (list []any) {
	if len(m.herd.on[[2]int{m.Phase, atAction}]) > 0 {
		for id := range m.Seen {
			list = append(list, id)
		}
		slices.SortFunc(list, func(a, b any) int { return int(a.(ID) - b.(ID)) })
	}
	return list
}

func (m *member) Quorums() []Quorum {
	if m.Phase != m.herd.quorum {
		return nil
	}
	return []Quorum{{Name: "two", Waits: m.waits, Enough: m.isQuorum, Handle: m.together}}
}

// drawHerd draws a protocol that ends: a node that sends goes to a higher phase.
func drawHerd(t *rapid.T) *herd {
	draw := func(from, to int, name string) int { return rapid.IntRange(from, to).Draw(t, name) }
	h := &herd{alike: draw(2, 4, "alike"), others: draw(0, 1, "others"), on: map[[2]int][]deed{},
		quorum: draw(-2, phases-1, "quorum"), network: Network(draw(0, 2, "network"))}
	if h.network != Duplicating {
		h.faults.Drops, h.faults.Duplicates = draw(0, 1, "drops"), max(0, draw(-2, 1, "duplicates"))
	}
	h.faults.Crashes, h.faults.Partitions = max(0, draw(-2, 1, "crashes")), max(0, draw(-3, 1, "partitions"))
	for phase := range phases {
		for event := range events {
			for range draw(0, 2, "deeds") {
				d := deed{next: draw(phase, phases-1, "next"), keepsPeer: draw(0, 1, "peer") > 0,
					keepsSeen: draw(0, 1, "seen") > 0, setsAge: draw(0, 3, "timer") == 0}
				for range draw(0, 2, "sends") {
					if d.next > phase {
						d.sends = append(d.sends, parcel{draw(0, targets-1, "to"), draw(0, kinds-1, "kind"),
							draw(0, seen-1, "about")})
					}
				}
				h.on[[2]int{phase, event}] = append(h.on[[2]int{phase, event}], d)
			}
		}
	}
	return h
}

// model is the protocol; alike nodes come last.
func (h *herd) model() *Model {
	phase := func(_ ID, n Node) int { return n.(*member).Phase }
	count := func(want int) func([]int) int {
		return func(v []int) (n int) {
			for _, p := range v[h.others:] {
				n += map[bool]int{true: 1}[p == want]
			}
			return n
		}
	}
	m := &Model{Network: h.network, Faults: h.faults, Constants: []any{h}, Properties: []Property{
		Always("not two at the end", phase, func(v []int) bool { return count(2)(v) < 2 }),
		Sometimes("one of each", phase, func(v []int) bool { return count(1)(v) == 1 && count(2)(v) == 1 }),
		Eventually("all go on", phase, func(v []int) bool { return count(0)(v) < h.alike }),
	}}
	var set []ID
	for i := range h.others + h.alike {
		if m.Nodes = append(m.Nodes, &member{herd: h, Seen: map[ID]bool{}}); i >= h.others {
			set = append(set, ID(i))
		}
	}
	m.Alike = [][]ID{set}
	return m
}

// orbits counts the states in the simplest way: all are visited, and of each the least text under
// all permutations is kept. There may be too many states.
func (h *herd) orbits(t *rapid.T, m *Model, most int) (states, orbits int, ok bool) {
	machine, err := newMachine(m)
	if err != nil {
		t.Fatal(err)
	}
	w := newWalker(machine, newConfig(machine))
	known, texts := map[string]bool{}, map[string]bool{}
	queue, err := w.walk.First()
	for ; err == nil && len(queue) > 0; queue = queue[1:] {
		if len(known) > most {
			return 0, 0, false
		}
		if known[string(queue[0])] {
			continue
		}
		known[string(queue[0])] = true
		texts[h.leastText(t, w, queue[0])] = true
		var next [][]byte
		_, next, err = w.walk.Steps(queue[0])
		queue = append(queue, next...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return len(known), len(texts), true
}

// leastText is the least of a state's texts under all permutations.
func (h *herd) leastText(t *rapid.T, w *walker, state []byte) (least string) {
	n := h.others + h.alike
	var try func(to []int)
	try = func(to []int) {
		if len(to) == n {
			if text := h.text(t, w, state, to); least == "" || text < least {
				least = text
			}
			return
		}
		for i := h.others; i < n; i++ {
			if !slices.Contains(to, i) {
				try(append(slices.Clone(to), i))
			}
		}
	}
	first := make([]int, h.others)
	try(first)
	return least
}

// text is a state with other names.
func (h *herd) text(t *rapid.T, w *walker, state []byte, to []int) string {
	locals, messages := w.walk.Look(state)
	lines := make([]string, len(to))
	for node, l := range locals {
		x, err := w.machine.decode(node, w.table.State(node, l).Image)
		if err != nil {
			t.Fatal(err)
		}
		m := x.node.(*member)
		var ids, timers []string
		for id := range m.Seen {
			ids = append(ids, fmt.Sprint(to[id]))
		}
		for _, timer := range x.timers {
			value, err := w.machine.images.Decode([]byte(timer))
			if err != nil {
				t.Fatal(err)
			}
			timers = append(timers, fmt.Sprint(to[value.(ID)]))
		}
		slices.Sort(ids)
		slices.Sort(timers)
		line := fmt.Sprint(m.Phase, x.down, ids, timers)
		if m.Peer != nil {
			line += fmt.Sprint(" peer ", to[*m.Peer])
		}
		for _, id := range m.Log {
			line += fmt.Sprint(" log ", to[id])
		}
		lines[to[node]] = line
	}
	var letters []string
	for _, number := range messages {
		sent := w.table.Message(number)
		value, err := w.machine.images.Decode(sent.Image)
		if err != nil {
			t.Fatal(err)
		}
		l := value.(letter)
		letters = append(letters, fmt.Sprintf("%d>%d %d %d", to[sent.From], to[sent.To], l.Kind, to[l.About]))
	}
	slices.SortStableFunc(letters, func(a, b string) int {
		if h.network == Ordered {
			a, b = a[:3], b[:3]
		}
		return strings.Compare(a, b)
	})
	return strings.Join(append(lines, letters...), "\n") + h.faultsText(state, to)
}

// faultsText is what is left of the faults, and the partition.
func (h *herd) faultsText(state []byte, to []int) (text string) {
	next := func() uint64 {
		n, size := binary.Uvarint(state)
		state = state[size:]
		return n
	}
	for range to {
		next()
	}
	for _, bound := range []int{h.faults.Drops, h.faults.Duplicates, h.faults.Crashes, h.faults.Partitions} {
		if bound > 0 {
			text += fmt.Sprint("\n", next())
		}
	}
	if h.faults.Partitions == 0 {
		return text
	}
	cut, sides := next(), [2]string{}
	for name := range to {
		sides[cut>>slices.Index(to, name)&1] += fmt.Sprint(name, " ")
	}
	slices.Sort(sides[:])
	return text + fmt.Sprint(sides)
}

// TestAlikeTwin: with alike nodes there are as many states as orbits, and verdicts and the lengths
// of shortest runs are those without. Runs are those of the model.
func TestAlikeTwin(t *testing.T) {
	if err := flag.Set("rapid.checks", strconv.Itoa(*protocols/4)); err != nil {
		t.Fatal(err)
	}
	states, orbits, compared, dir := 0, 0, 0, t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		h := drawHerd(t)
		m := h.model()
		all, kept, ok := h.orbits(t, m, 1000)
		if !ok {
			return
		}
		compared++
		states, orbits = states+all, orbits+kept
		properties, set := m.Properties, m.Alike
		m.Properties = nil
		workers := rapid.IntRange(1, 3).Draw(t, "workers")
		for _, o := range []Options{{Workers: workers}, {Search: DepthFirst},
			{Workers: workers, External: dir, onDisk: drawSizes(t)}} {
			r, err := Check(m, o)
			if err != nil || r.Verdict != Holds || r.States != kept {
				t.Fatalf("%+v: %v, error %v; want %d states of %d", o, r, err, kept, all)
			}
		}
		for i := range properties {
			m.Properties, m.Alike = properties[i:i+1], nil
			plain, err := Check(m, Options{Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			want := -1
			if plain.Violation != nil {
				want = plain.Violation.Steps
			}
			m.Alike = set
			if plain.Verdict == Violated && want < 0 {
				r, err := Check(m, Options{Workers: workers})
				if err != nil || !slices.Equal(r.Unreached, plain.Unreached) {
					t.Fatalf("%v, error %v; without alike nodes %v", r, err, plain)
				}
				continue
			}
			checkProperty(t, m, want, Options{Workers: workers})
			checkProperty(t, m, want, Options{Workers: workers, External: dir, onDisk: drawSizes(t)})
		}
	})
	t.Logf("%d protocols compared: %d orbits of %d states", compared, orbits, states)
	// Half of the states are orbits, more or less: protocols are random.
	if orbits*4 > states*3 {
		t.Errorf("%d orbits of %d states: too few are alike", orbits, states)
	}
}

// stray is a node with an ID in a number, or something else that tells nodes apart.
type stray struct {
	Number int
	Kept   ID
	Lists  []bool
	how    string
}

func (s *stray) Start(env *Env) {
	switch {
	case s.how == "start" && env.ID() == 1:
		env.Send(0, "I am special")
	case s.how == "assertion":
		s.Kept = env.ID()
	}
	env.Broadcast("hello")
	env.SetTimer(0)
}

func (s *stray) Receive(env *Env, from ID, message any) {
	switch s.how {
	case "number":
		s.Number = int(from)
	case "slice":
		s.Lists[from] = true
	case "message":
		if message == "hello" {
			env.Send(from, int(env.ID()))
		}
	case "panic":
		env.Assert(from != 1)
	case "name", "property", "end":
		s.Kept = from
	}
}

func (s *stray) Timeout(env *Env, _ any) {
	if s.how == "compares" && env.ID() > 0 {
		s.Number++
	}
}

func (s *stray) Actions() []any {
	if s.how == "action" && s.Number == 0 {
		return []any{1}
	}
	return nil
}

func (s *stray) Act(env *Env, _ any) { s.Number = 1 + int(env.ID()) }

// TestNotAlike: what tells alike nodes apart is found, and named.
func TestNotAlike(t *testing.T) {
	kept := func(_ ID, n Node) ID { return n.(*stray).Kept }
	first := func(ids []ID) bool { return ids[0] != 2 }
	for how, want := range map[string]string{
		"number":    "Number: ",
		"slice":     "Lists[",
		"message":   "it does something else when node 0 and node 1 are exchanged: it sends",
		"panic":     "it panics only once",
		"start":     `at the start: it does something else when node 0 and node 1 are exchanged: it sends`,
		"compares":  "on timer 0: it does something else when node 0 and node 1 are exchanged: Number: ",
		"action":    "in Act (protocol/alike_test.go:",
		"property":  `property "first" is something else when node `,
		"end":       `property "last" is something else when node `,
		"assertion": `assertion "not 1" is something else when node `,
	} {
		t.Run(how, func(t *testing.T) {
			m := &Model{Alike: [][]ID{{2, 0, 1}}}
			for range 3 {
				m.Nodes = append(m.Nodes, &stray{how: how, Kept: -1, Lists: make([]bool, 3)})
			}
			switch how {
			case "property":
				m.Properties = []Property{Always("first", kept, first)}
			case "end":
				m.Properties = []Property{Eventually("last", kept, first)}
			case "assertion":
				m.Properties = []Property{Assertion("not 1",
					func(_ ID, n Node) bool { return n.(*stray).Kept != 1 })}
			}
			wantError(t, m, want)
		})
	}
	m := &Model{Nodes: []Node{&stray{}, &stray{}, &stray{Kept: 1}}, Alike: [][]ID{{0, 1, 2}},
		Names: []string{"A", "B", "C"}}
	wantError(t, m, "is something else at the start when A and B are exchanged: Kept: ", "Alike")
	m.Alike = [][]ID{{0}}
	if _, err := Check(m, Options{Reduce: true}); err != nil {
		t.Errorf("a node is like itself: error %v", err)
	}
	m = &Model{Nodes: []Node{&stray{Kept: -1}, &stray{Kept: -1}}, Alike: [][]ID{{0, 1}}}
	for _, o := range []Options{{Reduce: true}, {Search: Local}} {
		if _, err := Check(m, o); err == nil || !strings.Contains(err.Error(), "knows no alike nodes") {
			t.Errorf("error %v", err)
		}
	}
}

// TestBadAlike: sets that make no sense are refused.
func TestBadAlike(t *testing.T) {
	nodes := []Node{&stray{}, &stray{}, &counter{}}
	all := make([]ID, 9)
	for i := range all {
		all[i] = ID(i)
	}
	for want, m := range map[string]*Model{
		"node 3 of Alike does not exist":         {Nodes: nodes, Alike: [][]ID{{3}}},
		"node 0 is twice in Alike":               {Nodes: nodes, Alike: [][]ID{{0, 1}, {0}}},
		"node 0 and node 2 are of different":     {Nodes: nodes, Alike: [][]ID{{0, 2}}},
		"more than 40320 orders":                 {Nodes: slices.Repeat(nodes[:1], 9), Alike: [][]ID{all}},
		"node 0 images by itself: leave out App": {Nodes: []Node{&own{}, &own{}}, Alike: [][]ID{{0, 1}}},
	} {
		wantError(t, m, want)
	}
}

// TestAlikeFailure: a failure of a handler and one at the start have real runs.
func TestAlikeFailure(t *testing.T) {
	fail := func(c *counter, env *Env, _ any) {
		if c.N++; c.N == 2 {
			panic("two")
		}
	}
	m := &Model{Nodes: []Node{&counter{Most: 3, On: fail}, &counter{Most: 3, On: fail}},
		Alike: [][]ID{{0, 1}}}
	r, err := Check(m, Options{Workers: 1})
	if err != nil || r.Violation == nil || r.Violation.Steps != 2 {
		t.Fatalf("%v, error %v; want a violation after 2 steps", r, err)
	}
	if again, err := replay(m, r.Violation.Run); err != nil || again.What != r.Violation.What {
		t.Errorf("replay: %+v, error %v; the violation was %+v", again, err, r.Violation)
	}
	m = &Model{Nodes: []Node{failsAtStart{}, failsAtStart{}}, Alike: [][]ID{{0, 1}}}
	if r, err = Check(m, Options{}); err != nil || !strings.Contains(r.Violation.What, "never") {
		t.Errorf("%v, error %v", r, err)
	}
}
