package naming

import (
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// TestUse: a program that names no state, or one of which nothing is known, changes nothing.
func TestUse(t *testing.T) {
	s, err := explore.New(explore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	workers := 3
	if notes := Use(s, &sut.Program{}, false, &workers); notes != nil || workers != 3 || s.NamesStates() {
		t.Errorf("%v, %d workers, states: %v", notes, workers, s.NamesStates())
	}
}

// TestAssumed: a verdict rests on the promise if executions have ended because of it.
func TestAssumed(t *testing.T) {
	const (
		promise = "tandem.State names all that what follows depends on: "
		race    = "data races between what precedes a known state and what follows it are seen only where " +
			"an execution went on from there"
	)
	for _, c := range []struct {
		counts explore.StateCounts
		races  bool
		want   []string
	}{
		{explore.StateCounts{Known: 7}, true, nil},
		{explore.StateCounts{Known: 7, Ended: 1}, false, []string{
			promise + "1 execution ended at one of 7 known states"}},
		{explore.StateCounts{Known: 2000, Ended: 9000, Tested: 141}, true, []string{
			promise + "9,000 executions ended at one of 2,000 known states; 141 of them went on, as a test",
			race}},
		{explore.StateCounts{Known: 7, Ended: 2, Tested: 1, Broken: &explore.Broken{}}, false, []string{
			promise + "2 executions ended at one of 7 known states, and the promise is broken"}},
		{explore.StateCounts{Known: 7, Ended: 2, Full: true}, false, []string{
			promise + "2 executions ended at one of 7 known states",
			"tandem.State: there was room for 2,097,152 states, and later ones count as new; the " +
				"promise was not tested to the end"}},
	} {
		if got := Assumed(explore.Verdict{States: c.counts}, c.races); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.counts, got, c.want)
		}
	}
}

// TestExplain: a broken promise is told with both executions.
func TestExplain(t *testing.T) {
	if lines := Explain(explore.Verdict{}, &sut.Program{}); lines != nil {
		t.Errorf("%q, although nothing is broken", lines)
	}
	b := &explore.Broken{Execution: 9, Step: 30, First: 2, FirstStep: 4, Ends: true,
		Outcome: explore.Deadlock}
	want := []string{"tandem.State: x does not have all that what follows depends on",
		"tandem.State: execution 9, which ended in a known state and was run further, named a state in " +
			"transition 30 that execution 2 had named in transition 4, and went on to its end " +
			"(deadlock), as no execution of the search did from there"}
	v := explore.Verdict{States: explore.StateCounts{Broken: b}}
	if got := Explain(v, &sut.Program{}); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	b.First = 0
	want[1] = "tandem.State: execution 9, which ended in a known state and was run further, named a " +
		"state in transition 30 that no execution of the search has come to"
	if got := Explain(v, &sut.Program{}); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLine: a test has one line, of what there is.
func TestLine(t *testing.T) {
	ended := explore.Verdict{States: explore.StateCounts{Known: 7, Ended: 2}}
	const promise = "tandem.State names all that what follows depends on: 2 executions ended at one of 7 " +
		"known states"
	for _, c := range []struct {
		other string
		v     explore.Verdict
		want  string
	}{
		{"", explore.Verdict{}, ""}, {"x", explore.Verdict{}, "x"}, {"", ended, promise},
		{"x", ended, "x; " + promise},
	} {
		if got := Line(c.other, c.v, &sut.Program{}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
