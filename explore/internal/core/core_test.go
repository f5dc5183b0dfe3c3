package core

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/internal/invariant"
)

// violates requires a violation of an invariant that says something.
func violates(t *testing.T, says string, f func()) {
	t.Helper()
	defer func() {
		if v, ok := recover().(*invariant.Violation); !ok || !strings.Contains(v.Rule, says) {
			t.Errorf("it violates %+v, want %q", v, says)
		}
	}()
	f()
}

// TestTally: counts are sums, and calls alternate.
func TestTally(t *testing.T) {
	var tally Tally
	violates(t, "Report was called without", func() { tally.Count(Execution{}) })
	for outcome := range Outcomes {
		tally.Expect()
		violates(t, "Next was called again", tally.Expect)
		if err := tally.Count(Execution{Transitions: make([]Transition, outcome),
			Outcome: outcome}); err != nil {
			t.Fatal(err)
		}
	}
	v := tally.Counted()
	n := int(Outcomes)
	if v.Executions != n || v.Transitions != n*(n-1)/2 || v.Deepest != n-1 || v.Last != n-1 {
		t.Errorf("%+v", v)
	}
	if v.Redundant != 1 || v.Limited != 1 || v.Violations != 7 || v.Kind != Violated {
		t.Errorf("%+v", v)
	}
	tally.Expect()
	var wrong *LogError
	if err := tally.Count(Execution{Outcome: Outcomes}); !errors.As(err, &wrong) {
		t.Errorf("an unknown outcome is counted: %v", err)
	}
}

// TestConclude: a search holds if it has ended, left nothing out, and cut nothing off.
func TestConclude(t *testing.T) {
	for want, test := range map[string]struct {
		tally Tally
		gap   string
	}{
		"holds: every execution is covered": {Tally{Ended: true}, ""},
		"unknown: the search has not ended": {Tally{}, "a gap"},
		"unknown: a gap":                    {Tally{Ended: true}, "a gap"},
		"unknown: 2 of 3 executions were cut off": {
			Tally{Ended: true, Counts: Verdict{Executions: 3, Limited: 2}}, ""},
		"violated: 1 of 3 executions are violations": {
			Tally{Ended: true, Counts: Verdict{Executions: 3, Violations: 1}}, "a gap"},
		"holds: every execution with at most 1 delay is covered": {
			Tally{Ended: true, Bounds: Bounds{Within: []string{"at most 1 delay"}}}, ""},
	} {
		v := test.tally.Conclude(test.gap)
		if got := v.Kind.String() + ": " + v.Reason; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if v.Complete != strings.HasPrefix(want, "holds") {
			t.Errorf("%s: complete %v", want, v.Complete)
		}
	}
}

// TestBranchSizes: what is estimated of a tree of which every node of a level has as many branches
// is exact from the first execution on, and at the end it is of every tree.
func TestBranchSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		widths := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 5).Draw(t, "widths")
		all := 1
		for _, w := range widths {
			all *= w
		}
		var s BranchSizes
		left := make([]int, len(widths)) // branches that have not been begun, of each node on the path
		for i := range left {
			left[i] = widths[i] - 1
		}
		for executions := 1; ; executions++ {
			e := s.Estimate(len(widths), executions, func(node int) int { return left[node] })
			if math.Abs(e.Executions-float64(all)) > 1e-6*float64(all) {
				t.Fatalf("%v after %d executions, there are %d", e, executions, all)
			}
			top := len(left) - 1
			for top >= 0 && left[top] == 0 {
				top--
			}
			if top < 0 {
				if executions != all || e.Low != e.High {
					t.Fatalf("%d executions, of %d, estimated at the end as %v", executions, all, e)
				}
				return
			}
			s.Turn(top, executions)
			left[top]--
			for i := top + 1; i < len(left); i++ {
				left[i] = widths[i] - 1
			}
			e2 := &codec.Encoder{}
			s.Save(e2)
			var again BranchSizes
			again.Resume(&codec.Decoder{Data: e2.Data})
			if !slices.Equal(s.nodes, again.nodes) {
				t.Fatalf("%v is read as %v", s.nodes, again.nodes)
			}
		}
	})
}

