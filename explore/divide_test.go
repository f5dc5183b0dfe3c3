package explore

import (
	"errors"
	"flag"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tandem-mc/tandem/explore/internal/dpor"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
	"pgregory.net/rapid"
)

// divided runs a search and its parts, in turns that chance decides. Now and then the search is
// saved, and goes on without its parts.
type divided struct {
	*Search
	another func() *Search
	t       rapid.TB
	program *testkit.Program
	chance  func(n int) int // less than n
	parts   []*partial
	list    []testkit.Executed

	joined, refused, gone, finished, resumed, far int
	// Of them, those of parts of sizes that nobody would ask for.
	oddJoined, oddRefused int
	// What parts have in common: where they are written, and where they are read.
	here, away Common
}

// partial is a part and what has been executed of it.
type partial struct {
	*Subtree
	there *Subtree // in another process, as it were; nil: it is explored here
	list  []testkit.Executed
	isOdd bool // in its size
}

// send has a part explored in another process, if that can be.
func (d *divided) send(p *partial) *partial {
	written, err := SaveSubtree(p.Subtree, &d.here)
	if errors.Is(err, ErrNotPortable) {
		return p
	}
	if p.there, err = ResumeSubtree(written, &d.away); err != nil {
		d.t.Fatal(err)
	}
	return p
}

