package nodes

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/datagram"
	"github.com/tandem-mc/tandem/check/internal/nodes/given"
	"github.com/tandem-mc/tandem/sut"
)

// airSystem is three nodes that send datagrams to each other (testdata/air). It goes through all
// its states, one step at a time: a node does the next thing, a datagram arrives, the network is
// parted, a node crashes or runs again, or the clock advances.
type airSystem struct {
	steps [3][]string
	down  int // how often the clock advances at most while a node is down
	most  int // states; 0: there is no bound
	seen  map[airState]bool
	got   [3]map[string]bool // what the nodes come to
}

// airState is comparable, so that no state is gone through twice.
type airState struct {
	now    int
	parted int // between a and b; 0: not yet, 1: it is, 2: it has healed, or never is
	nodes  [3]airNode
	// flight are datagrams on their way, in the order in which they were sent, and late those that
	// arrive whenever they like, until the clock has advanced so often as the byte after each says.
	// faults is how many may still suffer, by these kinds.
	flight, late string
	faults       int
	kinds        string
	loses        bool // what is on its way to a node when that crashes
}

type airNode struct {
	at    int  // step
	begun bool // the step waits
	due   int  // so long
	got   string
	// kind is b or o, of the socket; 0: there is none. Those that are connected, to peer, are
	// numbered: nobody sends to a number that is over.
	kind   byte
	number byte
	peer   byte
	opened byte
	serial byte // of the socket, over all lives of the node
	queue  string
	fault  bool
	last   string // whom a reply goes to: node, number
	done   bool
	// crashes are still to come. While the node is down, the clock has advanced ticks times.
	crashes int
	down    bool
	ticks   int
}

// airSize is the length of a datagram: who has sent it, and the number of the socket, 0 if that is
// bound; to whom, and the number; the serial number of the socket that has sent it; and the letter.
const airSize = 6

// airStream is what arrives in its order: what a socket sends to a node.
func airStream(d string) string { return d[:3] + d[4:5] }

func (s *airSystem) explore(t airState) {
	if s.seen[t] || s.most > 0 && len(s.seen) > s.most {
		return
	}
	s.seen[t] = true
	next := t.moves(s)
	if len(next) == 0 {
		next = t.advances(s.down)
	}
	for n := range t.nodes {
		if u := t; t.nodes[n].down {
			u.nodes[n] = airNode{crashes: t.nodes[n].crashes, serial: t.nodes[n].serial}
			next = append(next, u)
		} else if t.nodes[n].crashes > 0 && t.nodes[n].at < len(s.steps[n]) {
			was := &t.nodes[n]
			u.nodes[n] = airNode{crashes: was.crashes - 1, serial: was.serial, down: true}
			u.flight = ""
			for i := 0; i < len(t.flight); i += airSize {
				if d := t.flight[i : i+airSize]; !t.loses || int(d[2]-'a') != n {
					u.flight += d
				}
			}
			next = append(next, u)
		}
	}
	if t.parted == 0 {
		parted := t
		parted.parted = 1
		for _, flight := range cuts(t.flight) {
			parted.flight = flight
			s.explore(parted)
		}
	}
	for i := 0; i < len(t.late); i += airSize + 1 {
		come := t
		come.late = t.late[:i] + t.late[i+airSize+1:]
		come.arrive(t.late[i : i+airSize])
		s.explore(come)
	}
	for _, u := range next {
		s.explore(u)
	}
}

// cuts lists what may be left of datagrams on their way when the network is parted between a and b:
// of those that a socket has sent across, the last ones may be lost.
func cuts(flight string) (list []string) {
	list = []string{flight}
	for i := len(flight) - airSize; i >= 0; i -= airSize {
		d := flight[i : i+airSize]
		isLast := true
		for k := i + airSize; k < len(flight); k += airSize {
			isLast = isLast && airStream(flight[k:k+airSize]) != airStream(d)
		}
		if isLast && d[0] != 'c' && d[2] != 'c' {
			for _, rest := range cuts(flight[:i] + flight[i+airSize:]) {
				if !slices.Contains(list, rest) {
					list = append(list, rest)
				}
			}
		}
	}
	return list
}

// advances are the states after the clock has advanced: the network may heal then.
func (t airState) advances(down int) (list []airState) {
	due := 0
	for i := range t.nodes {
		n := &t.nodes[i]
		if n.begun && (due == 0 || n.due < due) {
			due = n.due
		}
		if n.down && n.ticks == down {
			return nil // it runs again before
		}
		if n.down {
			n.ticks++
		}
	}
	if due == 0 {
		return nil
	}
	t.now = due
	late := ""
	for i := 0; i < len(t.late); i += airSize + 1 {
		left := t.late[i+airSize]
		if left == 0 { // it comes before that
			return nil
		}
		late += t.late[i:i+airSize] + string([]byte{left - 1})
	}
	t.late = late
	if list = []airState{t}; t.parted == 1 {
		t.parted = 2
		list = append(list, t)
	}
	return list
}

