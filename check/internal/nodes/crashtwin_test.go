package nodes

import (
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/internal/model"
)

// mortalSystem is a server and a client that may crash, each of which may have two goroutines
// (testdata/parted). It goes through all its states, one step at a time: a node does the next
// thing, one message arrives, a node crashes or runs again, or the clock advances.
type mortalSystem struct {
	steps [2][2][]string // by goroutine; the server is the first one
	down  int            // how often the clock advances at most while a node is down
	seen  map[mortalState]bool
	got   [2]map[string]bool // what the nodes come to, in any of their lives
	both  bool               // both hold the lock in some state
}

// mortalState is comparable, so that no state is gone through twice.
type mortalState struct {
	now   int
	nodes [2]mortalNode
	// conns are all connections, of which a client makes one in each of its lives.
	conns [4]mortalConn
	made  int
	// listens: the server has a listener. closed: connects are refused.
	listens, closed bool
}

type mortalNode struct {
	threads [2]mortalThread
	got     string
	conn    int // 1 and which connection it has; 0: none
	done    bool
	holds   bool // the lock
	crashes int  // still to come
	down    bool
	ticks   int // since it is down
	// there says whether there is a file, and file has its letters. unsynced are the
	// changes that are not durable, n for the name.
	there          bool
	file, unsynced string
}

type mortalThread struct {
	at    int  // step
	begun bool // the step waits
	due   int  // so long
}

type mortalConn struct {
	ends     [2]partedEnd // at the server, and at the client
	accepted bool
}

func (p *mortalSystem) explore(s mortalState) {
	if p.seen[s] || len(p.seen) > mostMortal {
		return
	}
	p.seen[s] = true
	p.both = p.both || s.nodes[0].holds && s.nodes[1].holds
	next := s.moves(p)
	if len(next) == 0 {
		next = s.advances(p.down)
	}
	for n := range s.nodes {
		if node := &s.nodes[n]; node.down {
			next = append(next, s.restarts(n))
		} else if node.crashes > 0 && !node.done && node.hasInput(p.steps[n]) {
			next = append(next, s.crashesAt(n)...)
		}
	}
	for _, t := range next {
		p.explore(t)
	}
}

// mostMortal is how many states a system has that is compared. Others would take too long.
const mostMortal = 5000

// hasInput says whether the node has an input to come: it crashes right before one. It has none
// when it loads a file, or has nothing to sync. What else it asks, while a timer is due, and others
// may come first, is between what it has done and its last input.
func (n *mortalNode) hasInput(steps [2][]string) bool {
	for thread, all := range steps {
		for _, step := range all[n.threads[thread].at:] {
			if step[0] == 'S' && n.unsynced != "" || step[0] == 'y' && n.file != "" ||
				!strings.ContainsAny(step[:1], "liSy") {
				return true
			}
		}
	}
	return false
}

// crashesAt are the states after a node has crashed.
func (s mortalState) crashesAt(n int) (list []mortalState) {
	s.ends(n)
	for lost := range len(s.nodes[n].unsynced) + 1 {
		t := s
		was := &s.nodes[n]
		left := mortalNode{down: true, crashes: was.crashes - 1, there: was.there, file: was.file}
		for _, change := range was.unsynced[len(was.unsynced)-lost:] {
			if change == 'n' {
				left.there = false
				continue
			}
			left.file = left.file[:len(left.file)-1]
		}
		t.nodes[n] = left
		list = append(list, t)
	}
	return list
}

// restarts is the state after a node that is down runs again.
func (s mortalState) restarts(n int) mortalState {
	was := &s.nodes[n]
	s.nodes[n] = mortalNode{crashes: was.crashes, there: was.there, file: was.file}
	return s
}

// ends has the process of a node be gone.
func (s *mortalState) ends(n int) {
	if c := s.nodes[n].conn; c > 0 {
		s.conns[c-1].ends[n].close()
	}
	if n != 0 || !s.listens {
		return
	}
	s.listens, s.closed = false, true
	for i := range s.made {
		if c := &s.conns[i]; !c.accepted && !c.ends[0].closed {
			c.ends[0].abort() // nobody has accepted it
		}
	}
}

