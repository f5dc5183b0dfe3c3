package iocache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// must is a value without an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// recorded is a cache after one execution, and the places on its way.
func recorded(t testing.TB, limits Limits, inputs []Input, reactions []Reaction) (*Cache, []NodeID) {
	t.Helper()
	c := New(limits)
	cursors := []NodeID{Root}
	for i, in := range inputs {
		next, err := c.Record(cursors[i], in, reactions[i])
		if err != nil {
			t.Fatalf("record %v: %v", in, err)
		}
		cursors = append(cursors, next)
	}
	return c, cursors
}

func connect(conn int) Input { return Input{Kind: Connect, Conn: conn, Addr: "127.0.0.1:22"} }

func send(data string) Input { return Input{Kind: Send, Data: []byte(data)} }

func says(data string) Reaction {
	return Reaction{Deliveries: []Delivery{{Conn: 0, Data: []byte(data)}}}
}

// TestCopies checks that the cache keeps nothing that the caller may change.
func TestCopies(t *testing.T) {
	request, answer := []byte("question"), []byte("answer")
	in := Input{Kind: Send, Data: request}
	r := Reaction{Deliveries: []Delivery{{Conn: 0, Data: answer}}}
	c, cursors := recorded(t, Limits{}, []Input{connect(0), in}, []Reaction{{}, r})
	clear(request)
	clear(answer)
	r.Deliveries[0].Conn = 7
	_, served, _, hit, _ := c.Lookup(cursors[1], send("question"))
	if !hit || !served.Equal(says("answer")) {
		t.Errorf("served %v, hit %v", served, hit)
	}
}

// TestServedStaysValid checks that cutting an edge does not change what an
// execution was given before.
func TestServedStaysValid(t *testing.T) {
	c, cursors := recorded(t, Limits{}, []Input{connect(0), send("ab")}, []Reaction{{}, says("AB")})
	_, served, _, _, _ := c.Lookup(cursors[1], send("ab"))
	if _, err := c.Record(cursors[1], send("a"), says("A")); err != nil {
		t.Fatal(err)
	}
	if !served.Equal(says("AB")) {
		t.Errorf("what was served has become %v", served)
	}
	steps := must(c.Path(cursors[1], cursors[2]))
	if len(steps) != 2 || !steps[0].Reaction.Equal(says("A")) || !steps[1].Reaction.Equal(says("B")) {
		t.Errorf("path over the cut: %v", steps)
	}
}

func TestByteLimit(t *testing.T) {
	c, cursors := recorded(t, Limits{Bytes: 4096}, []Input{connect(0)}, []Reaction{{}})
	for name, answer := range map[string]struct {
		in Input
		r  Reaction
	}{
		"request":  {send(strings.Repeat("x", 5000)), Reaction{}},
		"reaction": {send("x"), says(strings.Repeat("y", 5000))},
		"address":  {Input{Kind: Connect, Conn: 1, Addr: strings.Repeat("z", 5000)}, Reaction{}},
	} {
		before := c.Stats()
		_, err := c.Record(cursors[1], answer.in, answer.r)
		var full *LimitError
		if !errors.As(err, &full) || !strings.Contains(full.Error(), "of at most 4096") {
			t.Errorf("%s: error %v, want a *LimitError that names the limit", name, err)
		}
		if after := c.Stats(); after != before {
			t.Errorf("%s: the refused record changed the cache: %+v, before %+v", name, after, before)
		}
	}
	for i := 0; ; i++ {
		if _, err := c.Record(cursors[1], send(fmt.Sprintf("%d", i)), Reaction{}); err != nil {
			break
		}
		if i == 100 {
			t.Fatal("100 nodes fit into 4096 bytes")
		}
	}
	if held := c.Stats().Bytes; held > 4096 {
		t.Errorf("the cache holds %d bytes, its limit is 4096", held)
	}
}