// moves are the states after a step for which no time has to pass.
func (t airState) moves(s *airSystem) (list []airState) {
	first := map[string]bool{} // of streams
	for i := 0; i < len(t.flight); i += airSize {
		d := t.flight[i : i+airSize]
		if first[airStream(d)] {
			continue
		}
		first[airStream(d)] = true
		u := t
		u.flight = t.flight[:i] + t.flight[i+airSize:]
		u.arrive(d)
		list = append(list, u)
	}
	for n := range t.nodes {
		switch node := &t.nodes[n]; {
		case node.done || node.down:
		case node.at == len(s.steps[n]):
			s.got[n][node.got] = true
			u := t
			u.nodes[n].done, u.nodes[n].kind, u.nodes[n].queue = true, 0, ""
			list = append(list, u)
		default:
			list = append(list, t.does(n, s.steps[n][node.at])...)
		}
	}
	return list
}

// isAt says whether a node has the socket with a number.
func (n *airNode) isAt(number byte) bool {
	return n.kind == 'b' && number == 0 || n.kind == 'o' && number == n.number
}

// arrive has a datagram reach a socket, if that is there and wants it.
func (t *airState) arrive(d string) {
	n := &t.nodes[d[2]-'a']
	if n.isAt(d[3]) && (n.kind == 'b' || n.peer == d[0] && d[1] == 0) {
		n.queue += d
	}
}

// send lists the states after a datagram was sent: what may become of it.
func (t airState) send(n int, to, number byte, letter string) (list []airState) {
	node := &t.nodes[n]
	from := string([]byte{'a' + byte(n), node.number})
	if node.kind == 'b' {
		from = string([]byte{'a' + byte(n), 0})
	}
	d := from + string([]byte{to, number, node.serial}) + letter
	switch {
	case t.parted == 1 && n+int(to-'a') == 1: // between a and b
		return []airState{t}
	case !t.nodes[to-'a'].isAt(number):
		node.fault = node.fault || node.kind == 'o'
		return []airState{t}
	}
	arrives := t
	arrives.flight += d
	list = []airState{arrives}
	if t.faults > 0 {
		t.faults--
		lost, copied, late := t, t, t
		copied.flight += d + d
		late.late += d + string([]byte{datagram.Longest})
		for kind, u := range map[string]airState{"lost": lost, "duplicated": copied, "reordered": late} {
			if strings.Contains(t.kinds, kind) {
				list = append(list, u)
			}
		}
	}
	return list
}

// does is what a node can do now: begin to wait, give up, or what it waits for.
func (t airState) does(n int, step string) (list []airState) {
	long, _ := strconv.Atoi(step[1:])
	waits := step[0] == 's' || step[0] == 'r'
	if waits && !t.nodes[n].begun {
		t.nodes[n].begun, t.nodes[n].due = true, t.now+long
		return []airState{t}
	}
	before := t
	node := &t.nodes[n]
	node.at, node.begun, node.due = node.at+1, false, 0
	sends := step[0] == 'w' || step[0] == 'W' || step[0] == 'p' && node.last != ""
	switch {
	case (sends || step[0] == 'r') && node.fault:
		node.fault = false
		node.got += "f"
	case step[0] == 'b':
		node.kind = 'b'
		node.serial++
	case step[0] == 'o':
		node.opened++
		node.serial++
		node.kind, node.number, node.peer = 'o', node.opened, step[1]
	case step[0] == 'c':
		node.kind, node.queue, node.fault = 0, "", false
	case step[0] == 'w':
		return t.send(n, step[1], 0, step[2:])
	case step[0] == 'W':
		return t.send(n, node.peer, 0, step[1:])
	case step[0] == 'p' && node.last != "":
		return t.send(n, node.last[0], node.last[1], step[1:])
	case step[0] == 'r' && node.queue != "":
		d := node.queue[:airSize]
		node.queue, node.last = node.queue[airSize:], d[:2]
		node.got += d[:1] + d[5:]
	case step[0] == 'p', step[0] == 'z':
	case t.now >= before.nodes[n].due: // s, or r that is too late
		if step[0] == 'r' {
			node.got += "t"
		}
		return []airState{t}
	default:
		return nil
	}
	list = []airState{t}
	if step[0] == 'r' && before.now >= before.nodes[n].due { // too late as well
		late := before
		l := &late.nodes[n]
		l.at, l.begun, l.due, l.got = l.at+1, false, 0, l.got+"t"
		list = append(list, late)
	}
	return list
}

