package explore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
	"pgregory.net/rapid"
)

// The second execution of this program replays the first two transitions.
const twoWriters = "main: go p; store y 0; store x 1\np: store x 2"

// secondExecution returns a search that has asked for its second execution, and
// the log of that.
func secondExecution(t *testing.T, s *Search) (*Search, Execution) {
	t.Helper()
	p := testkit.ParseProgram(twoWriters)
	first, _ := s.Next()
	if err := s.Report(testkit.Run(p, first, 0).Log); err != nil {
		t.Fatal(err)
	}
	second, more := s.Next()
	if !more || len(second.Prefix) < 2 {
		t.Fatalf("the second schedule is %v", second)
	}
	return s, testkit.Run(p, second, 0).Log
}

func TestDivergence(t *testing.T) {
	for name, corrupt := range map[string]func(*Execution){
		"action":   func(e *Execution) { e.Transitions[1].Goroutine = 7 },
		"choice":   func(e *Execution) { e.Transitions[1].Choice, e.Transitions[1].Choices = 1, 2 },
		"choices":  func(e *Execution) { e.Transitions[1].Choices = 3 },
		"need":     func(e *Execution) { e.Transitions[1].Needs = []Need{{Object: 1, Mask: ReadyShared}} },
		"barrier":  func(e *Execution) { e.Transitions[1].Barrier = true },
		"object":   func(e *Execution) { e.Transitions[1].Accesses[0].Object++ },
		"accesses": func(e *Execution) { e.Transitions[1].Accesses = nil },
		"forced":   func(e *Execution) { e.Transitions[1].Forced = true },
		"settled":  func(e *Execution) { x := &e.Transitions[1]; x.SingleAccess = !x.SingleAccess },
		"starts":   func(e *Execution) { e.Transitions[1].Starts = []GoroutineID{9} },
		"end":      func(e *Execution) { e.Transitions = e.Transitions[:1] },
	} {
		t.Run(name, func(t *testing.T) {
			s, log := secondExecution(t, dporSearch())
			corrupt(&log)
			var divergence *DivergenceError
			if err := s.Report(log); !errors.As(err, &divergence) || divergence.Step != 1 {
				t.Errorf("got %v, want a divergence at step 1", err)
			}
		})
	}
}

func TestDivergenceOfTheOthers(t *testing.T) {
	var divergence *DivergenceError
	s, log := secondExecution(t, dfsSearch())
	log.Transitions[1].Enabled = nil
	if err := s.Report(log); !errors.As(err, &divergence) || divergence.Step != 1 {
		t.Errorf("DFS: got %v, want a divergence at step 1", err)
	}
	s = replaySearch([]Action{{Goroutine: 1}, {Goroutine: 2}})
	s.Next()
	if err := s.Report(testkit.Run(testkit.ParseProgram(twoWriters), Schedule{}, 0).Log); !errors.As(err,
		&divergence) || divergence.Step != 1 {
		t.Errorf("Replay: got %v, want a divergence at step 1", err)
	}
	if want := "goroutine 0x2 choice 0, got goroutine 0x1 choice " +
		"0"; !strings.Contains(divergence.Error(), want) {
		t.Errorf("the message %q does not say %q", divergence, want)
	}
}

// TestWrongLogs checks that logs that contradict themselves or the rules of
// Schedule are refused, at the right step.
func TestWrongLogs(t *testing.T) {
	lock := func() Transition {
		return Transition{Action: Action{Goroutine: 1}, Choices: 1,
			Needs:    []Need{{Object: 5, Mask: ReadyExclusive}},
			Accesses: []Access{{Object: 5, Kind: Write, Ready: ReadyExclusive}}}
	}
	for name, test := range map[string]struct {
		step    int
		corrupt func(*Execution)
	}{
		"no choices":        {1, func(e *Execution) { e.Transitions[1].Choices = 0 }},
		"choice too high":   {1, func(e *Execution) { e.Transitions[1].Choice = 1 }},
		"negative choice":   {1, func(e *Execution) { e.Transitions[1].Choice = -1 }},
		"kind of access":    {1, func(e *Execution) { e.Transitions[1].Accesses[0].Kind = 77 }},
		"wait condition":    {1, func(e *Execution) { e.Transitions[1].Needs[0].Mask = core.ReadyMasks }},
		"need not accessed": {1, func(e *Execution) { e.Transitions[1].Needs[0].Object = 6 }},
		"need not ready":    {1, func(e *Execution) { e.Transitions[1].Accesses[0].Ready = 0 }},
		"more than one access although settled": {1, func(e *Execution) {
			x := &e.Transitions[1]
			x.SingleAccess, x.Accesses = true, append(x.Accesses, Access{Object: 6, Kind: Read})
		}},
		"redundant": {2, func(e *Execution) { e.Outcome = Redundant }},
		"outcome":   {2, func(e *Execution) { e.Outcome = core.Outcomes }},
		"pending kind": {2, func(e *Execution) {
			e.Pending = []Pending{{Goroutine: 2, Accesses: []Access{{Object: 5, Kind: core.AccessKinds}}}}
		}},
		"pending condition": {2, func(e *Execution) {
			e.Pending = []Pending{{Goroutine: 2,
				Needs: []Need{{Object: 5, Mask: 64}}}}
		}},
		"enabled at a barrier": {2, func(e *Execution) {
			e.Transitions[1].Barrier = true
			e.Transitions = append(e.Transitions, Transition{Action: Action{Goroutine: 3}, Choices: 1})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := Execution{Transitions: []Transition{lock(), lock()}}
			test.corrupt(&e)
			s := dporSearch()
			s.Next()
			var wrong *LogError
			if err := s.Report(e); !errors.As(err, &wrong) || wrong.Step != test.step {
				t.Errorf("got %v, want a wrong log at step %d", err, test.step)
			}
		})
	}
	t.Run("asleep", func(t *testing.T) {
		s, log := secondExecution(t, dporSearch())
		// p stores to an object of its own: main, asleep, is not woken, but executed.
		log.Transitions[2].Accesses = []Access{{Object: 99, Kind: Write}}
		var wrong *LogError
		if err := s.Report(log); !errors.As(err, &wrong) || wrong.Step != 3 {
			t.Errorf("got %v, want a wrong log at step 3", err)
		}
	})
	t.Run("not enabled", func(t *testing.T) {
		s := dfsSearch()
		s.Next()
		var wrong *LogError
		if err := s.Report(Execution{Transitions: []Transition{lock()}}); !errors.As(err, &wrong) ||
			wrong.Step != 0 {
			t.Errorf("got %v, want a wrong log at step 0", err)
		}
	})
}

