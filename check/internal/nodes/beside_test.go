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
	*s = store{failAt: s.failAt}
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
		if strings.HasSuffix(in.Addr, "1") {
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
	at, err := proxy.ParseAddress("127.0.0.1:6000")
	if err != nil {
		t.Fatal(err)
	}
	nobody, err := proxy.ParseAddress("127.0.0.1:6001")
	if err != nil {
		t.Fatal(err)
	}
	return Config{Nodes: []Node{
		{Name: "a", Package: "./testdata/beside", Program: program, Args: []string{"a"},
			Listen: "127.0.0.1:7000"},
		{Name: "b", Package: "./testdata/beside", Program: program, Args: []string{"b"}},
		{Name: "c", Package: "./testdata/beside", Program: program, Args: []string{"c"}},
	}, Executions: 120, Agree: []string{"number *"},
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
	c.Walks, c.Agree = &pick.Walks{Seed: 1, Picks: allPicks}, nil
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := "no node has connected to store at 127.0.0.1:6000, 127.0.0.1:6001: "
	if len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], want) {
		t.Errorf("%q, want %s...", r.Notes, want)
	}
}
