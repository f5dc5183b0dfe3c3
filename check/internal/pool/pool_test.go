package pool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/explore"
)

// fake is an executor without a process: it runs a program of the tests.
type fake struct {
	number    int
	rank      int           // of those that have executed something: the first leads
	begun     *atomic.Int32 // how many these are
	program   *program
	in        *memory
	before    func(x *fake, s explore.Schedule) error // is called before each execution; may be nil
	executed  int
	expected  int // calls of Expect
	stays     int
	using     atomic.Bool
	interrupt atomic.Int32
	closed    atomic.Int32
}

// Execute implements Executor. Each execution is of a kind of its own; violations are kept.
func (x *fake) Execute(s explore.Schedule, _ bool, known func(string) bool) (
	explore.Execution, *execution.Result, error) {
	if x.using.Swap(true) || x.closed.Load() > 0 {
		panic("an executor is used by two, or when it is closed")
	}
	defer x.using.Store(false)
	if x.rank == 0 {
		x.rank = int(x.begun.Add(1))
	}
	if x.before != nil {
		if err := x.before(x, s); err != nil {
			return explore.Execution{}, nil, err
		}
	}
	e := x.program.execute(s, x.in)
	x.executed++
	r := &execution.Result{Kind: describe(e), Violation: e.Outcome.Violation()}
	r.Counts.Hits = 1
	if r.Violation && !known(r.Kind) {
		r.Kept = &execution.Kept{}
	}
	return e, r, nil
}

func (x *fake) Expect(float64) { x.expected++ }

func (x *fake) Detach(spare Memory) Memory {
	mine := x.in
	if x.in = (&memory{}); spare != nil {
		x.in = spare.(*memory)
	}
	return mine
}

func (x *fake) Stay() func() {
	x.stays++
	return func() { x.stays-- }
}

func (x *fake) Interrupt() { x.interrupt.Add(1) }
func (x *fake) Close()     { x.closed.Add(1) }

// journal is a ledger that writes down what it is told.
type journal struct {
	kinds   []string
	settled int // kinds
	fail    func(kinds int) error
}

func (j *journal) Account(r *execution.Result) error {
	j.kinds = append(j.kinds, r.Kind)
	if j.fail != nil {
		return j.fail(len(j.kinds))
	}
	return nil
}

func (j *journal) Settle() { j.settled = len(j.kinds) }

// team is a pool of fakes.
type team struct {
	*Pool
	journal journal
	begun   atomic.Int32
	mu      sync.Mutex
	all     []*fake
}

// newTeam makes a pool with the first executor still to be added.
func newTeam(ctx context.Context, c Config, p *program, before func(*fake, explore.Schedule) error) *team {
	m := &team{}
	c.Ledger = &m.journal
	c.New = func(number int) (Executor, error) {
		x := &fake{number: number, begun: &m.begun, program: p, in: &memory{}, before: before}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.all = append(m.all, x)
		return x, nil
	}
	m.Pool = New(ctx, c)
	return m
}

// start adds all executors.
func (m *team) start() {
	x, _ := m.config.New(0)
	m.Add(x)
	m.Fill()
}

// wait waits until all is over, and sees that nobody is left: of all executors at most one is not
// closed, which is the one that can be used.
func (m *team) wait(t rapid.TB) (Found, error) {
	t.Helper()
	<-m.Ended()
	found, err := m.Wait()
	for _, x := range m.all {
		switch {
		case x.stays != 0 || x.using.Load():
			t.Errorf("executor %d is still in use", x.number)
		case Executor(x) == found.Executor && x.closed.Load() != 0:
			t.Errorf("executor %d was closed, and is returned", x.number)
		case Executor(x) != found.Executor && x.closed.Load() != 1:
			t.Errorf("executor %d was closed %d times", x.number, x.closed.Load())
		}
	}
	return found, err
}

// executed is how many executions the executors have run.
func (m *team) executed() (n int) {
	for _, x := range m.all {
		n += x.executed
	}
	return n
}

// sequential is the dumb twin: it runs what a search asks for, and nothing else.
func sequential(t rapid.TB, p *program, s *explore.Search) (kinds []string, v explore.Verdict) {
	t.Helper()
	var in memory
	for schedule, more := s.Next(); more; schedule, more = s.Next() {
		x := p.execute(schedule, &in)
		kinds = append(kinds, describe(x))
		if err := s.Report(x); err != nil {
			t.Fatalf("%v\n%+v", err, p)
		}
	}
	return kinds, s.Verdict()
}

