package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// machine is the brute-force twin of everything: an abstract machine for the programs of
// testdata/programs that follows the algorithms of Go's channels and of package sync step by step,
// and takes every step in every state. It knows nothing of schedules, points, or dependence.
type machine struct {
	bodies [][]step
	seen   map[string]bool // states
	ends   map[string]bool // outcomes
	limit  int             // of states
}

type step struct {
	name string
	args []int
}

func (s step) arg(i int) int {
	if i < len(s.args) {
		return s.args[i]
	}
	return 0
}

// index is the first argument where that is one of n things.
func (s step) index(n int) int { return max(0, min(s.arg(0), n-1)) }

// state is all that the next steps depend on, and what has been observed.
type state struct {
	routines   []routine
	channels   []channel // the last but one is nil, the last one that of the context
	locked     [3]bool   // two mutexes, and that of Once
	announced  bool      // a writer has announced itself to the readers
	writer     bool      // has the inner mutex of the RWMutex
	readers    int       // inside
	readersDue []int     // those that wait for the writer
	counter    int       // of the WaitGroup
	waiters    []int
	once       bool
	notify     []int // waits for the condition, in order
	numbers    [2]int
	pointer    bool
	table      [2]int // 0: nothing
	ended      string // how the program ended early
}

type routine struct {
	started, finished, left bool
	pc, phase, sent         int
	blocked                 bool // until somebody else wakes it
	ends                    []int
	counted                 bool // started by WaitGroup.Go
	observed                string

	// What the one who woke it left.
	value int
	ok    bool
	arm   int
}

type channel struct {
	capacity int
	none     bool // it is nil
	closed   bool
	buffer   []int
	queue    [2][]waiter // senders, receivers
}

const (
	sending = iota
	receiving
	waiting // for the context
	neither
)

type waiter struct{ routine, value, arm int }

// bruteForce returns the outcomes that a program has; false if it has too many states.
func bruteForce(text string, limit int) (map[string]bool, bool) {
	m := &machine{seen: map[string]bool{}, ends: map[string]bool{}, limit: limit}
	parts := strings.Split(text, "/")
	start := &state{}
	for _, capacity := range readStep(parts[0]).args {
		start.channels = append(start.channels, channel{capacity: capacity})
	}
	start.channels = append(start.channels, channel{none: true}, channel{})
	for _, part := range parts[1:] {
		var body []step
		for _, field := range strings.Fields(part) {
			body = append(body, readStep(field))
		}
		m.bodies = append(m.bodies, body)
	}
	start.routines = make([]routine, len(m.bodies))
	start.routines[0].started = true
	stack := []*state{start}
	for len(stack) > 0 && len(m.seen) < limit {
		s := stack[len(stack)-1]
		stack = append(stack[:len(stack)-1], m.next(s)...)
	}
	return m.ends, len(stack) == 0
}

func readStep(text string) (s step) {
	fields := strings.Split(text, ",")
	if _, err := strconv.Atoi(fields[0]); err != nil {
		s.name, fields = fields[0], fields[1:]
	}
	for _, field := range fields {
		n, err := strconv.Atoi(field)
		if err != nil {
			panic("cannot parse " + text)
		}
		s.args = append(s.args, n)
	}
	return s
}

// next returns the states that one step leads to and that have not been seen yet.
func (m *machine) next(s *state) (list []*state) {
	key := fmt.Sprint(*s)
	if m.seen[key] {
		return nil
	}
	m.seen[key] = true
	if s.ended != "" {
		m.ends[s.ended] = true
		return nil
	}
	stuck := true
	for g := range s.routines {
		if r := &s.routines[g]; !r.started || r.finished || r.blocked {
			continue
		}
		for choice := 0; ; choice++ {
			after := s.clone()
			move := &move{machine: m, state: after, routine: &after.routines[g], number: g, choice: choice}
			choices := move.run()
			if choices > 0 {
				stuck = false
				list = append(list, after)
			}
			if choice+1 >= choices {
				break
			}
		}
	}
	if stuck {
		m.ends[s.outcome()] = true
	}
	return list
}

func (s *state) clone() *state {
	c := *s
	c.routines, c.channels = slices.Clone(s.routines), slices.Clone(s.channels)
	for i := range c.routines {
		c.routines[i].ends = slices.Clone(c.routines[i].ends)
	}
	for i := range c.channels {
		x := &c.channels[i]
		x.buffer = slices.Clone(x.buffer)
		x.queue[sending], x.queue[receiving] = slices.Clone(x.queue[sending]),
			slices.Clone(x.queue[receiving])
	}
	c.readersDue, c.waiters, c.notify = slices.Clone(s.readersDue), slices.Clone(s.waiters),
		slices.Clone(s.notify)
	return &c
}

// outcome is the end of a program in which nobody can go on.
func (s *state) outcome() string {
	end := "deadlock"
	if s.routines[0].finished && !s.routines[0].left {
		end = "completed"
	}
	for g, r := range s.routines {
		if r.observed != "" {
			end += fmt.Sprintf(" %d:%s", g, r.observed)
		}
	}
	return end
}

// move is a step of one goroutine; choice picks among what the step may do.
type move struct {
	*machine
	*state
	*routine
	number int
	choice int
}

// run performs the step and returns how many choices there were; 0: it cannot be done now.
func (m *move) run() int {
	body := m.bodies[m.number]
	if n := len(m.ends()); n > 0 && m.pc == m.routine.ends[n-1] && m.phase == 0 {
		m.leaveOnce()
		m.observe("once")
		return 1
	}
	if m.pc == len(body) {
		m.end()
		return 1
	}
	in := body[m.pc]
	for _, part := range []func(step) int{
		m.runChannel, m.runLock, m.runReadWrite, m.runWait, m.runCond, m.runOther} {
		if choices := part(in); choices >= 0 {
			return choices
		}
	}
	panic("unknown instruction " + in.name)
}

func (m *move) ends() []int { return m.routine.ends }

// end is the last step: it is observed, and then perhaps counted.
func (m *move) end() {
	if m.phase == 0 {
		m.observe("end")
		m.phase = 1
		if m.counted {
			return
		}
	}
	if m.counted && !m.addTo(-1) {
		return
	}
	m.finished = true
}

func (m *move) observe(what ...any) {
	m.observed += "[" + strings.TrimSpace(fmt.Sprintln(what...)) + "]"
}

// done goes on to the next instruction.
func (m *move) done(skip int) int {
	m.pc += 1 + skip
	m.phase = 0
	return 1
}

// panics ends the program: what others have observed is of no interest.
func (m *move) panics(message string) int {
	if strings.Contains(message, "WaitGroup") {
		m.ended = "panicked: " + message // who it is may differ
		return 1
	}
	m.observe("panic:", message)
	m.ended = fmt.Sprintf("panicked %d:%s", m.number, m.observed)
	return 1
}

// fatal ends it without a chance to observe anything.
func (m *move) fatal(message string) int {
	m.ended = "fatal error: " + message
	return 1
}
