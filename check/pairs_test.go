package check

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/check/internal/audit"
	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
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
	faults  int      // of connections, in an execution at most
	short   int      // how many writes are, at most
}

func drawPair(t *rapid.T) pair {
	p := pair{
		seed:   rapid.Uint32().Draw(t, "seed"),
		shared: rapid.Bool().Draw(t, "shared"),
		faults: rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "faults"),
	}
	script := `[abA]\+?([ab]\+?)?!?`
	if p.faults > 0 { // each operation has many more ways to go
		script = `[abA]\+?`
	}
	p.scripts = rapid.SliceOfN(rapid.StringMatching(script), 2, 2).Draw(t, "scripts")
	return p
}

// variant is a way to check a pair, which must not make a difference.
type variant struct {
	search   func() *explore.Search
	scope    string
	strategy string
	backend  string
	workers  int
}

// reference is the variant that the others are compared with.
var reference = variant{dporSearch, "group", "after-io", ckptd.BackendAuto, 1}

// drawVariant takes what costs much, CRIU and every schedule one by one, less often than the rest:
// every schedule only where the reduction leaves few.
func drawVariant(t *rapid.T, p pair, reduced int) variant {
	const few = 40
	searches := []func() *explore.Search{dporSearch, dporSearch, dfsSearch}
	if reduced > few {
		searches = searches[:1]
	}
	scopes := []string{"group", "auto"}
	if !p.shared {
		scopes = append(scopes, "connection")
	}
	backends := []string{ckptd.BackendAuto, ckptd.BackendAuto, ckptd.BackendAuto, ckptd.BackendAuto,
		ckptd.BackendCRIU}
	return variant{
		search: rapid.SampledFrom(searches).Draw(t, "search"),
		scope:  rapid.SampledFrom(scopes).Draw(t, "scope"),
		strategy: rapid.SampledFrom(append(strategy.Names(), "always,every=2", "after-io,images=3")).Draw(t,
			"strategy"),
		backend: rapid.SampledFrom(backends).Draw(t, "backend"),
		workers: rapid.IntRange(1, 2).Draw(t, "workers"),
	}
}

func (v variant) String() string {
	return fmt.Sprintf("search %T, scope %s, strategy %s, backend %s, %d workers", v.search(), v.scope,
		v.strategy, v.backend, v.workers)
}

// pairTest checks pairs. It has a daemon for each backend.
type pairTest struct {
	program *sut.Program
	server  []byte
	clients map[string]*ckptd.Client
}

// findings are what a check of a pair has found.
type findings struct {
	kind       explore.VerdictKind
	outcomes   map[string]bool
	executions int
	disturbed  int // see Counts
}

func (f findings) String() string {
	return fmt.Sprintf("%v, %q", f.kind, slices.Sorted(maps.Keys(f.outcomes)))
}

func (f findings) equal(other findings) bool {
	return f.kind == other.kind && maps.Equal(f.outcomes, other.outcomes)
}

// within tells whether all that was found is among the other findings.
func (f findings) within(other findings) bool {
	for outcome := range f.outcomes {
		if !other.outcomes[outcome] {
			return false
		}
	}
	return true
}

// newPairTest starts the daemons, which verify what they restore unless that takes too long.
func newPairTest(t *testing.T, verify bool) *pairTest {
	program, err := buildProgram("testdata/pairs/client", filepath.Join(tree, "pairs"))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(tree, "bin", "pairs-server")
	build := exec.Command("go", "build", "-ldflags=-w", "-o", name, "./testdata/pairs/server")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return (&pairTest{program: program, server: server}).another(t, verify)
}

// another is a test with daemons of its own.
func (x *pairTest) another(t *testing.T, verify bool) *pairTest {
	clients := map[string]*ckptd.Client{}
	for _, backend := range []string{ckptd.BackendCRIU, ckptd.BackendAuto} {
		clients[backend] = spawn(t, ckptd.Options{Backend: backend, Verify: verify})
	}
	return &pairTest{x.program, x.server, clients}
}

// peers are those of a pair.
func (x *pairTest) peers(p pair) peers.Group {
	command := []string{"{scratch}/server", fmt.Sprint(p.seed)}
	if p.shared {
		command = append(command, "shared")
	}
	return peers.Group{
		Peers:        []peers.Peer{{Name: "server", Command: command, Listen: "127.0.0.1:7000"}},
		Files:        []peers.File{{Path: "{scratch}/server", Content: x.server, Mode: 0o755}},
		ReadyTimeout: 30 * time.Second,
	}
}

