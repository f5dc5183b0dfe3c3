package pool

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/explore"
	"pgregory.net/rapid"
)

// program is a small concurrent program: main starts goroutines, and each executes operations on
// shared variables, one in each transition.
type program struct {
	goroutines [][]operation
	variables  int
	wrong      int // executions whose final state leaves this rest are violations
}

type operation struct {
	variable int
	kind     operationKind
}

type operationKind int

const (
	load     operationKind = iota // into the register of the goroutine
	store                         // the register, plus one
	double                        // the variable
	kindsEnd                      // their number
)

// generate draws a program.
func generate(t *rapid.T, goroutines, operations int) *program {
	p := &program{variables: rapid.IntRange(1, 3).Draw(t, "variables"), wrong: -1}
	if rapid.Bool().Draw(t, "has violations") {
		p.wrong = rapid.IntRange(0, modulus-1).Draw(t, "wrong")
	}
	for range rapid.IntRange(2, goroutines).Draw(t, "goroutines") {
		var body []operation
		for range rapid.IntRange(1, operations).Draw(t, "operations") {
			body = append(body, operation{
				rapid.IntRange(0, p.variables-1).Draw(t, "variable"),
				operationKind(rapid.IntRange(0, int(kindsEnd)-1).Draw(t, "kind")),
			})
		}
		p.goroutines = append(p.goroutines, body)
	}
	return p
}

// writers is a program in which each of some goroutines writes a variable so often: every order of
// the writes is a partial order of its own.
func writers(goroutines, writes int) *program {
	p := &program{variables: 1, wrong: -1}
	for range goroutines {
		p.goroutines = append(p.goroutines, slices.Repeat([]operation{{0, store}}, writes))
	}
	return p
}

// modulus is by what final states are divided.
const modulus = 7

// machine is the state of an execution.
type machine struct {
	*program
	next      []int // operation of each goroutine
	registers []int
	variables []int
	begun     bool
	last      explore.GoroutineID // that ran
	preempted int                 // how often one was taken off that could go on
}

// execute follows a schedule. The execution is in the memory.
func (p *program) execute(s explore.Schedule, in *memory) explore.Execution {
	m := machine{program: p, next: make([]int, len(p.goroutines)), registers: make([]int, len(p.goroutines)),
		variables: make([]int, p.variables)}
	in.transitions, in.accesses = in.transitions[:0], in.accesses[:0]
	var sleep []*explore.Sleeper
	random := s.Seed
	for {
		if len(in.transitions) == s.SleepFrom {
			sleep = slices.Clone(s.Sleep)
		}
		enabled := m.enabled()
		if len(enabled) == 0 {
			return explore.Execution{Transitions: in.transitions, Outcome: m.outcome(), Weight: 1}
		}
		affordable := m.affordable(enabled, s.Limits)
		var picked explore.GoroutineID
		switch n := len(in.transitions); {
		case n < len(s.Prefix):
			picked = s.Prefix[n].Goroutine
		case s.Seed != 0:
			random = random*6364136223846793005 + 1442695040888963407
			picked = affordable[int(random>>33)%len(affordable)]
		default:
			awake := slices.DeleteFunc(slices.Clone(affordable), func(g explore.GoroutineID) bool {
				return slices.ContainsFunc(sleep, func(s *explore.Sleeper) bool { return s.Goroutine == g })
			})
			if len(awake) == 0 {
				return explore.Execution{Transitions: in.transitions, Outcome: explore.Redundant}
			}
			if picked = awake[0]; slices.Contains(awake, m.last) {
				picked = m.last
			}
		}
		if picked != m.last && slices.Contains(enabled, m.last) {
			m.preempted++
		}
		x := m.step(picked, in)
		if m.last = picked; s.WantEnabled {
			for _, g := range affordable {
				x.Enabled = append(x.Enabled, explore.Alternative{Goroutine: g, Choices: 1})
			}
		}
		sleep = slices.DeleteFunc(sleep, func(s *explore.Sleeper) bool {
			return s.Goroutine == picked || s.Wakes(x.Accesses)
		})
	}
}

// enabled are the goroutines that can go on. The first is main, which starts the others.
func (m *machine) enabled() (list []explore.GoroutineID) {
	if !m.begun {
		return []explore.GoroutineID{1}
	}
	for i, body := range m.goroutines {
		if m.next[i] < len(body) {
			list = append(list, explore.GoroutineID(i+2))
		}
	}
	return list
}

// affordable are those of the enabled goroutines that can be picked within the limits.
func (m *machine) affordable(enabled []explore.GoroutineID, l explore.Limits) []explore.GoroutineID {
	if l.Preemptions == nil || m.preempted < *l.Preemptions || !slices.Contains(enabled, m.last) {
		return enabled
	}
	return []explore.GoroutineID{m.last}
}

// step executes a transition.
func (m *machine) step(g explore.GoroutineID, in *memory) *explore.Transition {
	x := explore.Transition{Action: explore.Action{Goroutine: g}, Choices: 1}
	if g == 1 {
		m.begun = true
		for i := range m.goroutines {
			x.Starts = append(x.Starts, explore.GoroutineID(i+2))
		}
	} else {
		i := int(g) - 2
		do := m.goroutines[i][m.next[i]]
		m.next[i]++
		access := explore.Access{Object: explore.ObjectID(do.variable + 1), Kind: explore.Write}
		switch do.kind {
		case load:
			access.Kind = explore.Read
			m.registers[i] = m.variables[do.variable]
		case store:
			m.variables[do.variable] = m.registers[i] + int(g)
		case double:
			m.variables[do.variable] *= 2
		}
		from := len(in.accesses)
		in.accesses = append(in.accesses, access)
		x.Accesses = in.accesses[from : from+1 : from+1]
	}
	in.transitions = append(in.transitions, x)
	return &in.transitions[len(in.transitions)-1]
}

// outcome depends on the final state, so it is the same in each order of independent operations.
func (m *machine) outcome() explore.Outcome {
	sum := 0
	for _, n := range slices.Concat(m.variables, m.registers) {
		sum = sum*3 + n
	}
	if m.wrong >= 0 && sum%modulus == m.wrong {
		return explore.Panicked
	}
	return explore.Completed
}

// memory is what an execution is in.
type memory struct {
	transitions []explore.Transition
	accesses    []explore.Access
}

// Size implements Memory.
func (m *memory) Size() int { return 100 * cap(m.transitions) }

// describe writes an execution out.
func describe(x explore.Execution) string {
	text := x.Outcome.String()
	for _, t := range x.Transitions {
		text += fmt.Sprint(" ", t.Goroutine)
	}
	return text
}