// fetch takes over what another process has explored.
func (d *divided) fetch(p *partial) {
	if p.there == nil || len(p.list) == 0 {
		return
	}
	explored, err := SaveExplored(p.there)
	if err == nil {
		err = TakeOver(p.Subtree, explored)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.far++
}

// step runs one execution of a part; false if it goes no further.
func (d *divided) step(p *partial) bool {
	if last := len(p.list) - 1; last >= 0 && p.list[last].Outcome.Violation() {
		return false // where the search may stop
	}
	explored := p.Subtree
	if p.there != nil {
		explored = p.there
	}
	schedule, more := explored.Next()
	if more {
		d.execute(explored, schedule, &p.list)
	}
	return more
}

// execute runs an execution of a search, and adds it to a list.
func (d *divided) execute(s testkit.Stepper, schedule Schedule, list *[]testkit.Executed) {
	log := testkit.Run(d.program, schedule, 0).Log
	if err := s.Report(log); err != nil {
		d.t.Fatalf("execution %d: %v\n%v", len(*list), err, d.program)
	}
	x := testkit.Executed{Outcome: log.Outcome}
	for _, transition := range log.Transitions {
		x.Actions = append(x.Actions, transition.Action)
	}
	*list = append(*list, x)
}

// others divides the search, and has parts go on.
func (d *divided) others() {
	if d.chance(60) == 0 {
		d.Search.Save() // which makes no difference
	}
	for range d.chance(3) {
		size := Size{Enough: float64(d.chance(10))}
		isOdd := d.chance(4) == 0
		if isOdd {
			size = Size{Least: float64(d.chance(4)), Enough: size.Enough, Ahead: float64(d.chance(3)),
				Quiet: d.chance(12)}
		}
		if p := d.Search.Split(size); p != nil {
			part := &partial{Subtree: p, isOdd: isOdd}
			if d.chance(2) == 0 {
				part = d.send(part)
			}
			d.parts = append(d.parts, part)
		}
	}
	known := len(d.parts)
	d.parts = slices.DeleteFunc(d.parts, func(p *partial) bool {
		if p.Cancelled && d.chance(2) == 0 {
			d.Search.Recycle(p.Subtree)
		}
		return p.Cancelled
	})
	d.gone += known - len(d.parts)
	for _, p := range d.parts {
		for range d.chance(8) {
			if !d.step(p) {
				break
			}
		}
	}
}

// searchAll runs everything, and lists it in the order of the search.
func (d *divided) searchAll() ([]testkit.Executed, Verdict) {
	for len(d.list) < testkit.DFSBudget {
		d.others()
		schedule, more := d.Next()
		if !more {
			return d.list, d.Verdict()
		}
		d.others()
		if d.chance(40) == 0 {
			d.Search, d.parts = saved(d.t, d.Search, d.another()), nil
			d.resumed++
			continue
		}
		due := d.Search.Arrived()
		if due == nil || d.chance(8) == 0 {
			d.execute(d.Search, schedule, &d.list)
			continue
		}
		p := d.parts[slices.IndexFunc(d.parts, func(p *partial) bool { return p.Subtree == due })]
		for d.chance(4) > 0 {
			if !d.step(p) {
				d.finished++
				break
			}
		}
		d.fetch(p)
		if d.Search.Merge(due) {
			d.list = append(d.list, p.list...)
			d.joined++
			d.oddJoined += count(p.isOdd)
		} else {
			d.Search.Recycle(due)
			d.execute(d.Search, schedule, &d.list)
			d.refused++
			d.oddRefused += count(p.isOdd)
		}
		d.parts = slices.DeleteFunc(d.parts, func(q *partial) bool { return p == q })
	}
	d.t.Fatalf("there are more executions than without parts\n%v", d.program)
	return nil, Verdict{}
}

// count is 1 for what is.
func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// rarelyTimed are blocks of programs of which few executions set a timer.
var rarelyTimed = testkit.Join(testkit.Variables, testkit.Mutexes,
	[]string{"choose r0 3", "choose r1 2", "skip r0 0 1; sleep 1", "load r1 x; skip r1 3 1; store x 3"})

// portable are the searches of which parts can be explored by other processes.
var portable = map[string]bool{"dpor": true, "long": true, "auto": true, "auto-rests": true,
	"auto-timed": true}

// TestDivide: a search that is divided wherever and whenever, and joins the parts when they have
// ended or before, or does not, executes the same in the same order, and comes to the same verdict
// with the same estimate.
func TestDivide(t *testing.T) {
	everything := testkit.Profile{Blocks: testkit.Join(testkit.Variables, testkit.Mutexes,
		testkit.WaitGroups, testkit.Channels, testkit.Choices, testkit.Times, testkit.Branches)}
	for _, name := range []string{"dfs", "dpor", "bounded", "bpor", "limited", "long", "auto", "auto-bounded",
		"auto-rests", "auto-timed"} {
		newSearch := saveables[name]
		if name == "long" {
			newSearch = func() *Search { s := dporSearch(); s.core.(*dpor.Search).Short = 0; return s }
		}
		t.Run(name, func(t *testing.T) {
			var joined, refused, gone, finished, resumed, far, oddJoined, oddRefused int
			if name != "dfs" { // which takes many executions
				many(t, 400)
			}
			rapid.Check(t, func(t *rapid.T) {
				everything := everything
				if name == "dpor" || name == "long" {
					everything.Size = rapid.SampledFrom([]int{3, 3, 5}).Draw(t, "size")
				}
				if name == "auto-timed" {
					everything.Blocks = rarelyTimed
				}
				p := everything.Generate(t)
				want, verdict := testkit.Record(t, newSearch(), p, testkit.Never)
				d := &divided{Search: newSearch(), another: newSearch, t: t, program: p}
				d.here.chunks.Least = 1 // programs of tests have little to do
				chance := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "chance"), 0))
				d.chance = chance.IntN
				got, inParts := d.searchAll()
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("executions (-whole +divided):\n%s%v", diff, p)
				}
				if diff := cmp.Diff(verdict, inParts); diff != "" {
					t.Fatalf("verdict (-whole +divided):\n%s%v", diff, p)
				}
				joined, refused, gone, finished, resumed = joined+d.joined, refused+d.refused,
					gone+d.gone, finished+d.finished, resumed+d.resumed
				far, oddJoined, oddRefused = far+d.far, oddJoined+d.oddJoined, oddRefused+d.oddRefused
			})
			if portable := portable[name]; portable != (far > 0) {
				t.Errorf("%d parts were explored by another process", far)
			}
			t.Logf("%d parts joined, %d of them or of those refused had ended; %d refused when they were "+
				"due, %d given up before; %d times the search was resumed; of odd sizes %d joined, "+
				"%d refused",
				joined, finished, refused, gone, resumed, oddJoined, oddRefused)
			if joined == 0 || finished == 0 || resumed == 0 || joined-oddJoined < refused-oddRefused {
				t.Errorf("%d parts were joined, %d had ended, %d were refused; %d times the search was "+
					"resumed", joined, finished, refused, resumed)
			}
		})
	}
}

