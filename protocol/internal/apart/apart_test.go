package apart

import (
	"encoding/json"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// TestParse: what is printed is read again, and what is no function is told how to mend it.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{"": "hash", "hash": "hash", "part": "part",
		"part=3,1": "part=1,3", "estimate": "estimate"} {
		p, err := Parse(text)
		if err != nil || p.String() != want {
			t.Errorf("%q is %v, error %v; want %s", text, p, err, want)
		}
	}
	for text, want := range map[string]string{"depth": "visited twice", "slices": "no partition",
		"part=": "no number of a node", "part=64": "no number of a node"} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	p, _ := Parse("part=3")
	if err := p.check(3, &digests{}); err == nil {
		t.Error("node 3 of three is accepted")
	}
	p, _ = Parse("estimate")
	if err := p.check(3, &digests{}); err == nil {
		t.Error("slices by no estimate are accepted")
	}
}

// TestChoose: the nodes that change least are chosen, and so many that parts are about as large.
func TestChoose(t *testing.T) {
	for _, c := range []struct {
		changes, locals []int
		parts           int
		want            string
	}{
		{[]int{5, 1, 9}, []int{100, 100, 100}, 4, "part=1"},
		{[]int{5, 1, 9}, []int{100, 3, 100}, 4, "part=0,1"},
		{[]int{0, 5, 9}, []int{1, 50, 100}, 2, "part=1"},
		{[]int{1, 2}, []int{2, 2}, 8, "part=0,1"},
	} {
		p := Partition{isOpen: true}.choose(c.changes, c.locals, c.parts)
		if p.String() != c.want {
			t.Errorf("%+v: %v", c, p)
		}
	}
}

// letters are names that are as short as can be.
type letters struct{ asked int }

func (l *letters) Local(node int, n table.Local, _ []int) (string, error) {
	l.asked++
	return string(rune('a'+node)) + string(rune('0'+n)), nil
}

func (l *letters) Message(m table.Message, _ []int) (string, error) {
	return string(rune('A' + m)), nil
}

func (l *letters) Orders() [][]int { return nil }

// drawState draws a state of three nodes.
func drawState(t *rapid.T, y *system.System, name string) *system.State {
	s := &system.State{Left: y.Faults}
	for range y.Nodes {
		s.Locals = append(s.Locals, table.Local(rapid.IntRange(0, 200).Draw(t, name)))
	}
	for range rapid.IntRange(0, 5).Draw(t, name) {
		s.Messages = append(s.Messages, table.Message(rapid.IntRange(0, 200).Draw(t, name)))
	}
	if !y.Ordered {
		slices.Sort(s.Messages)
	}
	if y.Faults.Drops > 0 {
		s.Left.Drops = rapid.IntRange(0, y.Faults.Drops).Draw(t, name)
	}
	return s
}

// TestBatch: states come out of a batch as they went in, with the ones before them. Any other bytes
// are an error, or states, and never a panic.
func TestBatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := &system.System{Nodes: 3, Ordered: rapid.Bool().Draw(t, "ordered"),
			Faults: system.Faults{Drops: rapid.IntRange(-1, 2).Draw(t, "drops")}}
		b := &batch{y: y}
		type pair struct {
			before, state *system.State
			node          uint8
		}
		var list []pair
		before, number := drawState(t, y, "before"), uint64(0)
		for range rapid.IntRange(1, 5).Draw(t, "states") {
			if rapid.Bool().Draw(t, "isOther") {
				before = drawState(t, y, "before")
				number++
			}
			p := pair{before, drawState(t, y, "state"), uint8(rapid.IntRange(0, 3).Draw(t, "node"))}
			if p.node > 0 {
				// A step changes one node.
				local := p.state.Locals[p.node-1]
				p.state.Locals = slices.Clone(before.Locals)
				p.state.Locals[p.node-1] = local
			}
			b.add(number, p.before, p.state, p.node)
			list = append(list, p)
		}
		data := slices.Clone(b.data)
		u := &unbatch{reader: reader{in: data}, y: y}
		for i, p := range list {
			ok, err := u.next()
			if err != nil || !ok {
				t.Fatalf("state %d: %v, error %v", i, ok, err)
			}
			if !y.Ordered {
				slices.Sort(u.state.Messages) // as translate does
			}
			compareStates(t, p.state, &u.state)
			if p.node > 0 && !y.Ordered {
				compareStates(t, p.before, &u.before)
				if u.node != p.node {
					t.Fatalf("node %d, want %d", u.node, p.node)
				}
			}
		}
		if ok, err := u.next(); ok || err != nil {
			t.Fatalf("one more: %v, error %v", ok, err)
		}
		data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "by"))
		u = &unbatch{reader: reader{in: data}, y: y}
		for ok, err := u.next(); ok && err == nil; ok, err = u.next() {
		}
	})
}