// randomAir are scripts of three nodes. No sum of some times is that of others. Who reads waits for
// longer than who sleeps, so that something comes.
func randomAir(r *rand.Rand) (scripts []string) {
	short, long := r.Perm(4), r.Perm(6)
	next := func(what string, of *[]int, from int) string {
		n := 1
		for range (*of)[0] + from {
			n *= 3
		}
		*of = (*of)[1:]
		return what + strconv.Itoa(n)
	}
	for n := range 3 {
		other := func() string { return string(rune('a' + (n+1+r.IntN(2))%3)) }
		letter := func() string { return string(rune('x' + r.IntN(3))) }
		script, send := []string{"b"}, func() string { return "w" + other() + letter() }
		if r.IntN(3) == 0 {
			script[0], send = "o"+other(), func() string { return "W" + letter() }
		}
		if r.IntN(4) > 0 { // the others are there then, most often
			script = slices.Insert(script, r.IntN(2), next("s", &short, 0))
		}
		for range 1 + r.IntN(2) {
			script = append(script, send())
		}
		script = append(script, next("r", &long, 4))
		if script[0] == "b" || script[1] == "b" {
			switch r.IntN(4) {
			case 0:
				script = append(script, "c", "b", send())
			case 1:
				script = append(script, send())
			default:
				script = append(script, "p"+letter())
			}
		}
		if r.IntN(2) == 0 {
			script = append(script, next("r", &long, 4))
		}
		scripts = append(scripts, strings.Join(script, " "))
	}
	return scripts
}

// airOutcomes lists what one of the nodes that follow the scripts can come to, from a state on;
// nil: there are more states than that. With 0 there is no bound.
func airOutcomes(scripts []string, who int, from airState, most int, c Config) []string {
	s := &airSystem{down: c.Down, most: most, seen: map[airState]bool{}, got: [3]map[string]bool{{}, {}, {}}}
	for n := range scripts {
		s.steps[n] = strings.Fields(scripts[n])
		if slices.Contains(c.Crashes, n) {
			from.nodes[n].crashes = c.CrashLimit
		}
	}
	if s.explore(from); s.most > 0 && len(s.seen) > s.most {
		return nil
	}
	return slices.Sorted(maps.Keys(s.got[who]))
}

// airNodes are nodes that follow the scripts. One of them checks what it has got.
func airNodes(program *sut.Program, scripts []string, who int, check string) (list []Node) {
	for i, script := range scripts {
		node := Node{Name: string(rune('a' + i)), Program: program, Package: "./testdata/air",
			Listen: fmt.Sprint("10.0.0.", i+1),
			Args:   append([]string{"not:-"}, strings.Fields(script)...)}
		if i == who {
			node.Args[0] = check
		}
		list = append(list, node)
	}
	return list
}

// TestDatagramsAgainstTwin: in walks, random nodes that send datagrams come only to what they come
// to in a system whose states are all gone through. What they come to is replayed.
func TestDatagramsAgainstTwin(t *testing.T) {
	all := []string{"lost", "duplicated", "reordered"}
	link := [][][2]int{{{0, 1}}}
	t.Run("reliable", func(t *testing.T) { compareAir(t, airState{parted: 2}, Config{}) })
	t.Run("faults", func(t *testing.T) {
		compareAir(t, airState{parted: 2, faults: 2, kinds: fmt.Sprint(all)},
			Config{Datagrams: all, Often: given.Often{DatagramLimit: 2}})
	})
	t.Run("parted, with faults", func(t *testing.T) {
		compareAir(t, airState{faults: 1, kinds: fmt.Sprint(all)},
			Config{Partitions: link, Datagrams: all, Often: given.Often{DatagramLimit: 1}})
	})
}

// compareAir compares walks with what random nodes come to from a state on. Each takes as long as
// two of the others, so there are half as many.
func compareAir(t *testing.T, from airState, config Config) {
	t.Helper()
	config.Executions = 300
	kinds := walkTwins(t, airTwins(t, 2, from, config))
	if *systems >= enough && (kinds['f'] == 0 || kinds['t'] == 0 || kinds['x'] == 0) {
		t.Errorf("nodes come to no more than %v", kinds)
	}
}

// airTwins are random nodes that send datagrams, of each so many systems one, and what they come to
// from a state on.
func airTwins(t *testing.T, every int, from airState, c Config) iter.Seq[twin] {
	program := build(t, "./testdata/air")
	return func(yield func(twin) bool) {
		for seed := uint64(1); seed < uint64(*systems); seed += uint64(every) {
			r := rand.New(rand.NewPCG(seed, 11))
			scripts := randomAir(r)
			who := r.IntN(3)
			want := airOutcomes(scripts, who, from, 0, c)
			if !yield(twin{seed, scripts, who, want, func(check string) Config {
				c.Nodes = airNodes(program, scripts, who, check)
				return c
			}}) {
				return
			}
		}
	}
}
