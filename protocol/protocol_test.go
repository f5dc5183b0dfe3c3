package protocol

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/protocol/internal/apart"
	"github.com/tandem-mc/tandem/protocol/internal/global"
)

// counter is a node that many tests need: it counts what it receives, up to a bound.
type counter struct {
	N     int
	Most  int
	On    func(c *counter, env *Env, message any)
	Extra any
}

func (c *counter) Receive(env *Env, _ ID, message any) { c.On(c, env, message) }
func (c *counter) Actions() []any {
	if c.N < c.Most {
		return []any{"go"}
	}
	return nil
}
func (c *counter) Act(env *Env, action any) { c.On(c, env, action) }

// one is a model of one counter.
func one(most int, on func(c *counter, env *Env, message any), properties ...Property) *Model {
	return &Model{Nodes: []Node{&counter{Most: most, On: on}}, Properties: properties}
}

// wantError checks a model, and wants an error with some texts.
func wantError(t *testing.T, m *Model, texts ...string) {
	t.Helper()
	r, err := Check(m, Options{Workers: 1})
	if err == nil {
		t.Fatalf("no error, but %v", r)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q; want %q in it", err, text)
		}
	}
}

// tick changes between calls; it is what a node must not look at.
type tick struct{ n int }

// TestNotDeterministic: a handler that depends on something else is named, with its field and line.
func TestNotDeterministic(t *testing.T) {
	outside := &tick{}
	names := map[int]bool{}
	for i := range 20 {
		names[i] = true
	}
	for name, c := range map[string]struct {
		on   func(c *counter, env *Env, message any)
		want string
	}{
		"variable": {func(c *counter, _ *Env, _ any) { outside.n++; c.N = outside.n }, "something else: N: "},
		"random":   {func(c *counter, _ *Env, _ any) { c.N = rand.Int() }, "something else: N: "},
		"time":     {func(c *counter, _ *Env, _ any) { c.Extra = time.Now() }, "something else: Extra"},
		"map order": {func(c *counter, env *Env, _ any) {
			for n := range names {
				env.Send(0, n)
				return
			}
		}, "it sends "},
		"choices": {func(c *counter, env *Env, _ any) { outside.n++; env.Choose(1 + outside.n%2) },
			"it chooses from "},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, one(1, c.on), "node 0, on call \"go\"", c.want, "in Act (protocol/protocol_test.go:",
				"map, time, random numbers")
		})
	}
}

// TestGoroutine: a handler that leaves a goroutine is named, with what it runs.
func TestGoroutine(t *testing.T) {
	stop := make(chan int)
	defer close(stop)
	wantError(t, one(1, func(*counter, *Env, any) { go wait(stop) }), "starts a goroutine",
		"protocol_test.go:")
}

func wait(stop chan int) { <-stop }

// TestModelChanged: a function that holds the node of the model is found.
func TestModelChanged(t *testing.T) {
	original := &counter{Most: 1}
	original.On = func(*counter, *Env, any) { original.N = 1 }
	wantError(t, &Model{Nodes: []Node{original}}, "changed the node in the model", "N: 0 -> 1")
}

// curious changes when it is asked.
type curious struct{ Asked int }

func (c *curious) Receive(*Env, ID, any) {}
func (c *curious) Actions() []any        { c.Asked++; return nil }
func (c *curious) Act(*Env, any)         {}

func TestQuestionChanges(t *testing.T) {
	wantError(t, &Model{Nodes: []Node{&curious{}}}, "Actions, Quorums or a view", "Asked: 0 -> 1")
}

// TestNoImage: what has no image is named where it is.
func TestNoImage(t *testing.T) {
	wantError(t, &Model{Nodes: []Node{&counter{Extra: make(chan int)}}},
		"node 0: *protocol.counter.Extra: a channel")
	wantError(t, one(1, func(c *counter, _ *Env, _ any) { c.Extra = make(chan int) }),
		"node 0, on call \"go\": *protocol.counter.Extra: a channel")
	wantError(t, one(1, func(_ *counter, e *Env, _ any) { e.Send(0, make(chan int)) }),
		"a message has no image")
	wantError(t, one(1, func(c *counter, _ *Env, _ any) { c.On = func(*counter, *Env, any) { c.N++ } }),
		".On: the function was not there")
}

