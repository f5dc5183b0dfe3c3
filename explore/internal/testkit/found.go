package testkit

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
	"pgregory.net/rapid"
)

// DFSBudget is how many executions of a program tests enumerate at most.
const DFSBudget = 5000

// Stepper is what runs a search: a Search, a Subtree, or what a test puts around one.
type Stepper interface {
	Next() (core.Schedule, bool)
	Report(core.Execution) error
	Verdict() core.Verdict
}

// Found is what a search found out about a program.
type Found struct {
	Verdict      core.Verdict
	Outcomes     map[string]int // outcome and message
	States       map[string]int // final state of the complete executions
	Fingerprints map[uint64]int // of the complete executions
}

// Complete counts the executions that were not cut off.
func (f *Found) Complete() int { return f.Verdict.Executions - f.Verdict.Redundant }

// SearchAll lets a search run a program to the end.
func SearchAll(s Stepper, p *Program, limit int) (*Found, error) {
	f := &Found{Outcomes: map[string]int{}, States: map[string]int{}, Fingerprints: map[uint64]int{}}
	for {
		schedule, more := s.Next()
		if !more {
			f.Verdict = s.Verdict()
			return f, nil
		}
		w := Run(p, schedule, limit)
		if err := s.Report(w.Log); err != nil {
			return nil, fmt.Errorf("%w\n%v", err, p)
		}
		if w.Log.Outcome != core.Redundant {
			f.Outcomes[w.Outcome()]++
			f.States[w.State()]++
			f.Fingerprints[trace.Fingerprint(w.Log)]++
		}
	}
}

// MustSearch lets a search run the program that a text describes.
func MustSearch(t testing.TB, s Stepper, text string) *Found {
	t.Helper()
	f, err := SearchAll(s, ParseProgram(text), 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// SortedKeys lists the keys of a map.
func SortedKeys(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }

// Executed is an execution as far as a search determines it.
type Executed struct {
	Actions []core.Action
	Outcome core.Outcome
}

// Record lets a search run a program and lists what it executes. Between any two
// executions, and while one is under way, interrupt may put another search in place of it.
func Record[S interface {
	Stepper
	comparable
}](t rapid.TB, s S, p *Program, interrupt func(S, bool) S) ([]Executed, core.Verdict) {
	var list []Executed
	for len(list) < DFSBudget {
		s = interrupt(s, false)
		schedule, more := s.Next()
		if !more {
			return list, s.Verdict()
		}
		if next := interrupt(s, true); next != s {
			s = next
			continue
		}
		log := Run(p, schedule, 0).Log
		if err := s.Report(log); err != nil {
			t.Fatalf("execution %d: %v\n%v", len(list), err, p)
		}
		x := Executed{Outcome: log.Outcome}
		for _, transition := range log.Transitions {
			x.Actions = append(x.Actions, transition.Action)
		}
		list = append(list, x)
	}
	t.Skip("too many executions")
	return nil, core.Verdict{}
}

// Never is for Record: nothing interrupts the search.
func Never[S Stepper](s S, _ bool) S { return s }

// ExecuteOne lets a search run one execution of a program.
func ExecuteOne(t testing.TB, s Stepper, p *Program) {
	t.Helper()
	schedule, more := s.Next()
	if !more {
		t.Fatal("there is nothing to execute")
	}
	if err := s.Report(Run(p, schedule, 0).Log); err != nil {
		t.Fatal(err)
	}
}

// Turns is an execution in which goroutines lock and unlock mutexes in turn.
func Turns(goroutines, transitions int, common bool) core.Execution {
	var e core.Execution
	for i := range transitions {
		g := i / 2 % goroutines
		o := core.ObjectID(1)
		if !common {
			o += core.ObjectID(g)
		}
		t := core.Transition{Action: core.Action{Goroutine: core.GoroutineID(g + 1)}, Choices: 1,
			SingleAccess: true}
		if i%2 == 0 {
			t.Needs = []core.Need{{Object: o, Mask: core.ReadyExclusive}}
			t.Accesses = []core.Access{{Object: o, Kind: core.Write, Ready: core.ReadyExclusive}}
		} else {
			t.Accesses = []core.Access{{Object: o, Kind: core.Write}}
		}
		e.Transitions = append(e.Transitions, t)
	}
	return e
}
