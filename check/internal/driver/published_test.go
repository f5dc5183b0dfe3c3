package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/strategy"
)

// wire is a Far that writes and reads what crosses, and loses some replies.
type wire struct {
	to     *Published
	random *rand.Rand
	asked  int
}

// Ask implements Far.
func (w *wire) Ask(_ context.Context, q *Question) (r Reply, err error) {
	w.asked++
	data, err := json.Marshal(q)
	if err != nil {
		return r, err
	}
	for {
		var there Question
		if err := json.Unmarshal(data, &there); err != nil {
			return r, err
		}
		// Whoever hears no reply asks again.
		if r, err = w.to.Answer(context.Background(), &there); w.random == nil || w.random.IntN(4) > 0 {
			return r, err
		}
	}
}

// crowd is a driver with peers, and others that ask it.
type crowd struct {
	here     *Driver
	shown    *Published
	others   []*Follower
	sessions []*Session
	wires    []*wire
}

// newCrowd is a driver with so many others.
func newCrowd(t *testing.T, c Config, others int, random *rand.Rand) *crowd {
	t.Helper()
	world := &fakeWorld{images: map[string]fakeState{}}
	c.Start, c.Strategy, c.Shared = world.start, strategy.AfterIO{}, MaxShared
	all := &crowd{here: New(t.Context(), c)}
	all.shown = Publish(all.here)
	t.Cleanup(func() {
		if err := all.here.Close(); err != nil {
			t.Error(err)
		}
	})
	all.sessions = []*Session{all.here.NewSession(&Counts{})}
	for range others {
		w := &wire{to: all.shown, random: random}
		far := Follow(t.Context(), Config{Spec: c.Spec, Scope: c.Scope}, w)
		all.wires, all.others = append(all.wires, w), append(all.others, far)
		all.sessions = append(all.sessions, far.NewSession(&Counts{}))
	}
	return all
}

// execution are random inputs that make sense in either scope. What they bring follows from them.
func execution(random *rand.Rand, ways, clients int) (list []model.Input) {
	open := 0
	connect := func() {
		list = append(list, model.Input{Kind: model.Connect, Addr: serverAt, Name: fmt.Sprint("c", open),
			Behaviour: random.IntN(max(ways, 1))})
		open++
	}
	if clients > 0 {
		list = append(list, model.Input{Kind: model.Listen, Addr: "0.0.0.0:80", Name: "c0"})
		open = 1 + clients
		return list
	}
	connect()
	for range 1 + random.IntN(6) {
		words := []string{"say a\n", "say b\n", "say", " a\n", "print x\n", "behave\n", "time\n"}
		switch random.IntN(8) {
		case 0:
			connect()
		case 1:
			list = append(list, model.Input{Kind: model.Shutdown, Conn: random.IntN(open)})
		case 2:
			list = append(list, model.Input{Kind: model.Close, Conn: random.IntN(open)})
		default:
			list = append(list, model.Input{Kind: model.Send, Conn: random.IntN(open),
				Data: []byte(words[random.IntN(len(words))])})
		}
	}
	return list
}

// run gives inputs, and returns the answers, with where each has led.
func run(t *testing.T, s *Session, inputs []model.Input) (answers []string) {
	t.Helper()
	s.Rewind()
	for _, in := range inputs {
		// The end of a connection is the end of what can be said on it.
		a, err := s.Exchange(in)
		if err != nil {
			t.Fatalf("%v: %v", in, err)
		}
		at, _ := s.At()
		answers = append(answers, fmt.Sprintf("%v %v first %d at %v", in, a.Reaction, a.First, at))
	}
	return answers
}

// TestFollowers: drivers without peers answer as the one that has them, at the same places, whoever
// asks first. Together they ask the peers as often as one driver.
func TestFollowers(t *testing.T) {
	for _, scope := range []iocache.Scope{iocache.Group, iocache.Connection} {
		for _, ways := range []int{0, 3} {
			for _, clients := range []int{0, 2} {
				name := fmt.Sprintf("%v, %d ways, %d clients", scope, ways, clients)
				t.Run(name, func(t *testing.T) { followers(t, scope, ways, clients) })
			}
		}
	}
}

