package touched

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/nodes/dependence"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// name is one of the node itself, and sent what another node has sent, after some events of it.
func name(stream string, n int) skeleton.Name { return skeleton.Name{Stream: stream, N: n} }

func sent(kind model.Kind, conn, address string, n int, after ...skeleton.Name) skeleton.Arrival {
	e := skeleton.Event{Name: skeleton.Name{Component: 1, Stream: conn + " out", N: n},
		Label: network.Event{Kind: kind, Conn: conn, Address: address}}
	if conn == "" { // of a listener
		e.Stream, e.To = network.Doors, skeleton.Everybody
	}
	return skeleton.Arrival{Send: e, After: after}
}

// TestBy: events that one arrival waits for do not depend on each other, and whoever leaves the
// script where it would take the arrival depends on all of them.
func TestBy(t *testing.T) {
	add := func(o model.ObjectID) model.Touch { return model.Touch{Object: o, Kind: model.Commute} }
	write := func(o model.ObjectID) model.Touch { return model.Touch{Object: o, Kind: model.Write} }
	first := dependence.Arrival(0)
	for _, c := range []struct {
		what     string
		event    skeleton.Name
		arrival  skeleton.Arrival
		was, is  bool
		wantsAll []model.Touch
	}{
		{"nothing", name("a out", 1), sent(model.Send, "b", "", 1, name("a out", 2)), true, true, nil},
		{"what an arrival waits for", name("a out", 1), sent(model.Send, "b", "", 1, name("a out", 1)), true,
			true, []model.Touch{add(first)}},
		{"what has the script take it next", name("b in", 1), sent(model.Send, "b", "", 2), false, true,
			[]model.Touch{add(first)}},
		{"what keeps the script from taking it", name("b in", 1), sent(model.Send, "b", "", 2), true, false,
			[]model.Touch{write(first)}},
		{"a connect", name(network.Doors, 1), sent(model.Send, "b", "", 1), true, true,
			[]model.Touch{write(dependence.Doors)}},
		{"what a connection waits for", name("a out", 1),
			sent(model.Connect, "c", "10.0.0.1:1", 1, name("a out", 1)), false, false,
			[]model.Touch{add(first), write(dependence.Doors)}},
		{"what the close of a listener waits for", name("a out", 1),
			sent(model.Close, "", "10.0.0.2:1", 1, name("a out", 1)), true, true,
			[]model.Touch{add(first), add(dependence.Doors)}},
	} {
		did := network.Event{Kind: model.Connect, Conn: "c"}
		if conn, is := strings.CutSuffix(c.event.Stream, " out"); is {
			did = network.Event{Kind: model.Send, Conn: conn}
		} else if conn, is := strings.CutSuffix(c.event.Stream, " in"); is {
			did = network.Event{Kind: model.Receive, Conn: conn}
		}
		got := By([]skeleton.Event{{Name: c.event, Label: did}},
			[]skeleton.Arrival{c.arrival}, []bool{c.was}, []bool{c.is})
		if d := cmp.Diff(c.wantsAll, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.what, d)
		}
	}
}

// TestGate: of what is sent on a connection, in whatever order it is listed, the last that is there
// has passed, and the first that is not comes next. What is sent elsewhere does not count.
func TestGate(t *testing.T) {
	arrivals := []skeleton.Arrival{sent(model.Send, "b", "", 3), sent(model.Connect, "b", "10.0.0.1:1", 9),
		sent(model.Send, "b", "", 1), sent(model.Send, "c", "", 1), sent(model.Close, "b", "", 4),
		sent(model.Send, "b", "", 2)}
	for _, c := range []struct {
		done         []int
		passed, next int // of arrivals; -1: none
	}{
		{nil, -1, 2},
		{[]int{1, 3}, -1, 2},
		{[]int{2}, 2, 5},
		{[]int{2, 5}, 5, 0},
		{[]int{0, 2, 4, 5}, 4, -1},
	} {
		done := make([]bool, len(arrivals))
		for _, i := range c.done {
			done[i] = true
		}
		want := model.Gate{Conn: 7}
		if c.passed >= 0 {
			want.Passed = dependence.Arrival(c.passed)
		}
		if c.next >= 0 {
			want.Next = dependence.Arrival(c.next)
		}
		if got := Gate(7, "b", arrivals, done); got != want {
			t.Errorf("with %v: %+v, want %+v", c.done, got, want)
		}
	}
}