// TestBadModels: what is wrong with a model is said before anything runs.
func TestBadModels(t *testing.T) {
	good := &counter{}
	for want, m := range map[string]*Model{
		"no nodes":           {},
		"1 nodes and 2":      {Nodes: []Node{good}, Names: []string{"a", "b"}},
		"network 9":          {Nodes: []Node{good}, Network: 9},
		"negative number":    {Nodes: []Node{good}, Faults: Faults{Drops: -2}},
		"repeats messages":   {Nodes: []Node{good}, Network: Duplicating, Faults: Faults{Drops: 1}},
		"65 properties":      {Nodes: []Node{good}, Properties: make([]Property, 65)},
		"node 1 of":          {Nodes: []Node{good, nil}},
		"to part 11 nodes":   {Nodes: slices.Repeat([]Node{good}, 11), Faults: Faults{Partitions: 1}},
		"pointers can be":    {Nodes: []Node{good}, Constants: []any{1}},
		"16384 ways to choo": one(1, func(_ *counter, e *Env, _ any) { e.Choose(200); e.Choose(200) }),
	} {
		wantError(t, m, want)
	}
}

// TestPanic: a panic in a handler is a violation, with its line and its chart.
func TestPanic(t *testing.T) {
	for want, on := range map[string]func(c *counter, env *Env, message any){
		"index out of range [5]": func(c *counter, _ *Env, _ any) {
			c.N++
			_ = make([]int,
				c.Most)[c.N+2]
		},
		"assertion failed: too many": func(c *counter, e *Env, _ any) {
			c.N++
			e.Assert(c.N < 3,
				"too many ", c.N)
		},
		"sent to node 5: there are 1":  func(c *counter, e *Env, _ any) { c.N++; e.Send(ID(c.N+4), 1) },
		"Choose(0): there must be":     func(c *counter, e *Env, _ any) { c.N++; e.Choose(2 - c.N) },
		"it has no method Timeout, so": func(c *counter, e *Env, _ any) { c.N++; e.SetTimer(1) },
	} {
		m := one(5, on)
		r, err := Check(m, Options{})
		if err != nil || r.Verdict != Violated || !strings.Contains(r.Violation.What, want) {
			t.Errorf("%v, error %v; want %q", r, err, want)
			continue
		}
		if !strings.Contains(r.Violation.What, "(protocol/protocol_test.go:") ||
			!strings.Contains(r.Violation.Chart, `call "go"`) {
			t.Errorf("%s\n%s", r.Violation.What, r.Violation.Chart)
		}
		if again, err := replay(m, r.Violation.Run); err != nil || again.What != r.Violation.What {
			t.Errorf("replay: %v, error %v", again, err)
		}
	}
}

// TestBounds: a search that ends at a bound is unknown, and says at which.
func TestBounds(t *testing.T) {
	grow := func(c *counter, _ *Env, _ any) { c.N++ }
	for want, o := range map[string]Options{
		"bound on the depth":   {Depth: 10},
		"depth was":            {Depth: 10, Search: DepthFirst},
		"bound of 5000 states": {States: 5000},
		"time of 50ms":         {Time: 50 * time.Millisecond},

		"of 1 MB of memory was reached: raise Memory, or have External": {Memory: 1 << 20},

		"MB of memory was reached: raise Memory": {Memory: 1 << 20, Search: DepthFirst},
		"but what handlers do stays in memory":   {Memory: 1, External: t.TempDir()},
	} {
		r, err := Check(one(1<<40, grow), o)
		if err != nil || r.Verdict != Unknown || !strings.Contains(r.Reason, want) {
			t.Errorf("%v, error %v; want %q", r, err, want)
		}
		// Only a search that can have files is told of them.
		if o.Search == DepthFirst && strings.Contains(r.Reason, "External") {
			t.Errorf("%v: files are refused there", r)
		}
	}
	if r, err := Check(one(10, grow), Options{Depth: 11}); err != nil || r.Verdict != Holds {
		t.Errorf("%v, error %v; a bound that is not met makes nothing unknown", r, err)
	}
}

// TestBoundsAdvice: files are named only where they help. The fixpoint before a search is never in
// files, and the process that leads others has no states.
func TestBoundsAdvice(t *testing.T) {
	front := &apart.Session{IsFront: true}
	const raise, files, inFiles = "reached: raise Memory",
		"reached: raise Memory, or have External name a directory for states",
		": states are in files, but what handlers do stays in memory, so raise Memory"
	for _, c := range []struct {
		o              Options
		search, before string
	}{
		{Options{}, files, raise},
		{Options{External: "directory"}, inFiles, raise},
		{Options{Search: DepthFirst}, raise, raise},
		{Options{session: front}, raise, raise},
	} {
		c.o.Memory = 1
		if got := newBounds(c.o, time.Now()).stop(global.Progress{}); !strings.HasSuffix(got, c.search) {
			t.Errorf("%+v: %q, want %q", c.o, got, c.search)
		}
		if got := newBounds(c.o, time.Now()).stopEvents(1); !strings.HasSuffix(got, c.before) {
			t.Errorf("%+v, before the search: %q, want %q", c.o, got, c.before)
		}
	}
}

// recorder is a TB.
type recorder struct{ failed, logged string }