func followers(t *testing.T, scope iocache.Scope, ways, clients int) {
	c := Config{Scope: scope}
	c.Spec.Peers = []peers.Peer{{Name: "server", Listen: serverAt, Choices: ways}}
	for i := range clients {
		c.Spec.Peers = append(c.Spec.Peers,
			peers.Peer{Name: fmt.Sprint("client", i+1), After: "listen 80", Expect: "exit 0"})
	}
	random := rand.New(rand.NewPCG(1, 2))
	all, alone := newCrowd(t, c, 3, random), newCrowd(t, c, 0, nil)
	for range 300 {
		inputs := execution(random, ways, clients)
		if !valid(inputs) {
			continue
		}
		want := run(t, alone.sessions[0], inputs)
		got := run(t, all.sessions[random.IntN(len(all.sessions))], inputs)
		if !slices.Equal(got, want) {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	work := all.shown.Counts()
	work.Add(*all.sessions[0].Counts)
	hits := 0
	for _, s := range all.sessions[1:] {
		if s.Counts.Misses > 0 {
			t.Errorf("%d misses are counted where there are no peers", s.Counts.Misses)
		}
		hits += s.Counts.Hits
	}
	if want := alone.sessions[0].Counts.Misses; work.Misses != want || want == 0 || hits == 0 {
		t.Errorf("the peers were asked %d times, alone %d times; %d hits", work.Misses, want, hits)
	}
	// What is known is not asked for, and what is not is got at once.
	for i, w := range all.wires {
		if err := all.others[i].CatchUp(); err != nil {
			t.Fatal(err)
		}
		asked, s := w.asked, all.sessions[1+i]
		inputs := execution(rand.New(rand.NewPCG(1, 2)), ways, clients)
		if run(t, s, inputs); w.asked != asked {
			t.Errorf("%d questions about what is known", w.asked-asked)
		}
		if here, there := all.here.Cache().Stats(), s.d.Cache().Stats(); here.Nodes != there.Nodes {
			t.Errorf("%d places, and %d in the copy", here.Nodes, there.Nodes)
		}
	}
}

// valid is whether nothing is sent on a connection behind its end.
func valid(inputs []model.Input) bool {
	ended := map[int]bool{}
	for _, in := range inputs {
		if in.Opens() {
			continue
		}
		if ended[in.Conn] {
			return false
		}
		ended[in.Conn] = in.Kind != model.Send
	}
	return true
}

// TestLargeReplies: answers that do not fit into one reply come in several.
func TestLargeReplies(t *testing.T) {
	c := Config{}
	c.Spec.Peers = []peers.Peer{{Name: "server", Listen: serverAt}}
	all := newCrowd(t, c, 1, nil)
	inputs := []model.Input{{Kind: model.Connect, Addr: serverAt}}
	for i := range 20 {
		text := strings.Repeat(fmt.Sprint(i%10), maxReply/7)
		inputs = append(inputs, model.Input{Kind: model.Send, Data: []byte("print " + text + "\n")})
	}
	want := run(t, all.sessions[0], inputs)
	if got := run(t, all.sessions[1], inputs); !slices.Equal(got, want) {
		t.Error("other answers")
	}
	if asked := all.wires[0].asked; asked < 3 || asked > 6 {
		t.Errorf("%d questions", asked)
	}
	if asked, news := all.shown.Asked(); asked != 1 || news != 0 {
		t.Errorf("asked for %d inputs, of which %d were new; want 1 and none", asked, news)
	}
}

// TestAdopted: answers of an earlier check are copied, too.
func TestAdopted(t *testing.T) {
	c := Config{}
	c.Spec.Peers = []peers.Peer{{Name: "server", Listen: serverAt}}
	before, all := newCrowd(t, c, 0, nil), newCrowd(t, c, 1, nil)
	var kept []iocache.Entry
	before.here.OnRecord(func(e iocache.Entry) { kept = append(kept, e) })
	inputs := []model.Input{{Kind: model.Connect, Addr: serverAt},
		{Kind: model.Send, Data: []byte("say a\n")}}
	want := run(t, before.sessions[0], inputs)
	cache := NewCache()
	for _, e := range kept {
		if err := cache.Restore(e); err != nil {
			t.Fatal(err)
		}
	}
	all.here.Adopt(cache, "a test", func(each func(iocache.Entry) error) error {
		for _, e := range kept {
			if err := each(e); err != nil {
				return err
			}
		}
		return nil
	})
	if got := run(t, all.sessions[1], inputs); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if asked, news := all.shown.Asked(); asked != 1 || news > 0 {
		t.Errorf("%d questions, of which %d were new", asked, news)
	}
	broken := errors.New("the file is gone")
	all.here.Adopt(cache, "a test", func(func(iocache.Entry) error) error { return broken })
	if _, err := all.shown.Answer(context.Background(), &Question{}); !errors.Is(err, broken) {
		t.Errorf("answers that could not be read: %v", err)
	}
}

// TestWrongQuestions: a question that makes no sense is an error, and the driver goes on.
func TestWrongQuestions(t *testing.T) {
	for _, scope := range []iocache.Scope{iocache.Group, iocache.Connection} {
		c := Config{Scope: scope}
		c.Spec.Peers = []peers.Peer{{Name: "server", Listen: serverAt}}
		all := newCrowd(t, c, 1, nil)
		inputs := []model.Input{{Kind: model.Connect, Addr: serverAt, Name: "c0"},
			{Kind: model.Send, Data: []byte("say a\n")}}
		run(t, all.sessions[0], inputs)
		at, _ := all.sessions[0].At()
		send := inputs[1]
		names := []string{"c0"}
		for name, q := range map[string]Question{
			"too many known":  {Known: 9},
			"fewer than none": {Known: -1},
			"nowhere":         {Input: &send, Connections: names},
			"no such place":   {Input: &send, At: iocache.Position{77}, Connections: names},
			"no such number":  {Input: &send, At: iocache.Position{-1}, Connections: names},
			"no connection":   {Input: &model.Input{Kind: model.Send, Conn: 4}, At: at, Connections: names},
			"out of order": {Input: &model.Input{Kind: model.Connect, Conn: 4}, At: at,
				Connections: names},
			"no kind":                {Input: &model.Input{}, At: at, Connections: names},
			"no behaviour":           {Input: &send, At: at, Behaviour: 3, Connections: names},
			"no start":               {Input: &send, At: at, Started: 77, Connections: names},
			"started later":          {Input: &send, At: at, Started: at[len(at)-1] + 1, Connections: names},
			"started before nothing": {Input: &send, At: at, Started: -1, Connections: names},
			"one place twice":        {Input: &send, At: iocache.Position{at[0], at[0]}, Connections: names},
			"only the end": {Input: &send, At: at[len(at)-1:], Started: at[len(at)-1], Connections: names,
				Behaviour: map[iocache.Scope]int{iocache.Group: 3}[scope]},
		} {
			if _, err := all.shown.Answer(context.Background(), &q); err == nil {
				t.Errorf("%v, %s: there is an answer", scope, name)
			}
		}
		run(t, all.sessions[1], inputs)
	}
}

// TestClosed: who asks a driver that has ended is told so.
func TestClosed(t *testing.T) {
	c := Config{}
	c.Spec.Peers = []peers.Peer{{Name: "server", Listen: serverAt}}
	all := newCrowd(t, c, 1, nil)
	run(t, all.sessions[0], []model.Input{{Kind: model.Connect, Addr: serverAt}})
	if _, err := all.shown.Answer(context.Background(), &Question{}); err != nil {
		t.Fatal(err)
	}
	if err := all.shown.d.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := all.shown.Answer(context.Background(), &Question{})
	if err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("it answers, error %v", err)
	}
}

// TestWrongFindings: what was found elsewhere is not taken over if it is about places that are not
// there, or addresses that are none.
func TestWrongFindings(t *testing.T) {
	c := Config{}
	c.Spec.Peers = []peers.Peer{{Name: "server", Listen: serverAt}}
	all := newCrowd(t, c, 1, nil)
	run(t, all.sessions[0], []model.Input{{Kind: model.Connect, Addr: serverAt}})
	at, _ := all.sessions[0].At()
	right := []Use{{Kind: model.Connect, Address: serverAt}}
	if err := all.shown.Refuses([]iocache.NodeID{iocache.Root, at[0]}, right); err != nil {
		t.Errorf("what is there is refused: %v", err)
	}
	for _, n := range []iocache.NodeID{-1, 99, 1 << 30} {
		if all.shown.Refuses([]iocache.NodeID{n}, nil) == nil {
			t.Errorf("place %d is taken over", n)
		}
	}
	if all.shown.Refuses(nil, []Use{{Kind: model.Connect, Address: "nowhere"}}) == nil {
		t.Error("an address that is none is taken over")
	}
}

// TestFarErrors: an error of the peers is one of who asks, and so is a lost connection.
func TestFarErrors(t *testing.T) {
	c := Config{}
	c.Spec.Peers = []peers.Peer{{Name: "server", Listen: serverAt}}
	all := newCrowd(t, c, 1, nil)
	s := all.sessions[1]
	run(t, s, []model.Input{{Kind: model.Connect, Addr: serverAt}})
	_, err := s.Exchange(model.Input{Kind: model.Send, Data: []byte("die\n")})
	if err == nil || !strings.Contains(err.Error(), "server") {
		t.Errorf("the peer has died: %v", err)
	}
	run(t, s, []model.Input{{Kind: model.Connect, Addr: serverAt},
		{Kind: model.Send, Data: []byte("say a\n")}})
	gone := Follow(t.Context(), Config{Spec: c.Spec}, lost{})
	s = gone.NewSession(&Counts{})
	s.Rewind()
	if _, err := s.Exchange(model.Input{Kind: model.Connect, Addr: serverAt}); !errors.Is(err, errLost) {
		t.Errorf("nobody answers: %v", err)
	}
}

var errLost = errors.New("nobody is there")

// lost is a Far that is gone.
type lost struct{}

// Ask implements Far.
func (lost) Ask(context.Context, *Question) (Reply, error) { return Reply{}, errLost }
