package watch

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestConfirmations: how many cuts in a row it takes, and when loopback is flushed.
func TestConfirmations(t *testing.T) {
	sleeps := []thread{{tid: 1, pid: 1, listed: 1, ran: "1"}}
	ran := []thread{{tid: 1, pid: 1, listed: 1, ran: "2"}}
	type step struct {
		quiet   bool
		waiting string
		threads []thread
		want    int
		flush   bool
	}
	for name, test := range map[string]struct {
		counted bool
		steps   []step
	}{
		"nothing waits": {false, []step{
			{true, "", sleeps, 1, false},
			{true, "", sleeps, 2, false},
		}},
		"one in between was not quiet": {false, []step{
			{true, "", sleeps, 1, false},
			{false, "", nil, 0, false},
			{true, "", sleeps, 1, false},
		}},
		"wake-ups are counted": {true, []step{
			{true, "", nil, confirmations, false},
		}},
		"something waits": {false, []step{
			{true, "x", sleeps, 1, true},
			{true, "x", sleeps, confirmations, false},
		}},
		"something waits, and one ran": {false, []step{
			{true, "x", sleeps, 1, true},
			{true, "x", ran, 1, true},
			{true, "x", ran, confirmations, false},
		}},
		"something has come to wait": {false, []step{
			{true, "", sleeps, 1, false},
			{true, "x", sleeps, 1, true},
			{true, "x", sleeps, confirmations, false},
		}},
		"counted, and something waits": {true, []step{
			{true, "x", nil, 1, true},
			{true, "x", nil, confirmations, false},
		}},
		"what has waited does not any more": {false, []step{
			{true, "x", sleeps, 1, true},
			{true, "", sleeps, 2, false},
		}},
	} {
		var r rest
		inARow := 0
		for i, s := range test.steps {
			if s.quiet {
				r.note(s.waiting, 0, s.threads)
			}
			var flush bool
			if inARow, flush = r.confirm(s.quiet, inARow, test.counted); inARow != s.want ||
				flush != s.flush {
				t.Errorf("%s, step %d: %d in a row, flush %t", name, i, inARow, flush)
			}
		}
	}
}

// TestQuietOnlyIfNothingRan: with something that waits, the group never counts as quiescent
// unless two cuts in a row, with a flush in between, have found the same.
func TestQuietOnlyIfNothingRan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type look struct {
			quiet, waiting bool
			count          uint64
		}
		counted := rapid.Bool().Draw(t, "counted")
		var r rest
		var before look
		inARow, flushed, count := 0, false, uint64(0)
		for range rapid.IntRange(1, 20).Draw(t, "looks") {
			if rapid.Bool().Draw(t, "somebody ran") {
				count++
			}
			now := look{rapid.Bool().Draw(t, "quiet"), rapid.Bool().Draw(t, "waiting"), count}
			if now.quiet {
				waiting := ""
				if now.waiting {
					waiting = "something"
				}
				r.note(waiting, now.count, nil)
			}
			var flush bool
			inARow, flush = r.confirm(now.quiet, inARow, counted)
			same := before.quiet && now.quiet && before.waiting && now.waiting && before.count == now.count
			switch {
			case inARow >= confirmations && now.waiting && !(same && flushed):
				t.Fatalf("%+v after %+v, flushed %t: it counts as quiescent", now, before, flushed)
			case inARow > 0 && !now.quiet, flush && !now.waiting:
				t.Fatalf("%+v: %d in a row, flush %t", now, inARow, flush)
			case inARow >= confirmations:
				return
			}
			before, flushed = now, flush
		}
	})
}

// TestRestKeepsItsOwnThreads: the list of a cut is used again for the next one.
func TestRestKeepsItsOwnThreads(t *testing.T) {
	list := []thread{{tid: 1, ran: "1"}}
	var r rest
	r.note("x", 0, list)
	list[0].ran = "2"
	r.note("x", 0, list)
	if r.undisturbed || !slices.Equal(r.threads, list) {
		t.Errorf("a thread has run, and it counts as undisturbed: %+v", r)
	}
}