// advances are the states after the clock has advanced.
func (s mortalState) advances(down int) []mortalState {
	due := 0
	for i := range s.nodes {
		n := &s.nodes[i]
		for _, t := range n.threads {
			if t.begun && (due == 0 || t.due < due) {
				due = t.due
			}
		}
		if n.down && n.ticks == down {
			return nil // it runs again before
		}
	}
	if due == 0 {
		return nil
	}
	s.now = due
	for i := range s.nodes {
		if s.nodes[i].down {
			s.nodes[i].ticks++
		}
	}
	return []mortalState{s}
}

// moves are the states after a step for which no time has to pass.
func (s mortalState) moves(p *mortalSystem) (list []mortalState) {
	for i := range s.made {
		for e := range s.conns[i].ends {
			if sent := s.conns[i].ends[e].sent; sent != "" {
				t := s
				t.conns[i].ends[e].sent = sent[1:]
				t.conns[i].ends[1-e].get(sent[0])
				list = append(list, t)
			}
		}
	}
	for n := range s.nodes {
		switch node := &s.nodes[n]; {
		case node.done || node.down:
		case node.threads[0].at == len(p.steps[n][0]) && node.threads[1].at == len(p.steps[n][1]):
			p.got[n][node.got] = true
			t := s
			t.nodes[n].done, t.nodes[n].holds = true, false
			t.ends(n)
			list = append(list, t)
		default:
			for thread, steps := range p.steps[n] {
				if node.threads[thread].at < len(steps) {
					list = append(list, s.does(n, thread, steps)...)
				}
			}
		}
	}
	return list
}

// does is what a node can do now: begin to wait, give up, or what it waits for.
func (s mortalState) does(n, thread int, steps []string) (list []mortalState) {
	node, own := s.nodes[n], s.nodes[n].threads[thread]
	step, waits := steps[own.at], strings.ContainsAny(steps[own.at][:1], "asr")
	long, _ := strconv.Atoi(step[1:])
	if waits && !own.begun {
		s.nodes[n].threads[thread] = mortalThread{own.at, true, s.now + long}
		if step[0] == 'a' {
			s.listens, s.closed = true, false
		}
		return []mortalState{s}
	}
	done := func(t mortalState, got string) {
		to := &t.nodes[n]
		to.threads[thread], to.got = mortalThread{at: own.at + 1}, to.got+got
		if got != "" && strings.ContainsAny(step[:1], "ad") {
			to.threads[thread].at = len(steps) - 1 // the last step is an input in any case
		}
		list = append(list, t)
	}
	switch t := s; step[0] {
	case 'a':
		if i := slices.IndexFunc(t.conns[:t.made], func(c mortalConn) bool {
			return !c.accepted && !c.ends[0].closed
		}); i >= 0 {
			t.conns[i].accepted, t.nodes[n].conn = true, i+1
			done(t, "")
		}
	case 'd':
		if s.closed {
			done(t, "f")
			break
		}
		t.made++
		t.nodes[n].conn = t.made
		done(t, "")
	case 'l':
		done(t, node.file)
	case 'i':
		if strings.Contains(node.file, step[1:]) {
			t.nodes[n].threads[thread].at = len(steps) - 1
			list = append(list, t)
			break
		}
		done(t, "")
	case 'W', 'S':
		t.nodes[n].changes(step)
		if step[0] == 'W' && !node.there {
			list = append(list, t) // its name, and then the letter
			break
		}
		done(t, "")
	case 'h', 'u':
		t.nodes[n].holds = step == "h"
		done(t, "")
	case 'y', 'z':
		got := ""
		if step[0] == 'y' && node.file != "" {
			got, _ = t.conns[node.conn-1].ends[n].does("w" + node.file[len(node.file)-1:])
		}
		done(t, got)
	case 'r', 'w':
		if got, can := t.conns[node.conn-1].ends[n].does(step); can {
			done(t, got)
		}
	}
	if waits && s.now >= own.due {
		done(s, map[bool]string{true: "", false: "t"}[step[0] == 's'])
	}
	return list
}

