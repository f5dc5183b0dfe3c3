package explore

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// divisibles are the searches that can be divided, each made anew.
var divisibles = map[string]func() Search{
	"dfs":     DFS,
	"dpor":    DPOR,
	"random":  func() Search { return Random(300, 7) },
	"pct":     func() Search { return PCT(300, 3, 7) },
	"bounded": func() Search { return UntilViolation(MaxExecutions(DFS(), 40)) },
	"limited": func() Search { return MaxDelays(MaxPreemptions(DFS(), 1), 3) },
}

// seen is an execution as the caller of a search sees it.
type seen struct {
	Outcome Outcome
	Length  int
}

// driver drives a search and the parts of it that were handed out, all from one
// goroutine, in an order that is drawn.
type driver struct {
	t       *rapid.T
	program *program
	tasks   []*divided
	ran     map[string]int // how often each execution was run, by its actions
	seen    []seen         // what the undivided search would have been told
	parts   int
}

// divided is a search under way: the whole one, or that of a part.
type divided struct {
	search   Search
	part     *Part // nil for the whole one
	schedule Schedule
	asked    bool      // schedule is what Next returned last
	reported bool      // done has been reported, and not noted
	done     Execution // reported last
}

// drive explores a program with a search that is divided now and then, and between any two steps
// may be interrupted: then another one goes on.
func drive(t *rapid.T, s Search, p *program, interrupt func(*driver)) *driver {
	d := &driver{t: t, program: p, ran: map[string]int{}}
	d.tasks = []*divided{{search: s}}
	often := rapid.SampledFrom([]int{1, 3, 30}).Draw(t, "often")
	order := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
	for len(d.tasks) > 0 && d.tasks[0].part == nil {
		interrupt(d)
		i := order.IntN(len(d.tasks))
		x := d.tasks[i]
		if !x.asked && order.IntN(often) == 0 {
			if part, ok := Divide(x.search); ok {
				d.tasks = append(d.tasks, &divided{search: part.Search, part: part})
				d.parts++
			}
		}
		if !d.advance(x) {
			d.tasks = append(d.tasks[:i], d.tasks[i+1:]...)
		}
	}
	return d
}

// advance takes a search one execution further; false when it has ended.
func (d *driver) advance(x *divided) bool {
	if !x.asked {
		x.schedule, x.asked = x.search.Next()
		if x.part != nil && x.reported {
			x.part.Note(x.done, !x.asked)
		}
		x.reported = false
		if !x.asked {
			return false
		}
	}
	e, ok := d.execution(x.schedule)
	if !ok {
		return true // the part has not come so far
	}
	x.asked, x.reported, x.done = false, true, e
	if err := x.search.Report(e); err != nil {
		d.t.Fatalf("%v\n%v", err, d.program)
	}
	if x.part == nil {
		d.seen = append(d.seen, seen{e.Outcome, e.length()})
	}
	return true
}

func (d *driver) execution(s Schedule) (Execution, bool) {
	if s.Part != nil {
		return s.Part.Take()
	}
	log := run(d.program, s, 0).log
	d.ran[actions(log)]++
	return log, true
}

// actions is what was executed.
func actions(e Execution) string {
	var b []byte
	for _, x := range e.Transitions {
		b = append(b, x.Action.String()...)
		b = append(b, ';')
	}
	return string(b)
}

// undivided is what there is to see of a search that is not divided.
func undivided(t *rapid.T, s Search, p *program) (list []seen, ran map[string]int) {
	ran = map[string]int{}
	for len(list) < dfsBudget {
		schedule, more := s.Next()
		if !more {
			return list, ran
		}
		log := run(p, schedule, 0).log
		ran[actions(log)]++
		if err := s.Report(log); err != nil {
			t.Fatalf("%v\n%v", err, p)
		}
		list = append(list, seen{log.Outcome, log.length()})
	}
	t.Skip("too many executions")
	return nil, nil
}

// TestDivide divides searches of random programs at random places, and has the parts
// take turns at random: what is reported, in which order, and the verdict are those of the
// undivided search, and whatever is run is run as often.
func TestDivide(t *testing.T) {
	for name, f := range map[string]profile{
		"everything": {blocks: join(variables, mutexes, waitGroups, channels, choices, times, branches)},
		"endings":    {blocks: join(endings, endings, variables, mutexes, channels[:3], choices[:1], times[:1]), size: 5},
		"sealed":     {blocks: join(variables, mutexes, waitGroups, channels, times, choices), seal: true},
	} {
		for search, make := range divisibles {
			t.Run(name+"/"+search, func(t *testing.T) { checkDivided(t, f, make, search == "bounded") })
		}
	}
}

// TestDivideLarger does so with programs that DPOR takes some hundred executions for.
func TestDivideLarger(t *testing.T) {
	for name, f := range map[string]profile{
		"mutexes":    {blocks: join(variables, mutexes), size: 6},
		"everything": {blocks: join(variables, mutexes, waitGroups, channels, choices, times, branches), size: 6},
		"endings":    {blocks: join(endings, variables, mutexes, mutexes, channels[:3], choices[:1], times[:1]), size: 7},
		"sealed":     {blocks: join(variables, mutexes, waitGroups, channels, times, choices), seal: true, size: 7},
	} {
		t.Run(name, func(t *testing.T) {
			checkDivided(t, f, func() Search { return MaxExecutions(DPOR(), 500) }, true)
		})
	}
}

// checkDivided compares searches that are divided with such that are not. Bounded ones
// have parts that run ahead in vain.
func checkDivided(t *testing.T, f profile, newSearch func() Search, bounded bool) {
	parts := 0
	rapid.Check(t, func(t *rapid.T) {
		p := f.generate(t)
		s, whole := newSearch(), newSearch()
		want, ran := undivided(t, whole, p)
		got := drive(t, s, p, func(*driver) {})
		parts += got.parts
		if diff := cmp.Diff(want, got.seen); diff != "" {
			t.Fatalf("executions (-undivided +divided into %d parts):\n%s%v", got.parts, diff, p)
		}
		if diff := cmp.Diff(certain(whole.Verdict()), certain(s.Verdict())); diff != "" {
			t.Fatalf("verdict (-undivided +divided into %d parts):\n%s%v", got.parts, diff, p)
		}
		if diff := cmp.Diff(ran, got.ran); diff != "" && !bounded {
			t.Fatalf("what was run, how often (-undivided +divided into %d parts):\n%s%v", got.parts, diff, p)
		}
	})
	if parts == 0 {
		t.Error("nothing was ever handed out")
	}
	t.Logf("%d parts", parts)
}

// TestUndivided: what is left of a search can be nothing, or indivisible.
func TestUndivided(t *testing.T) {
	ended := DFS()
	ended.Next()
	if err := ended.Report(run(parseProgram("main: store x 1"), Schedule{}, 0).log); err == nil {
		t.Fatal("a log without what was enabled is accepted")
	}
	for name, s := range map[string]Search{
		"dfs": DFS(), "random": Random(1, 1), "none": Random(0, 1), "replay": Replay(nil), "bounded": MaxExecutions(Replay(nil), 3),
	} {
		if _, ok := Divide(s); ok {
			t.Errorf("%s was divided", name)
		}
	}
	s := MaxExecutions(DFS(), 0)
	if _, more := s.Next(); more {
		t.Fatal("it has not ended")
	}
	if _, ok := Divide(s); ok {
		t.Error("a search that has ended was divided")
	}
}
