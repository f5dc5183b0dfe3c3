package explore

import "testing"

// mustNew returns a search of a configuration that is right.
func mustNew(c Config) *Search {
	s, err := New(c)
	if err != nil {
		panic(err)
	}
	return s
}

func newSearch(a Algorithm) *Search { return mustNew(Config{Algorithm: a}) }

func dporSearch() *Search { return newSearch(DPOR) }

func dfsSearch() *Search { return newSearch(DFS) }

func randomSearch(n int, seed uint64) *Search {
	return mustNew(Config{Algorithm: Random, Executions: n, Seed: seed})
}

func pctSearch(n, depth int, seed uint64) *Search {
	return mustNew(Config{Algorithm: PCT, Executions: n, Depth: depth, Seed: seed})
}

func posSearch(n int, seed uint64) *Search {
	return mustNew(Config{Algorithm: POS, Executions: n, Seed: seed})
}

func surwSearch(n int, seed uint64) *Search {
	return mustNew(Config{Algorithm: SURW, Executions: n, Seed: seed})
}

func replaySearch(prefix []Action) *Search { return mustNew(Config{Algorithm: Replay, Prefix: prefix}) }

// within is a search within a bound on preemptions.
func within(a Algorithm, preemptions int) *Search {
	return mustNew(Config{Algorithm: a, Preemptions: &preemptions})
}

// maxExecutions ends a search after n executions.
func maxExecutions(s *Search, n int) *Search { return until(s, MaxExecutions(n)) }

func until(s *Search, stop Stop) *Search {
	s.Until(stop)
	return s
}

// wrongConfigs are configurations that New refuses, by what the error says.
var wrongConfigs = map[string]Config{
	"there is no search of the kind algorithm 200": {Algorithm: 200},
	"a bound on preemptions or delays is negative": {Preemptions: new(-1)},
	"a replay follows its schedule: it cannot be " +
		"bounded": {Algorithm: Replay, Preemptions: new(1)},
	"no reduction is sound within a bound on delays: use DFS instead of " +
		"DPOR": {Preemptions: new(1), Delays: new(1)},
	"PCT has a depth from 1 to 64, and not 0":  {Algorithm: PCT},
	"PCT has a depth from 1 to 64, and not 65": {Algorithm: PCT, Depth: 65},
}

func TestWrongConfigs(t *testing.T) {
	for want, c := range wrongConfigs {
		if s, err := New(c); err == nil || err.Error() != want || s != nil {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
	for _, c := range []Config{
		{Delays: new(-1), Algorithm: DFS}, {Delays: new(1)}, {Delays: new(1), Algorithm: Replay},
	} {
		if s, err := New(c); err == nil || s != nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

func TestAlgorithmNames(t *testing.T) {
	for a := range algorithms {
		if name := a.String(); name == "" {
			t.Errorf("algorithm %d has no name", a)
		}
	}
	if got := Algorithm(10).String(); got != "algorithm 10" {
		t.Error(got)
	}
}

// TestWhatSearchesCanDo: New asks a search for what it can do, so a method that is missing by
// mistake would make checks slower, and say nothing.
func TestWhatSearchesCanDo(t *testing.T) {
	for _, c := range []struct {
		config            Config
		tree, drawn, save bool
	}{
		{Config{Algorithm: DPOR}, true, false, true},
		{Config{Algorithm: DPOR, Preemptions: new(1)}, true, false, true},
		{Config{Algorithm: DFS}, true, false, true},
		{Config{Algorithm: Random, Executions: 1}, false, true, true},
		{Config{Algorithm: PCT, Executions: 1, Depth: 1}, false, true, true},
		{Config{Algorithm: POS, Executions: 1}, false, true, true},
		{Config{Algorithm: SURW, Executions: 1}, false, true, true},
		{Config{Algorithm: Directed}, false, true, true},
		{Config{Algorithm: Replay}, false, false, false},
	} {
		s, err := New(c.config)
		if err != nil {
			t.Fatal(err)
		}
		if s.tree != nil != c.tree || s.drawn != nil != c.drawn || s.saved != nil != c.save {
			t.Errorf("%v: a tree: %v, drawn: %v, can be saved: %v",
				c.config.Algorithm, s.tree != nil, s.drawn != nil, s.saved != nil)
		}
	}
}