// changes changes the disk.
func (n *mortalNode) changes(step string) {
	switch {
	case step[0] == 'S':
		n.unsynced = ""
	case !n.there:
		n.there = true
		n.unsynced += "n"
	default:
		n.file += step[1:]
		n.unsynced += step[1:]
	}
}

// randomMortals are scripts of a server and a client.
func randomMortals(r *rand.Rand) []string {
	long := r.Perm(14) // the longest one is half a second
	next := func(what string) string {
		n := 1
		for range long[0] {
			n += n/2 + 1
		}
		long = long[1:]
		return what + strconv.Itoa(n)
	}
	second := func() (script string) {
		if r.IntN(2) == 0 {
			return ""
		}
		script = " |"
		for range 1 + r.IntN(2) {
			step := []string{"Wu", "Wv", "S", "s"}[r.IntN(4)]
			if step == "s" {
				step = next(step)
			}
			script += " " + step
		}
		return script + " z"
	}
	steps := func(script []string, steps int) string {
		other := second()
		for range steps {
			list := []string{"wa", "wb", "S", "S", "Wu", "Wv", "Wu", "Wv"}
			if other == "" { // else it may change between the two steps that this takes
				list = append(list, "y", "y")
			}
			step := append(list, "r", "r", "s")[r.IntN(len(list)+3)]
			if step == "r" || step == "s" {
				step = next(step)
			}
			script = append(script, step)
		}
		return strings.Join(append(script, "z"), " ") + other
	}
	begin := func() (script []string) {
		if r.IntN(3) > 0 {
			script = append(script, "l")
		}
		if r.IntN(3) == 0 {
			script = append(script, "Wv")
		}
		return script
	}
	client := begin()
	if r.IntN(3) == 0 { // a server that did no more would never listen
		client = append(client, "iu")
	}
	if r.IntN(2) == 0 {
		client = append(client, next("s"))
	}
	return []string{steps(append(begin(), next("a")), 1+r.IntN(3)), steps(append(client, "d"), 1+r.IntN(3))}
}

// mortalOutcomes lists what one of the nodes that follow the scripts can come to, if some of them
// crash; nil: there are too many states.
func mortalOutcomes(scripts []string, who int, c Config) []string {
	p := exploreMortals(scripts, c)
	if p == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(p.got[who]))
}

// exploreMortals goes through all states of nodes that follow the scripts; nil: there are too many.
func exploreMortals(scripts []string, c Config) *mortalSystem {
	p := &mortalSystem{seen: map[mortalState]bool{}, got: [2]map[string]bool{{}, {}}, down: c.Down}
	var s mortalState
	for n := range scripts {
		main, second, _ := strings.Cut(scripts[n], "|")
		p.steps[n] = [2][]string{strings.Fields(main), strings.Fields(second)}
		if slices.Contains(c.Crashes, n) {
			s.nodes[n].crashes = c.CrashLimit
		}
	}
	if p.explore(s); len(p.seen) > mostMortal {
		return nil
	}
	return p
}

// randomMortalNodes are scripts, the node to look at, and which nodes crash how often.
func randomMortalNodes(r *rand.Rand) (scripts []string, who int, c Config) {
	c.Crashes, c.CrashLimit, c.Down = [][]int{{0}, {1}, {0, 1}}[r.IntN(3)], 1, 1+r.IntN(2)
	if len(c.Crashes) == 1 && r.IntN(3) == 0 {
		c.CrashLimit = 2
	}
	return randomMortals(r), r.IntN(2), c
}

