package skeleton

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// outcomesOf are all ways in which a system ends, by its components.
func outcomesOf(d *System) (list []string) {
	for vector := range d.Outcomes {
		list = append(list, strings.Join(vector, " / "))
	}
	slices.Sort(list)
	return list
}

// TestRandomSystems: exploring the components by themselves finds the same outcomes as exploring
// them together, and stands for exactly as many executions.
func TestRandomSystems(t *testing.T) {
	testRandomSystems(t, 1000, func(r *rand.Rand) *system { return generate(r, false) })
}

// TestRandomSystemsWithTimers: the same of systems with a common clock.
func TestRandomSystemsWithTimers(t *testing.T) {
	testRandomSystems(t, 1000, func(r *rand.Rand) *system { return generate(r, true) })
}

// TestWaitsTogether: the same of components that choose whether they send something before they
// wait. That several of them wait without having sent anything is an execution of its own.
func TestWaitsTogether(t *testing.T) { testRandomSystems(t, 100, generateWaits) }

func testRandomSystems(t *testing.T, systems int, generate func(*rand.Rand) *system) {
	t.Helper()
	const most = 1500
	var locals, global, skeletons, alike int
	for seed, tested := uint64(0), 0; tested < systems; seed++ {
		r := rand.New(rand.NewPCG(seed, 7))
		s := generate(r)
		traces, ticked, outcomes := 0, false, map[string]bool{}
		if !s.explore(most, func(all []*local) {
			traces++
			ticked = ticked || slices.ContainsFunc(all, func(l *local) bool { return l.ticks > 0 })
			var vector []string
			for _, l := range all {
				vector = append(vector, l.outcome())
			}
			outcomes[strings.Join(vector, " / ")] = true
		}) {
			continue
		}
		if traces < 2 || s.timed && !ticked {
			continue // there is nothing to get wrong
		}
		tested++
		d := s.reduce(r)
		c := d.Counts()
		locals, global, skeletons = locals+c.LocalTraces, global+traces, skeletons+c.Skeletons
		for _, skeleton := range d.Skeletons() {
			for _, result := range skeleton.Components {
				if result.Like != "" {
					alike++
				}
			}
		}
		if int(c.GlobalTraces) != traces {
			t.Errorf("seed %d: skeletons stand for %v executions, and there are %d\n%v",
				seed, c.GlobalTraces, traces, s.machines)
		}
		got := outcomesOf(d)
		if len(got) != len(outcomes) {
			t.Errorf("seed %d: %d outcomes, want %d\n%v", seed, len(got), len(outcomes), s.machines)
		}
		for _, o := range got {
			if !outcomes[o] {
				t.Errorf("seed %d: no execution ends with %s", seed, o)
			}
		}
		if t.Failed() {
			return
		}
	}
	if alike == 0 {
		t.Error("no exploration was like another one")
	}
	t.Logf("%d systems: %d skeletons, %d local executions for %d, %d explorations like others", systems,
		skeletons, locals, global, alike)
}

// accumulator is the example of the paper's section 2: a client sends n numbers to a primary, which
// adds them up and sends each sum to a replica, which sends it to the next one. The primary and
// each replica have a thread that stores the sum at some time.
func accumulator(n, replicas int, choice bool) *system {
	s := &system{}
	var client []op
	if choice {
		client = append(client, op{kind: choose})
	}
	for range n {
		client = append(client, op{kind: send, n: 1, stream: "numbers"})
	}
	s.machines = []machine{{client}}
	s.streams = []string{"numbers"}
	for m := range replicas {
		var main []op
		for range n {
			in := fmt.Sprint("sums ", m)
			if m == 0 {
				in = "numbers"
			}
			main = append(main, op{kind: receive, stream: in}, op{kind: write, n: 0})
			if m+1 < replicas {
				main = append(main, op{kind: send, n: m + 2, stream: fmt.Sprint("sums ", m+1)})
			}
		}
		s.streams = append(s.streams, fmt.Sprint("sums ", m+1))
		s.machines = append(s.machines, machine{main, {{kind: read, n: 0}}})
	}
	return s
}

// TestAccumulator: with two choices of the client 14 executions stand for 18.
func TestAccumulator(t *testing.T) {
	s := accumulator(2, 2, true)
	d := s.reduce(rand.New(rand.NewPCG(1, 1)))
	if c := d.Counts(); c.LocalTraces != 14 || c.GlobalTraces != 18 || c.Skeletons != 2 {
		t.Errorf("%+v, want 14 local executions for 18, in 2 skeletons", c)
	}
}

// TestAccumulatorGrows: n numbers and m replicas take 1 + m(n+1) executions instead of (n+1)^m.
func TestAccumulatorGrows(t *testing.T) {
	for n := 1; n <= 6; n++ {
		line := fmt.Sprintf("n = %d:", n)
		for m := 1; m <= 6; m++ {
			s := accumulator(n, m, false)
			c := s.reduce(rand.New(rand.NewPCG(1, 1))).Counts()
			global := 1
			for range m {
				global *= n + 1
			}
			if c.LocalTraces != 1+m*(n+1) || c.GlobalTraces != float64(global) || c.Skeletons != 1 {
				t.Errorf("n = %d, m = %d: %+v, want %d for %d", n, m, c, 1+m*(n+1), global)
			}
			line += fmt.Sprintf("  %d/%d", c.LocalTraces, global)
		}
		t.Log(line)
	}
}

