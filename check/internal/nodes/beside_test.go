package nodes

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/nodes/beside"
	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/sut"
)

// store is a peer that is no process: it gives numbers, each one once, and tells those who watch.
// Its clock is virtual. It implements beside.Answers.
type store struct {
	number, step int
	conns        []*storeConn
	timers       []storeTimer
	now          time.Duration
	heard        string // all inputs of the present execution
	failAt       int    // the number at which it dies; 0: never
	refuses      bool   // all connects
}

type storeConn struct {
	line         string
	watches      bool
	closed, shut bool // by the node; by the store
	broken       bool
}

type storeTimer struct {
	due  time.Duration
	conn int
}

func (s *store) Begin() error {
	*s = store{failAt: s.failAt, refuses: s.refuses}
	return nil
}

func (s *store) Exchange(in model.Input) (a model.Answer, err error) {
	s.heard += in.String() + "\n"
	a.Conn = in.Conn
	r := &a.Reaction
	switch in.Kind {
	case model.Connect:
		s.step = 1 + in.Behaviour
		a.Conn = len(s.conns)
		s.conns = append(s.conns, &storeConn{})
		if s.refuses || strings.HasSuffix(in.Addr, "1") {
			r.Refused = 111
		}
	case model.Send:
		c := s.conns[in.Conn]
		if c.shut || c.broken {
			c.broken = true
			r.Deliveries = append(r.Deliveries, model.Delivery{Conn: in.Conn, End: model.Reset})
			break
		}
		c.line += string(in.Data)
		for !c.shut && !c.broken && err == nil {
			line, rest, whole := strings.Cut(c.line, "\n")
			if !whole {
				break
			}
			c.line = rest
			err = s.does(line, in.Conn, r)
		}
	case model.Close, model.Shutdown:
		s.conns[in.Conn].closed = true
	case model.Pass:
		s.pass(in.Most, &a)
	}
	*r = r.Normal()
	return a, err
}

// does carries out a command.
func (s *store) does(line string, conn int, r *model.Reaction) error {
	say := func(conn int, text string) {
		if c := s.conns[conn]; !c.closed && !c.shut && !c.broken {
			r.Deliveries = append(r.Deliveries, model.Delivery{Conn: conn, Data: []byte(text + "\n")})
		}
	}
	what, with, _ := strings.Cut(line, " ")
	switch c := s.conns[conn]; what {
	case "next":
		if s.number += s.step; s.failAt > 0 && s.number >= s.failAt {
			return fmt.Errorf("peer store died at number %d", s.number)
		}
		say(conn, fmt.Sprint("number ", s.number))
		for i, other := range s.conns {
			if other.watches {
				say(i, "now "+strconv.Itoa(s.number))
			}
		}
	case "after":
		ms, _ := strconv.Atoi(with)
		s.timers = append(s.timers, storeTimer{s.now + time.Duration(ms)*time.Millisecond, conn})
	case "watch":
		c.watches = true
	case "bye":
		say(conn, "bye")
		c.shut = true
		r.Deliveries = append(r.Deliveries, model.Delivery{Conn: conn, End: model.EOF})
	case "abort":
		say(conn, "abort")
		c.broken = true
		r.Deliveries = append(r.Deliveries, model.Delivery{Conn: conn, End: model.Reset})
	}
	return nil
}

// pass has time pass until a node can notice something, as a group of peers does.
func (s *store) pass(most time.Duration, a *model.Answer) {
	slices.SortStableFunc(s.timers, func(a, b storeTimer) int { return cmp.Compare(a.due, b.due) })
	began := s.now
	for len(s.timers) > 0 {
		first := s.timers[0]
		if end := began + most; most > model.Once && first.due >= end {
			s.now = end
			a.Time.Passed, a.Time.Tie = most, first.due == end
			return
		}
		s.now, s.timers = first.due, s.timers[1:]
		if c := s.conns[first.conn]; !c.closed && !c.shut && !c.broken {
			a.Deliveries = append(a.Deliveries, model.Delivery{Conn: first.conn, Data: []byte("ding\n")})
		}
		if most == model.Once {
			return
		}
		if a.Time.Passed = s.now - began; len(a.Deliveries) > 0 {
			return
		}
	}
	a.Time.Idle = true
}

// besideNodes are nodes with a store beside them. They agree on whom each number was given to.
func besideNodes(t *testing.T, failAt int) Config {
	program := build(t, "./testdata/beside")
	c := besideGroup(t, failAt)
	c.Executions, c.Properties.Agree = 120, []string{"number *"}
	for i, listen := range []string{"127.0.0.1:7000", "", ""} {
		name := string(rune('a' + i))
		c.Nodes = append(c.Nodes, Node{Name: name, Package: "./testdata/beside", Program: program,
			Args: []string{name}, Listen: listen})
	}
	return c
}

