package shrink

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/sut"
)

// eventsOf makes a log of words: "a" is a transition of goroutine a, "ab>b" one of b where a and b
// could have been picked, B if it was to go on after having been blocked; "tick", "early" and
// "signal" are the clock and a signal.
func eventsOf(text string) (events []sut.Event) {
	for word := range strings.FieldsSeq(text) {
		enabled, who, found := strings.Cut(word, ">")
		if !found {
			enabled, who = "", word
		}
		for _, g := range []byte(enabled) {
			e := sut.Event{Kind: sut.Enabled, Subject: uint64(g)}
			if 'A' <= g && g <= 'Z' {
				e.Subject, e.Operation = uint64(g-'A'+'a'), sut.Resume
			}
			events = append(events, e)
		}
		switch who {
		case "tick":
			events = append(events, sut.Event{Kind: sut.Ticked, Number: uint32(sut.TickLast)})
		case "early":
			events = append(events,
				sut.Event{Kind: sut.Stepped, Operation: sut.Advance, Subject: 2},
				sut.Event{Kind: sut.Ticked, Number: uint32(sut.TickEarly)})
		case "signal":
			signal := sut.Event{Kind: sut.Stepped, Operation: sut.SignalArrive, Subject: sut.SignalSource}
			events = append(events, signal)
		default:
			events = append(events, sut.Event{Kind: sut.Stepped, Subject: uint64(who[0])})
		}
	}
	return events
}

// TestPreemptions: what counts as a preemption, and where blocks end with one.
func TestPreemptions(t *testing.T) {
	for text, want := range map[string]struct {
		cost   Cost
		blocks string // a goroutine each, with ! where it is preempted
	}{
		"a>a a>a":                         {Cost{0, 2, 0, 0}, "a"},
		"a>a ab>b":                        {Cost{1, 2, 0, 1}, "a! b"},
		"a>a b>b ab>a":                    {Cost{1, 3, 0, 2}, "a b! a"},
		"a>a ab>b a>a":                    {Cost{1, 3, 0, 2}, "a! b a"},
		"a>a tick a>a":                    {Cost{0, 3, 0, 0}, "a"},
		"a>a tick ab>b":                   {Cost{0, 3, 0, 1}, "a b"},
		"a>a a>early a>a":                 {Cost{0, 3, 0, 2}, "a . a"},
		"a>a a>early ab>b":                {Cost{0, 3, 0, 2}, "a . b"},
		"a>a Ab>b ab>a":                   {Cost{1, 3, 0, 2}, "a b! a"},
		"a>a a>signal a>signal ab>b ab>a": {Cost{1, 5, 0, 3}, "a . b! a"},
		"a>a a>early b>b":                 {Cost{0, 3, 0, 2}, "a . b"},
	} {
		steps := translate.Steps(eventsOf(text))
		if got := CostOf(steps); got != want.cost {
			t.Errorf("%s: cost %v, want %v", text, got, want.cost)
		}
		var blocks []string
		for _, b := range blocksOf(steps) {
			name := "."
			if !steps[b.from].Environment {
				name = string(rune(b.goroutine))
			}
			if b.preempted {
				name += "!"
			}
			blocks = append(blocks, name)
		}
		if diff := cmp.Diff(want.blocks, strings.Join(blocks, " ")); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}

// TestGoOn: who is not preempted any more does at once what it did up to its next stop.
func TestGoOn(t *testing.T) {
	steps := translate.Steps(eventsOf("a>a ab>b ab>a c>c bc>b b>b a>a"))
	for _, c := range []struct {
		from, to int
		want     string
	}{
		{0, 0, "abacbba"},
		{0, 1, "aabcbba"}, // a goes on up to where it blocks
		{1, 2, "abbbaca"}, // b does
		{2, 3, "abacbba"}, // c does nothing more
		{0, 3, "aabbbca"},
	} {
		got := ""
		for _, b := range goOn(blocksOf(steps), c.from, c.to) {
			got += strings.Repeat(string(rune(b.goroutine)), b.to-b.from)
		}
		if got != c.want {
			t.Errorf("without preemptions %d to %d: %s, want %s", c.from, c.to-1, got, c.want)
		}
	}
}

// TestLimit: by default, long violations are shrunk in fewer executions, but in some. A number
// that the user gives holds.
func TestLimit(t *testing.T) {
	for _, c := range []struct{ asked, transitions, want int }{
		{400, 0, 400}, {400, 49, 400}, {400, 500, 400}, {400, 2000, 100}, {400, 6000, 33},
		{400, 1_000_000, 20}, {7, 1_000_000, 7}, {5000, 1_000_000, 5000},
	} {
		if got := Limit(c.asked, c.transitions); got != c.want {
			t.Errorf("%d executions of %d transitions: %d, want %d", c.asked, c.transitions, got, c.want)
		}
	}
}
