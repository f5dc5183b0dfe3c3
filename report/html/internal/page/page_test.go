package page

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// shared are the goroutines of the tests: 1 is main, 2 main/1, 3 main/2.
var shared = []report.Goroutine{{ID: 1, Name: "main"}, {ID: 2, Name: "main/1"}, {ID: 3, Name: "main/2"}}

// on is a step on an object.
func on(goroutine int, operation, object string) report.Step {
	return report.Step{Goroutine: goroutine, Operation: operation, Object: object}
}

// TestArrows: a step comes after the unlock, the send, the signal, the close or the go statement
// that it needs.
func TestArrows(t *testing.T) {
	starts := on(1, "start", "main/1")
	starts.Kind = report.Lifetime
	for _, test := range []struct {
		name  string
		steps []report.Step
		want  []int // after which step, by index; -1: none
	}{
		{"lock", []report.Step{on(1, "lock", "mutex 1"), on(1, "unlock", "mutex 1"), on(2, "lock", "mutex 2"),
			on(2, "Lock", "mutex 1"), on(1, "lock", "mutex 2")}, []int{-1, -1, -1, 1, -1}},
		{"own unlock", []report.Step{on(1, "unlock", "mutex 1"), on(1, "lock", "mutex 1")}, []int{-1, -1}},
		{"buffered", []report.Step{on(1, "send on", "channel 1"), on(1, "send on", "channel 1"),
			on(2, "receive from", "channel 1"), on(3, "receive from", "channel 1")}, []int{-1, -1, 0, 1}},
		{"closed", []report.Step{on(1, "close", "channel 1"), on(2, "receive from", "channel 1"),
			on(3, "receive from", "channel 1")}, []int{-1, 0, 0}},
		{"blocked receiver", []report.Step{on(2, "load", "variable 1"), on(1, "send on",
			"channel 1 to main/1"),
			on(2, "goes on: receive from", "")}, []int{-1, -1, 1}},
		{"blocked sender", []report.Step{on(1, "send on", "channel 1"), on(1, "yield", ""),
			on(2, "receive from", "channel 1 from main"), on(2, "receive from", "channel 1")}, []int{-1, -1,
			0, 1}},
		{"select", []report.Step{on(1, "send on", "channel 1"), on(2, "select", "channel 1"),
			on(3, "receive from", "channel 1")}, []int{-1, -1, -1}},
		{"wait group", []report.Step{on(2, "add to", "wait group 1"), on(1, "wait for", "wait group 1")},
			[]int{-1, 0}},
		{"condition", []report.Step{on(1, "signal", "condition 1"), on(2, "await", "condition 1"),
			on(1, "Broadcast", "condition 1"), on(2, "goes on: await", "")}, []int{-1, -1, -1, 2}},
		{"start", []report.Step{starts, on(3, "yield", ""), on(2, "start", "")}, []int{-1, -1, 0}},
	} {
		names := map[string]int{"main": 1, "main/1": 2, "main/2": 3}
		var got []int
		for i, back := range arrows(test.steps, names) {
			if back == 0 {
				got = append(got, -1)
			} else {
				got = append(got, i-back)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestRoles: each operation on a lock, a channel, a condition or a wait group has a role by the
// name that the runtime gives it.
func TestRoles(t *testing.T) {
	want := map[sut.Operation]role{
		sut.Lock: acquires, sut.Unlock: releases, sut.ReadLock: acquires, sut.ReadUnlock: releases,
		sut.WriteLock: acquires, sut.WriteUnlock: releases, sut.Add: releases, sut.Wait: acquires,
		sut.Reused: acquires, sut.CondWait: acquires, sut.CondSignal: releases, sut.ChannelSend: sends,
		sut.ChannelReceive: receives, sut.ChannelClose: closes, sut.ChannelLength: looks, sut.Select: chooses,
		sut.AtomicLoad: noRole, sut.MapWrite: noRole,
	}
	for operation, r := range want {
		if got := roleOf(operation.Verb(), operation.Object()+" 1"); got != r {
			t.Errorf("%s: %d, want %d", operation, got, r)
		}
	}
}

// TestFolds: of a loop the first and the last round stay, and steps in libraries are folded up to
// steps that matter. A loop may have such folds in it.
func TestFolds(t *testing.T) {
	library := func(object string) report.Step {
		s := on(2, "lock", object)
		s.Library = "example.org/\x1bssh"
		return s
	}
	var steps []report.Step
	for i := range 6 {
		steps = append(steps, on(1, "load", "variable 1"), on(report.Clock, fmt.Sprint("it is ", i), ""))
	}
	steps = append(steps, library("a"), library("b"), library("c"), library("d"), library("e"),
		on(1, "load", "variable 2"))
	for range 5 {
		steps = append(steps, library("a"), library("b"), library("c"), on(1, "yield", ""))
	}
	want := []Fold{
		{2, 9, "4 more rounds of the 2 rows above", true},
		{18, 20, `3 steps in example.org/\x1bssh, by main/1`, false},
		{22, 33, "3 more rounds of the 2 rows above", true},
	}
	for first := 22; first <= 34; first += 4 {
		want = append(want, Fold{first, first + 2, want[1].Text, false})
	}
	got := Of(&report.Counterexample{Steps: steps, Goroutines: shared}, len(steps),
		map[int]bool{14: true}).Folds
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFoldsAreNested: folds are in order, are inside of the steps, and either apart or one inside
// the other. No step that matters is in one.
func TestFoldsAreNested(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var steps []report.Step
		for range rapid.IntRange(0, 80).Draw(t, "steps") {
			s := on(rapid.IntRange(-1, 2).Draw(t, "goroutine"), "lock", "mutex 1")
			s.Library = rapid.SampledFrom([]string{"", "", "x"}).Draw(t, "library")
			s.Key = rapid.IntRange(0, 20).Draw(t, "key") == 0
			steps = append(steps, s)
		}
		p := Of(&report.Counterexample{Steps: steps}, rapid.IntRange(0, 90).Draw(t, "most"), nil)
		for i, f := range p.Folds {
			if f.First < 0 || f.Last < f.First || f.Last >= p.Steps {
				t.Fatalf("fold %+v of %d steps", f, p.Steps)
			}
			for _, k := range p.Keys {
				if f.First <= k && k <= f.Last {
					t.Fatalf("step %d matters, and is in %+v", k, f)
				}
			}
			for _, earlier := range p.Folds[:i] {
				apart, inside := earlier.Last < f.First, f.First >= earlier.First && f.Last <= earlier.Last
				if !apart && !inside {
					t.Fatalf("%+v crosses %+v", f, earlier)
				}
			}
		}
	})
}

// TestCut: of too many steps the middle is left out. What was printed there is at the next step.
func TestCut(t *testing.T) {
	c := &report.Counterexample{Goroutines: shared}
	for i := range 100 {
		c.Steps = append(c.Steps, on(1, "load", fmt.Sprint("variable ", i)))
	}
	c.Outputs = []report.Output{{Step: 50, Wrote: report.Wrote{Peer: "redis", Text: []byte("a\n\tb")}},
		{Step: -1, Wrote: report.Wrote{Text: []byte("c")}}}
	p := Of(c, 8, nil)
	if p.Gap != 2 || p.Omitted != 92 || p.Steps != 8 || p.Strings[p.Object[2]] != "variable 94" {
		t.Errorf("%+v", p)
	}
	if !slices.Equal(p.Notes.Step, []int{0, 2, 2}) || p.Strings[p.Notes.Text[2]] != "redis:     b" {
		t.Errorf("notes %+v of %q", p.Notes, p.Strings)
	}
}

// TestLanes: peers have lanes after the goroutines, by address, listener or name. A single one is
// called by the name under which it prints.
func TestLanes(t *testing.T) {
	names := func(c *report.Counterexample) (list []string) {
		for _, l := range Of(c, 1000, nil).Lanes {
			list = append(list, l.Name)
		}
		return list
	}
	step := func(goroutine int, io ...report.Message) report.Step {
		return report.Step{Goroutine: goroutine, IO: io}
	}
	connect := report.Message{ToPeer: true, Event: "connect to 1.2.3.4:5"}
	one := &report.Counterexample{Goroutines: shared, Steps: []report.Step{step(2), step(9),
		step(report.Clock),
		step(2, connect), step(2, report.Message{Data: []byte("a")})},
		Outputs: []report.Output{{Step: 1, Wrote: report.Wrote{Peer: "redis", Text: []byte("x")}}}}
	if got := names(one); !slices.Equal(got, []string{"main/1", "goroutine 9", "clock", "main", "main/2",
		"redis"}) {
		t.Errorf("%q", got)
	}
	several := &report.Counterexample{Steps: []report.Step{step(1, connect,
		report.Message{About: "listener 0", ToPeer: true, Event: "listen at :80"},
		report.Message{Conn: 7, Event: "a client connects to listener 0"}, report.Message{Conn: 7,
			Data: []byte("a")},
		report.Message{About: "curl", Event: "exit status 1"}, report.Message{Conn: 8, Data: []byte("b")})}}
	want := []string{"goroutine 1", "1.2.3.4:5", "clients of :80", "curl", "peer"}
	if got := names(several); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	many := &report.Counterexample{}
	for i := range 100 {
		many.Steps = append(many.Steps, step(i, report.Message{Conn: i, Event: fmt.Sprint("connect to ", i)}))
	}
	if got := names(many); len(got) != maxLanes+maxPeerLanes || got[maxLanes-1] != "others" {
		t.Errorf("%d lanes: %q", len(got), got)
	}
}

// TestBounds: of messages and outputs there is only so much.
func TestBounds(t *testing.T) {
	c := &report.Counterexample{}
	for range 200 {
		c.Steps = append(c.Steps, report.Step{IO: []report.Message{{Data: bytes.Repeat([]byte{0},
			3*maxKept)}}})
	}
	for range 30 {
		c.Steps[0].IO = append(c.Steps[0].IO, report.Message{Event: strings.Repeat("x", 1000)})
	}
	c.Outputs = []report.Output{{Wrote: report.Wrote{Peer: "p", Text: bytes.Repeat([]byte("line\n"), 1000)}}}
	c.Sources = []report.SourcePart{{File: "a", Lines: []string{strings.Repeat("x", maxSource-1), "y", "z"}}}
	p := Of(c, 1000, nil)
	if len(p.Data) > maxData || p.Notes.Kept[0] != maxKept || p.Notes.Size[0] != 3*maxKept {
		t.Errorf("%d bytes, %d of %d kept", len(p.Data), p.Notes.Kept[0], p.Notes.Size[0])
	}
	first := 0
	for _, step := range p.Notes.Step {
		if step == 0 {
			first++
		}
	}
	if n := first; n != maxLines+1+maxPrinted+1 {
		t.Errorf("%d notes at the first step", n)
	}
	if len(p.Sources) != 0 {
		t.Errorf("%d parts of sources", len(p.Sources))
	}
}

// TestEncode: what was encoded can be read again, by a reader that only follows the description.
func TestEncode(t *testing.T) {
	c := &report.Counterexample{Goroutines: shared, Steps: []report.Step{on(1, "lock", "mutex 1"),
		on(1, "unlock", "mutex 1"), {Goroutine: 2, Operation: "lock", Object: "mutex 1",
			Stack: []report.Frame{{Function: "f", Source: "a.go:1"}}, IO: []report.Message{
				{Data: []byte("hello")}}}}}
	want := Of(c, 10, nil)
	plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(want.Encode())))
	if err != nil {
		t.Fatal(err)
	}
	number := func() int {
		n := binary.LittleEndian.Uint32(plain)
		plain = plain[4:]
		return int(n)
	}
	var got Page
	n := number()
	if err := json.Unmarshal(plain[:n], &got); err != nil {
		t.Fatal(err)
	}
	plain = plain[n:]
	notes := &got.Notes
	for _, column := range []*[]int{&got.Template, &got.Object, &got.Lane, &got.After, &notes.Step,
		&notes.Kind,
		&notes.Lane, &notes.Text, &notes.Size, &notes.Kept} {
		for range number() {
			value, size := binary.Uvarint(plain)
			*column, plain = append(*column, int(value)), plain[size:]
		}
	}
	for i := 1; i < len(notes.Step); i++ {
		notes.Step[i] += notes.Step[i-1]
	}
	got.Data = plain
	if diff := cmp.Diff(want, &got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