func newSearch(t rapid.TB, c explore.Config, stops ...explore.Stop) *explore.Search {
	t.Helper()
	s, err := explore.New(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, stop := range stops {
		s.Until(stop)
	}
	return s
}

var one = 1

// searches are the searches that can be shared, by name.
var searches = map[string]explore.Config{
	"dpor":    {Algorithm: explore.DPOR},
	"dfs":     {Algorithm: explore.DFS},
	"bounded": {Algorithm: explore.DFS, Preemptions: &one},
	"random":  {Algorithm: explore.Random, Executions: 300, Seed: 5},
}

// unsteadily lets others run before an execution, now and then.
func unsteadily(x *fake, _ explore.Schedule) error {
	for range rand.IntN(4) * (1 + x.number%3) {
		runtime.Gosched()
	}
	return nil
}

// TestSameAsSequential: whatever is reported, in which order it is, and what is said in the end, is
// the same with 1, 2 and 5 executors as without a pool. Each execution is counted once: as
// reported, or as in vain.
func TestSameAsSequential(t *testing.T) {
	for name, c := range searches {
		t.Run(name, func(t *testing.T) {
			ahead, vain := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				p := generate(t, 4, 4)
				most := rapid.SampledFrom([]int{40, 500}).Draw(t, "most")
				stops := []explore.Stop{explore.MaxExecutions(most)}
				if rapid.Bool().Draw(t, "first violation") {
					stops = append(stops, explore.AtViolation)
				}
				want, verdict := sequential(t, p, newSearch(t, c, stops...))
				for _, executors := range []int{1, 2, 5} {
					c := Config{Search: newSearch(t, c, stops...), Executors: executors}
					m := newTeam(t.Context(), c, p, unsteadily)
					m.start()
					found, err := m.wait(t)
					if err != nil {
						t.Fatalf("with %d executors: %v\n%+v", executors, err, p)
					}
					if diff := cmp.Diff(want, m.journal.kinds); diff != "" {
						t.Fatalf("%d executors (-without +with):\n%s", executors, diff)
					}
					if diff := cmp.Diff(verdict, found.Verdict); diff != "" {
						t.Errorf("%d executors (-without +with):\n%s", executors, diff)
					}
					checkCounts(t, m, found)
					ahead += found.Tally.Counts.Ahead
					vain += found.Vain.InVain
				}
			})
			t.Logf("%d executions were run ahead, %d in vain", ahead, vain)
			if ahead == 0 || vain == 0 {
				t.Error("nothing was run ahead, or nothing in vain")
			}
		})
	}
}

// checkCounts sees that each execution was counted once.
func checkCounts(t rapid.TB, m *team, found Found) {
	t.Helper()
	reported := 0
	for _, n := range found.Tally.Outcomes {
		reported += n
	}
	if reported != len(m.journal.kinds) || m.journal.settled != reported ||
		found.Tally.Counts.Hits != reported {
		t.Errorf("%d executions are reported, %d accounted for, %d settled, %d counted", reported,
			len(m.journal.kinds), m.journal.settled, found.Tally.Counts.Hits)
	}
	if all := m.executed(); reported+found.Vain.InVain != all || reported+found.Vain.Hits != all ||
		found.Tally.Counts.InVain != found.Vain.InVain {
		t.Errorf("%d executions were run, %d reported, %d in vain, which have counted %d", all, reported,
			found.Vain.InVain, found.Vain.Hits)
	}
}

// TestOthersAreWoken: executors that had nothing to do explore parts, as soon as there are some,
// while the first one does not go on.
func TestOthersAreWoken(t *testing.T) {
	for _, executors := range []int{2, 5} {
		p := writers(3, 3)
		search := func() *explore.Search {
			return newSearch(t, explore.Config{Algorithm: explore.DFS}, explore.MaxExecutions(1500))
		}
		woken := make(chan struct{})
		var others atomic.Int32
		var m *team
		m = newTeam(t.Context(), Config{Search: search(), Executors: executors}, p,
			func(x *fake, _ explore.Schedule) error {
				switch {
				case x.rank > 1:
					if others.Add(1) == 1 {
						close(woken)
					}
				case x.executed == 0: // there are no parts before the first execution is reported
					for int(m.work.idle.Load()) < executors-1 {
						runtime.Gosched()
					}
					if others.Load() > 0 {
						t.Error("there was something to do before the first execution")
					}
				case x.executed == 1:
					<-woken
				}
				return nil
			})
		m.start()
		found, err := m.wait(t)
		if err != nil {
			t.Fatal(err)
		}
		want, verdict := sequential(t, p, search())
		if diff := cmp.Diff(want, m.journal.kinds); diff != "" {
			t.Errorf("another order (-without +with):\n%s", diff)
		}
		if diff := cmp.Diff(verdict, found.Verdict); diff != "" {
			t.Error(diff)
		}
		checkCounts(t, m, found)
	}
}

