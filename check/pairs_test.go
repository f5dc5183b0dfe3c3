package check

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/strategy"
	"github.com/tandem-mc/tandem/sut"
)

// pair is a generated program and its peer.
type pair struct {
	scripts []string // what the goroutines of the program do
	seed    uint32   // of the peer's answers
	shared  bool     // they depend on what came on any connection
}

func drawPair(t *rapid.T) pair {
	script := rapid.StringMatching(`[abA]\+?([ab]\+?)?!?`)
	return pair{
		scripts: rapid.SliceOfN(script, 2, 2).Draw(t, "scripts"),
		seed:    rapid.Uint32().Draw(t, "seed"),
		shared:  rapid.Bool().Draw(t, "shared"),
	}
}

// variant is a way to check a pair, which must not make a difference.
type variant struct {
	search   func() explore.Search
	scope    string
	strategy string
	backend  string
	workers  int
}

func (v variant) String() string {
	return fmt.Sprintf("search %T, scope %s, strategy %s, backend %s, %d workers", v.search(), v.scope, v.strategy, v.backend, v.workers)
}

// pairTest checks pairs. It has a daemon for each backend.
type pairTest struct {
	program *sut.Program
	server  []byte
	clients map[string]*ckptd.Client
}

func newPairTest(t *testing.T) *pairTest {
	program, err := buildProgram("testdata/pairs/client", filepath.Join(tree, "pairs"))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(tree, "bin", "pairs-server")
	build := exec.Command("go", "build", "-o", name, "./testdata/pairs/server")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	clients := map[string]*ckptd.Client{}
	for _, backend := range []string{ckptd.BackendCRIU, ckptd.BackendAuto} {
		clients[backend] = newClientBy(t, backend)
	}
	return &pairTest{program, server, clients}
}

// outcomes are those of a pair, checked in some way.
func (x *pairTest) outcomes(t rapid.TB, p pair, v variant) (explore.VerdictKind, map[string]bool) {
	command := []string{"{scratch}/server", fmt.Sprint(p.seed)}
	if p.shared {
		command = append(command, "shared")
	}
	o := Options{
		Program: x.program, Package: "pairs", Args: p.scripts, Search: v.search(), Again: v.search, Client: x.clients[v.backend], Depth: 1000,
		StrategyName: v.strategy, Workers: v.workers, Violations: 1,
		Group: &peers.Group{
			Peers:        []peers.Peer{{Name: "server", Command: command, Listen: "127.0.0.1:7000"}},
			Files:        []peers.File{{Path: "{scratch}/server", Content: x.server, Mode: 0o755}},
			ReadyTimeout: 30 * time.Second,
		},
	}
	if v.scope != "group" {
		o.Scope, o.Audited = iocache.Connection, v.scope == "auto"
	}
	var err error
	if o.Strategy, err = strategy.ByName(v.strategy); err != nil {
		t.Fatal(err)
	}
	kind, seen, err := x.run(o)
	if contradicts(err) && o.Audited {
		kind, seen, err = x.run(o.inGroupScope(err))
	}
	if err != nil {
		t.Fatalf("%v: %v", v, err)
	}
	return kind, seen
}

func (x *pairTest) run(o Options) (explore.VerdictKind, map[string]bool, error) {
	r, err := newRun(context.Background(), o)
	if err != nil {
		return 0, nil, err
	}
	r.search = o.Search // not only until the first violation
	seen := make(chan string, 100)
	all := map[string]bool{}
	done := make(chan bool)
	go func() {
		for s := range seen {
			all[s] = true
		}
		close(done)
	}()
	r.kind = func(log *sut.Log, outcome explore.Outcome) string {
		if outcome != explore.Redundant {
			seen <- fmt.Sprintf("%s%v", log.Stdout, outcome)
		}
		return ""
	}
	result, err := r.finish(context.Background())
	close(seen)
	<-done
	if err != nil {
		return 0, nil, err
	}
	return result.Verdict.Kind, all, nil
}

// TestPairs is metamorphic: generated programs with generated peers have the same verdict and the same outcomes
// whatever the strategy, the scope where it is valid, the backend, the reduction, and the number of workers. A
// difference is shrunk to a small pair. PAIRS says how many there are.
func TestPairs(t *testing.T) {
	if n := os.Getenv("PAIRS"); n != "" {
		if err := flag.Set("rapid.checks", n); err != nil {
			t.Fatal(err)
		}
	} else {
		was := flag.Lookup("rapid.checks").Value.String()
		flag.Set("rapid.checks", "1")
		defer flag.Set("rapid.checks", was)
	}
	x := newPairTest(t)
	rapid.Check(t, func(t *rapid.T) {
		p := drawPair(t)
		kind, want := x.outcomes(t, p, variant{explore.DPOR, "group", "after-io", ckptd.BackendAuto, 1})
		scopes := []string{"group", "auto"}
		if !p.shared {
			scopes = append(scopes, "connection")
		}
		for range 3 {
			v := variant{
				search:   rapid.SampledFrom([]func() explore.Search{explore.DPOR, explore.DPOR, explore.DFS}).Draw(t, "search"),
				scope:    rapid.SampledFrom(scopes).Draw(t, "scope"),
				strategy: rapid.SampledFrom(append(strategy.Names(), "always,every=2", "after-io,images=3")).Draw(t, "strategy"),
				backend:  rapid.SampledFrom([]string{ckptd.BackendAuto, ckptd.BackendAuto, ckptd.BackendCRIU}).Draw(t, "backend"),
				workers:  rapid.IntRange(1, 2).Draw(t, "workers"),
			}
			if gotKind, got := x.outcomes(t, p, v); gotKind != kind || !maps.Equal(got, want) {
				t.Fatalf("%+v\n%v: %v, %q\nwant %v, %q", p, v, gotKind, slices.Sorted(maps.Keys(got)), kind, slices.Sorted(maps.Keys(want)))
			}
		}
	})
}

// TestSentAfterTheEnd: a peer has closed a connection. What is sent then is answered by a reset, after which
// nothing can be sent; reading finds the end of the stream all the time. The peers are saved in between, and go back there.
func TestSentAfterTheEnd(t *testing.T) {
	const closesAtOnce = 6
	x := newPairTest(t)
	for _, backend := range []string{ckptd.BackendAuto, ckptd.BackendCRIU} {
		p := pair{scripts: []string{"Aa", "AAa"}, seed: closesAtOnce}
		for _, v := range []variant{
			{explore.DPOR, "group", "always", backend, 1},
			{explore.DPOR, "connection", "never", backend, 1},
		} {
			kind, got := x.outcomes(t, p, v)
			want := map[string]bool{"[\"EOF\" \"no write\"] \ncompleted": true}
			if diff := cmp.Diff(want, got); kind != explore.Holds || diff != "" {
				t.Errorf("%v: %v\n%s", v, kind, diff)
			}
		}
	}
}