// besideGroup is a store that dies at some number, or with 0 never, and an address where nobody is.
func besideGroup(t *testing.T, failAt int) Config {
	at, err := proxy.ParseAddress("127.0.0.1:6000")
	if err != nil {
		t.Fatal(err)
	}
	nobody, err := proxy.ParseAddress("127.0.0.1:6001")
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Peers: &beside.Group{Behaviours: 2, New: func() beside.Answers { return &store{failAt: failAt} },
			Peers: []beside.Peer{{Name: "store", Listens: []proxy.Address{at, nobody}}}}}
}

// TestBeside: what nodes and a peer do to each other at random is replayed without the peer, also
// where it resets connections, refuses them and has timers, and where nodes crash. A seed gives the
// same, whoever makes the walks.
func TestBeside(t *testing.T) {
	seen := map[string]bool{"reset by store": false, "is refused as": false, "crashes": false,
		"the time is 0.7 s": false, `store sends on a#1: "now `: false, "is parted from": false,
		"shuts down": false}
	for seed := range uint64(24) {
		c := besideNodes(t, 0)
		c.Walks = &pick.Walks{Seed: seed, Picks: allPicks}
		if seed%2 == 1 {
			c.Partitions, c.Slow = [][][2]int{{{0, 1}, {0, 2}}, {{0, 1}}}, 3
			c.Crashes, c.CrashLimit = []int{0, 1, 2}, 2
		}
		var found []*Violation
		for _, crews := range []int{1, 3} {
			c.Crews = crews
			r, err := Run(t.Context(), c)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			v := r.Violation()
			if v == nil {
				continue
			}
			steps := strings.Join(whats(v.Events), "\n")
			if v.Recording == nil || !strings.HasPrefix(v.Counterexample.Failure.Message, "panic: enough") {
				t.Fatalf("seed %d: %+v\n%s", seed, v, steps)
			}
			for what := range seen {
				seen[what] = seen[what] || strings.Contains(steps, what)
			}
			found = append(found, v)
			again, err := Replay(t.Context(), programsOf(c.Nodes), throughFile(t, v.Recording), 3)
			if err != nil || again.Violation == nil {
				t.Errorf("seed %d: %+v, %v", seed, again, err)
			}
		}
		if len(found) != 2 {
			t.Errorf("seed %d: %d of 2 were found", seed, len(found))
		} else if d := gocmp.Diff(found[0].Recording, found[1].Recording); d != "" {
			t.Errorf("seed %d (-one crew +three)\n%s", seed, d)
		}
	}
	for what, was := range seen {
		if !was {
			t.Errorf("no violation has a step that %s", what)
		}
	}
}

// TestPeerDies: the check ends with what the peers' side says.
func TestPeerDies(t *testing.T) {
	c := besideNodes(t, 3)
	c.Walks = &pick.Walks{Seed: 1, Picks: allPicks}
	r, err := Run(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "peer store died at number") {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestUndialled: a peer to which no node connects is named.
func TestUndialled(t *testing.T) {
	c := besideNodes(t, 0)
	c.Nodes = exampleNodes(t, "counter", "server 127.0.0.1:7100", "client")
	c.Walks, c.Properties.Agree = &pick.Walks{Seed: 1, Picks: allPicks}, nil
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := "no node has connected to store at 127.0.0.1:6000, 127.0.0.1:6001: "
	if len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], want) {
		t.Errorf("%q, want %s...", r.Notes, want)
	}
}