func compareStates(t *rapid.T, want, got *system.State) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatal(diff)
	}
}

// TestDigests: the digest of a state depends on what it is made of, each part of which is asked for
// once. The order of messages counts in an ordered network.
func TestDigests(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		names := &letters{}
		tab := table.New(2, ordered, nil)
		for i := range 4 {
			tab.Number(table.Sent{From: 0, To: 1, Image: []byte{byte(i)}})
		}
		d := newDigests(names, &system.System{Nodes: 2, Ordered: ordered, Table: tab}, nil)
		seen := map[uint64]bool{}
		states := 0
		for bits := range 1 << 6 {
			s := &system.State{Locals: []table.Local{table.Local(bits & 1), table.Local(bits >> 1 & 1)},
				Messages: []table.Message{table.Message(bits >> 2 & 3), table.Message(bits >> 4 & 3)}}
			if !ordered && s.Messages[0] > s.Messages[1] {
				continue
			}
			n, err := d.state(s)
			if err != nil {
				t.Fatal(err)
			}
			seen[n] = true
			states++
		}
		if len(seen) != states || names.asked != 4 {
			t.Errorf("%d digests of %d states; %d local states were asked for", len(seen), states,
				names.asked)
		}
	}
}

// TestOwner: states are divided about evenly, by what the function looks at.
func TestOwner(t *testing.T) {
	d := newDigests(&letters{}, &system.System{Nodes: 2}, nil)
	for _, p := range []Partition{{}, {Nodes: 1}} {
		counts := make([]int, 4)
		for a := range 60 {
			owners := uint64(0)
			for b := range 60 {
				s := &system.State{Locals: []table.Local{table.Local(a), table.Local(b)}}
				owner, err := p.owner(d, s, len(counts))
				if err != nil {
					t.Fatal(err)
				}
				counts[owner]++
				owners |= 1 << owner
			}
			if p.Nodes != 0 && bits.OnesCount64(owners) != 1 {
				t.Errorf("%v: states with the same node 0 have %d owners", p, bits.OnesCount64(owners))
			}
		}
		if least := slices.Min(counts); least < 400 {
			t.Errorf("%v: parts have %v of 3600 states", p, counts)
		}
	}
}

// script is a Transport that has some messages.
type script struct {
	Transport
	list [][]byte
}

func (s *script) Receive() (m []byte, place uint64, err error) {
	m, s.list = s.list[0], s.list[1:]
	return m, 0, nil
}

// TestQueue: who catches up has little of what waits in memory, and yet knows of each level whether
// the next one has begun.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const levels, batches, size = 20, 3, 1000
		s := &script{}
		for level := range levels {
			s.list = append(s.list, encode(kindGo, 1, begin{Level: level}))
			for range batches {
				s.list = append(s.list, append(appendHead(nil, kindBatch, 1), make([]byte, size)...))
			}
		}
		s.list = append(s.list, appendHead(nil, kindEnd, 1))
		q := newQueue(s, 1, size)
		for messages, level := 0, 0; ; messages++ {
			synctest.Wait() // until there is no more room, or all has come
			if q.bytes > 3*batches*size {
				t.Fatalf("%d bytes wait", q.bytes)
			}
			m, err := q.next()
			if err != nil {
				t.Fatal(err)
			}
			k := m.kind
			if k == kindEnd {
				if messages != levels*(1+batches) {
					t.Errorf("%d messages have come", messages)
				}
				return
			}
			if k != kindGo {
				continue
			}
			if level++; level < levels && q.lastLevel() < level {
				t.Errorf("level %d is not known to have begun", level)
			}
		}
	})
}