// mortalTwins are random nodes that crash, and are down for as long as they like if forever says
// so. Those that have too many states are left out.
func mortalTwins(t *testing.T, forever bool) iter.Seq[twin] {
	program := build(t, "./testdata/parted")
	return func(yield func(twin) bool) {
		for seed, tested := uint64(0), 0; tested < *systems/2; seed++ {
			scripts, who, c := randomMortalNodes(rand.New(rand.NewPCG(seed, 21)))
			if forever {
				c.Down = 100
			}
			want := mortalOutcomes(scripts, who, c)
			if want == nil {
				continue
			}
			tested++
			if !yield(twin{seed, scripts, who, want, func(check string) Config {
				c.Nodes = partedNodes(program, scripts, who, check)
				return c
			}}) {
				return
			}
		}
	}
}

// TestMortalWalksAgainstTwin: in walks, random nodes that crash come only to what they come to in a
// system whose states are all gone through. What they come to is replayed.
func TestMortalWalksAgainstTwin(t *testing.T) {
	walkTwins(t, func(yield func(twin) bool) {
		for w := range mortalTwins(t, true) {
			of := w.of
			w.of = func(check string) Config {
				c := of(check)
				c.Executions = 400
				return c
			}
			if !yield(w) {
				return
			}
		}
	})
}

// TestCrashesWithParts: what a random client comes to at random where nodes crash, and the network
// is parted, or a connection is slow, it comes to where they are explored.
func TestCrashesWithParts(t *testing.T) {
	t.Run("parted", func(t *testing.T) { testCrashesWith(t, Config{Partitions: both()}) })
	t.Run("slow", func(t *testing.T) { testCrashesWith(t, Config{Slow: 1}) })
}

func testCrashesWith(t *testing.T, faults Config) {
	t.Helper()
	program := build(t, "./testdata/parted")
	const who = 1
	more := 0 // that they do not come to without a partition
	for seed, tested := uint64(0), 0; tested < 1+*systems/10; seed++ {
		scripts, _, c := randomMortalNodes(rand.New(rand.NewPCG(seed, 22)))
		c.Partitions, c.Slow, c.CrashLimit, c.Down = faults.Partitions, faults.Slow, 1, 100
		// Without a limit, the kernel would give up in walks, where the clock may advance far.
		scripts[1] = strings.Replace(scripts[1], "d ", "d700 ", 1)
		can := mortalOutcomes(scripts, who, c)
		if can == nil {
			continue
		}
		tested++
		more -= len(can)
		run := func(c Config) string {
			c.Nodes = partedNodes(program, scripts, who, "in:"+strings.Join(can, ","))
			r, err := Run(t.Context(), c)
			v := r.Violation()
			if err != nil || v == nil && c.Walks == nil && r.Verdict != model.Holds {
				t.Fatalf("seed %d: %+v, %v\n%q", seed, r, err, scripts)
			}
			if v == nil {
				return "nothing else"
			}
			if v.Recording == nil {
				t.Fatalf("seed %d: %s\n%q", seed, v.Unrecorded, scripts)
			}
			_, got, _ := strings.Cut(v.Counterexample.Failure.Message, "got=")
			return strings.TrimSuffix(got, ".")
		}
		for got := run(c); got != "nothing else"; got = run(c) {
			if can = append(can, got); len(can) > 100 {
				t.Fatalf("seed %d: %q\n%q", seed, can, scripts)
			}
		}
		more += len(can)
		c.Walks, c.Executions = &pick.Walks{Seed: seed, Picks: allPicks}, 1000
		if got := run(c); got != "nothing else" {
			t.Errorf("seed %d: nodes %v crash, and node %d comes to %q, not only to %q\n%q", seed, c.Crashes,
				who, got, can, scripts)
		}
	}
	t.Log(more)
}

// TestCrashesAgainstTwin: random nodes that crash come to the same as a system whose states are all
// gone through, and to nothing else. Each that comes to something is replayed.
func TestCrashesAgainstTwin(t *testing.T) {
	kinds, runs := map[rune]int{}, 0
	for w := range mortalTwins(t, false) {
		w.count(kinds)
		if runs += w.explored(t, 2); t.Failed() {
			return
		}
	}
	t.Log(kinds, runs)
	for _, kind := range "eftv" {
		if *systems >= enough && kinds[kind] == 0 {
			t.Errorf("no node comes to %c", kind)
		}
	}
}