// TestDivision: a subtree is reached or cancelled once, and cancelled if the search goes past it.
func TestDivision(t *testing.T) {
	var d Division
	at := func(node, choice int) *Subtree {
		return d.Add(&Subtree{Node: node, Begins: Action{Goroutine: 1, Choice: choice}})
	}
	begins := func(choice int) func(*Subtree) bool {
		return func(p *Subtree) bool { return p.Begins.Choice == choice }
	}
	shallow, deep, reached := at(2, 0), at(5, 1), at(3, 2)
	if !d.Has(3, begins(2)) || d.Has(3, begins(1)) || d.Has(4, begins(2)) {
		t.Error("it does not know what its subtrees are")
	}
	d.Arrive(3, begins(2))
	if d.Arrived() != reached || reached.Cancelled || shallow.Cancelled || !deep.Cancelled {
		t.Error("it has not reached the subtree, or cancelled another one than that which it went past")
	}
	if list := d.Cancelled(); !slices.Equal(list, []*Subtree{deep}) || len(d.Cancelled()) > 0 {
		t.Errorf("%d are cancelled, and again some", len(list))
	}
	d.CancelArrived()
	if d.CancelArrived(); d.Arrived() != nil || !reached.Cancelled || len(d.Cancelled()) != 1 {
		t.Error("what the search explores itself is not cancelled, or twice")
	}
	d.Arrive(2, begins(7))
	if d.Arrived() != nil || shallow.Cancelled || !d.Has(2, begins(0)) {
		t.Error("another branch of a node is taken for the subtree")
	}
}

// TestEncode: what is written of actions, alternatives, accesses and sleepers is read again.
func TestEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := func(most int) int { return rapid.IntRange(0, most).Draw(t, "n") }
		var actions []Action
		var alternatives []Alternative
		var sleepers []*Sleeper
		for range small(5) {
			a := Action{Goroutine: GoroutineID(small(3)), Choice: small(4)}
			actions = append(actions, a)
			alternatives = append(alternatives, Alternative{a.Goroutine, 1 + a.Choice, small(1) == 0})
			s := &Sleeper{Action: a, Choices: 1 + a.Choice, Incomplete: small(1) == 0}
			for range small(3) {
				s.Accesses = append(s.Accesses, Access{Object: ObjectID(small(2)), Delta: int32(small(9) - 5),
					Count: int32(small(9)), Kind: AccessKind(small(2)), Ready: uint8(small(63))})
			}
			sleepers = append(sleepers, s)
		}
		e := &codec.Encoder{}
		EncodeActions(e, actions)
		EncodeAlternatives(e, alternatives)
		EncodeSleepers(e, sleepers)
		d := &codec.Decoder{Data: e.Data}
		if got := DecodeActions(d); !slices.Equal(got, actions) {
			t.Fatalf("%v is read as %v", actions, got)
		}
		if got := DecodeAlternatives(d); !slices.Equal(got, alternatives) {
			t.Fatalf("%v is read as %v", alternatives, got)
		}
		same := func(a, b *Sleeper) bool { return a.Equal(b) && a.Same(b) }
		if got := DecodeSleepers(d); !slices.EqualFunc(got, sleepers, same) {
			t.Fatalf("%v is read as %v", sleepers, got)
		}
		if len(d.Data) > 0 || d.Problem != "" {
			t.Fatalf("%d bytes left: %s", len(d.Data), d.Problem)
		}
	})
}

// TestContest: an object is contested if two of its accesses are by different goroutines, and one
// of them all changes it.
func TestContest(t *testing.T) {
	type access struct {
		by      GoroutineID
		object  ObjectID
		changes bool
	}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) access {
			return access{GoroutineID(rapid.IntRange(0, 2).Draw(t, "by")),
				ObjectID(rapid.IntRange(0, 2).Draw(t, "object")), rapid.Bool().Draw(t, "changes")}
		}), 0, 8).Draw(t, "accesses")
		var c Contest
		for _, a := range list {
			c.Add(a.by, a.object, a.changes)
		}
		for o := range ObjectID(4) {
			by, changed := map[GoroutineID]bool{}, false
			for _, a := range list {
				if a.object == o {
					by[a.by], changed = true, changed || a.changes
				}
			}
			if got, want := c.Contested(o), o != 0 && len(by) > 1 && changed; got != want {
				t.Fatalf("object %d is contested: %t, want %t", o, got, want)
			}
		}
	})
}
