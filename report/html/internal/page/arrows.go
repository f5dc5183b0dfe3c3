package page

import (
	"strings"

	"github.com/tandem-mc/tandem/report"
)

// role is what an operation on an object does to the order of steps.
type role uint8

// The roles.
const (
	noRole   role = iota
	releases      // others come after it: unlock, signal, add to a wait group
	acquires      // it comes after what others did: lock, wait
	sends
	receives
	closes
	chooses // it may send or receive
	looks   // at the length of a channel
)

// roleOf is the role of an operation, by the kind of the object and the name. Names are those of
// sut.Operation, or Go's own.
func roleOf(operation, object string) role {
	operation = strings.ToLower(strings.TrimPrefix(operation, "goes on: "))
	starts := func(words ...string) bool {
		for _, w := range words {
			if strings.HasPrefix(operation, w) {
				return true
			}
		}
		return false
	}
	// What is not an unlock may be an attempt to lock that has failed: that, too, saw the unlock.
	switch kindOf(object) {
	case "mutex", "rwmutex":
		if strings.Contains(operation, "unlock") {
			return releases
		}
		return acquires
	case "wait group":
		if starts("wait", "return late") {
			return acquires
		}
		return releases
	case "condition":
		if starts("signal", "broadcast") {
			return releases
		}
		return acquires
	case "channel":
		switch {
		case starts("send"):
			return sends
		case starts("receive"):
			return receives
		case starts("close"):
			return closes
		case starts("len"):
			return looks
		}
		return chooses
	}
	return noRole
}

// kindOf is the kind of an object: "wait group" of "wait group 3 of main".
func kindOf(object string) string {
	// Names of objects are a kind and a number.
	for i := range object {
		if object[i] >= '0' && object[i] <= '9' {
			return strings.TrimSpace(object[:i])
		}
	}
	return object
}

// splitPartner takes apart "channel 4 to main/2". The step completes the operation of the partner,
// too.
func splitPartner(object string) (bare, partner string) {
	for _, way := range []string{" to ", " from "} {
		if bare, partner, ok := strings.Cut(object, way); ok && kindOf(object) == "channel" {
			return bare, partner
		}
	}
	return object, ""
}

// origin is a step of a goroutine, from which an arrow may start.
type origin struct{ step, goroutine int }

// channel is a channel as far as the steps tell.
type channel struct {
	queue  []origin // the steps that have sent what is in the buffer
	closed origin
	lost   bool // a select has used it, and it is not known how
}

// tracer finds the step that each step had to come after.
type tracer struct {
	after    []int
	released map[string]origin // by object: the last release
	channels map[string]*channel
	last     map[int]int    // the last step of each goroutine
	resumes  map[int]origin // by goroutine: the step that lets it go on
	awaits   map[int]string // by goroutine: the condition that it waits for
	names    map[string]int // goroutines by name
}

// arrows says for each step how many steps ago that was which it had to come after: the unlock
// before a lock, the send of what is received, the go statement; 0: there is none, or it is the
// goroutine's own. Values leave a channel in the order in which they were sent. Where a select has
// used a channel, there are no more arrows of that.
func arrows(steps []report.Step, names map[string]int) []int {
	t := &tracer{after: make([]int, len(steps)), released: map[string]origin{},
		channels: map[string]*channel{},
		last:     map[int]int{}, resumes: map[int]origin{}, awaits: map[int]string{}, names: names}
	for i := range steps {
		t.step(i, &steps[i])
		t.last[steps[i].Goroutine] = i
	}
	return t.after
}

// step draws the arrow to a step, and notes what later ones may start from.
func (t *tracer) step(i int, s *report.Step) {
	// A step that only ends what was blocked comes after the one that ended it.
	if from, ok := t.resumes[s.Goroutine]; ok {
		t.arrow(i, s.Goroutine, from)
		delete(t.resumes, s.Goroutine)
	}
	// The object of a go statement is the name of the goroutine.
	here := origin{i, s.Goroutine}
	if child, ok := t.names[s.Object]; ok && s.Kind == report.Lifetime && child != s.Goroutine {
		t.resumes[child] = here
		return
	}
	object, partner := splitPartner(s.Object)
	// A wait for a condition goes on without naming it again.
	if object == "" && strings.HasPrefix(s.Operation, "goes on: ") {
		object = t.awaits[s.Goroutine]
	}
	r := roleOf(s.Operation, object)
	switch r {
	case releases:
		t.released[object] = here
	case acquires:
		if from, ok := t.released[object]; ok && !waitsNow(s, object) {
			t.arrow(i, s.Goroutine, from)
		}
		if kindOf(object) == "condition" {
			t.awaits[s.Goroutine] = object
		}
	case sends, receives, closes, chooses:
		t.channel(r, object, partner, here)
	}
}

// waitsNow reports whether a step only begins to wait for a condition.
func waitsNow(s *report.Step, object string) bool {
	return kindOf(object) == "condition" && !strings.HasPrefix(s.Operation, "goes on: ")
}

// arrow draws an arrow from a step of another goroutine, if there is none yet.
func (t *tracer) arrow(to, goroutine int, from origin) {
	if from.goroutine != goroutine && from.step < to && t.after[to] == 0 {
		t.after[to] = to - from.step
	}
}

// channel follows what is in a channel. A partner has been blocked: its operation is completed by
// this step, and it goes on later.
func (t *tracer) channel(r role, object, partner string, here origin) {
	// Channels are known by their names.
	c := t.channels[object]
	if c == nil {
		c = &channel{closed: origin{-1, 0}}
		t.channels[object] = c
	}
	// A receiver that was blocked takes the value at once. A sender that was blocked is behind
	// what is in the buffer.
	id, met := t.names[partner]
	switch {
	case r == chooses:
		c.lost, c.queue = true, nil
	case r == closes:
		c.closed = here
	case r == sends && met:
		t.resumes[id] = here
	case r == sends && !c.lost:
		c.queue = append(c.queue, here)
	case r == receives:
		if blocked, ok := t.last[id]; met && ok {
			t.resumes[id] = here
			c.queue = append(c.queue, origin{blocked, id})
		}
		// The value that has been in the channel for longest is the one that is received.
		if c.lost {
			c.queue = nil
		} else if len(c.queue) > 0 {
			t.arrow(here.step, here.goroutine, c.queue[0])
			c.queue = c.queue[1:]
		} else if c.closed.step >= 0 {
			t.arrow(here.step, here.goroutine, c.closed)
		}
	}
}