// TestChoiceComesFirst: it is how a group starts.
func TestChoiceComesFirst(t *testing.T) {
	c, cursors := recorded(t, Limits{}, []Input{{Kind: Choose, Conn: 1}, connect(0)}, []Reaction{{}, {}})
	for i, at := range cursors[1:] {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("after %d inputs the group could be made to behave otherwise", i+1)
				}
			}()
			c.Lookup(at, Input{Kind: Choose, Conn: 2})
		}()
	}
	if _, err := c.Record(Root, Input{Kind: Choose, Conn: 2}, Reaction{Refused: 1}); err == nil {
		t.Error("a behaviour can be refused")
	}
}

func TestNewRefusesLimits(t *testing.T) {
	for _, limits := range []Limits{{Nodes: -1}, {Bytes: -1}, {Nodes: 1 << 40}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("New(%+v) did not panic", limits)
				}
			}()
			New(limits)
		}()
	}
}

// TestInconsistencyFields checks what the checker reads besides the text, and
// that the text stays short whatever the answers are.
func TestInconsistencyFields(t *testing.T) {
	inputs, reactions := []Input{connect(0)}, []Reaction{{}}
	for i := range 50 {
		inputs, reactions = append(inputs, send(fmt.Sprintf("request %d", i))), append(reactions, says("ok"))
	}
	for conn := 1; conn < 10; conn++ {
		inputs, reactions = append(inputs, connect(conn)), append(reactions, Reaction{})
	}
	large := Reaction{}
	for conn := range 10 {
		large.Deliveries = append(large.Deliveries,
			Delivery{Conn: conn, Data: bytes.Repeat([]byte{1}, 1<<16)})
	}
	inputs, reactions = append(inputs, send("last")), append(reactions, large)
	c, cursors := recorded(t, Limits{}, inputs, reactions)
	to := cursors[len(cursors)-1]
	steps := must(c.Path(Root, to))
	err := c.Compare(steps[len(steps)-1], Reaction{})
	var contradiction *Inconsistency
	if !errors.As(err, &contradiction) {
		t.Fatalf("error %v, want an *Inconsistency", err)
	}
	if contradiction.Cut || len(contradiction.Path) != len(inputs)-1 || !contradiction.Want.Equal(large) ||
		!contradiction.Got.Empty() || string(contradiction.Now.Data) != "last" {
		t.Errorf("fields: cut %v, %d steps, now "+
			"%v", contradiction.Cut, len(contradiction.Path), contradiction.Now)
	}
	text := err.Error()
	if lines := strings.Count(text, "\n"); lines > 60 {
		t.Errorf("the text has %d lines:\n%s", lines, text)
	}
	for _, want := range []string{"inputs before it: 60", "... 55 more", "... 65472 more " +
		"bytes", "... 7 more connections differ"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not say %q:\n%s", want, text)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if len(line) > 100 {
			t.Errorf("a line has %d columns: %s", len(line), line)
		}
	}
}

// TestHitAllocatesNothing: hits are the inner loop of a search.
func TestHitAllocatesNothing(t *testing.T) {
	c, cursors := recorded(t, Limits{}, []Input{connect(0), send("question")},
		[]Reaction{says("hello"), says("answer")})
	first, second := connect(0), send("question")
	allocations := testing.AllocsPerRun(100, func() {
		cur, _, _, _, _ := c.Lookup(Root, first)
		if cur, _, _, hit, _ := c.Lookup(cur, second); !hit || cur != cursors[2] {
			t.Fatal("no hit")
		}
	})
	if allocations != 0 {
		t.Errorf("two hits allocate %v times", allocations)
	}
}

// BenchmarkHit measures a hit on a small request by depth and by the number of
// requests that begin there; both should make no difference but for the
// processor's caches.
func BenchmarkHit(b *testing.B) {
	for _, depth := range []int{1, 100, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("depth-%d", depth), func(b *testing.B) { benchmarkHit(b, depth, 1) })
	}
	for _, fan := range []int{16, 256} {
		b.Run(fmt.Sprintf("siblings-%d", fan), func(b *testing.B) { benchmarkHit(b, 1, fan) })
	}
}