var errForTest = errors.New("an error for this test")

// TestExecutorsFail: an executor that fails is not used again. Either the search does not need what
// has failed, and the result is as without; or the error is told, after all that comes before it in
// the order of the search.
func TestExecutorsFail(t *testing.T) {
	for name, c := range searches {
		t.Run(name, func(t *testing.T) {
			told, survived := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				p := generate(t, 4, 3)
				stop := explore.MaxExecutions(200)
				want, _ := sequential(t, p, newSearch(t, c, stop))
				executors := rapid.SampledFrom([]int{1, 2, 5}).Draw(t, "executors")
				failing := rapid.IntRange(0, executors-1).Draw(t, "failing")
				at := rapid.IntRange(0, 30).Draw(t, "at")
				m := newTeam(t.Context(), Config{Search: newSearch(t, c, stop), Executors: executors}, p,
					func(x *fake, s explore.Schedule) error {
						if x.number == failing && x.executed == at {
							return errForTest
						}
						return unsteadily(x, s)
					})
				m.start()
				found, err := m.wait(t)
				kinds := m.journal.kinds
				switch {
				case err == nil && !slices.Equal(kinds, want):
					t.Errorf("no error, and %d executions instead of %d", len(kinds), len(want))
				case err != nil && (!errors.Is(err, errForTest) || len(kinds) > len(want) ||
					!slices.Equal(kinds, want[:len(kinds)])):
					t.Errorf("error %v, after another order of executions", err)
				case err != nil:
					told++
				case m.all[min(failing, len(m.all)-1)].executed == at:
					survived++
				}
				if x, ok := found.Executor.(*fake); ok && err != nil && x.number == failing {
					t.Errorf("executor %d has failed, and is returned", failing)
				}
				checkCounts(t, m, found)
			})
			t.Logf("the error was told %d times, and not needed %d times", told, survived)
			if told == 0 {
				t.Error("no error was ever told")
			}
			// A random search needs nearly all that is run.
			if survived == 0 && c.Algorithm != explore.Random {
				t.Error("the search never came to its end in spite of a failure")
			}
		})
	}
}

// TestAllExecutorsFail: what was run before the last of them failed is reported, and may end the
// search; if not, it ends with an error.
func TestAllExecutorsFail(t *testing.T) {
	for most, want := range map[int]error{3: nil, 4: errForTest} {
		c := Config{Search: newSearch(t, explore.Config{Algorithm: explore.Random, Executions: 50, Seed: 1},
			explore.MaxExecutions(most)), Executors: 2}
		third, fourth, fifth := make(chan struct{}), make(chan struct{}), make(chan struct{})
		allFail := true
		var m *team
		m = newTeam(t.Context(), c, writers(3, 2), func(x *fake, _ explore.Schedule) error {
			switch {
			case x.rank == 1 && x.executed == 0: // the first schedule; then others are known
				return nil
			case x.rank == 1 && x.executed == 1: // the second
				<-third
				return nil
			case x.rank == 2 && x.executed == 0: // the third, for which the search waits then
				close(third)
				<-fourth
				return nil
			case x.rank == 1: // the fourth
				close(fourth)
				select {
				case <-fifth:
				case <-m.Ended(): // the third has ended the search before the fifth was begun
					allFail = false
				}
			default: // the fifth
				close(fifth)
			}
			return errForTest
		})
		m.start()
		found, err := m.wait(t)
		if !errors.Is(err, want) || found.Verdict.Executions != 3 || (found.Executor == nil) != allFail {
			t.Errorf("%d executions, error %v, want 3 and %v; executor %v can be used",
				found.Verdict.Executions, err, want, found.Executor)
		}
		checkCounts(t, m, found)
	}
}

// TestConclusive: an error that may not come again ends the search, though it was met in a part
// that the search has not come to.
func TestConclusive(t *testing.T) {
	c := Config{Search: newSearch(t, explore.Config{Algorithm: explore.DFS}), Executors: 2,
		Conclusive: func(err error) bool { return errors.Is(err, errForTest) }}
	m := newTeam(t.Context(), c, writers(4, 3), func(x *fake, s explore.Schedule) error {
		if x.rank == 2 {
			return fmt.Errorf("in a part: %w", errForTest)
		}
		runtime.Gosched() // who comes late gets a part only when the search is advanced
		return nil
	})
	m.start()
	if _, err := m.wait(t); !errors.Is(err, errForTest) {
		t.Errorf("the error is %v", err)
	}
}