// check checks a pair in some way.
func (x *pairTest) check(t rapid.TB, p pair, v variant) findings {
	group := x.peers(p)
	found, err := v.check(Options{
		Program: x.program, Package: "pairs", Args: p.scripts, Depth: 1000,
		World:       env{Faults: p.faults, FaultKinds: sut.FaultKinds, ShortWrites: p.short},
		PeerOptions: PeerOptions{Client: x.clients[v.backend], Group: &group},
	})
	if err != nil {
		t.Fatalf("%+v\n%v: %v", p, v, err)
	}
	return found
}

// check checks what the options say, in this way. The client of the daemon is to be one of the
// backend.
func (v variant) check(o Options) (findings, error) {
	o.Search, o.Again, o.StrategyName, o.Workers, o.Violations = v.search(), v.search,
		v.strategy, v.workers, 1
	if v.scope != "group" {
		o.Scope, o.Audited = iocache.Connection, v.scope == "auto"
	}
	var err error
	if o.Strategy, err = strategy.ByName(v.strategy); err != nil {
		return findings{}, err
	}
	found, err := findAll(o)
	if audit.Contradicts(err) && o.Audited {
		found, err = findAll(o.inGroupScope(err))
	}
	return found, err
}

// findAll goes on when a violation is found.
func findAll(o Options) (findings, error) {
	seen := make(chan string, 100)
	all := map[string]bool{}
	done := make(chan bool)
	go func() {
		for s := range seen {
			all[s] = true
		}
		close(done)
	}()
	kind := func(log *sut.Log, outcome explore.Outcome) string {
		if outcome != explore.Redundant {
			seen <- fmt.Sprintf("%s%v%s", log.Stdout, outcome, faultsOf(log))
		}
		return ""
	}
	var result *Result
	r, err := newRun(context.Background(), o, interest{enough: never, kind: kind})
	if err == nil {
		result, err = r.finish()
	}
	close(seen)
	<-done
	if err != nil {
		return findings{}, err
	}
	return findings{result.Verdict.Kind, all, result.Verdict.Executions, result.Counts.Disturbed}, nil
}

// pairCounts are what has become of generated pairs. They are safe for concurrent use.
type pairCounts struct {
	mu                 sync.Mutex
	pairs, variants    int
	audited, unnoticed int // of peers whose connections depend on each other
	begin              time.Time
}

// add counts a pair, and tells now and then how far it is.
func (c *pairCounts) add(t *testing.T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pairs++; c.pairs%10 == 0 {
		t.Log(c)
	}
}

func (c *pairCounts) String() string {
	return fmt.Sprintf(
		"%d pairs, %d variants in %v; scope auto did not notice %d of %d times that connections depend on "+
			"each other",
		c.pairs, c.variants, time.Since(c.begin).Round(time.Second), c.unnoticed, c.audited)
}

// compare checks a pair in some way. Where connections depend on each other, scope auto may fail to
// notice, since it looks at some of all orders: then it finds a part of what there is, and that is
// counted.
func (c *pairCounts) compare(t *rapid.T, x *pairTest, p pair, v variant, want findings) {
	got := x.check(t, p, v)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.variants++
	if p.shared && v.scope == "auto" {
		if c.audited++; !got.equal(want) && got.within(want) {
			c.unnoticed++
			return
		}
	}
	if !got.equal(want) {
		t.Fatalf("%+v\n%v: %v\nwant %v", p, v, got, want)
	}
}

// TestPairs is metamorphic: generated programs with generated peers have the same verdict and the
// same outcomes whatever the strategy, the scope where it is valid, the backend, the reduction, and
// the number of workers, with faults and without. A difference is shrunk to a small pair. PAIRS
// says how many there are; then all processors are used.
func TestPairs(t *testing.T) {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("PAIRS"), "1"))
	if err != nil || n < 1 {
		t.Fatalf("%d pairs, %v", n, err)
	}
	verify, shards := n == 1 && *deep, min(n, runtime.NumCPU())
	was := flag.Lookup("rapid.checks").Value.String()
	if err := flag.Set("rapid.checks", fmt.Sprint((n+shards-1)/shards)); err != nil {
		t.Fatal(err)
	}
	defer flag.Set("rapid.checks", was)
	first, count := newPairTest(t, verify), pairCounts{begin: time.Now()}
	t.Run("all", func(t *testing.T) {
		for shard := range shards {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				x := first
				if shard > 0 {
					x = first.another(t, verify)
				}
				count.checkPairs(t, x)
			})
		}
	})
	t.Log(&count)
	if count.unnoticed > 1+count.audited/20 {
		t.Error("that is too often")
	}
}