func benchmarkHit(b *testing.B, depth, siblings int) {
	inputs, reactions := []Input{connect(0)}, []Reaction{{}}
	for range depth {
		inputs, reactions = append(inputs, send("0123456789abcdef")), append(reactions, says("answer"))
	}
	c, cursors := recorded(b, Limits{}, inputs, reactions)
	last := cursors[len(cursors)-2]
	for i := range siblings {
		in := send(string([]byte{byte(i)}) + "123456789abcdef")
		if i == '0' {
			continue // the one on the path
		}
		if _, err := c.Record(last, in, says("answer")); err != nil {
			b.Fatal(err)
		}
	}
	in := send("0123456789abcdef")
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, hit, _ := c.Lookup(last, in); !hit {
			b.Fatal("no hit")
		}
	}
}

// BenchmarkHitAlongPath measures a hit of an execution that goes down a long path.
func BenchmarkHitAlongPath(b *testing.B) {
	const depth = 100_000
	inputs, reactions := []Input{connect(0)}, []Reaction{{}}
	for range depth {
		inputs, reactions = append(inputs, send("0123456789abcdef")), append(reactions, says("answer"))
	}
	c, cursors := recorded(b, Limits{}, inputs, reactions)
	cur, in, end := cursors[1], inputs[1], cursors[len(cursors)-1]
	b.ReportAllocs()
	for b.Loop() {
		if cur == end {
			cur = cursors[1]
		}
		cur, _, _, _, _ = c.Lookup(cur, in)
	}
}

// BenchmarkHitOverEdges measures one write that runs over ten edges.
func BenchmarkHitOverEdges(b *testing.B) {
	inputs, reactions := []Input{connect(0)}, []Reaction{{}}
	for range 10 {
		inputs, reactions = append(inputs, send("0123456789")), append(reactions, says("answer"))
	}
	c, cursors := recorded(b, Limits{}, inputs, reactions)
	in := send(strings.Repeat("0123456789", 10))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, hit, _ := c.Lookup(cursors[1], in); !hit {
			b.Fatal("no hit")
		}
	}
}

// BenchmarkMillionRequests measures what a request costs in memory, in a cache that has a million
// of them in a bushy tree, and how long a random one of them takes to look up; in both scopes,
// where the same ten come again and again, as in a search, and where all requests and answers
// differ. The estimate is what limits go by.
func BenchmarkMillionRequests(b *testing.B) {
	for _, scope := range []Scope{Group, Connection} {
		for name, distinct := range map[string]bool{"alike": false, "all-different": true} {
			b.Run(scope.String()+"/"+name, func(b *testing.B) { benchmarkMillion(b, scope, distinct) })
		}
	}
}

func benchmarkMillion(b *testing.B, scope Scope, distinct bool) {
	const requests, fan = 1_000_000, 10
	data, answer := []byte("a345678901234567"), []byte("answer")
	request := func(place, number int) Input { // the one with that number at a place
		data[0] = 'a' + byte(number)
		if distinct {
			binary.LittleEndian.PutUint64(data[1:], uint64(place))
		}
		return Input{Kind: Send, Data: data}
	}
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	c, open := New(Limits{}), connect(0)
	if scope == Connection {
		open.Name = "one"
	}
	cur, err := c.Record(Root, open, Reaction{})
	places := append(make([]NodeID, 0, requests+fan), cur)
	for i := 0; len(places) <= requests && err == nil; i++ {
		for j := range fan {
			if distinct {
				answer = fmt.Appendf(answer[:0], "%06d", len(places))
			}
			if cur, err = c.Record(places[i], request(i, j),
				Reaction{Deliveries: []Delivery{{Data: answer}}}); err != nil {
				b.Fatal(err)
			}
			places = append(places, cur)
		}
	}
	after := held()
	number := uint32(1)
	for b.Loop() {
		number = number*1664525 + 1013904223
		place := int(number >> 10 % (requests / fan))
		if _, _, _, hit, _ := c.Lookup(places[place], request(place, int(number>>8%fan))); !hit {
			b.Fatal("no hit")
		}
	}
	b.ReportMetric(float64(after-before-uint64(cap(places)*4))/requests, "B/request")
	b.ReportMetric(float64(c.Stats().Bytes)/requests, "estimated-B/request")
	runtime.KeepAlive(places)
}
