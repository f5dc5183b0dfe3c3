package iocache

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestListenInConnectionScope: what the peers open when the SUT begins to listen has trees of its
// own, whatever the execution does before and in between.
func TestListenInConnectionScope(t *testing.T) {
	c := New(Limits{})
	x := c.Cursor(Connection)
	var entries []Entry
	give := func(in Input, known Reaction) Reaction {
		t.Helper()
		served, rest, hit, _ := x.Lookup(in)
		if hit {
			return served
		}
		e, err := x.Record(rest, known)
		if err != nil {
			t.Fatalf("%v: %v", in, err)
		}
		entries = append(entries, e)
		return known
	}
	listen := func(number int) (Input, Reaction) {
		return Input{Kind: Listen, Conn: number, Name: "l", Addr: "0.0.0.0:80"}, Reaction{
			Opened: []int{number, number},
			Deliveries: []Delivery{{Conn: number + 1, Data: []byte("GET a")},
				{Conn: number + 2, Data: []byte("GET b"), End: EOF}},
		}
	}
	on := func(conn int, data string) Input { return Input{Kind: Send, Conn: conn, Data: []byte(data)} }
	ends := Reaction{Deliveries: []Delivery{{Conn: 2, End: Reset}}, Ended: []Ending{{Peer: 1}}}
	in, opens := listen(0)
	give(in, opens)
	give(on(1, "A"), Reaction{Deliveries: []Delivery{{Conn: 1, Data: []byte("more")}}})
	give(on(2, "B"), ends)
	misses := c.Stats().Misses

	x.Rewind() // in another order, and after a connect
	give(Input{Kind: Connect, Name: "c", Addr: "1:1"}, Reaction{})
	in, opens = listen(1)
	if diff := cmp.Diff(opens, give(in, Reaction{})); diff != "" {
		t.Errorf("listen, with other numbers (-want +got):\n%s", diff)
	}
	want := Reaction{Deliveries: []Delivery{{Conn: 3, End: Reset}}, Ended: []Ending{{Peer: 1}}}
	if diff := cmp.Diff(want, give(on(3, "B"), Reaction{})); diff != "" {
		t.Errorf("on the second connection first (-want +got):\n%s", diff)
	}
	give(on(2, "A"), Reaction{})
	if got := c.Stats().Misses - misses; got != 1 {
		t.Errorf("%d misses in the other order, want that of the connect", got)
	}
	if steps := must(c.Missing(Position{Root}, x.At())); len(steps) != 4 || steps[1].Input.Name != "l" {
		t.Errorf("what to replay: %v", steps)
	}

	var dependence *Dependence
	if _, err := x.Record(on(2, "again"), Reaction{Opened: []int{1}}); !errors.As(err, &dependence) {
		t.Errorf("a connection that is opened later: %v", err)
	}
	restored := New(Limits{})
	for _, e := range entries {
		if err := restored.Restore(e); err != nil {
			t.Errorf("%s: %v", e.AppendText(nil), err)
		}
	}
	if diff := cmp.Diff(c.dump(), restored.dump()); diff != "" {
		t.Errorf("restored from its records (-want +got):\n%s", diff)
	}
}

// TestComparingGoesOnWhereNothingIsKnown: what is opened on a connection of which the cache knows
// nothing is followed all the same.
func TestComparingGoesOnWhereNothingIsKnown(t *testing.T) {
	c := New(Limits{})
	x := c.Cursor(Connection)
	listen, opened := Input{Kind: Listen, Name: "l", Addr: "0.0.0.0:80"}, Reaction{Opened: []int{0}}
	for _, step := range []struct {
		in Input
		r  Reaction
	}{{Input{Kind: Choose}, Reaction{}}, {listen, opened},
		{Input{Kind: Send, Conn: 1, Data: []byte("a")}, Reaction{}}} {
		_, rest, _, _ := x.Lookup(step.in)
		if _, err := x.Record(rest, step.r); err != nil {
			t.Fatal(err)
		}
	}
	for behaviour, want := range []bool{true, false} {
		mirror := c.Cursor(Connection)
		mirror.Compare(Input{Kind: Choose, Conn: behaviour}, Reaction{})
		mirror.Compare(listen, opened)
		known, err := mirror.Compare(Input{Kind: Send, Conn: 1, Data: []byte("a")}, Reaction{})
		if known != want || err != nil {
			t.Errorf("behaviour %d: known %v, %v", behaviour, known, err)
		}
	}
}
