package check

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// eventsOf makes a log of words: "a" is a transition of goroutine a, "ab>b" one of b where a and
// b could have been picked, B if it was to go on after having been blocked; "tick", "early" and
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
			events = append(events, sut.Event{Kind: sut.Stepped, Operation: sut.Advance, Subject: 2}, sut.Event{Kind: sut.Ticked, Number: uint32(sut.TickEarly)})
		case "signal":
			events = append(events, sut.Event{Kind: sut.Stepped, Operation: sut.SignalArrive, Subject: sut.SignalSource})
		default:
			events = append(events, sut.Event{Kind: sut.Stepped, Subject: uint64(who[0])})
		}
	}
	return events
}

// TestPreemptions: what counts as a preemption, and where blocks end with one.
func TestPreemptions(t *testing.T) {
	for text, want := range map[string]struct {
		cost   cost
		blocks string // a goroutine each, with ! where it is preempted
	}{
		"a>a a>a":                         {cost{0, 2, 0, 0}, "a"},
		"a>a ab>b":                        {cost{1, 2, 0, 1}, "a! b"},
		"a>a b>b ab>a":                    {cost{1, 3, 0, 2}, "a b! a"},
		"a>a ab>b a>a":                    {cost{1, 3, 0, 2}, "a! b a"},
		"a>a tick a>a":                    {cost{0, 3, 0, 0}, "a"},
		"a>a tick ab>b":                   {cost{0, 3, 0, 1}, "a b"},
		"a>a a>early a>a":                 {cost{0, 3, 0, 2}, "a . a"},
		"a>a a>early ab>b":                {cost{0, 3, 0, 2}, "a . b"},
		"a>a Ab>b ab>a":                   {cost{1, 3, 0, 2}, "a b! a"},
		"a>a a>signal a>signal ab>b ab>a": {cost{1, 5, 0, 3}, "a . b! a"},
		"a>a a>early b>b":                 {cost{0, 3, 0, 2}, "a . b"},
	} {
		steps := transitionsOf(eventsOf(text))
		if got := costOf(steps); got != want.cost {
			t.Errorf("%s: cost %v, want %v", text, got, want.cost)
		}
		var blocks []string
		for _, b := range blocksOf(steps) {
			name := "."
			if !steps[b.from].environment {
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
	steps := transitionsOf(eventsOf("a>a ab>b ab>a c>c bc>b b>b a>a"))
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

// TestPreemptionsAsBounded: a search that is bounded by preemptions runs the executions that
// have no more of them, by what transitionsOf counts.
func TestPreemptionsAsBounded(t *testing.T) {
	p, err := buildProgram("testdata/programs", filepath.Join(tree, "programs"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, flavour := range []string{"channels", "mutexes", "everything"} {
		for number := range uint64(8) {
			text := drawProgram(flavour, number).String()
			all, ended := countPreemptions(t, p, text, dfsSearch())
			if !ended {
				continue
			}
			compared++
			for n := range 3 {
				within := map[int]int{}
				for preemptions, executions := range all {
					if preemptions <= n {
						within[preemptions] = executions
					}
				}
				bounded, _ := countPreemptions(t, p, text, bounded(explore.DFS, n))
				if diff := cmp.Diff(within, bounded); diff != "" {
					t.Errorf("%s: executions with at most %d preemptions (-of all +bounded):\n%s", text, n, diff)
				}
			}
		}
	}
	if compared < 8 {
		t.Errorf("only %d programs are small enough", compared)
	}
}

// countPreemptions counts the executions of a search by their preemptions.
func countPreemptions(t *testing.T, p *sut.Program, text string, s *explore.Search) (executions map[int]int, ended bool) {
	t.Helper()
	executions = map[int]int{}
	count := 0
	ended, err := eachExecution(p, sut.Options{Args: []string{text}}, s, func(log *sut.Log, _ explore.Execution) bool {
		executions[costOf(transitionsOf(log.Events))[0]]++
		count++
		return count <= 1000
	})
	if err != nil {
		t.Fatal(err)
	}
	return executions, ended
}