// takers are nodes that do what is said of each, and come to one of some things.
func takers(t *testing.T, program *sut.Program, scripts []string, known [][]string) Config {
	c := besideGroup(t, 0)
	c.Peers.Behaviours = 1
	for i, script := range scripts {
		n := Node{Name: string(rune('a' + i)), Package: "./testdata/takes", Program: program,
			Args: append([]string{script}, known[i]...)}
		if strings.ContainsRune(script, 'l') {
			n.Listen = "127.0.0.1:7000"
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

// TestBesideOrders: all orders in which the inputs of nodes can reach a peer are explored, each
// once, and nothing else.
func TestBesideOrders(t *testing.T) {
	program := build(t, "./testdata/takes")
	any := []string{"", "b", "c", "d", "e", "bc", "bd", "cd", "be", "ce", "de"}
	for _, c := range []struct {
		scripts []string
		orders  float64
	}{
		{[]string{"dnc", "dnc"}, 20},   // 6 over 3
		{[]string{"dnnc", "dnnc"}, 70}, // 8 over 4
		{[]string{"dnc", "dc", "dc"}, 210},
		{[]string{"dnnc", "s"}, 1},
		{[]string{"dnc", "sdnc"}, 1},
		{[]string{"dsnc", "dsnc"}, 2 * 6}, // two connects, and then two inputs of each
		{[]string{"dbeec", "dn"}, 20},     // what is not closed is so when the node ends
		{[]string{"da", "d"}, 10},         // nobody waits for the answer: 5 over 2
	} {
		known := slices.Repeat([][]string{any}, len(c.scripts))
		r, err := Run(t.Context(), takers(t, program, c.scripts, known))
		if err != nil || r.Verdict != model.Holds || r.Counts.GlobalTraces != c.orders {
			t.Errorf("%q: %+v, %v; want %v orders", c.scripts, r, err, c.orders)
		}
	}
}

// TestBesideExplored: what nodes come to in executions at random, they come to where all of them
// are explored, too. It is replayed.
func TestBesideExplored(t *testing.T) {
	program := build(t, "./testdata/takes")
	for _, scripts := range [][]string{{"dnnc", "dnc"}, {"lrdnc", "odgwc"}, {"p", "dn"},
		{"dnsnc", "dsnnc"}, {"ldnwc", "orsdn"}} {
		known := make([][]string, len(scripts))
		come := func(walks bool) (who int, what string) {
			c := takers(t, program, scripts, known)
			if walks {
				c.Executions, c.Walks = 600, &pick.Walks{Seed: 1, Picks: allPicks}
			}
			r, err := Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			v := r.Violation()
			if v == nil {
				if !walks && r.Verdict != model.Holds {
					t.Errorf("%q: %s", scripts, r.Reason)
				}
				return -1, ""
			}
			again, err := Replay(t.Context(), programsOf(c.Nodes), throughFile(t, v.Recording), 1)
			if err != nil || again.Violation == nil {
				t.Errorf("%q: %+v, %v", scripts, again, err)
			}
			_, what, _ = strings.Cut(v.Counterexample.Failure.Message, "got=")
			return int(v.Node[0] - 'a'), strings.TrimSuffix(what, ".")
		}
		for walks := true; ; {
			who, what := come(walks)
			if who >= 0 {
				known[who] = append(known[who], what)
			} else if !walks {
				break
			}
			if who >= 0 && !walks {
				t.Logf("%q: only exploring shows that node %d comes to %s", scripts, who, what)
			}
			walks = walks && who >= 0
		}
		t.Logf("%q come to %q", scripts, known)
		// Each of these, as the only one that is not known, is found.
		for who, all := range slices.Clone(known) {
			for i, what := range all {
				known[who] = slices.Delete(slices.Clone(all), i, i+1)
				if w, got := come(false); w != who || got != what {
					t.Errorf("%q: exploring does not find that node %d comes to %s", scripts, who, what)
				}
			}
			known[who] = all
		}
	}
}

// TestBesideUnsupported: where peers do what explorations cannot have yet, nothing is said but
// that.
func TestBesideUnsupported(t *testing.T) {
	program := build(t, "./testdata/takes")
	for _, c := range []struct {
		scripts []string
		reason  string
	}{
		{[]string{"dae", "d"}, "a timer of the peers ends while nodes wait, which is not explored yet: "},
		{[]string{"da", "dsss"}, "a timer of the peers ends while nodes wait, which is not explored yet: "},
		{[]string{"dxee", "d"}, "a peer resets a connection, which is not explored yet: "},
		{[]string{"dbegs", "s"}, "a peer resets a connection, which is not explored yet: "},
	} {
		r, err := Run(t.Context(), takers(t, program, c.scripts, [][]string{{""}, {""}}))
		if err != nil || r.Verdict != model.Unknown || !strings.HasPrefix(r.Reason, c.reason) {
			t.Errorf("%q: %+v, %v; want %s...", c.scripts, r, err, c.reason)
		}
	}
	refusing := takers(t, program, []string{"d", "d"}, [][]string{{""}, {""}})
	refusing.Peers.New = func() beside.Answers { return &store{refuses: true} }
	r, err := Run(t.Context(), refusing)
	reason := "nobody listens at 127.0.0.1:6000"
	if err != nil || r.Verdict != model.Unknown || !strings.HasPrefix(r.Reason, reason) {
		t.Errorf("%+v, %v", r, err)
	}
}
