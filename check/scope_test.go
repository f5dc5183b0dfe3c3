package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/audit"
	"github.com/tandem-mc/tandem/check/internal/pool"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/strategy"
	"github.com/tandem-mc/tandem/sut"
)

// redis is a program two of whose connections depend on each other in the peer.
var redis = example{"redis", "redis/tandem.yaml", nil}

// TestScopeOfSharedState: what is stored over one connection is looked up over another. With a tree
// for each connection the verdict is wrong, as is to be expected; with one for the group it is
// right.
func TestScopeOfSharedState(t *testing.T) {
	o := redis.options(t)
	if result := check(t, o); result.Verdict.Kind != explore.Violated ||
		!strings.Contains(result.Counterexample.Failure.String(), "$-1") {
		t.Errorf("group scope: %v, want the answer $-1 for what is not there", result.Verdict)
	}
	o = redis.options(t)
	o.Scope = iocache.Connection
	result := check(t, o)
	if result.Verdict.Kind != explore.Holds {
		t.Errorf("connection scope: %v, though only one order is explored", result.Verdict)
	}
}

// auditing has a check audit scope connection, and returns what contradicted it.
func auditing(o *Options) *error {
	var why error
	o.Scope, o.Audited, o.Again = iocache.Connection, true, dporSearch
	o.Contradicted = func(err error) { why = err }
	return &why
}

// TestAutoNotices: scope auto finds out by itself that connections depend on each other, shows both
// answers, and ends with the right verdict.
func TestAutoNotices(t *testing.T) {
	o := redis.options(t)
	why := auditing(&o)
	result := check(t, o)
	if result.Verdict.Kind != explore.Violated || !strings.HasPrefix(result.Scope, "group (auto;") {
		t.Errorf("%v in scope %s", result.Verdict, result.Scope)
	}
	for _, part := range []string{`send 0 "GET greeting\r\n"`, "hell", "$-1", "Use scope group"} {
		if *why == nil || !strings.Contains((*why).Error(), part) {
			t.Errorf("%v, and %q is to be a part of it", *why, part)
		}
	}
}

// TestContradictionBeforeInterrupt: an interrupt that comes while a search already ends, since its
// peers contradicted themselves, does not hide that. Otherwise a resumed check would go on from
// answers that contradict each other.
func TestContradictionBeforeInterrupt(t *testing.T) {
	for _, test := range []struct{ audited, isFirst, interrupted bool }{
		{true, true, false}, {true, false, true}, {false, true, true},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		p := pool.New(ctx, pool.Config{Search: dporSearch()})
		if !test.isFirst {
			cancel()
		}
		p.Stop(fmt.Errorf("execution 7: %w", &iocache.Inconsistency{}))
		cancel()
		_, err := p.Wait()
		r := &run{ctx: ctx, options: Options{PeerOptions: PeerOptions{Audited: test.audited}}}
		if got := r.isInterrupted(err); got != test.interrupted {
			t.Errorf("%+v: an interrupt is why the search ended: %v", test, got)
		}
	}
}

// TestContradictedAndInterrupted: a check that is interrupted when the scope was just found wrong
// has no verdict, and nothing of it is kept.
func TestContradictedAndInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	o := redis.options(t)
	auditing(&o)
	o.Saving = savingIn(t, dir, false)
	defer o.Saving.Run.Close()
	ctx, cancel := context.WithCancel(t.Context())
	contradicted := false
	o.Contradicted = func(error) { contradicted = true; cancel() }
	result, err := Run(ctx, o)
	if err != nil || !contradicted || result.Verdict.Kind != explore.Unknown || result.Saved != "" {
		t.Errorf("contradicted: %v, %+v, error %v", contradicted, result, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of the run: %v", err)
	}
}

// TestAutoNoticesRareOrders: what depends on an order of which the opposite is nearly always that
// of random schedules.
func TestAutoNoticesRareOrders(t *testing.T) {
	o := redis.options(t)
	var err error
	if o.Program, err = buildProgram("testdata/late", filepath.Join(tree, "late")); err != nil {
		t.Fatal(err)
	}
	why := auditing(&o)
	if result := check(t, o); result.Verdict.Kind != explore.Violated || *why == nil ||
		!strings.Contains((*why).Error(), "EXISTS x") {
		t.Errorf("%v after %v", result.Verdict, *why)
	}
}

// TestAutoConfirmsViolations: a violation that answers of two orders add up to is none. No other
// executions are audited here.
func TestAutoConfirmsViolations(t *testing.T) {
	o := redis.options(t)
	var err error
	if o.Program, err = buildProgram("testdata/counting", filepath.Join(tree, "counting")); err != nil {
		t.Fatal(err)
	}
	if result := check(t, o); result.Verdict.Kind != explore.Holds {
		t.Fatalf("group scope: %v", result.Verdict)
	}
	o.Search, o.Client = dporSearch(), newClient(t)
	auditing(&o)
	r, err := newRun(context.Background(), o, interest{})
	if err != nil {
		t.Fatal(err)
	}
	r.config.Auditor.Schedules(audit.Of(explore.Schedule{}, 0, 2, false)) // those of the first execution
	if _, err = r.finish(); !audit.Contradicts(err) ||
		!strings.Contains(err.Error(), "INCR n") {
		t.Errorf("the error is %v", err)
	}
	if len(r.found.list) == 0 {
		t.Error("it is not that a violation was found")
	}
}

