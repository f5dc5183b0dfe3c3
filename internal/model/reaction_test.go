package model

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMinus(t *testing.T) {
	const no = "no"
	tests := []struct{ whole, first, want string }{
		{`0:"abc"`, `nothing`, `0:"abc"`},
		{`0:"abc"`, `0:"a"`, `0:"bc"`},
		{`0:"abc"`, `0:"abc"`, `nothing`},
		{`0:"abc"`, `0:"b"`, no},
		{`0:"abc"`, `0:"abcd"`, no},
		{`0:"abc"`, `1:"a"`, no},
		{`nothing`, `0:"a"`, no},
		{`0:"a" 1:"b" 2:"c"`, `1:"b"`, `0:"a" 2:"c"`},
		{`0:"a" 2:"c"`, `1:"b"`, no},
		{`0:"a" 2:"c"`, `3:"b"`, no},
		// Ends: nothing comes after one, except a reset after EOF.
		{`0:"ab"EOF`, `0:"a"`, `0:"b"EOF`},
		{`0:"ab"EOF`, `0:"ab"`, `0:EOF`},
		{`0:"ab"EOF`, `0:"ab"EOF`, `nothing`},
		{`0:"ab"EOF`, `0:"a"EOF`, no},
		{`0:"ab"`, `0:"ab"EOF`, no},
		{`0:"ab"EOF`, `0:"ab"reset`, no},
		{`0:"ab"reset`, `0:"ab"EOF`, `0:reset`},
		{`0:"ab"reset`, `0:"a"EOF`, no},
		{`0:"ab"reset`, `0:"ab"reset`, `nothing`},
		{`0:"ab"reset`, `0:"a"reset`, no},
		{`refused(errno 111)`, `nothing`, `refused(errno 111)`},
		{`refused(errno 111)`, `refused(errno 113)`, no},
		{`refused(errno 111)`, `0:"a"`, no},
	}
	for _, test := range tests {
		got := no
		if rest, ok := parseReaction(t, test.whole).Minus(parseReaction(t, test.first)); ok {
			got = rest.String()
		}
		if got != test.want {
			t.Errorf("%s minus %s is %s, want %s", test.whole, test.first, got, test.want)
		}
	}
}

func TestNormal(t *testing.T) {
	tests := []struct{ in, want string }{
		{`nothing`, `nothing`},
		{`1:"a" 0:"b"`, `0:"b" 1:"a"`},
		{`0:"a" 0:"b" 0:EOF`, `0:"ab"EOF`},
		{`0:EOF 0:reset`, `0:reset`},
		{`0: 1:"a" 2:`, `1:"a"`},
		{`1:"a" 0:"x" 1:"b" 0:"y"`, `0:"xy" 1:"ab"`},
	}
	for _, test := range tests {
		if got := parseReaction(t, test.in).Normal().String(); got != test.want {
			t.Errorf("the normal form of %s: %s, want %s", test.in, got, test.want)
		}
	}
}

// drawReaction draws a normal reaction that ends no stream.
func drawReaction(t *rapid.T) Reaction {
	r := Reaction{}
	for conn := range 4 {
		data := rapid.StringMatching(`[ab]{0,3}`).Draw(t, "data")
		if len(data) > 0 {
			r.Deliveries = append(r.Deliveries, Delivery{Conn: conn, Data: []byte(data)})
		}
	}
	return r
}

func TestMinusUndoesJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawReaction(t), drawReaction(t)
		rest, ok := join(a, b).Minus(a)
		if !ok || !rest.Equal(b) {
			t.Fatalf("%v then %v, minus the former: %v, %v", a, b, rest, ok)
		}
		both := Reaction{
			Refused: max(a.Refused, b.Refused), Opened: slices.Concat(a.Opened, b.Opened),
			Deliveries: slices.Concat(a.Deliveries, b.Deliveries), Ended: slices.Concat(a.Ended, b.Ended),
		}
		if whole := join(a, b); !whole.Equal(both.Normal()) {
			t.Fatalf("%v then %v is %v, want what both say, in the normal form", a, b, whole)
		}
	})
}

// TestNormalKeepsItsArgument: a caller may go on using what it has passed.
func TestNormalKeepsItsArgument(t *testing.T) {
	r := parseReaction(t, `1:"a" 0:"b" 1:"c"`)
	before := r.Clone()
	r.Normal()
	if diff := cmp.Diff(before, r); diff != "" {
		t.Errorf("Normal changed its argument (-before +after)\n%s", diff)
	}
}