// TestStop: a search that is stopped from outside ends with that error, whatever the executors do;
// what they do is interrupted.
func TestStop(t *testing.T) {
	for _, executors := range []int{1, 2, 5} {
		var m *team
		var count atomic.Int32
		m = newTeam(t.Context(), Config{Search: newSearch(t, explore.Config{}), Executors: executors},
			writers(4, 4), func(x *fake, _ explore.Schedule) error {
				if count.Add(1) == 100 {
					m.Stop(errForTest)
					if x.interrupt.Load() == 0 {
						t.Error("the executor is not interrupted")
					}
				}
				if x.interrupt.Load() > 0 {
					return context.Canceled
				}
				return nil
			})
		m.start()
		found, err := m.wait(t)
		if !errors.Is(err, errForTest) {
			t.Errorf("%d executors: the error is %v", executors, err)
		}
		checkCounts(t, m, found)
		if found.Verdict.Kind != explore.Unknown {
			t.Errorf("%d executors: %+v", executors, found.Verdict)
		}
	}
}

// TestLedgerFails: an error of the ledger, or of the observer, ends the search after all that comes
// before.
func TestLedgerFails(t *testing.T) {
	p := writers(3, 3)
	want, _ := sequential(t, p, newSearch(t, explore.Config{}, explore.MaxExecutions(100)))
	for _, executors := range []int{1, 2, 5} {
		m := newTeam(t.Context(), Config{Search: newSearch(t, explore.Config{}), Executors: executors}, p,
			unsteadily)
		m.journal.fail = func(n int) error {
			if n == 70 {
				return errForTest
			}
			return nil
		}
		m.start()
		if _, err := m.wait(t); !errors.Is(err, errForTest) || !slices.Equal(m.journal.kinds, want[:70]) {
			t.Errorf("%d executors: error %v after %d executions", executors, err, len(m.journal.kinds))
		}
		seen := 0
		o := newTeam(t.Context(), Config{Search: newSearch(t, explore.Config{}), Executors: executors,
			Observe: func(explore.Execution) error {
				if seen++; seen == 70 {
					return errForTest
				}
				return nil
			}}, p, unsteadily)
		o.start()
		if found, err := o.wait(t); !errors.Is(err, errForTest) || seen != 70 || found.Vain.InVain != 1 {
			t.Errorf("%d executors: error %v after %d executions, %d in vain", executors, err, seen,
				found.Vain.InVain)
		}
	}
}

// TestInterrupted: when the context ends, what was run ahead is not lost.
func TestInterrupted(t *testing.T) {
	const before, most = 300, 10
	ctx, cancel := context.WithCancel(t.Context())
	p := writers(3, 4)
	p.wrong = 4 // where the second goroutine has written last
	blocked, ahead := make(chan struct{}), make(chan struct{})
	c := Config{Search: newSearch(t, explore.Config{Algorithm: explore.Random, Executions: 5000, Seed: 1}),
		Executors: 2}
	var early atomic.Int32
	m := newTeam(ctx, c, p, func(x *fake, _ explore.Schedule) error {
		switch {
		case x.rank == 1 && x.executed < before: // many schedules are known then
			return nil
		case x.rank == 1:
			close(blocked)
			<-ahead
			return ctx.Err()
		}
		if early.Add(1) > most {
			cancel()
			close(ahead)
			return ctx.Err()
		}
		return nil
	})
	first, _ := m.config.New(0)
	m.Add(first)
	<-blocked // earlier, the second one might run ahead of all that is known
	m.Fill()
	m.Stop(waitFor(ctx))
	found, err := m.wait(t)
	if !errors.Is(err, context.Canceled) || len(found.Left) < most || found.Vain.InVain != len(found.Left) {
		t.Errorf("error %v, %d results are left, %d executions were in vain", err, len(found.Left),
			found.Vain.InVain)
	}
	checkCounts(t, m, found)
	if !slices.ContainsFunc(found.Left, func(r *execution.Result) bool { return r.Kept != nil }) {
		t.Error("no violation is among them")
	}
}

