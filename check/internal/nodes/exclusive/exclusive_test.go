package exclusive

import (
	"fmt"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/cuts"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/published"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// TestIsHeld: what Go takes for nothing is not held, as it is formatted when it is published.
func TestIsHeld(t *testing.T) {
	var nobody *int
	for _, nothing := range []any{false, "", 0, uint8(0), 0.0, time.Duration(0), nil, error(nil), nobody,
		[]string(nil), []byte{}, map[string]int{}} {
		if text := fmt.Sprint(nothing); IsHeld([]byte(text)) {
			t.Errorf("%T is held: %q", nothing, text)
		}
	}
	for _, something := range []any{true, "a", " ", 1, -1, 0.5, time.Second, []int{0}, struct{}{}, "no"} {
		if text := fmt.Sprint(something); !IsHeld([]byte(text)) {
			t.Errorf("%T is not held: %q", something, text)
		}
	}
}

// nodes are what three nodes know of each other. They hold x one at a time.
func nodes() *network.Nodes {
	return &network.Nodes{Names: []string{"a", "b", "c"}, Data: map[network.Event][]byte{},
		Exclusive: func(name string) bool { return name == "x" }}
}

// says is that a node publishes a value as its n-th event.
func says(net *network.Nodes, node, n int, name, value string) skeleton.Event {
	e := published.Event(net, model.Input{Kind: model.Publish, Addr: name, Data: []byte(value)})
	return network.InOrder(e, node, n)
}

// TestHeld: who takes what another node holds is wrong, and takes the event with which that one has
// taken it first. What was let go, and what is gone, nobody holds.
func TestHeld(t *testing.T) {
	net, h := nodes(), New(published.Names{"x"})
	for i, c := range []struct {
		node        int
		name, value string
		gone        int // 1 and a node that is gone before
		want        string
		from        int
	}{
		{0, "x", "1", 0, "", 0},
		{0, "x", "2", 0, "", 0},
		{1, "y", "1", 0, "", 0},
		{1, "x", "false", 0, "", 0},
		{1, "x", "true", 0,
			`two nodes hold x: node a since 0 s ("1"), and node b takes it at 4 s ("true")`, 1},
		{0, "x", "", 0, "", 0},
		{1, "x", "true", 0, "", 0},
		{2, "x", "3", 2, "", 0},
		{0, "x", "0", 0, "", 0},
		{0, "x", "4", 0,
			`two nodes hold x: node c since 7 s ("3"), and node a takes it at 9 s ("4")`, 8},
	} {
		if c.gone > 0 {
			h.Gone(c.gone - 1)
		}
		e := says(net, c.node, i+1, c.name, c.value)
		h.Judge(net, &e, time.Duration(i)*time.Second)
		if d := network.Did(&e); d.Violates != c.want || e.From.N != c.from {
			t.Errorf("%d: %q because of event %d, want %q because of %d", i, d.Violates, e.From.N, c.want,
				c.from)
		}
	}
}

// TestLetGo: a node that ends lets go of what it holds then, and of nothing else.
func TestLetGo(t *testing.T) {
	net := nodes()
	crash := skeleton.Event{Label: network.Event{Kind: model.Crashed}}
	for _, c := range []struct {
		values []string // those of x; "!" is a crash
		want   int
	}{{nil, 0}, {[]string{"1"}, 1}, {[]string{"1", "2"}, 1}, {[]string{"1", "false"}, 0},
		{[]string{"1", "!"}, 0}, {[]string{"1", "!", "1"}, 1}} {
		made := []skeleton.Event{says(net, 0, 1, "y", "1")}
		for _, value := range c.values {
			if value == "!" {
				made = append(made, crash)
				continue
			}
			made = append(made, says(net, 0, len(made)+1, "x", value))
		}
		list := LetGo(net, made)
		if len(list) != c.want {
			t.Errorf("of %q: %+v, want %d", c.values, list, c.want)
		}
		for i := range list {
			if d := network.Did(&list[i]); !d.End || d.Address != "x" || IsHeld(net.Data[d]) {
				t.Errorf("of %q: %+v", c.values, d)
			}
		}
	}
	if net.Exclusive = nil; LetGo(net, []skeleton.Event{says(net, 0, 1, "x", "1")}) != nil {
		t.Error("a node lets go of what is not asked for")
	}
}

// TestFind: a node takes a name before, while and after another one holds it, and what tells it so
// comes before or after that one lets go.
func TestFind(t *testing.T) {
	send, receive := network.Event{Kind: model.Send, Conn: "c"}, network.Event{Kind: model.Receive, Conn: "c"}
	for _, c := range []struct {
		a, b string // + takes, - lets go, ! crashes, s sends, r receives that
		want string // first and second, by their numbers at a and b
	}{
		{"+", "", ""},
		{"+", "+", "a1 b1"},
		{"+-", "+", "a1 b1"},
		{"+-s", "r+", ""},
		{"+s-", "r+", "a1 b2"},
		{"+!s", "r+", ""},
		{"+-s+", "r+", "a4 b2"},
		{"+-s+", "r+-", "a4 b2"},
		{"s+", "+r-", "a2 b1"},
		{"r+-", "+-s", ""},
		{"++-s", "r+", ""},
	} {
		net := nodes()
		g := make(skeleton.Global, 2)
		var sent skeleton.Event
		for node, what := range []string{c.a, c.b} {
			for i, step := range what {
				e := skeleton.Event{To: skeleton.Nobody}
				switch step {
				case '+', '-':
					e = says(net, node, 1, "x", map[rune]string{'+': "true", '-': "false"}[step])
				case '!':
					e.Label = network.Event{Kind: model.Crashed}
				case 's':
					e.Label, e.To = send, 1-node
				case 'r':
					e.Label, e.From = receive, skeleton.Name{Component: 1 - node, N: 3}
				}
				e = network.InOrder(e, node, i+1)
				if step == 's' {
					sent = e
				}
				g[node].Events = append(g[node].Events, e)
			}
		}
		for node := range g {
			for i := range g[node].Events {
				if e := &g[node].Events[i]; e.From.N > 0 {
					e.From, e.Got = sent.Name, sent.Label
				}
			}
		}
		got := ""
		for _, w := range Find(net, cuts.Of(g), g, published.Names{"x"}) {
			for i := range w.Part[w.Node].Events {
				if e := &w.Part[w.Node].Events[i]; network.Did(e).Violates == w.What {
					got += fmt.Sprintf("%s%d %s%d", net.Names[e.From.Component], e.From.N, net.Names[w.Node],
						e.N)
				}
			}
			later(t, net, g, w)
		}
		if got != c.want {
			t.Errorf("%s and %s: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

// later looks whether the other node lets go after what is wrong, if it goes on as it did.
func later(t *testing.T, net *network.Nodes, g skeleton.Global, w *published.Wrong) {
	t.Helper()
	whole := skeleton.Global{w.Part[0], w.Part[1]}
	other := 1 - w.Node
	whole[other].Events = g[other].Events
	lets := 0
	for name, after := range Later(net, whole) {
		lets++
		if name.Component != other || after.Component != w.Node {
			t.Errorf("%+v comes after %+v", name, after)
		}
	}
	from := w.Part[w.Node].Events[len(w.Part[w.Node].Events)-1].From
	want := 0
	for _, e := range said(g[other].Events) {
		if e.N > from.N && !takes(net, e) && want == 0 {
			want = 1
		}
	}
	if lets != want {
		t.Errorf("%d events come later, want %d: %+v", lets, want, whole)
	}
}
