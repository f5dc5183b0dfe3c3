package environment

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/nodes/dependence"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pasts"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// step, access and others are events of a log.
func step(g uint64) sut.Event { return sut.Event{Kind: sut.Stepped, Subject: g, Choices: 1} }

func access(object uint64, kind model.AccessKind) sut.Event {
	return sut.Event{Kind: sut.Accessed, Subject: object, Access: kind}
}

// touch is an access that the environment adds.
func touch(o model.ObjectID) sut.Event { return access(uint64(o), model.Write) }

var (
	input    = sut.Event{Kind: sut.Exchanged}
	delivery = sut.Event{Kind: sut.Delivered}
)

// TestDependence: what each transition of a log comes right after.
func TestDependence(t *testing.T) {
	const queue = 1<<63 | 1<<62 | 5

	for _, c := range []struct {
		name   string
		events []sut.Event
		want   [][]int // nil: nothing
	}{
		{"a goroutine", []sut.Event{step(1), step(2), step(1)}, [][]int{nil, nil, {0}}},
		{"writes", []sut.Event{step(1), access(7, model.Write), step(2), access(7, model.Write)},
			[][]int{nil, {0}}},
		{"reads", []sut.Event{step(1), access(7, model.Read), step(2), access(7, model.Read), step(3),
			access(7, model.Write)}, [][]int{nil, nil, {0, 1}}},
		{"additions", []sut.Event{step(1), access(7, model.Commute), step(2), access(7, model.Commute),
			step(3), access(7, model.Read)}, [][]int{nil, nil, {0, 1}}},
		{"woken", []sut.Event{step(1), {Kind: sut.Woke, Subject: 2}, step(2)}, [][]int{nil, {0}}},
		{"started", []sut.Event{step(1), {Kind: sut.Spawned, Subject: 2}, step(2), step(1)},
			[][]int{nil, {0}, {0}}},
		// What arrives is no event, and what the environment adds is none of the program's.
		{"an arrival", []sut.Event{step(1), input, access(queue, model.Write), delivery, step(2),
			access(queue, model.Write)}, [][]int{nil, nil}},
		{"after an arrival", []sut.Event{step(1), input, access(queue, model.Write), delivery,
			access(queue, model.Write), step(2), access(queue, model.Write)}, [][]int{nil, {0}}},
		// Names of the program's objects are hashes, with any bits.
		{"like what is touched", []sut.Event{step(1), touch(dependence.Arrival(1)), step(2),
			touch(dependence.Arrival(1))}, [][]int{nil, {0}}},
		{"touched", []sut.Event{step(1), touch(dependence.Arrival(0)), step(2),
			touch(dependence.Arrival(0))}, [][]int{nil, nil}},
		{"the end", []sut.Event{step(1), step(2), {Kind: sut.Stepped, Subject: 1, Operation: sut.Exit},
			step(2)}, [][]int{nil, nil, {0, 1}, {1, 2}}},
		{"the clock", []sut.Event{step(1), step(2), {Kind: sut.Ticked}, step(2)},
			[][]int{nil, nil, {0, 1}, {1, 2}}},
	} {
		list := pasts.Transitions(c.events, 1)
		d := dependence.New()
		for i := range list {
			got := d.Add(i, list[i].Step, list[i].Barrier, list[i].Accesses)
			if len(got)+len(c.want[i]) > 0 && !slices.Equal(got, c.want[i]) {
				t.Errorf("%s: transition %d comes after %v, want %v", c.name, i, got, c.want[i])
			}
		}
	}

}

// made is an environment of a node that has made some sends, each by its own input: a letter is a
// connection, and a number says which send on it that is.
func made(script []skeleton.Event, conns ...string) *Environment {
	n := New(&network.Nodes{Ordered: []bool{false}}, 0, script, nil)
	for _, c := range conns {
		n.Input++
		n.make(sends(c))
	}
	return n
}

func sends(conn string) skeleton.Event {
	return skeleton.Event{Label: network.Event{Kind: model.Send, Conn: conn}, To: skeleton.Nobody}
}

// TestPast: an event has in its Past what the program orders before it, in both orders of what is
// independent. Such executions are the same, and others are not.
func TestPast(t *testing.T) {
	past := func(events []sut.Event, conns ...string) (map[string][]skeleton.Name, uint64) {
		n := made(nil, conns...)
		c := n.Analyse(events, 1)
		all := map[string][]skeleton.Name{}
		for _, e := range n.Made {
			all[e.Stream] = e.Past
		}
		return all, c.Print
	}
	one, print := past([]sut.Event{step(1), input, step(2), input}, "a", "b")
	other, same := past([]sut.Event{step(2), input, step(1), input}, "b", "a")
	if d := cmp.Diff(one, other); d != "" || len(one["a out"])+len(one["b out"]) > 0 || print != same {
		t.Errorf("independent: %v, prints %x and %x\n%s", one, print, same, d)
	}
	lock := access(7, model.Write)
	one, print = past([]sut.Event{step(1), lock, input, step(2), lock, input}, "a", "b")
	other, same = past([]sut.Event{step(2), lock, input, step(1), lock, input}, "b", "a")
	if !slices.Equal(one["b out"], []skeleton.Name{{Stream: "a out", N: 1}}) || len(one["a out"]) > 0 ||
		!slices.Equal(other["a out"], []skeleton.Name{{Stream: "b out", N: 1}}) || print == same {
		t.Errorf("dependent: %v, %v, prints %x and %x", one, other, print, same)
	}
}