// TestScopesAgree: where connections are independent, all scopes give the same verdict and the same
// outcomes, and that of the paper takes fewer executions and fewer answers of the peers.
func TestScopesAgree(t *testing.T) {
	letters := example{alphabet.pkg, alphabet.config, []string{"-connections", "2", "-requests", "1"}}
	if *deep {
		letters = alphabet
	}
	for _, e := range []example{letters, httpGet, scpToFixed} {
		t.Run(e.String(), func(t *testing.T) {
			options := func() Options {
				o := e.options(t)
				if e.pkg == httpGet.pkg {
					// The Date header would differ between two orders, now and then.
					o.Group.Peers[0].Choices = 1
				}
				return o
			}
			group, said := outputs(t, options())
			o := options()
			o.Scope = iocache.Connection
			connection, saidThen := outputs(t, o)
			compareScopes(t, group, connection, said, saidThen)
			o = options()
			auditing(&o)
			auto, saidThen := outputs(t, o)
			compareScopes(t, group, auto, said, saidThen)
			if n := auto.Counts; e.pkg != scpToFixed.pkg &&
				(n.Audits < audit.First || n.Compared < n.Audits) {
				t.Errorf("%d audits with %d answers that were compared", n.Audits, n.Compared)
			}
		})
	}
}

func compareScopes(t *testing.T, group, other *Result, said, saidThen map[string]bool) {
	t.Helper()
	if group.Verdict.Kind != explore.Holds || other.Verdict.Kind != explore.Holds {
		t.Errorf("%v in scope group, %v in scope %s", group.Verdict, other.Verdict, other.Scope)
	}
	if !maps.Equal(said, saidThen) {
		t.Errorf("the outcomes differ: %q in scope group, %q in scope %s", slices.Collect(maps.Keys(said)),
			slices.Collect(maps.Keys(saidThen)), other.Scope)
	}
	if a, b := group.Counts, other.Counts; b.Misses > a.Misses ||
		other.Verdict.Executions > group.Verdict.Executions {
		t.Errorf("scope %s: %d executions and %d answers of the peers; group scope: %d and %d",
			other.Scope, other.Verdict.Executions, b.Misses, group.Verdict.Executions, a.Misses)
	}
}

// TestAbstractServer: the client of Dropbear has as many executions with a server of which only the
// answers are like it.
func TestAbstractServer(t *testing.T) {
	o := example{"scpto/fixed", "scpto/fixed/abstract.yaml", nil}.options(t)
	o.Scope, o.Strategy = iocache.Connection, strategy.Never{}
	v, c := check(t, o), check(t, scpToFixed.options(t))
	if v.Verdict.Kind != explore.Holds || v.Verdict.Executions != c.Verdict.Executions ||
		v.Counts.Restarts == 0 {
		t.Errorf("%v, %d executions, %d restarts; with Dropbear %d executions", v.Verdict,
			v.Verdict.Executions, v.Counts.Restarts, c.Verdict.Executions)
	}
}

// TestDownload: parts that are written to where they belong make a file in any order, and those
// that are written to where the shared offset is do not.
func TestDownload(t *testing.T) {
	for _, e := range []struct {
		args []string
		want explore.VerdictKind
	}{{[]string{"-threads", "3"}, explore.Holds}, {[]string{"-threads", "2", "-seek"}, explore.Violated}} {
		o := example{"download", "download/tandem.yaml", e.args}.options(t)
		o.Scope = iocache.Connection
		if result := check(t, o); result.Verdict.Kind != e.want {
			t.Errorf("%v: %v, want %v", e.args, result.Verdict, e.want)
		}
	}
}

// TestAutoFallsBack: where answers are random they differ as soon as they are asked for again, and
// what scope group says of them counts. With one request for each connection, all four answers of
// the audits are as before in one check of sixteen; with two requests it is one of 2^18.
func TestAutoFallsBack(t *testing.T) {
	for _, workers := range []int{2, 1}[:cases(2, 1)] {
		o := randomAlphabet.options(t)
		o.Args, o.Workers = []string{"-connections", "2", "-requests", "2"}, workers
		why := auditing(&o)
		result := check(t, o)
		if result.Verdict.Kind != explore.Holds || *why == nil || result.Counts.Audits > 0 {
			t.Errorf("%d workers: %v after %v, and then %d audits", workers, result.Verdict, *why,
				result.Counts.Audits)
		}
	}
}

// outputs are what a program with peers prints, and how it ends, in any execution.
func outputs(t *testing.T, o Options) (*Result, map[string]bool) {
	t.Helper()
	seen := map[string]bool{}
	kind := func(log *sut.Log, outcome explore.Outcome) string {
		if outcome != explore.Redundant {
			seen[fmt.Sprintf("%s%s: %v", log.Stdout, log.Stderr, outcome)] = true
		}
		return ""
	}
	r, err := newRun(context.Background(), o, interest{kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.finish()
	if err != nil {
		t.Fatal(err)
	}
	return result, seen
}

// TestMask: a server that answers with small or capital letters at random contradicts itself when
// it is replayed, unless a rule says that this does not matter.
func TestMask(t *testing.T) {
	o := randomAlphabet.options(t)
	o.Args = []string{"-connections", "2", "-requests", "2"}
	o.Strategy = strategy.Never{}
	o.Masks = []iocache.Mask{{Addr: "127.0.0.1:7000", Pattern: regexp.MustCompile("[A-Za-z]")}}
	why := auditing(&o)
	if result := check(t, o); result.Verdict.Kind != explore.Holds || *why != nil ||
		result.Counts.Compared == 0 {
		t.Errorf("%v, %d answers compared, contradiction %v", result.Verdict, result.Counts.Compared, *why)
	}
}
