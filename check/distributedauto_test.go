package check

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/audit"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/explore"
)

// independent is a check in scope auto of a program whose connections do not depend on each other.
func independent(t *testing.T, most int) Options {
	o := example{httpGet.pkg, httpGet.config, []string{"-n", "3", "-transport"}}.options(t)
	// The Date header would differ between two orders, now and then.
	o.Group.Peers[0].Choices = 1
	auditing(&o)
	o.Contradicted = func(err error) { t.Errorf("the connections depend on each other: %v", err) }
	o.Leaks, o.SelfCheck, o.Workers = true, 10, 1
	o.Search = maxExecutions(dporSearch(), most)
	return o
}

// entangled is a check of a program whose connections depend on each other in the peer, with many
// executions.
func entangled(t *testing.T) Options {
	o := redis.options(t)
	var err error
	if o.Program, err = buildProgram("testdata/entangled", filepath.Join(tree, "entangled")); err != nil {
		t.Fatal(err)
	}
	o.Search, o.Workers = maxExecutions(dporSearch(), 30000), 1
	return o
}

// auditsOf is in how many executions orders of the requests were compared, and how many answers: of
// those executions that the verdict is about.
func auditsOf(t *testing.T, r *Result) (executions, answers int) {
	t.Helper()
	const text = "connection (auto; in %d executions with other orders of the requests %d answers"
	_, err := fmt.Sscanf(r.Scope, text, &executions, &answers)
	if err != nil {
		t.Fatalf("the verdict rests on scope %s: %v", r.Scope, err)
	}
	return executions, answers
}

// sameAudits sees that a result with workers is the one alone, and rests on as many audits. Which
// answers an audit can compare depends on which are known by then.
func sameAudits(t *testing.T, alone, with *Result) {
	t.Helper()
	if diff := cmp.Diff(saysWithPeers(t, alone), saysWithPeers(t, with)); diff != "" {
		t.Errorf("alone (-) and with workers (+):\n%s", diff)
	}
	want, compared := auditsOf(t, alone)
	got, comparedThen := auditsOf(t, with)
	t.Logf("%d audits with %d answers alone, %d with %d with workers", want, compared, got, comparedThen)
	if got != want || want < audit.First || comparedThen == 0 {
		t.Errorf("%d executions are audited alone, and %d with workers", want, got)
	}
}

// TestDistributedAuto: in scope auto, what workers have explored is audited like the rest.
func TestDistributedAuto(t *testing.T) {
	most := cases(2000, 500)
	alone := check(t, independent(t, most))
	for _, workers := range []int{2, 1, 4}[:cases(3, 1)] {
		r := distributed(t, independent(t, most), workers, nil)
		if sameAudits(t, alone, r); r.Counts.Ahead == 0 {
			t.Errorf("%d workers have explored nothing", workers)
		}
	}
}

// TestKilledAuto: what is explored again, since a worker was killed, is audited, too.
func TestKilledAuto(t *testing.T) {
	most, kills := cases(2000, 500), 0
	alone := check(t, independent(t, most))
	sameAudits(t, alone, distributed(t, independent(t, most), 2, killing(cases(20, 3), &kills)))
	if kills == 0 {
		t.Error("the search ended before a worker was killed")
	}
}

// TestDistributedAutoNotices: where connections depend on each other, a check with workers says
// what it says alone, and then has the same verdict in scope group.
func TestDistributedAutoNotices(t *testing.T) {
	for name, o := range map[string]Options{"redis": redis.options(t), "entangled": entangled(t)} {
		t.Run(name, func(t *testing.T) {
			o.Workers = 1
			again := func() *explore.Search { return maxExecutions(dporSearch(), 100) }
			var said [2]string
			for i := range said {
				why := auditing(&o)
				o.Search, o.Again = again(), again
				var r *Result
				if i == 0 {
					r = check(t, o)
				} else {
					r = distributed(t, o, 2, nil)
				}
				said[i] = fmt.Sprintf("%v\n%s\n%s", *why, r.Scope, saysWithPeers(t, r))
				if *why == nil || !strings.HasPrefix(r.Scope, "group (auto;") {
					t.Errorf("%v in scope %s", *why, r.Scope)
				}
			}
			if diff := cmp.Diff(said[0], said[1]); diff != "" {
				t.Errorf("alone (-) and with workers (+):\n%s", diff)
			}
		})
	}
}

// TestWorkersAreAudited: a contradiction that only executions of workers lead to ends the search.
// Those of the check itself are not audited here.
func TestWorkersAreAudited(t *testing.T) {
	o := entangled(t)
	auditing(&o)
	say, end := hire(t, &o.Distribution, 1, nil)
	defer end()
	o.Distribution.Say, o.haste = say, true
	r, err := newRun(t.Context(), o, interest{})
	if err != nil {
		t.Fatal(err)
	}
	r.executor.Close()
	unaudited := r.options.executors(interest{})
	unaudited.Peers = r.peers
	if r.executor, err = executor.New(context.Background(), unaudited, 0); err != nil {
		t.Fatal(err)
	}
	// If nothing is found, the search is large enough to go on for long.
	if _, err := r.finish(); !audit.Contradicts(err) || !strings.Contains(err.Error(), `EXISTS x`) {
		t.Errorf("the error is %v", err)
	}
}
