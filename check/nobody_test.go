package check

import (
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/proxy"
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

// TestAbsent: where nobody is on purpose, a refused connect is as good as any. One that is left, in
// whatever order of the goroutines, makes the check say nothing.
func TestAbsent(t *testing.T) {
	var all []configs.Absent
	for port := range uint16(4) {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 81+port)
		all = append(all, configs.Absent{Address: proxy.Address{At: at}})
	}
	for n := range len(all) + 1 {
		o := nobodyOptions(t, "alone")
		o.Search, o.Absent = dporSearch(), all[:n]
		want := explore.Unknown
		if n == len(all) {
			want = explore.Holds
		}
		r := check(t, o)
		if r.Verdict.Kind != want || len(r.Missed.Dialled) != len(all)-n {
			t.Errorf("%v are absent: %+v, %+v; want %v", o.Absent, r.Verdict, r.Missed, want)
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