func (r *recorder) Helper()                           {}
func (r *recorder) Logf(format string, args ...any)   { r.logged += fmt.Sprintf(format, args...) }
func (r *recorder) Errorf(format string, args ...any) { r.failed += fmt.Sprintf(format, args...) }
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

// TestVerdicts: a test fails if the model is violated, unknown, or no model.
func TestVerdicts(t *testing.T) {
	grow := func(c *counter, _ *Env, _ any) { c.N++ }
	n := func(_ ID, node Node) int { return node.(*counter).N }
	below := func(most int) func([]int) bool { return func(v []int) bool { return v[0] < most } }
	for _, c := range []struct {
		property Property
		options  Options
		failed   string
	}{
		{Always("small", n, below(4)), Options{}, ""},
		{Always("small", n, below(3)), Options{}, `Replay(t, model, "0.0.0.0")`},
		{Always("started", n, below(0)), Options{}, "It is so at the start."},
		{Assertion("local", func(_ ID, node Node) bool { return node.(*counter).N < 2 }), Options{}, "local"},
		{Sometimes("zero", n, below(1)), Options{}, ""},
		{Sometimes("nothing", n, below(0)), Options{}, "violated: no run reaches nothing"},
		{Eventually("end", n, func(v []int) bool { return v[0] == 3 }), Options{}, ""},
		{Eventually("end", n, below(3)), Options{}, "violated: end"},
		{Always("small", n, below(4)), Options{Depth: 2}, "unknown"},
		{Always("small", n, below(4)), Options{Depth: 2, Partial: true}, ""},
		{Always("images", func(ID, Node) chan int { return make(chan int) },
			func([]chan int) bool { return true }),
			Options{}, "protocol: "},
	} {
		var r recorder
		Test(&r, one(3, grow, c.property), c.options)
		if !strings.Contains(r.failed, c.failed) || (c.failed == "") != (r.failed == "") {
			t.Errorf("%s: failed with %q; want %q", c.property.Name(), r.failed, c.failed)
		}
	}
}

// TestReplay: a run fails while the model is wrong, and passes when it is right; one that does not
// fit is an error.
func TestReplay(t *testing.T) {
	grow := func(c *counter, _ *Env, _ any) { c.N++ }
	small := Assertion("small", func(_ ID, node Node) bool { return node.(*counter).N < 2 })
	for _, c := range []struct {
		m              *Model
		failed, logged string
	}{
		{one(3, grow, small), "violated: small", ""},
		{one(3, grow), "", "N: 1 -> 2"},
		{one(1, grow), `"0.0.0" has no part 2`, ""},
		{one(0, nil, Assertion("no", func(ID, Node) bool { return false })), `"0.0.0" has no part 0`, ""},
	} {
		var r recorder
		Replay(&r, c.m, "0.0.0")
		if !strings.Contains(r.failed, c.failed) || !strings.Contains(r.logged, c.logged) {
			t.Errorf("failed with %q, logged %q", r.failed, r.logged)
		}
	}
	bad := one(0, nil, Assertion("no", func(ID, Node) bool { return false }))
	v, err := Check(bad, Options{})
	if err != nil || v.Violation == nil {
		t.Fatal(v, err)
	}
	if again, err := replay(bad, v.Violation.Run); err != nil || again.What != "no" {
		t.Errorf("%+v, error %v", again, err)
	}
}

// TestProgress: a search says how far it is.
func TestProgress(t *testing.T) {
	calls := 0
	_, err := Check(one(1<<40, func(c *counter, _ *Env, _ any) { c.N++ }), Options{
		Workers: 1, Time: 1500 * time.Millisecond,
		Progress: func(p Progress) {
			calls++
			if p.States == 0 || p.Elapsed < time.Second {
				t.Errorf("%+v", p)
			}
		},
	})
	if err != nil || calls == 0 {
		t.Errorf("%d calls, error %v", calls, err)
	}
}

// own is a node that images itself.
type own struct {
	config *int
	n      byte
	ended  chan int
}

func (o *own) Receive(*Env, ID, any)          {}
func (o *own) AppendState(data []byte) []byte { return append(data, o.n) }
func (o *own) Actions() []any                 { return []any{1, 2}[:min(2, 2*(*o.config-int(o.n)))] }
func (o *own) Act(_ *Env, action any)         { o.n += byte(action.(int)) % 2 }

func (o *own) SetState(data []byte) error {
	o.n = data[0]
	return nil
}

// TestStater: a node that images itself keeps what is not a part of its state.
func TestStater(t *testing.T) {
	most := 3
	r := Test(t, &Model{Nodes: []Node{&own{config: &most, ended: make(chan int)}}}, Options{})
	if r.States != 4 {
		t.Errorf("%v; want 4 states", r)
	}
}
