package sut_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// watcher is an echoServer that keeps what it was shown, and has whoever sends some data wait for
// ever.
type watcher struct {
	echoServer
	halts string
	shown [][]sut.Event // before each input
	seen  []sut.Event   // last
}

func (w *watcher) Watch(events []sut.Event) { w.seen = slices.Clone(events) }

func (w *watcher) Exchange(in model.Input) (model.Answer, error) {
	w.shown = append(w.shown, w.seen)
	if in.Kind == model.Send && string(in.Data) == w.halts {
		return model.Answer{Halts: true}, nil
	}
	return w.echoServer.Exchange(in)
}

// talking is the environment of these tests.
var talking = sut.Environment{Inputs: sut.Inputs{Taken: true, PerConnection: true}}

// TestWatch: before each input, its peers are shown all of the log until then. So they are if the
// execution begins at a place, whose inputs are given again.
func TestWatch(t *testing.T) {
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork, sut.FromMain} {
		w, err := sut.Start(program, sut.Options{Args: []string{"two talk"}, Isolation: isolation,
			Environment: talking, PlaceGap: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		prefix, began := []model.Action(nil), 0
		for turn := range 4 {
			peers := &watcher{}
			log := run(t, w, sut.Schedule{Prefix: prefix}, peers)
			if began += log.From; log.Outcome != sut.Completed {
				t.Fatalf("%v: %v %s", isolation, log.Outcome, log.Message)
			}
			inputs := 0
			for i := range log.Events {
				if log.Events[i].Kind != sut.Exchanged {
					continue
				}
				if inputs >= len(peers.shown) || !slices.Equal(peers.shown[inputs], log.Events[:i]) {
					t.Fatalf("%v, run %d from choice %d: before input %d the peers were shown something "+
						"else than the log", isolation, turn, log.From, inputs)
				}
				inputs++
			}
			if inputs != len(peers.shown) || inputs < 6 {
				t.Errorf("%v: %d inputs, and the peers were shown %d", isolation, inputs, len(peers.shown))
			}
			prefix = nil
			for i := range log.Events {
				if e := &log.Events[i]; e.Kind == sut.Stepped {
					prefix = append(prefix, e.Action())
				}
			}
			prefix = prefix[:len(prefix)-turn]
		}
		if isolation == sut.Snapshot && began == 0 {
			t.Error("no execution began at a place")
		}
	}
}

// TestHalts: a goroutine that is to go no further waits for ever, and the others go on.
func TestHalts(t *testing.T) {
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
		w := startIn(t, isolation, talking, "two talk")
		for halts, printed := range map[string]string{"": "ab", "a": "b", "b": "a"} {
			outcome := sut.Deadlock
			if halts == "" {
				outcome = sut.Completed
			}
			log := run(t, w, sut.Schedule{}, &watcher{halts: halts})
			if log.Outcome != outcome || len(log.Stdout) != len(printed) ||
				!strings.ContainsAny(string(log.Stdout), printed) {
				t.Errorf("%v, who sends %q halts: %v, printed %q; want %v, %q", isolation, halts, log.Outcome,
					log.Stdout, outcome, printed)
			}
		}
	}
}

// TestHaltsAtPlaces: it also does so where executions begin at places.
func TestHaltsAtPlaces(t *testing.T) {
	comparePlaces(t, program, sut.Options{Args: []string{"two talk"}, Environment: talking},
		func() sut.Peers { return &watcher{halts: "a"} })
}

// gated is an echoServer whose connection has gates: what has arrived last, and what comes next.
type gated struct {
	echoServer
	sends uint64
}

const gate = 1<<63 | 7

func (g *gated) Exchange(in model.Input) (model.Answer, error) {
	a, err := g.echoServer.Exchange(in)
	if in.Kind == model.Send {
		g.sends++
	}
	if in.Kind == model.Connect || in.Kind == model.Send {
		a.Gates = []model.Gate{{Conn: a.Conn, Next: model.ObjectID(gate + g.sends + 1)}}
		if g.sends > 0 {
			a.Gates[0].Passed = model.ObjectID(gate + g.sends)
		}
	}
	return a, err
}

// TestGates: who reads depends on what has arrived last, and who finds nothing on what comes next.
// One that waits finds something in any case.
func TestGates(t *testing.T) {
	for _, c := range []struct {
		scenario, printed string
		want              []uint64
	}{
		{"try", "-1 resource temporarily unavailable 1 <nil> 1 <nil>",
			[]uint64{gate + 1, gate + 1, gate + 1}},
		{"exchanges", "", nil},
	} {
		log := run(t, startIn(t, sut.Snapshot, talking, c.scenario), sut.Schedule{}, &gated{})
		var got []uint64
		for i := range log.Events {
			if e := &log.Events[i]; e.Kind == sut.Accessed && e.Subject >= gate && e.Subject < gate+2000 {
				if got = append(got, e.Subject); e.Access != model.Read {
					t.Errorf("%s: a gate is accessed by %v", c.scenario, e.Access)
				}
			}
		}
		if c.scenario == "exchanges" {
			for n := range uint64(1000) {
				c.want = append(c.want, gate+1+n)
			}
		}
		if string(log.Stdout) != c.printed || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, printed %q, gates %x; want %q, %x", c.scenario, log.Outcome, log.Stdout, got,
				c.printed, c.want)
		}
	}
}