func TestCallsOutOfTurn(t *testing.T) {
	for name, s := range map[string]func() *Search{
		"dpor": dporSearch, "dfs": dfsSearch,
		"random": func() *Search { return randomSearch(3, 1) },
		"replay": func() *Search { return replaySearch(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			mustPanic(t, "without an execution being asked for", func() { s().Report(Execution{}) })
			mustPanic(t, "before the execution it asked for was reported", func() {
				search := s()
				search.Next()
				search.Next()
			})
		})
	}
	mustPanic(t, "choice", func() { Fingerprint(Execution{Transitions: make([]Transition, 1)}) })
}

func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
			t.Errorf("panic %q, want one with %q", got, want)
		}
	}()
	f()
}

// TestArbitraryLogs reports logs that make no sense: errors, but no panic.
func TestArbitraryLogs(t *testing.T) {
	small := func(t *rapid.T, n int) int { return rapid.IntRange(0, n).Draw(t, "n") }
	need := func(t *rapid.T) Need {
		return Need{Object: ObjectID(small(t, 2)), Mask: uint8(small(t, 15)), Own: uint8(small(t, 1))}
	}
	access := func(t *rapid.T) Access {
		return Access{
			Object: ObjectID(small(t, 2)), Delta: int32(small(t, 3) - 1), Count: int32(small(t, 2)),
			Kind: AccessKind(small(t, 2)), Ready: uint8(small(t, 15)),
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := dporSearch()
		schedule, more := s.Next()
		for range 20 {
			e := Execution{Outcome: Outcome(small(t, int(core.Outcomes)-1))}
			for i := range max(len(schedule.Prefix), small(t, 6)) {
				x := Transition{Action: Action{Goroutine: GoroutineID(small(t, 3))}, Choices: 1 +
					small(t, 1), Barrier: small(t, 9) == 0}
				if i < len(schedule.Prefix) {
					x.Action = schedule.Prefix[i]
				}
				for range small(t, 2) {
					x.Accesses = append(x.Accesses, access(t))
				}
				if len(x.Accesses) > 0 && small(t, 1) == 0 {
					x.Needs = []Need{{Object: x.Accesses[0].Object, Mask: x.Accesses[0].Ready}}
				}
				for range small(t, 1) {
					x.Starts = append(x.Starts, GoroutineID(small(t, 3)))
				}
				e.Transitions = append(e.Transitions, x)
			}
			for range small(t, 2) {
				e.Pending = append(e.Pending, Pending{
					Goroutine: GoroutineID(small(t, 3)), Needs: []Need{need(t)},
					Accesses: []Access{access(t)},
					Enabled:  small(t, 1) == 0,
				})
			}
			if err := s.Report(e); err != nil || !more {
				return
			}
			if schedule, more = s.Next(); !more {
				return
			}
		}
	})
}

// TestReportKeepsNoReference overwrites every log after it was reported.
func TestReportKeepsNoReference(t *testing.T) {
	p := testkit.ParseProgram("main: go p; go q; store x 1; load r0 y\np: store y 2; load r0 x\nq: store x 3")
	var counts []int
	for _, overwrite := range []bool{false, true} {
		s := dporSearch()
		for schedule, more := s.Next(); more; schedule, more = s.Next() {
			log := testkit.Run(p, schedule, 0).Log
			if err := s.Report(log); err != nil {
				t.Fatal(err)
			}
			for i := range log.Transitions {
				if overwrite {
					clear(log.Transitions[i].Accesses)
					clear(log.Transitions[i].Starts)
				}
			}
		}
		counts = append(counts, s.Verdict().Executions)
	}
	if !slices.Equal(counts[:1], counts[1:]) {
		t.Errorf("%d executions, %d when logs are overwritten", counts[0], counts[1])
	}
}
