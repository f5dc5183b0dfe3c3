package protocol

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drive runs a random protocol live for some events. It returns the states, and what was sent and
// is not received: messages may be late for ever.
func drive(t *rapid.T, s *spec, live *Live) (states []LiveState, late []Packet) {
	pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
	var nodes []*LiveNode
	take := func(sent []Packet, err error) {
		if err != nil {
			t.Fatal(err)
		}
		late = append(late, sent...)
	}
	for id := range s.nodes {
		nodes = append(nodes, live.Node(ID(id), pick))
	}
	for _, n := range nodes {
		take(n.Start())
	}
	for range rapid.IntRange(0, 10).Draw(t, "events") {
		if i := pick(len(late) + 1); i < len(late) {
			p := late[i]
			if s.network != Duplicating {
				late = slices.Delete(late, i, i+1)
			}
			take(nodes[p.To].Receive(p))
			continue
		}
		n := nodes[pick(len(nodes))]
		timers, err := n.Timers()
		actions, errOfActions := n.Actions()
		switch {
		case errors.Join(err, errOfActions) != nil:
			t.Fatal(err, errOfActions)
		case len(timers) > 0:
			take(n.Timeout(timers[0]))
		case actions > 0:
			take(n.Act(pick(actions)))
		}
	}
	for _, n := range nodes {
		states = append(states, n.State())
	}
	return states, late
}

// simpleOf is the state of a running model as the twin has it.
func simpleOf(w *twin, m *Model) simple {
	x := simple{left: w.faults}
	for i, n := range m.Nodes {
		x.states[i], x.timer[i] = n.(*automaton).State, len(m.Running.Timers[i]) > 0
	}
	for _, e := range m.Running.Messages {
		x.messages = w.with(x.messages, string([]byte{byte(e.From), byte(e.To), byte(e.Body.(int))}))
	}
	return x
}

