package nodes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/given"
	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/check/internal/nodes/properties"
	"github.com/tandem-mc/tandem/check/internal/nodes/published"
	"github.com/tandem-mc/tandem/internal/model"
)

// lock is that one node holds the lock at a time.
var lock = properties.Wanted{Exclusive: published.Names{"lock"}}

// TestExclusive: who holds a lock, by hand. Each violation is replayed from its file.
func TestExclusive(t *testing.T) {
	program := build(t, "./testdata/parted")
	crash := given.Crash{Crashes: []int{0}, CrashLimit: 1, Down: 1}
	for _, c := range []struct {
		name           string
		server, client string
		crash          given.Crash
		want           string // empty: it holds
	}{
		{"one holds it", "a9 s9 h u", "d s1", given.Crash{}, ""},
		{"they know nothing of each other", "h u", "h u", given.Crash{}, "node %s since 0 s"},
		{"the time is between", "h u s9", "s1 h u", given.Crash{}, ""},
		{"the time is between, and the first one keeps it", "h s9", "s1 h u", given.Crash{},
			"node a since 0 s (\"true\"), and node b takes it at 0.001 s (\"true\")"},
		{"one ends without a word", "h", "s1 h", given.Crash{}, ""},
		{"handed over", "a9 h u wa s9", "d r5 h", given.Crash{}, ""},
		{"handed over, and then let go", "a9 h wa u s9", "d r5 h", given.Crash{}, "node a since 0 s"},
		{"handed over by the end", "a9 h", "d r5 h", given.Crash{}, ""},
		{"handed over by a close", "a9 h c s9 u", "d r5 h", given.Crash{}, "node a since 0 s"},
		{"taken again", "a9 h u wa s9 h", "d r5 h u s9", given.Crash{}, ""},
		{"taken again too early", "a9 h u wa h u s9", "d r5 h u s9", given.Crash{}, "node %s since 0 s"},
		{"a crash lets go", "a9 h s1 wa u s1", "d r5 h", crash, "node a since 0 s"},
		{"only a crash hands it over", "a9 h s9 u", "d r500 h | s1", crash, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := partedNodes(program, []string{c.server, c.client}, 0, "not:-")
			r, err := Run(t.Context(), Config{Nodes: list, Properties: lock, Crash: c.crash})
			if err != nil || (r.Verdict == model.Violated) != (c.want != "") || r.Verdict == model.Unknown {
				t.Fatalf("%+v, %v; want %q", r, err, c.want)
			}
			if c.want == "" {
				return
			}
			replayed(t, r, list)
			v := r.Violation()
			other := map[string]string{"a": "b", "b": "a"}[v.Node]
			want := strings.Replace(c.want, "%s", other, 1)
			message := v.Counterexample.Failure.Message
			if !strings.Contains(message, "two nodes hold lock: "+want) {
				t.Errorf("%q, want %q", message, want)
			}
			holds(t, v)
		})
	}
}

// holds says whether the report of a violation shows that the other node holds the lock when the
// one that has the violation takes it: it has taken it, and does not let go before.
func holds(t *testing.T, v *Violation) {
	t.Helper()
	held := false
	for _, s := range v.Events {
		publishes := s.Kind == model.Publish.String()
		if s.Node != v.Node && (publishes || s.Kind == model.Crashed.String()) {
			held = s.Data == "true"
		}
		if s.Node == v.Node && publishes && s.Data == "true" && held {
			return
		}
	}
	t.Errorf("nobody holds it when %s takes it\n%s", v.Node, strings.Join(whats(v.Events), "\n"))
}

// TestExclusiveUnknown: a name that nobody publishes is no proof of anything.
func TestExclusiveUnknown(t *testing.T) {
	program := build(t, "./testdata/parted")
	list := partedNodes(program, []string{"h u", "s1"}, 0, "not:-")
	wanted := agreeing("value")
	wanted.Exclusive = published.Names{"lock", "lease *"}
	const why = "no node has published value, on which all are to agree; no node has published lease *, " +
		"which one is to hold at a time; published was: lock"
	for _, walks := range []*pick.Walks{nil, {Seed: 1, Picks: allPicks}} {
		r, err := Run(t.Context(), Config{Nodes: list, Properties: wanted, Walks: walks, Executions: 50})
		if err != nil || r.Verdict != model.Unknown || !strings.HasSuffix(r.Reason, why) {
			t.Errorf("%+v, %v; want %q", r, err, why)
		}
	}
}