// emptied is a Transport whose objects are gone.
type emptied struct {
	script
	sent []kind
}

func (e *emptied) Get(string) ([]byte, error) { return nil, ErrLost }

func (e *emptied) Send(_ int, m []byte) error {
	k, _, _, err := decode(m)
	e.sent = append(e.sent, k)
	return err
}

// noOrders are Names of a model without nodes.
type noOrders struct{ Names }

func (noOrders) Orders() [][]int { return nil }

// TestEndedMeanwhile: a search may end while a process that is to become a part begins with a
// checkpoint. That is not there any more then. The process has the result like any other part, and
// is one in the next search, since nobody starts another one.
func TestEndedMeanwhile(t *testing.T) {
	saved, err := json.Marshal(savedOf{Search: 1, Saves: []checkpoint{{Process: 7}}})
	if err != nil {
		t.Fatal(err)
	}
	e := &emptied{script: script{list: [][]byte{encode(kindGo, 1, begin{}),
		append(appendHead(nil, kindEnd, 1), "result"...)}}}
	c := Config{Search: 1, Parts: 2, Names: noOrders{}}
	result, err := Join(c, &Session{Transport: e, Own: 1, Process: 8, Saved: saved})
	if err != nil || string(result) != "result" || !slices.Equal(e.sent, []kind{kindDamaged}) {
		t.Errorf("result %q, error %v; it has sent %v", result, err, e.sent)
	}
}

// starts is a Transport that notes which processes are started, and with what.
type starts struct {
	Transport
	saved []string
}

func (s *starts) Start(_ int, _ uint64, saved []byte) error {
	s.saved = append(s.saved, string(saved))
	return nil
}

// TestDrop: in place of a checkpoint that is damaged comes the one before. If there is none, the
// part begins from nothing, as long as all messages are there.
func TestDrop(t *testing.T) {
	for _, isRemoved := range []bool{false, true} {
		s := &starts{}
		f := &front{Config: Config{Parts: 1, Search: 3}, t: s, processes: []uint64{7},
			isOwn: map[uint64]bool{}, saves: make([][]checkpoint, 1), places: make([]uint64, 1)}
		for i, c := range []checkpoint{{Process: 7, Number: 0}, {Process: 7, Number: 1, Place: 5},
			{Process: 7, Number: 1, Place: 5}, {Process: 8, Number: 2}, {Process: 7, Number: 2, Place: 9}} {
			if f.save(c); len(f.saves[0]) > 2 {
				t.Fatalf("%d checkpoints after %d", len(f.saves[0]), i)
			}
		}
		if isRemoved {
			f.places[0] = f.saves[0][0].Place
		}
		var err error
		for i, number := range []int{2, 2, 1} {
			last := f.processes[0]
			if i == 1 {
				last = 9 // was replaced before
			}
			err = f.drop(damaged{Process: last, Writer: 7, Number: number, Reason: "x"})
		}
		switch {
		case isRemoved && (err == nil || !strings.Contains(err.Error(), "part 0 are damaged")):
			t.Errorf("what was removed is needed: %v", err)
		case !isRemoved && err != nil:
			t.Error(err)
		}
		n := len(s.saved)
		if n == 0 || !strings.Contains(s.saved[0], `"Number":1`) ||
			strings.Contains(s.saved[0], `"Number":2`) {
			t.Fatalf("processes began with %q", s.saved)
		}
		if (n == 2) == isRemoved || n == 2 && s.saved[1] != "" {
			t.Errorf("in the end processes began with %q", s.saved)
		}
	}
}
