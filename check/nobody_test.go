package check

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/explore"
)

// nobodyOptions checks the program of testdata/nobody.
func nobodyOptions(t *testing.T, args ...string) Options {
	t.Helper()
	o := turnsOptions(t, args...)
	p := built["nobody"]
	if p == nil {
		var err error
		if p, err = buildProgram("testdata/nobody", filepath.Join(tree, "program", "nobody")); err != nil {
			t.Fatal(err)
		}
		built["nobody"] = p
	}
	o.Program, o.Package = p, "./testdata/nobody"
	return o
}

// TestMissedWhenResumed: a check that is gone on with knows whom it has missed before. Without that
// it would hold.
func TestMissedWhenResumed(t *testing.T) {
	o := nobodyOptions(t)
	o.Search = dporSearch()
	whole := check(t, o)
	if len(whole.Missed.Dialled) != 4 || len(whole.Missed.Clients) != 1 ||
		whole.Verdict.Kind != explore.Unknown {
		t.Fatalf("%+v, %+v", whole.Verdict, whole.Missed)
	}
	for executions := 1; executions < whole.Verdict.Executions; executions++ {
		dir := filepath.Join(t.TempDir(), "run")
		o.Search, o.Saving = maxExecutions(dporSearch(), executions), savingIn(t, dir, false)
		if first := session(t, o, 0); first.Saved == "" {
			t.Fatalf("after %d executions: %+v", executions, first.Verdict)
		}
		o.Search, o.Saving = dporSearch(), savingIn(t, dir, true)
		resumed := session(t, o, 0)
		if diff := cmp.Diff(whole.Missed, resumed.Missed); diff != "" ||
			resumed.Verdict.Kind != whole.Verdict.Kind || resumed.Vacuous != whole.Vacuous {
			t.Errorf("resumed after %d executions: %v, %q\n%s", executions, resumed.Verdict,
				resumed.Vacuous, diff)
		}
	}
}

// TestMissedByWorkers: what is missed is what the executions up to the violation have missed,
// whatever others were run ahead of them.
func TestMissedByWorkers(t *testing.T) {
	for seed := range uint64(8) {
		o := nobodyOptions(t, "panic")
		o.Search = randomSearch(200, seed)
		alone := check(t, o)
		for range 3 {
			o.Search, o.Workers, o.haste = randomSearch(200, seed), 4, true
			several := check(t, o)
			if diff := cmp.Diff(alone.Missed, several.Missed); diff != "" ||
				alone.Verdict.Executions != several.Verdict.Executions {
				t.Errorf("seed %d: %v and %v\n%s", seed, alone.Verdict, several.Verdict, diff)
			}
		}
	}
}
