package spin

import (
	"strings"
	"testing"
)

// TestSame: SPIN and package protocol find the same number of states. In Paxos they walk the same
// number of transitions, too; of two-phase commit there is a second model without steps that change
// nothing.
func TestSame(t *testing.T) {
	if err := Missing(); err != nil {
		t.Fatal(err)
	}
	rows, err := Compare(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		t.Logf("%s: SPIN %+v, protocol %+v", r.Name, r.Spin, r.One)
		if r.Spin.Errors != 0 || r.Spin.States != r.One.States || r.Spin.States != r.Two.States {
			t.Errorf("%s: SPIN %+v, protocol %+v and %+v; want the same states", r.Name, r.Spin, r.One, r.Two)
		}
		if !strings.Contains(r.Name, "fewer steps") && r.Spin.Transitions != r.One.Transitions {
			t.Errorf("%s: SPIN %+v, protocol %+v; want the same transitions", r.Name, r.Spin, r.One)
		}
	}
	t.Logf("\n%s", Table(rows))
}

// TestParse: what SPIN prints is read, and anything else is an error.
func TestParse(t *testing.T) {
	const good = `
State-vector 44 byte, depth reached 18, errors: 0
    27410 states, stored
    66646 states, matched
    94056 transitions (= stored+matched)
    1.673	equivalent memory usage for states (stored*(State-vector + overhead))
    1.500	actual memory usage for states
    8.000	memory used for hash table (-w20)
`
	r, err := parse(good)
	want := Result{States: 27_410, Transitions: 94_055, Bytes: 9.5 * (1 << 20)}
	if err != nil || *r != want {
		t.Errorf("%+v, error %v; want %+v", r, err, want)
	}
	for _, bad := range []string{"", strings.Replace(good, "errors: 0", "", 1),
		strings.Replace(good, "8.000", "", 1), "Warning: Search not completed\n" + good} {
		if r, err := parse(bad); err == nil {
			t.Errorf("%+v and no error of %q", r, bad)
		}
	}
}

// TestBuild: a model that does not exist, and one that is wrong, are errors that say why.
func TestBuild(t *testing.T) {
	if err := Missing(); err != nil {
		t.Fatal(err)
	}
	_, err := Build(t.TempDir(), "unknown.pml", 10)
	if err == nil || !strings.Contains(err.Error(), "unknown.pml") {
		t.Errorf("error %v; want one that names the model", err)
	}
	_, err = Build(t.TempDir(), "synod.pml", 10, "-Dbyte=?")
	if err == nil || !strings.Contains(err.Error(), "syntax error") {
		t.Errorf("error %v; want what SPIN says", err)
	}
}

// BenchmarkSideBySide is the comparison of speed and room.
func BenchmarkSideBySide(b *testing.B) {
	if err := Missing(); err != nil {
		b.Skip(err)
	}
	rows, err := Compare(b.N)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("the shortest of %d rounds:\n%s", b.N, Table(rows))
	for _, r := range rows {
		name := strings.ReplaceAll(r.Name, " ", "-")
		b.ReportMetric(r.Spin.rate(), name+"-SPIN-states/s")
		b.ReportMetric(r.One.rate(), name+"-states/s")
	}
}
