package slow

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// madeOf are events of node 0, in their order, one for each word: + has the clock advance, aK sends
// on connection a so late, .aK closes it, and r receives on it what node 1 has sent first.
func madeOf(words string) (list []skeleton.Event) {
	for _, word := range strings.Fields(words) {
		e := skeleton.Event{To: 1}
		d := network.Event{Kind: model.Send, Sent: network.Hash{byte(len(list))}}
		switch text, closes := strings.CutPrefix(word, "."); {
		case word == "+":
			e.To, e.Tick = skeleton.Nobody, network.Ticks(list)+1
			d = network.Event{Kind: model.Pass}
		case word == "r":
			e.To, e.From, e.Got = skeleton.Nobody, skeleton.Name{Component: 1, N: 1}, network.Event{Late: 2}
			d = network.Event{Kind: model.Receive, Conn: "a"}
		default:
			if closes {
				d.Kind = model.Close
			}
			d.Conn = text[:1]
			fmt.Sscan(text[1:], &d.Late)
		}
		e.Label = d
		list = append(list, network.InOrder(e, 0, len(list)+1))
	}
	return list
}

// wordsOf is the inverse of madeOf.
func wordsOf(list []skeleton.Event) string {
	var words []string
	for i := range list {
		d := network.Did(&list[i])
		word := map[model.Kind]string{model.Pass: "+", model.Receive: "r", model.Close: "."}[d.Kind]
		if network.Streams(&list[i]) {
			word += fmt.Sprint(d.Conn, d.Late)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// TestBranches: each event that is sent may be one advance later than it is, if connections are not
// slow too often then, and if the clock has advanced so far. Who sends on after that sends no
// sooner.
func TestBranches(t *testing.T) {
	gone, waits := skeleton.Label(nil), skeleton.Label(network.Event{Kind: model.Pass})
	for _, c := range []struct {
		script string
		waits  skeleton.Label
		limits Limits
		want   []string
	}{
		{"a0 .a0", waits, Limits{1, 3}, []string{"a1", "a0 .a1"}},
		{"a0 .a0", waits, Limits{0, 3}, nil},
		{"r + a0", waits, Limits{1, 3}, []string{"r + a1"}},
		// It must have arrived before a later time is tried, if the node can know that.
		{"a1", waits, Limits{1, 3}, nil},
		{"a1", gone, Limits{1, 3}, []string{"a2"}},
		{"a1 +", waits, Limits{1, 3}, []string{"a2"}},
		{"+ a1 +", waits, Limits{1, 1}, nil},
		// What is sent on is of the same time in which the connection is slow, unless it is later.
		{"a2 a2 + b0 + a0", waits, Limits{1, 3}, []string{"a3"}},
		{"a2 a2 + b0 + a0", waits, Limits{2, 3}, []string{"a3", "a2 a3", "a2 a2 + b1", "a2 a2 + b0 + a1"}},
	} {
		net := &network.Nodes{Names: []string{"a", "b"}, Data: map[network.Event][]byte{}}
		item := skeleton.Item{Local: skeleton.Local{Events: madeOf(c.script), Waits: c.waits}}
		for i := range item.Local.Events {
			net.Data[network.Did(&item.Local.Events[i])] = []byte{byte(i)}
		}
		var got []string
		for _, b := range Branches(net, item, c.limits) {
			got = append(got, wordsOf(append(slices.Clone(b.Before), *b.Event)))
			if data := net.Data[network.Did(b.Event)]; len(data) != 1 || int(data[0]) != len(b.Before) {
				t.Errorf("%s: %q is sent late", c.script, data)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, %+v: %q, want %q", c.script, c.limits, got, c.want)
		}
	}
	// What is due behind a partition comes when that heals, so the next time is after that.
	parted := &network.Nodes{Names: []string{"a", "b"}, Data: map[network.Event][]byte{},
		Parted: &network.Partition{Links: [][2]int{{0, 1}}, From: 1, Until: 2}}
	for script, want := range map[string][]string{"a0": {"a1"}, "a1 +": nil, "a1 + +": {"a3"},
		"+ a0": nil, "+ a0 +": {"+ a2"}} {
		item := skeleton.Item{Local: skeleton.Local{Events: madeOf(script), Waits: waits}}
		var got []string
		for _, b := range Branches(parted, item, Limits{1, 3}) {
			got = append(got, wordsOf(append(slices.Clone(b.Before), *b.Event)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s, parted: %q, want %q", script, got, want)
		}
	}
	// What goes to peers is never late.
	net := &network.Nodes{Names: []string{"a", "peers"}, Beside: func(string) bool { return true }}
	item := skeleton.Item{Local: skeleton.Local{Events: madeOf("a0")}}
	if list := Branches(net, item, Limits{1, 3}); len(list) > 0 {
		t.Errorf("%d branches of what peers get", len(list))
	}
}

// TestIsPossible: connections are not slow too often, at all nodes together, and nobody receives
// anything before it arrives.
func TestIsPossible(t *testing.T) {
	of := func(node int, words string) skeleton.Local {
		list := madeOf(words)
		for i := range list {
			list[i].Component = node
		}
		return skeleton.Local{Events: list}
	}
	for _, c := range []struct {
		a, b string
		most int
		want bool
	}{
		{"a1 a1 + a0", "b0", 1, true},
		{"a1 a1 + a0", "b1", 1, false},
		{"a1 a1 + a0", "b1", 2, true},
		{"a1 a2", "", 1, false},
		{"+ + r", "a2", 1, true},
		{"+ r", "a2", 1, false},
		{"", "", 0, true},
	} {
		g := skeleton.Global{of(0, c.a), of(1, c.b)}
		if got := IsPossible(g, Limits{c.most, 3}); got != c.want {
			t.Errorf("%q and %q, at most %d times: %t, want %t", c.a, c.b, c.most, got, c.want)
		}
	}
}

// TestLabel: something is as late as the script says, or as what was sent before it. If it is
// something else, the script says nothing of it.
func TestLabel(t *testing.T) {
	e, said := madeOf("a0")[0], madeOf("a2")[0]
	closes, nobody := madeOf(".a0")[0], e
	nobody.To = skeleton.Nobody
	for i, c := range []struct {
		e, said *skeleton.Event
		before  int
		want    int
	}{
		{&e, nil, -3, 0}, {&e, nil, 1, 1}, {&e, &said, 0, 2}, {&e, &said, 1, 2}, {&closes, &said, 1, 1},
		{&closes, &said, 0, 0}, {&nobody, nil, 1, 0},
	} {
		if got := Label(c.e, c.said, c.before); got.Late != c.want {
			t.Errorf("case %d: %d advances late, want %d", i, got.Late, c.want)
		}
	}
}
