package far

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/audit"
	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/distribute"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
)

// auditing is a repeater that notes what is audited, and fails at one of the seeds.
type auditing struct {
	seeds []uint64
	fails uint64
}

// again implements repeater.
func (*auditing) again([]model.Action, int) (*execution.Kept, error) { return &execution.Kept{}, nil }

// audit implements repeater.
func (a *auditing) audit(s *execution.Sample) (execution.Counts, error) {
	a.seeds = append(a.seeds, s.Seed)
	if s.Seed == a.fails {
		return execution.Counts{}, &iocache.Inconsistency{}
	}
	return execution.Counts{Audits: 1, Compared: int(s.Seed)}, nil
}

// TestAuditsBeforeAll: what is to be audited is, in its order and once, and counts for its
// execution. If one of the audits fails, nothing of the answer is taken over.
func TestAuditsBeforeAll(t *testing.T) {
	var a answer
	for seed := range uint64(4) {
		r := &execution.Result{Checked: true}
		r.Counts.Hits = 1
		if seed > 0 {
			r.Sample = &execution.Sample{Seed: seed, Connections: 2}
		}
		a.Findings = append(a.Findings, findingOf(r))
	}
	here := &auditing{}
	var audits, compared int
	for i := range a.Findings {
		r, err := a.Findings[i].result(nil, here)
		if err != nil {
			t.Fatal(err)
		}
		audits, compared = audits+r.Counts.Audits, compared+r.Counts.Compared
		if r.Counts.Hits != 1 || !r.Checked {
			t.Errorf("result %d is %+v", i, r)
		}
	}
	if !slices.Equal(here.seeds, []uint64{1, 2, 3}) || audits != 3 || compared != 6 {
		t.Errorf("%v are audited; %d audits and %d answers are counted", here.seeds, audits, compared)
	}
	// With a subtree of nil, TakeOver would fail in another way.
	var contradiction *iocache.Inconsistency
	if x, err := a.take(nil, nil, nil, &auditing{fails: 2}); x != nil || !errors.As(err, &contradiction) {
		t.Errorf("%+v is taken over, with error %v", x, err)
	}
}

// TestContradictedByAWorker: what peers contradict themselves with when a worker has asked ends the
// search in scope auto, also if there is none yet. Elsewhere, and after other errors, it goes on.
func TestContradictedByAWorker(t *testing.T) {
	contradiction := fmt.Errorf("input 3: %w", &iocache.Dependence{})
	for _, c := range []struct {
		auditor *audit.Auditor
		err     error
		ends    bool
	}{
		{audit.New(nil, nil), contradiction, true}, {audit.New(nil, nil), &driver.NoRoom{}, false},
		{audit.New(nil, nil), nil, false}, {nil, contradiction, false},
	} {
		for _, early := range []bool{false, true} {
			var ended error
			stop := func(err error) { ended = err }
			l := &Leader{config: &executor.Config{Auditor: c.auditor}}
			if !early {
				l.mayStop(stop)
			}
			if l.contradicted(c.err); early {
				l.mayStop(stop)
			}
			if c.ends != (ended != nil) || c.ends && !errors.Is(ended, c.err) {
				t.Errorf("with %v the search ends with %v; early: %v", c.err, ended, early)
			}
		}
	}
}

// TestExplored: what does not count is told apart from what the workers have done, where there is
// any.
func TestExplored(t *testing.T) {
	var p distribute.Progress
	p.Parts.Executions, p.Parts.Given, p.Parts.Done = 79749, 39, 37
	const done = "the workers have explored 79,749 executions, in 37 of 39 parts"
	if got := explored(p, 0); got != done {
		t.Errorf("%q, want %q", got, done)
	}
	p.Parts.Repeated = 24
	const want = done + "; of all executions, by workers and here, 275,924 do not count: the search did " +
		"not come to them, or had them already"
	if got := explored(p, 275900); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFlags: the command that goes on has the server and the files of the login, and no password.
func TestFlags(t *testing.T) {
	for want, o := range map[string]Options{
		"":                                    {Login: distribute.Login{CA: "unused"}},
		" --distribute embedded":              {Server: distribute.Embedded},
		" --distribute nats://h:1,nats://i:1": {Server: "nats://u:secret@h:1,nats://i:1"},
		" --distribute tls://h:1 --nats-creds 'my file' --nats-nkey n --nats-ca a --nats-cert c" +
			" --nats-key k": {Server: "tls://h:1",
			Login: distribute.Login{Credentials: "my file", NKey: "n", CA: "a", Certificate: "c", Key: "k"}},
	} {
		if got := o.Flags(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