// many has rapid draw so many programs in a test, unless more are asked for: what is rare is what
// goes wrong.
func many(t *testing.T, programs int) {
	f := flag.Lookup("rapid.checks")
	before := f.Value.String()
	if n, err := strconv.Atoi(before); err == nil && n < programs && !testing.Short() {
		f.Value.Set(strconv.Itoa(programs))
		t.Cleanup(func() { f.Value.Set(before) })
	}
}

// begunWith is a search that has executed a program once, and a part of it that has, too.
func begunWith(t *testing.T, s *Search) (*testkit.Program, *Subtree) {
	t.Helper()
	p := testkit.ParseProgram("main: go p; go q; store x 1\np: store x 2\nq: store x 3")
	testkit.ExecuteOne(t, s, p)
	part := s.Split(Size{Enough: 1000}) // the largest
	if part == nil {
		t.Fatal("there is nothing to take")
	}
	testkit.ExecuteOne(t, part, p)
	return p, part
}

// TestReuse: a part is used again once, and only when the search does not want it any more.
func TestReuse(t *testing.T) {
	panics := func(what string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Error("no panic:", what)
			}
		}()
		f()
	}
	s := dporSearch()
	p, part := begunWith(t, s)
	panics("the search may still join it", func() { s.Recycle(part) })
	schedule, more := s.Next()
	for ; more && s.Arrived() != part; schedule, more = s.Next() {
		if err := s.Report(testkit.Run(p, schedule, 0).Log); err != nil {
			t.Fatal(err)
		}
	}
	if !s.Merge(part) {
		t.Fatal("the part is not joined")
	}
	panics("it was joined", func() { s.Recycle(part) })
	panics("it goes on", func() { part.Next() })
}

// TestPartInVain: a search that executes a branch itself gives the part up, tells so once, and does
// not join it. Nor does it join one that has executed nothing, or takes it over its bound.
func TestPartInVain(t *testing.T) {
	for name, test := range map[string]struct {
		search   *Search
		executes int  // the part, more
		itself   bool // the search executes the branch
	}{
		"dfs": {dfsSearch(), 0, true}, "dpor": {dporSearch(), 0, true},
		"bounded": {maxExecutions(dfsSearch(), 3), 1, false},
	} {
		s := test.search
		p, part := begunWith(t, s)
		for range test.executes {
			testkit.ExecuteOne(t, part, p)
		}
		schedule, more := s.Next()
		for ; more && s.Arrived() != part; schedule, more = s.Next() {
			if err := s.Report(testkit.Run(p, schedule, 0).Log); err != nil {
				t.Fatal(err)
			}
		}
		if !more {
			t.Fatal(name, "never comes to the part")
		}
		if !test.itself && s.Merge(part) {
			t.Error(name, "joins what goes beyond its bound")
		}
		if err := s.Report(testkit.Run(p, schedule, 0).Log); err != nil {
			t.Fatal(err)
		}
		if list := s.Cancelled(); len(list) != 1 || list[0] != part {
			t.Errorf("%s: %d parts are given up", name, len(list))
		}
		if len(s.Cancelled()) > 0 || s.Merge(part) {
			t.Error(name, "gives the part up again, or joins it")
		}
	}
	s := dfsSearch()
	p := testkit.ParseProgram("main: go p; store x 1\np: store x 2")
	testkit.ExecuteOne(t, s, p)
	part := s.Split(Size{Enough: 1})
	if s.Next(); s.Arrived() != part || s.Merge(part) {
		t.Error("a part that has executed nothing is not due, or joined")
	}
}