func TestStrings(t *testing.T) {
	long := strings.Repeat("x", 100)
	tests := []struct{ got, want string }{
		{Input{Kind: Connect, Conn: 2, Addr: "127.0.0.1:22"}.String(), "connect 2 127.0.0.1:22"},
		{Input{Kind: Send, Data: []byte("a\x00")}.String(), `send 0 "a\x00"`},
		{Input{Kind: Send, Data: []byte(long)}.String(), `send 0 "` + long[:40] + `"... (100 bytes)`},
		{Input{Kind: Shutdown, Conn: 1}.String(), "shutdown 1"},
		{Input{Kind: Disk, Operation: "sync /a"}.String(), "disk sync /a"},
		{Crashed.String() + " " + Restarted.String() + " " + Broken.String(), "crash restart reset"},
		{Input{Kind: 99, Conn: 1}.String(), "Kind(99) 1"},
		{Input{Kind: Receive, Conn: 1, Data: []byte("b")}.String(), `receive 1 "b"`},
		{Input{Kind: Accept, Conn: 1}.String(), "accept 1"},
		{Kind(0).String(), "Kind(0)"},
		{End(7).String(), "End(7)"},
		{StillOpen.String(), "open"},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
}

// join is one reaction after the other.
func join(list ...Reaction) Reaction {
	var j Joined
	for _, r := range list {
		j.Add(r)
	}
	return j.Reaction
}

// parseReaction reads what Reaction.String writes, for refusals and short deliveries.
func parseReaction(t *testing.T, text string) (r Reaction) {
	t.Helper()
	for word := range strings.FieldsSeq(strings.ReplaceAll(text, "(errno ", "(")) {
		conn, rest, isDelivery := strings.Cut(word, ":")
		if !isDelivery {
			if code, ok := strings.CutPrefix(word, "refused("); ok {
				r.Refused, _ = strconv.Atoi(strings.TrimSuffix(code, ")"))
			}
			continue
		}
		d := Delivery{}
		d.Conn, _ = strconv.Atoi(conn)
		if quoted, err := strconv.QuotedPrefix(rest); err == nil {
			data, _ := strconv.Unquote(quoted)
			d.Data, rest = []byte(data), rest[len(quoted):]
		}
		if err := d.End.UnmarshalText([]byte(strings.ToLower(rest))); err != nil {
			t.Fatal(err)
		}
		r.Deliveries = append(r.Deliveries, d)
	}
	return r
}

// TestTexts: what files say is read back, and nothing else is.
func TestTexts(t *testing.T) {
	for kind := Connect; kind < Kinds; kind++ {
		var got Kind
		text, err := kind.MarshalText()
		err = errors.Join(err, got.UnmarshalText(text))
		if err != nil || got != kind || string(text) != kind.String() {
			t.Errorf("%v is written as %q and read as %v: %v", kind, text, got, err)
		}
	}
	for end := StillOpen; end < ends; end++ {
		var got End
		text, err := end.MarshalText()
		if end == StillOpen {
			text = nil // it is left out
		}
		if err2 := got.UnmarshalText(text); err != nil || err2 != nil || got != end {
			t.Errorf("%v is written as %q and read as %v: %v, %v", end, text, got, err, err2)
		}
	}
	var kind Kind
	var end End
	for _, text := range []string{"jump", Kind(0).String(), Kinds.String(), "open", ends.String()} {
		if kind.UnmarshalText([]byte(text)) == nil || end.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q, which is no kind and no end, is read as %v and %v", text, kind, end)
		}
	}
}

// TestAnswersDiffer: answers that differ in any field are not equal.
func TestAnswersDiffer(t *testing.T) {
	full := func() Answer {
		return Answer{Reaction: Reaction{Refused: 1, Opened: []int{1}, Deliveries: []Delivery{{Conn: 1}},
			Ended: []Ending{{Peer: 1}}, Time: Time{Passed: 1}}, Conn: 1, First: 1, Clients: 1, Again: true,
			Local: "1", Ends: []Ends{{Local: "1"}}, Touched: []Touch{{Object: 1}}, Gates: []Gate{{Conn: 1}},
			Failure: "1", Crash: &Crash{Lost: 1}, Halts: true}
	}
	if !full().Equal(full()) {
		t.Error("an answer differs from itself")
	}
	for _, of := range []reflect.Type{reflect.TypeFor[Answer](), reflect.TypeFor[Reaction]()} {
		for i := range of.NumField() {
			field := of.Field(i)
			other := full()
			in := reflect.ValueOf(&other).Elem().FieldByName(field.Name)
			if in.IsZero() {
				t.Errorf("field %s is not in the answer of this test", field.Name)
			}
			if in.SetZero(); full().Equal(other) {
				t.Errorf("answers that differ in field %s are equal", field.Name)
			}
		}
	}
}