// randomHolds adds to scripts that their nodes take and give back the lock.
func randomHolds(r *rand.Rand, scripts []string) (list []string) {
	for _, script := range scripts {
		steps := strings.Fields(script)
		end := len(steps)
		if i := slices.IndexFunc(steps, func(s string) bool { return s == "z" }); i >= 0 {
			end = i
		}
		for n, what := range []string{"h", "u", "h", "u"}[:1+r.IntN(4)] {
			at := r.IntN(end + n + 1)
			if what == "u" && r.IntN(2) == 0 { // soon after it was taken
				at = min(slices.Index(steps, "h")+1+r.IntN(3), end+n)
			}
			steps = slices.Insert(steps, at, what)
		}
		list = append(list, strings.Join(steps, " "))
	}
	return list
}

// TestExclusiveAgainstTwin: random nodes, whose network may be parted, hold a lock at the same time
// if they do so in a state of a system all of whose states are gone through, and only then.
func TestExclusiveAgainstTwin(t *testing.T) {
	program := build(t, "./testdata/parted")
	var all holdTwins
	for seed := range uint64(*systems) {
		r := rand.New(rand.NewPCG(seed, 19))
		scripts := randomHolds(r, randomParted(r))
		c := Config{Nodes: partedNodes(program, scripts, 0, "not:-"), Properties: lock}
		if seed%3 > 0 {
			c.Partitions = both()
		}
		// That a connect is made and given up at the same time is explored where others notice it.
		state := partedState{}
		if c.Partitions == nil {
			state.parted = 2
		}
		must := exploreParted(scripts, state).both
		state.givesUp = true
		all.compare(t, c, seed, fmt.Sprintf("%q", scripts), must, exploreParted(scripts, state).both)
	}
	all.end(t)
}

// TestExclusiveCrashesAgainstTwin: the same for random nodes of two goroutines that may crash.
func TestExclusiveCrashesAgainstTwin(t *testing.T) {
	program := build(t, "./testdata/parted")
	var all holdTwins
	for seed := uint64(0); all.tested < *systems/2; seed++ {
		r := rand.New(rand.NewPCG(seed, 23))
		scripts, _, c := randomMortalNodes(r)
		scripts = randomHolds(r, scripts)
		if seed%2 == 0 {
			c.Crashes = nil
		}
		p := exploreMortals(scripts, c)
		if p == nil {
			continue
		}
		c.Nodes, c.Properties = partedNodes(program, scripts, 0, "not:-"), lock
		forever := c
		forever.Down = 100 // in walks a node is down for as long as it likes
		may := p.both
		if q := exploreMortals(scripts, forever); q == nil || q.both {
			may = true
		}
		all.compare(t, c, seed, fmt.Sprintf("%q crashes %v", scripts, c.Crash), p.both, may)
	}
	all.end(t)
}

// holdTwins counts systems that were compared.
type holdTwins struct{ tested, both, may, found int }

// compare explores nodes, and runs them at random. Where two have to hold the lock at the same
// time, that is found by exploring them, and it is never found where they may not.
func (all *holdTwins) compare(t *testing.T, c Config, seed uint64, what string, must, may bool) {
	t.Helper()
	all.tested++
	explored, err := Run(t.Context(), c)
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, what)
	}
	walks := c
	walks.Walks, walks.Executions = &pick.Walks{Seed: seed, Picks: allPicks}, 400
	random, err := Run(t.Context(), walks)
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, what)
	}
	v, w := explored.Violation(), random.Violation()
	if must && v == nil || !must && !may && v != nil || !may && w != nil {
		t.Errorf("seed %d: must %t, may %t: explored %+v, at random %+v\n%s", seed, must, may, v, w, what)
	}
	for _, r := range []*Result{explored, random} {
		if v := r.Violation(); v != nil {
			if v.Recording == nil {
				t.Errorf("seed %d: %s\nnot recorded: %s\n%s", seed, what, v.Unrecorded,
					strings.Join(whats(v.Events), "\n"))
				continue
			}
			replayed(t, r, c.Nodes)
			holds(t, v)
		}
	}
	for _, is := range []struct {
		count *int
		is    bool
	}{{&all.both, must}, {&all.may, may}, {&all.found, w != nil}} {
		if is.is {
			*is.count++
		}
	}
}

// end says how many there were, and fails if that shows nothing.
func (all *holdTwins) end(t *testing.T) {
	t.Helper()
	t.Logf("in %d of %d systems both hold it; walks find %d of %d", all.both, all.tested, all.found, all.may)
	if all.both == 0 || all.both == all.tested || all.found < all.may/2 {
		t.Errorf("%+v", *all)
	}
}