// TestLiveTwin: a state of a live system is one that the twin reaches, with what is under way. A
// check that begins there has the states and transitions that the twin has from there, and shortest
// violations. So has one that begins where the state was written to a file.
func TestLiveTwin(t *testing.T) {
	checkSpecs(t, mostStates, drawSpec, func(t *rapid.T, s *spec, w *twin) {
		if s.network == Ordered {
			return // messages are received in any order here
		}
		live, err := NewLive(s.model())
		if err != nil {
			t.Fatal(err)
		}
		m, err := live.Model(drive(t, s, live))
		if err != nil {
			t.Fatal(err)
		}
		x := simpleOf(w, m)
		if _, ok := w.steps[x]; !ok {
			t.Fatalf("the twin does not reach %+v", x)
		}
		from := s.exploreFrom([]simple{x}, mostStates)
		data, err := m.Save()
		if err != nil {
			t.Fatal(err)
		}
		saved, err := s.model().Load(data, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*Model{m, saved} {
			properties := m.Properties
			m.Properties = nil
			r, err := Check(m, Options{})
			if err != nil || r.States != len(from.steps) || r.Transitions != int64(from.transitions) {
				t.Fatalf("%v, error %v; the twin has %d states, %d transitions", r, err, len(from.steps),
					from.transitions)
			}
			m.Properties = properties[:1]
			checkProperty(t, m, from.bad, Options{})
		}
	})
}

// lock is a node that waits for two keys, and then panics.
type lock struct{ Open int }

func (l *lock) Receive(_ *Env, _ ID, message any) { l.Open = 10 / message.(int) }

func (l *lock) Quorums() []Quorum {
	return []Quorum{{Name: "keys", Waits: func(_ ID, m any) bool { return m == "key" },
		Enough: func(set []Message) bool { return len(set) == 2 },
		Handle: func(env *Env, set []Message) { env.Send(0, int(set[1].From)-1) }}}
}

// TestLive: messages wait for a quorum, which is tried with all sets. A panic is a Failure with the
// node, the message and the line; what is no message is an error. A node has so many messages that
// wait, and no more.
func TestLive(t *testing.T) {
	model := &Model{Nodes: []Node{&lock{}, &lock{}, &lock{}}, LateStart: true}
	live, err := NewLive(model)
	if err != nil {
		t.Fatal(err)
	}
	image := func(value any) []byte {
		data, err := live.machine.images.Append(nil, value)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	n := live.Node(0, nil)
	if sent, err := n.Start(); err != nil || len(sent) > 0 {
		t.Fatal(sent, err)
	}
	key := image("key")
	for range 3 * maxInbox {
		if sent, err := n.Receive(Packet{1, 0, key}); err != nil || len(sent) > 0 {
			t.Fatal(sent, err)
		}
	}
	if s := n.State(); len(s.inbox) != maxInbox || s.Size() < maxInbox*len(key) {
		t.Errorf("%d messages wait, in %d bytes; want %d", len(s.inbox), s.Size(), maxInbox)
	}
	sent, err := n.Receive(Packet{2, 0, key})
	if err != nil || len(sent) != 1 || sent[0].To != 0 {
		t.Fatalf("%v, error %v; want one message of the quorum", sent, err)
	}
	if _, err := n.Receive(Packet{1, 0, []byte{200}}); err == nil || !strings.Contains(err.Error(), "read") {
		t.Errorf("error %v for what is no message", err)
	}
	_, err = n.Receive(Packet{1, 0, image(0)})
	var failure *Failure
	if !errors.As(err, &failure) || !strings.Contains(failure.What, "node 0, on 0: panic") ||
		!strings.Contains(failure.What, "protocol/live_test.go:") {
		t.Errorf("error %v; want a panic with its line", err)
	}
	if _, err := NewLive(&Model{Nodes: model.Nodes, Running: &Running{}}); err == nil {
		t.Error("no error for a model that runs already")
	}
}

// FuzzLoad: bytes that no model was saved to are an error, or a model that can be checked. Never
// does reading them panic.
func FuzzLoad(f *testing.F) {
	type words map[string][]any
	model := func() *Model {
		return &Model{Nodes: []Node{&counter{}, &lateNode{}}, Properties: []Property{Always("x",
			func(_ ID, n Node) bool { return n != nil }, func([]bool) bool { return true })}}
	}
	m := model()
	m.Running = &Running{Down: []bool{false, true},
		Messages: []Envelope{{0, 1, words{"a": {1, "x", nil}}}, {1, 1, []*int{nil, new(int)}}}}
	data, err := m.Save()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[len(savedHead) : len(data)-4])
	f.Fuzz(func(t *testing.T, body []byte) {
		data := append([]byte(savedHead), body...)
		data = binary.LittleEndian.AppendUint32(data, crc32.ChecksumIEEE(data))
		loaded, err := model().Load(data, words{}, []*int{}, "", 0)
		if err != nil {
			return
		}
		// It may have functions that call nothing, so no handler runs.
		if _, err := newMachine(loaded); err != nil && !strings.Contains(err.Error(), "image") &&
			!strings.Contains(err.Error(), "timer") {
			t.Errorf("%v", err)
		}
	})
}

// TestLoad: what is wrong with a file is said: which type is missing, and what it is not.
func TestLoad(t *testing.T) {
	type word struct{ S string }
	m := &Model{Nodes: []Node{&counter{}}, Running: &Running{Messages: []Envelope{{0, 0, word{"a"}}}}}
	data, err := m.Save()
	if err != nil {
		t.Fatal(err)
	}
	fresh := func() *Model { return &Model{Nodes: []Node{&counter{}}} }
	loaded, err := fresh().Load(data, word{})
	if err != nil || loaded.Running.Messages[0].Body != (word{"a"}) {
		t.Fatalf("%+v, error %v", loaded, err)
	}
	for want, load := range map[string]func() (*Model, error){
		"a value of type github.com/tandem-mc/tandem/protocol.word": func() (*Model, error) {
			return fresh().Load(data)
		},
		"saved with 1 nodes, and has 2": func() (*Model, error) {
			return (&Model{Nodes: []Node{&counter{}, &counter{}}}).Load(data, word{})
		},
		"is no *protocol.lateNode": func() (*Model, error) {
			return (&Model{Nodes: []Node{&lateNode{}}}).Load(data, word{}, &counter{})
		},
		"this is no saved model": func() (*Model, error) { return fresh().Load(data[:len(data)-1], word{}) },
		"the model has no nodes": func() (*Model, error) { return (&Model{}).Load(data) },
		"does not run yet": func() (*Model, error) {
			_, err := fresh().Save()
			return nil, err
		},
		"keeps a function": func() (*Model, error) {
			c := &counter{On: func(*counter, *Env, any) {}}
			_, err := (&Model{Nodes: []Node{c}, Running: &Running{}}).Save()
			return nil, err
		},
	} {
		if _, err := load(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
}

// TestBadRunning: what is wrong with a system that runs is said before anything is searched.
func TestBadRunning(t *testing.T) {
	for want, r := range map[string]*Running{
		"of 2 nodes":             {Timers: [][]any{nil, nil}},
		"no method Timeout":      {Timers: [][]any{{1}}},
		"says of 2":              {Down: []bool{true, false}},
		"from node 0 to node 1":  {Messages: []Envelope{{0, 1, "x"}}},
		"a message has no image": {Messages: []Envelope{{0, 0, make(chan int)}}},
	} {
		wantError(t, &Model{Nodes: []Node{&counter{}}, Running: r}, want)
	}
}