// largest is how many executions a pair has at most that is checked in all ways, where few are.
const largest = 100

// checkPairs checks as many pairs as rapid is asked for.
func (c *pairCounts) checkPairs(t *testing.T, x *pairTest) {
	rapid.Check(t, func(r *rapid.T) {
		p := drawPair(r)
		want := x.check(r, p, reference)
		if !*deep && want.executions > largest {
			r.Skip("make pairs runs such large ones, too")
		}
		for range 3 {
			c.compare(r, x, p, drawVariant(r, p, want.executions), want)
		}
		c.add(t)
	})
}

// TestAutoNoticesAWholeConversation: an answer differs only if all that is said on another
// connection is said before. Schedules that are random step by step do not come to that.
func TestAutoNoticesAWholeConversation(t *testing.T) {
	x, p := newPairTest(t, true), pair{scripts: []string{"b", "b+a"}, seed: 97, shared: true}
	want := x.check(t, p, reference)
	if got := x.check(t, p, variant{dporSearch, "auto", "after-io", ckptd.BackendAuto, 1}); !got.equal(
		want) || len(got.outcomes) != 2 {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// closesAtOnce is the seed of a server that answers "a" by ending the connection.
const closesAtOnce = 6

// TestSentAfterTheEnd: a peer has closed a connection. What is sent then is answered by a reset,
// after which nothing can be sent; reading finds the end of the stream all the time. The peers are
// saved in between, and go back there.
func TestSentAfterTheEnd(t *testing.T) {
	x := newPairTest(t, true)
	for _, backend := range []string{ckptd.BackendAuto, ckptd.BackendCRIU} {
		p := pair{scripts: []string{"Aa", "AAa"}, seed: closesAtOnce}
		ways := []variant{{dporSearch, "group", "always", backend, 1}}
		if backend == ckptd.BackendAuto { // no checkpoint is taken, whoever would
			ways = append(ways, variant{dporSearch, "connection", "never", backend, 1})
		}
		for _, v := range ways {
			want := findings{kind: explore.Holds,
				outcomes: map[string]bool{"[\"EOF\" \"no write\"] \ncompleted": true}}
			if got := x.check(t, p, v); !got.equal(want) {
				t.Errorf("%v: %v\nwant %v", v, got, want)
			}
		}
	}
}

// TestShutDownAfterTheEnd: a peer has closed a connection, and the program shuts it down, too. The
// peer's socket acknowledges that, but after a restore by CRIU it is not there any more, and there
// is a reset; that makes no difference. The peers are saved before the connection is shut down,
// which is repeated then, and after it.
func TestShutDownAfterTheEnd(t *testing.T) {
	x := newPairTest(t, true)
	for backend, client := range x.clients {
		for saved, replayed := range map[strategy.Kind]int{strategy.Send: 1, strategy.Shutdown: 0} {
			side := newDriver(client, x.peers(pair{seed: closesAtOnce}), after(saved))
			defer side.Close()
			talk := side.NewSession(&PeerCounts{})
			for _, next := range []model.Input{{Kind: model.Close},
				{Kind: model.Connect, Addr: "127.0.0.1:7000", Name: "2"}} {
				if err := converse(talk, "a\n"); err != nil {
					t.Fatal(err)
				}
				for _, in := range []model.Input{{Kind: model.Shutdown}, next} {
					if got, err := talk.Exchange(in); err != nil || len(got.Deliveries) > 0 {
						t.Errorf("%s, saved after a %v: %+v is answered by %+v, %v", backend, saved, in, got,
							err)
					}
				}
			}
			if c := talk.Counts; c.Restores != 1 || c.Replayed != replayed {
				t.Errorf("%s, saved after a %v: %d restores, %d inputs given again", backend, saved,
					c.Restores, c.Replayed)
			}
		}
	}
}

// after is a strategy that takes checkpoints after inputs of a kind.
type after strategy.Kind

func (a after) Checkpoint(s strategy.Step) bool { return s.Kind == strategy.Kind(a) }