// TestAfterTheEnd: a component that has ended did all that it does before the clock has advanced.
// So what is sent after that comes after all of it.
func TestAfterTheEnd(t *testing.T) {
	last := Event{Name: Name{0, "out", 1}, Label: text("bye"), To: Nobody}
	tick := Event{Name: Name{1, "clock", 1}, Label: text("1"), To: Nobody, Tick: 1}
	sent := Event{Name: Name{1, "out", 1}, Label: text("x"), To: 0, Past: []Name{tick.Name}}
	g := Global{{Events: []Event{last}, Ended: true}, {Events: []Event{tick, sent}, Ended: true}}
	arrivals := g.Arrivals(0)
	if len(arrivals) != 1 || !slices.Equal(arrivals[0].After, []Name{last.Name}) {
		t.Errorf("%+v: it comes after all", arrivals)
	}
	// Where the other one does something else, it has still ended, and not done more.
	other := sent
	other.Label = text("y")
	next, fits := g.substitute(Branch{Component: 1, Before: []Event{tick}, Event: &other})
	if !fits || !next[0].Ended || len(next[0].Events) != 1 {
		t.Errorf("%v: the first one has ended", next)
	}
	// Where it waits for another time, the clock has not advanced. The end is still one.
	next, fits = g.substitute(Branch{Component: 1, Waits: text("2")})
	if !fits || !next[0].Ended || len(next[1].Events) != 0 || next[1].Waits != text("2") {
		t.Errorf("%v: the clock has not advanced", next)
	}
}

// TestEachArrivals: what arrives at each component is the same, whether it is asked for one by one
// or for all, and the one who asks later sees what has changed by then.
func TestEachArrivals(t *testing.T) {
	said := Event{Name: Name{0, "out", 1}, Label: text("a"), To: 1}
	tick := Event{Name: Name{1, "clock", 1}, Label: text("1"), To: Nobody, Tick: 1}
	told := Event{Name: Name{1, "out", 1}, Label: text("b"), To: Everybody, Past: []Name{tick.Name}}
	also := Event{Name: Name{2, "clock", 1}, Label: text("1"), To: Nobody, Tick: 1}
	back := Event{Name: Name{2, "out", 1}, Label: text("c"), To: 0, From: told.Name, Got: told.Label,
		Past: []Name{also.Name}}
	g := Global{{Events: []Event{said}}, {Events: []Event{tick, told}}, {Events: []Event{also, back}}}
	of := g.EachArrivals()
	compare := func() (sum int) {
		for _, c := range []int{2, 0, 1, 0} {
			list := of(c)
			if sum += len(list); !reflect.DeepEqual(list, g.Arrivals(c)) {
				t.Errorf("component %d: %+v, want %+v", c, list, g.Arrivals(c))
			}
		}
		return sum
	}
	if n := compare(); n != 6 {
		t.Errorf("%d have arrived", n)
	}
	g[2].Events = g[2].Events[:1]
	of = g.EachArrivals()
	if n := compare(); n != 4 {
		t.Errorf("%d have arrived after less was sent", n)
	}
}

// TestEndsTogether: each of two components may send something or not, so there are four skeletons.
// The one without either send is composed of two ends.
func TestEndsTogether(t *testing.T) {
	s := &system{streams: []string{"a", "b"}, machines: []machine{
		{{{kind: choose}, {kind: skip}, {kind: send, n: 1, stream: "a"}}},
		{{{kind: choose}, {kind: skip}, {kind: send, n: 0, stream: "b"}}}}}
	for seed := range uint64(50) {
		if c := s.reduce(rand.New(rand.NewPCG(seed, 1))).Counts(); c.GlobalTraces != 4 {
			t.Fatalf("seed %d: %+v, want 4 executions", seed, c)
		}
	}
}

// TestParts: what was sent is received in parts, so a second receive of it fits. The same receive
// does not.
func TestParts(t *testing.T) {
	sent := Event{Name: Name{0, "out", 1}, Label: text("xy"), To: 1}
	receive := func(n int, label string) Event {
		e := Event{Name: Name{1, "in", n}, Label: text(label), To: Nobody,
			From: sent.Name, Got: sent.Label}
		if n > 1 {
			e.Past = []Name{{1, "in", n - 1}}
		}
		return e
	}
	first, second, again := receive(1, "1"), receive(2, "2"), receive(2, "1")
	g := Global{{Events: []Event{sent}, Ended: true}, {Events: []Event{first}, Ended: true}}
	for _, c := range []struct {
		event Event
		fits  bool
	}{{second, true}, {again, false}} {
		b := Branch{Component: 1, Before: []Event{first}, Event: &c.event}
		if _, fits := g.substitute(b); fits != c.fits {
			t.Errorf("%s: fits is %v", c.event.Label, fits)
		}
	}
}
