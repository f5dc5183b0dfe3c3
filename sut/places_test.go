package sut_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// ignoreFrom leaves out where an execution began, which is what may differ.
var ignoreFrom = cmpopts.IgnoreFields(sut.Log{}, "From")

// TestPlaces: an execution that begins where the last one was does the same as from main on, with
// places anywhere, whatever the program does. Schedules share beginnings of random lengths.
func TestPlaces(t *testing.T) {
	for scenario, peers := range map[string]func() sut.Peers{
		"primitives": nil, "memory": nil, "timers": nil, "random": nil, "counter": nil, "deadlock": nil,
		"select": nil, "traced": nil, "hosts": nil,
		"echo":     func() sut.Peers { return &echoServer{} },
		"deadline": func() sut.Peers { return &echoServer{silent: true} },
	} {
		t.Run(scenario, func(t *testing.T) {
			if peers == nil {
				peers = func() sut.Peers { return nil }
			}
			comparePlaces(t, program, sut.Options{Args: []string{scenario}}, peers)
		})
	}
}

// comparePlaces compares executions of a worker that keeps places with those of one that does not.
func comparePlaces(t *testing.T, p *sut.Program, o sut.Options, peers func() sut.Peers) {
	t.Helper()
	const executions = 60
	random := rand.New(rand.NewPCG(1, uint64(len(o.Args[0]))))
	workers := [2]*sut.Worker{}
	for i, isolation := range []sut.Isolation{sut.Snapshot, sut.FromMain} {
		o.Isolation, o.PlaceGap = isolation, 1+random.IntN(3)
		w, err := sut.Start(p, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		workers[i] = w
	}
	// What else could run is logged in one half of them, since much goes another way then.
	began, first, wantEnabled := 0, true, random.IntN(2) == 0
	var last sut.Log
	for n := range executions {
		s := sut.Schedule{WantEnabled: wantEnabled, Lenient: false, Tentative: true, Steps: 2000}
		if !first {
			s.Prefix = turnedOff(random, last.Events)
			s.SleepFrom = max(0, len(s.Prefix)-1)
		}
		got := copyLog(run(t, workers[0], s, peers()))
		want := copyLog(run(t, workers[1], s, peers()))
		if diff := cmp.Diff(want, got, ignoreFrom, cmp.AllowUnexported(sut.MemoryAccess{})); diff != "" {
			t.Fatalf("execution %d, from choice %d (-main +place):\n%s", n, got.From, diff)
		}
		if want.From != 0 {
			t.Fatalf("execution %d began at choice %d", n, want.From)
		}
		if last, first = want, false; got.From > 0 {
			began++
		}
	}
	if t.Logf("%d of %d began at places", began, executions); began == 0 && len(last.Events) > 40 {
		t.Error("no execution began at a place")
	}
}

// TestPlacesAfterForgetting: after an execution that had to begin at main, as those of self-checks
// do, executions begin at places again, even if all of them have the same log.
func TestPlacesAfterForgetting(t *testing.T) {
	w, err := sut.Start(program, sut.Options{Args: []string{"primitives"}, PlaceGap: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	s := sut.Schedule{Steps: 2000}
	for _, e := range run(t, w, s, nil).Events {
		if e.Kind == sut.Stepped {
			s.Prefix = append(s.Prefix, e.Action())
		}
	}
	for range 3 {
		w.Forget()
		from := []int{}
		for range 3 {
			from = append(from, run(t, w, s, nil).From)
		}
		if from[0] != 0 || from[2] == 0 {
			t.Errorf("of three executions, the first at main, these choices were the first: %v", from)
		}
	}
}

// turnedOff is the beginning of an execution, and then perhaps another goroutine.
func turnedOff(random *rand.Rand, events []sut.Event) (prefix []model.Action) {
	var steps []int
	others := map[int][]model.Action{}
	for i := range events {
		switch e := &events[i]; e.Kind {
		case sut.Stepped:
			prefix = append(prefix, e.Action())
			steps = append(steps, i)
		case sut.Enabled:
			others[len(steps)] = append(others[len(steps)], model.Action{Goroutine: e.Goroutine()})
		}
	}
	// It goes back a little mostly, as searches do.
	back := random.IntN(1 + random.IntN(len(prefix)))
	at := len(prefix) - back
	prefix = prefix[:at:at]
	if list := others[at]; len(list) > 0 {
		prefix = append(prefix, list[random.IntN(len(list))])
	} else if at > 1 {
		// It may not be possible: the schedule then ends before that.
		prefix = append(prefix, prefix[random.IntN(at)])
	}
	return prefix
}

// TestPlacesOfRaces: likewise where data races are looked for. The detector has memory of its own.
func TestPlacesOfRaces(t *testing.T) {
	p, err := build(t.TempDir(), "./testdata/racy", sut.RacesMain)
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range []string{"racy slot of the dead", "racy third reader", "racy wait group",
		"rwmutex", "cond",
		"select", "connection", "file"} {
		comparePlaces(t, p, sut.Options{Args: []string{scenario}}, func() sut.Peers { return nil })
	}
}

// forgetful answers each time in another way.
type forgetful struct {
	echoServer
	random *rand.Rand
}

func (f *forgetful) Exchange(in model.Input) (model.Answer, error) {
	answer, err := f.echoServer.Exchange(in)
	if in.Kind == model.Send && f.random.IntN(10) == 0 {
		answer.Deliveries = nil
	}
	return answer, err
}

// TestPlacesOfOtherAnswers: where the peers answer otherwise than last time, an execution begins
// before that.
func TestPlacesOfOtherAnswers(t *testing.T) {
	seed := uint64(0)
	comparePlaces(t, program, sut.Options{Args: []string{"echo"}}, func() sut.Peers {
		seed++ // the same one for both
		return &forgetful{random: rand.New(rand.NewPCG(1, (seed-1)/2))}
	})
}
