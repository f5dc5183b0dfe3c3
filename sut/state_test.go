package sut_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// namedStates notes the states that are named, and ends the execution at one of them.
type namedStates struct {
	list []sut.NamedState
	last int // counted from 1; 0: none
}

func (n *namedStates) Named(s sut.NamedState) bool {
	n.list = append(n.list, s)
	return len(n.list) == n.last
}

// naming is an environment in which states can be asked for, and asked has somebody do that.
var (
	naming = sut.Environment{Inputs: sut.Inputs{States: true}}
	asked  = sut.Naming{States: &namedStates{}}
)

// TestStates: equal states have equal keys, in the same execution and in another process. The
// execution ends at the state that was said, and goes on at others.
func TestStates(t *testing.T) {
	keys := map[string][][2]uint64{}
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
		w := startIn(t, isolation, naming, "states")
		for range 2 {
			all := &namedStates{}
			log := run(t, w, sut.Schedule{Naming: sut.Naming{States: all}}, nil)
			if log.Outcome != sut.Completed || len(all.list) < 30 {
				t.Fatalf("%v after %d states", log.Outcome, len(all.list))
			}
			for i, s := range all.list[3:30] {
				// The other goroutine has begun, and nothing else changes but the counter.
				if same := s.Key == all.list[i].Key; !same && i > 3 {
					t.Errorf("state %d differs from that three before it", i+3)
				}
				if s.Key == all.list[i+1].Key {
					t.Errorf("state %d is the one two before it", i+3)
				}
			}
			var these [][2]uint64
			for _, s := range all.list {
				these = append(these, s.Key)
				if at, ok := program.Position(s.PC); !ok || !strings.HasSuffix(at.File, "main.go") ||
					!strings.Contains(at.Function, "states") {
					t.Errorf("a state is named at %v", at)
				}
			}
			keys["all"] = append(keys["all"], these...)
			n := len(keys["all"]) - len(these)
			if n > 0 && !slices.Equal(these, keys["all"][n-len(these):n]) {
				t.Error("the same schedule has other states")
			}
			some := &namedStates{last: 5}
			log = run(t, w, sut.Schedule{Naming: sut.Naming{States: some}}, nil)
			if log.Outcome != sut.Known || len(some.list) != 5 || steps(log.Events) != some.list[4].Step {
				t.Errorf("%v after %d states and %d transitions: %v", log.Outcome, len(some.list),
					steps(log.Events), some.list)
			}
		}
	}
}

// steps is how many transitions there are.
func steps(events []sut.Event) (n int) {
	for _, e := range events {
		if e.Kind == sut.Stepped || e.Kind == sut.Ticked {
			n++
		}
	}
	return n
}

// TestStatesDepend: with states, each transition depends on those that name one, and what is
// pending would; without, naming a state is an operation on nothing.
func TestStatesDepend(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		world, s := sut.Environment{}, sut.Schedule{}
		if wanted {
			world, s.States = naming, &namedStates{last: 4}
		}
		log := run(t, startIn(t, sut.Snapshot, world, "states"), s, nil)
		reads, writes, pending, begun := 0, map[uint64]int{}, 0, 0
		for _, e := range log.Events {
			switch {
			case e.Kind == sut.Stepped && e.Operation != sut.Exit:
				begun++
			case e.Kind == sut.Accessed && e.Access == model.Write && e.Operation.Verb() == "name the state":
				writes[e.Subject]++
			case e.Kind == sut.Accessed && e.Access == model.Read && writes[e.Subject] > 0,
				e.Kind == sut.Intended && writes[e.Subject] > 0:
				reads++
				if e.Kind == sut.Intended {
					pending++
				}
			}
		}
		if named := len(writes) > 0; named != wanted || wanted && (len(writes) != 1 || pending == 0) {
			t.Errorf("wanted: %v, %d objects were written, %d pending operations read them (%d of %d)",
				wanted, len(writes), pending, reads, begun)
		}
	}
}

// TestStatesFrom: states before a choice are not asked for. Where they were not hashed, what
// follows is the same.
func TestStatesFrom(t *testing.T) {
	w := startIn(t, sut.Snapshot, naming, "states")
	all := &namedStates{}
	log := run(t, w, sut.Schedule{Naming: sut.Naming{States: all}}, nil)
	events := slices.Clone(log.Events)
	var prefix []model.Action
	for _, e := range events {
		if e.Kind == sut.Stepped {
			prefix = append(prefix, e.Action())
		}
	}
	at := all.list[10].Step - 1
	later := &namedStates{}
	log = run(t, w, sut.Schedule{Prefix: prefix[:at],
		Naming: sut.Naming{States: later, StatesFrom: at}}, nil)
	if !slices.Equal(log.Events, events) || !slices.Equal(later.list, all.list[10:]) {
		t.Errorf("%d events after %d, and %d states after %d", len(log.Events), len(events), len(later.list),
			len(all.list))
	}
}

// TestNoState: what has no hash is a panic that says where it is, also where nobody asks.
func TestNoState(t *testing.T) {
	w := startIn(t, sut.Snapshot, naming, "no state")
	log := run(t, w, sut.Schedule{Naming: asked}, nil)
	const want = "tandem.State: x[1]: it is a function, and nobody can see what it has captured (func()); " +
		"leave it out, or say in numbers what it stands for"
	if log.Outcome != sut.Panicked || !strings.Contains(string(log.Stderr), want) {
		t.Errorf("%v: %s", log.Outcome, log.Stderr)
	}
	if log := run(t, start(t, sut.Snapshot, "no state"), sut.Schedule{}, nil); log.Outcome != sut.Panicked {
		t.Errorf("%v where nobody asks", log.Outcome)
	}
	if _, err := start(t, sut.Snapshot, "states").Run(sut.Schedule{Naming: asked}, nil); err == nil {
		t.Error("states can be asked for in an environment that has none")
	}
	if out := fmt.Sprint(sut.Known); out != "known state" {
		t.Error(out)
	}
}