// TestPastByParts: what a transition does after an event is not before it. So the event has the
// same Past whether the transition goes on, or another one does what is left.
func TestPastByParts(t *testing.T) {
	lock := access(7, model.Write)
	past := func(events ...sut.Event) (list []skeleton.Event) {
		n := made(nil, "b", "a", "a", "c")
		n.Analyse(slices.Concat([]sut.Event{step(2), lock, input}, events), 1)
		return n.Made
	}
	at := past(step(1), input, input, lock, input)
	parted := past(step(1), input, step(1), input, step(1), lock, input)
	if d := cmp.Diff(parted, at); d != "" {
		t.Errorf("(-several transitions +one)\n%s", d)
	}
	after := func(k int) bool {
		return slices.ContainsFunc(at[k].Past, func(n skeleton.Name) bool { return n.Stream == "b out" })
	}
	if after(1) || after(2) || !after(3) {
		t.Errorf("only the last event is after the lock: %v", at)
	}
}

// TestDepartures: what an execution does that the script does not say is a branch where it comes of
// nothing else of that kind, and what comes of none is before each.
func TestDepartures(t *testing.T) {
	// The script: a send on a, and then one on c.
	first := made(nil, "a", "c")
	first.Analyse([]sut.Event{step(1), input, step(1), input}, 1)
	lock := access(7, model.Write)
	for _, c := range []struct {
		name       string
		events     []sut.Event
		conns      []string
		departures []int
		follows    []bool
	}{
		{"none", []sut.Event{step(1), input, step(1), input}, []string{"a", "c"}, nil, []bool{true, true}},
		{"another order", []sut.Event{step(1), input, step(2), input}, []string{"a", "c"}, []int{1},
			[]bool{true, false}},
		{"two", []sut.Event{step(2), input, step(3), input, step(1), input}, []string{"d", "e", "a"},
			[]int{0, 1}, []bool{false, false, true}},
		{"one after another", []sut.Event{step(2), input, lock, step(3), lock, input, step(1), lock, input},
			[]string{"d", "e", "a"}, []int{0}, []bool{false, false, false}},
		{"after it by the environment", []sut.Event{step(2), input, touch(dependence.Doors),
			step(1), input, touch(dependence.Doors)}, []string{"d", "a"}, []int{0},
			[]bool{false, false}},
	} {
		n := made(first.Made, c.conns...)
		got := n.Analyse(c.events, 1)
		if !slices.Equal(got.Departures, c.departures) || !slices.Equal(got.Follows, c.follows) {
			t.Errorf("%s: %v, %v, want %v, %v", c.name, got.Departures, got.Follows, c.departures, c.follows)
		}
	}
}

// TestHaltsWhereItLeaves: whoever makes an event that the skeleton does not have is to go no
// further, and nothing arrives because of it. Others go on. Of a node in one order nobody does.
func TestHaltsWhereItLeaves(t *testing.T) {
	lock := access(7, model.Write)
	begin := func(script []skeleton.Event, ordered bool) *Environment {
		n := New(&network.Nodes{Names: []string{"n"}, Ordered: []bool{ordered},
			Data: map[network.Event][]byte{}}, 0, script, nil)
		for _, id := range []string{"a", "b", "c"} {
			n.open(&conn{id: id, other: 1, accepted: true})
		}
		return n
	}
	send := func(peers sut.Peers, to string) model.Answer {
		in := model.Input{Kind: model.Send, Conn: strings.Index("abc", to), Data: []byte("x")}
		a, err := peers.Exchange(in)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	script := begin(nil, false)
	send(script, "a")
	send(script, "b")
	script.Analyse([]sut.Event{step(1), input, step(2), input}, 0)
	for _, c := range []struct {
		name    string
		ordered bool
		log     []sut.Event
		sends   []string // each by an input; a dash: none
		want    []bool
	}{
		{"the skeleton", false, []sut.Event{step(1), input, step(2), input}, []string{"a", "b"},
			[]bool{false, false}},
		{"another order", false, []sut.Event{step(2), input, step(1), input}, []string{"b", "a"},
			[]bool{false, false}},
		{"another event", false, []sut.Event{step(1), input, step(2), input}, []string{"c", "b"},
			[]bool{true, false}},
		{"other events before it", false, []sut.Event{step(1), lock, input, step(2), lock, input},
			[]string{"a", "b"}, []bool{false, true}},
		{"in one order", true, nil, []string{"c", "b"}, []bool{true, true}},
	} {
		events := script.Made
		if c.ordered {
			events = nil
		}
		peers := begin(events, c.ordered).Watched()
		for at, i := 0, 0; i < len(c.sends); i++ {
			if w, ok := peers.(sut.Watcher); ok {
				for c.log[at].Kind != sut.Exchanged {
					at++
				}
				w.Watch(c.log[:at])
				at++
			}
			if got := send(peers, c.sends[i]).Halts; got != c.want[i] {
				t.Errorf("%s: after sending on %s, halted is %t, want %t", c.name, c.sends[i], got, c.want[i])
			}
		}
	}
}