func waitFor(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestFirstErrorStays: a contradiction takes the place of an interrupt; otherwise the first error
// stays, or none.
func TestFirstErrorStays(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	contradiction, other := &explore.DivergenceError{}, errors.New("the worker has ended")
	for _, c := range []struct {
		name string
		errs []error
		want error
	}{
		{"a contradiction", []error{ctx.Err(), contradiction}, contradiction},
		{"a contradiction first", []error{contradiction, ctx.Err()}, contradiction},
		{"another error, which the interrupt may have made", []error{ctx.Err(), other}, ctx.Err()},
		{"the end of the search", []error{ctx.Err(), nil}, ctx.Err()},
		{"nothing: the search had ended", []error{nil, contradiction}, nil},
	} {
		p := New(ctx, Config{Search: newSearch(t, explore.Config{})})
		for _, err := range c.errs {
			p.Stop(err)
		}
		if _, err := p.Wait(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// TestCameFirst: what ended the search is told from what came after an interrupt, also if the
// interrupt comes while the pool ends.
func TestCameFirst(t *testing.T) {
	failed := errors.New("failed")
	for _, isFirst := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		p := New(ctx, Config{Search: newSearch(t, explore.Config{})})
		if !isFirst {
			cancel()
		}
		p.Stop(failed)
		cancel()
		p.Stop(ctx.Err())
		_, err := p.Wait()
		if !errors.Is(err, failed) || err.Error() != "failed" || CameFirst(err) != isFirst {
			t.Errorf("before the interrupt (%v): %v, came first: %v", isFirst, err, CameFirst(err))
		}
	}
	if CameFirst(nil) || CameFirst(failed) {
		t.Error("an error that ended no search came first")
	}
}

// TestNobodyIsAddedAfterTheEnd: no executor is made that nobody will need.
func TestNobodyIsAddedAfterTheEnd(t *testing.T) {
	c := Config{Search: newSearch(t, explore.Config{}), Executors: 64}
	m := newTeam(t.Context(), c, writers(2, 1), nil)
	m.Stop(nil)
	m.Fill()
	late := &fake{}
	m.Add(late)
	found, err := m.wait(t)
	if len(m.all) > 0 || late.closed.Load() != 1 || err != nil || found.Executor != nil {
		t.Errorf("%d executors, error %v", len(m.all), err)
	}
}

// TestExecutorCannotBeMade: the error says which one.
func TestExecutorCannotBeMade(t *testing.T) {
	made := make(chan struct{})
	m := newTeam(t.Context(), Config{Search: newSearch(t, explore.Config{}), Executors: 5}, writers(4, 4),
		func(*fake, explore.Schedule) error {
			<-made
			return nil
		})
	makeFake := m.config.New
	m.config.New = func(number int) (Executor, error) {
		if number == 2 {
			return nil, errForTest
		}
		return makeFake(number)
	}
	m.start()
	close(made)
	if _, err := m.wait(t); err == nil || err.Error() != "worker 3 of 5: "+errForTest.Error() {
		t.Errorf("the error is %v", err)
	}
}

// TestForecasts: only executors that want to know are told what to expect.
func TestForecasts(t *testing.T) {
	for _, want := range []bool{false, true} {
		c := Config{Search: newSearch(t, explore.Config{}), Executors: 2, Forecast: want}
		m := newTeam(t.Context(), c, writers(3, 2), unsteadily)
		m.start()
		if _, err := m.wait(t); err != nil {
			t.Fatal(err)
		}
		for _, x := range m.all {
			if (x.expected > 0) != (want && x.executed > 0) {
				t.Errorf("executor %d was told %d times what to expect, of %d executions", x.number,
					x.expected, x.executed)
			}
		}
	}
}

// TestStill: while somebody looks, nothing is reported, and what was counted is as reported.
func TestStill(t *testing.T) {
	var m *team
	looks := 0
	m = newTeam(t.Context(), Config{Search: newSearch(t, explore.Config{}), Executors: 2,
		Counts: execution.Counts{PeerCounts: execution.PeerCounts{Hits: 1000}}}, writers(3, 3), unsteadily)
	m.start()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for over := false; !over; looks++ {
		m.Still(func(tally Tally) {
			if n := len(m.journal.kinds); tally.Counts.Hits != 1000+n || m.journal.settled != n ||
				m.config.Search.Verdict().Executions != n {
				t.Errorf("%d executions are accounted for, %d settled, %d counted", n, m.journal.settled,
					tally.Counts.Hits)
			}
		})
		select {
		case <-m.Ended():
			over = true
		case <-tick.C:
		}
	}
	if _, err := m.wait(t); err != nil {
		t.Error(err)
	}
}
