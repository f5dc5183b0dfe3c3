package driver

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/strategy"
)

// TestCameEarly: an answer came early if it is the known one with more behind it, and only then.
func TestCameEarly(t *testing.T) {
	says := func(text string, end model.End) model.Reaction {
		return model.Reaction{Deliveries: []model.Delivery{{Conn: 0, Data: []byte(text), End: end}}}
	}
	two := says("a", model.StillOpen)
	two.Deliveries = append(two.Deliveries, model.Delivery{Conn: 1, Data: []byte("b")})
	for _, c := range []struct {
		name      string
		want, got model.Reaction
		early     bool
	}{
		{"the same", says("a", model.StillOpen), says("a", model.StillOpen), false},
		{"from nothing", model.Reaction{}, says("a", model.StillOpen), true},
		{"more bytes", says("a", model.StillOpen), says("ab", model.StillOpen), true},
		{"an end", says("a", model.StillOpen), says("a", model.EOF), true},
		{"another connection", says("a", model.StillOpen), two, true},
		{"less", two, says("a", model.StillOpen), false},
		{"other bytes", says("ab", model.StillOpen), says("ac", model.StillOpen), false},
		{"bytes behind an end", says("a", model.EOF), says("ab", model.EOF), false},
		{"another end", says("a", model.EOF), says("ab", model.Reset), false},
		{"a peer that ended", model.Reaction{}, model.Reaction{Ended: []model.Ending{{Peer: 1}}}, true},
		{"a peer that has not", model.Reaction{Ended: []model.Ending{{Peer: 1}}},
			says("a", model.EOF), false},
		{"another status", model.Reaction{Ended: []model.Ending{{Peer: 1}}},
			model.Reaction{Ended: []model.Ending{{Peer: 1, Status: 9}, {Peer: 2}}}, false},
		{"a connection made", model.Reaction{}, model.Reaction{Opened: []int{0}}, true},
		{"by another listener", model.Reaction{Opened: []int{1}}, model.Reaction{Opened: []int{0, 1}}, false},
		{"refused", model.Reaction{}, model.Reaction{Refused: 111}, false},
	} {
		if got := cameEarly(c.want, c.got); got != c.early {
			t.Errorf("%s: %v, want %v", c.name, got, c.early)
		}
	}
}

// TestEarlyIsBounded: an answer that comes early each time is a contradiction in the end. Where all
// clocks are virtual it is one at once: no timer ends by itself there.
func TestEarlyIsBounded(t *testing.T) {
	for _, c := range []struct {
		name    string
		virtual bool
		early   int // how often
		again   int
		agrees  bool
	}{
		{"as often as is allowed", false, maxRepeated, maxRepeated, true},
		{"once more", false, maxRepeated + 1, maxRepeated, false},
		{"a virtual clock", true, 1, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			world := &fakeWorld{images: map[string]fakeState{}}
			config := Config{Start: world.start, Strategy: strategy.Never{}, Patience: time.Minute}
			config.Spec.Peers = []peers.Peer{{Name: "server", Listen: serverAt, VirtualClock: c.virtual}}
			d := New(t.Context(), config)
			defer d.Close()
			s := d.NewSession(&Counts{})
			var err error
			for _, last := range []string{"send 0 say a", "send 0 say b"} {
				s.Rewind()
				for _, line := range []string{"connect", fmt.Sprint("send 0 tardy ", c.early), "pass", last} {
					if _, err = s.Exchange(parseInput(t, line)); err != nil {
						break
					}
				}
			}
			var differs *iocache.Inconsistency
			if c.agrees != (err == nil) || !c.agrees && !errors.As(err, &differs) {
				t.Errorf("error %v, agrees: %v", err, c.agrees)
			}
			if s.Counts.Disturbed != c.again {
				t.Errorf("begun again %d times, want %d", s.Counts.Disturbed, c.again)
			}
		})
	}
}

// TestDisturbed: what comes of a new input is taken where timers end too early again and again. An
// input whose answer is known is given again more often.
func TestDisturbed(t *testing.T) {
	always, err := strategy.ByName("always")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		strategy strategy.Strategy
		early    int // how many timers end too early
		again    int
	}{
		{"a new input", always, 1000, maxDisturbed}, // a checkpoint is just before it
		{"known inputs", strategy.Never{}, 3 * maxDisturbed, 3 * maxDisturbed},
	} {
		t.Run(c.name, func(t *testing.T) {
			world := &fakeWorld{images: map[string]fakeState{}}
			config := Config{Start: world.start, Strategy: c.strategy, Patience: time.Minute, Room: 1 << 20}
			config.Spec.Peers = []peers.Peer{{Name: "server", Listen: serverAt}}
			d := New(t.Context(), config)
			defer d.Close()
			s := d.NewSession(&Counts{})
			give := func(line string) {
				t.Helper()
				if _, err := s.Exchange(parseInput(t, line)); err != nil {
					t.Fatal(err)
				}
			}
			for _, last := range []string{"send 0 say a", "send 0 say b"} {
				s.Rewind()
				give("connect")
				if last == "send 0 say b" {
					world.disturbed = c.early
				}
				give(last)
			}
			if s.Counts.Disturbed != c.again {
				t.Errorf("begun again %d times, want %d", s.Counts.Disturbed, c.again)
			}
		})
	}
}
