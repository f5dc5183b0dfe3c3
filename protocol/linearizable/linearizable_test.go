package linearizable

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// register is an object with the operations read (nil) and write (a number).
var register = Object{Init: 0, Apply: func(state, input any) (next, output any) {
	if input == nil {
		return state, state
	}
	return input, nil
}}

// history makes one of events: positive numbers are calls, negative ones returns, of the client.
func history(events ...any) (h History) {
	for i := 0; i < len(events); i += 2 {
		if client := events[i].(int); client > 0 {
			h.Call(client, events[i+1])
		} else {
			h.Return(-client, events[i+1])
		}
	}
	return h
}

// TestHolds: what is concurrent may be seen in either order, and what has been seen stays so.
func TestHolds(t *testing.T) {
	for _, c := range []struct {
		name    string
		history History
		want    bool
	}{
		{"nothing", history(), true},
		{"a write and a read", history(1, 7, -1, nil, 2, nil, -2, 7), true},
		{"a write that is not seen", history(1, 7, -1, nil, 2, nil, -2, 0), false},
		{"a write under way, seen", history(1, 7, 2, nil, -2, 7), true},
		{"a write under way, not seen", history(1, 7, 2, nil, -2, 0), true},
		{"new, and then old", history(1, 7, 2, nil, -2, 7, 3, nil, -3, 0), false},
		{"old, and then new", history(1, 7, 2, nil, -2, 0, 3, nil, -3, 7), true},
		{"two calls at a time", history(1, 7, 1, 8), false},
		{"a return without a call", history(-1, nil), false},
	} {
		if got := register.Holds(c.history); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// operation is one of a random history, for the twin.
type operation struct {
	input, output any
	call, end     int // places in the history
	isPending     bool
}

// twin tries all orders.
func twin(operations []operation, state any) bool {
	if !slices.ContainsFunc(operations, func(o operation) bool { return !o.isPending }) {
		return true
	}
	for i, o := range operations {
		// Another one has ended before this one was called, so it comes first.
		if slices.ContainsFunc(operations, func(p operation) bool { return p.end < o.call }) {
			continue
		}
		next, output := register.Apply(state, o.input)
		rest := slices.Delete(slices.Clone(operations), i, i+1)
		if (o.isPending || output == o.output) && twin(rest, next) {
			return true
		}
	}
	return false
}

// TestTwin compares with all orders, on random histories of three clients.
func TestTwin(t *testing.T) {
	verdicts := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		var h History
		var operations []operation
		open := map[int]int{}
		length := rapid.IntRange(0, 10).Draw(t, "length")
		for range length {
			client := rapid.IntRange(0, 2).Draw(t, "client")
			place, isOpen := open[client]
			value := any(rapid.IntRange(0, 2).Draw(t, "value"))
			if !isOpen {
				if rapid.Bool().Draw(t, "read") {
					value = nil
				}
				h.Call(client, value)
				open[client] = len(operations)
				operations = append(operations, operation{
					input: value, call: len(h.Events), end: length + 1, isPending: true,
				})
				continue
			}
			o := &operations[place]
			if o.input != nil {
				value = nil
			}
			h.Return(client, value)
			o.output, o.end, o.isPending = value, len(h.Events), false
			delete(open, client)
		}
		got, want := register.Holds(h), twin(operations, register.Init)
		if got != want {
			t.Fatalf("%v: %v, want %v", h, got, want)
		}
		verdicts[got]++
	})
	if verdicts[true] == 0 || verdicts[false] == 0 {
		t.Errorf("all verdicts are the same: %v", verdicts)
	}
}
