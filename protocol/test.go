package protocol

// TB is what Test and Replay need of a test. A *testing.T is one.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Test checks a model in a test. The test fails if a property is violated, and says how; if the
// search ends at a bound, unless Options say that this is accepted; and if the model cannot be
// checked. The result is nil in that case. A typical test is one call:
//
//	func TestPaxos(t *testing.T) {
//		protocol.Test(t, newModel(3), protocol.Options{Time: time.Minute})
//	}
func Test(t TB, m *Model, o Options) *Result {
	t.Helper()
	o.log = t.Logf
	r, err := Check(m, o)
	switch {
	case err != nil:
		t.Fatalf("protocol: %v", err)
	case r.Violation != nil:
		t.Errorf("%v\n%s", r, r.Violation.report())
		if o.HTML != "" {
			t.Logf("The chart is a page, too: %s", o.HTML)
		}
	case r.Verdict == Violated || r.Verdict == Unknown && !o.Partial:
		t.Errorf("%v", r)
	default:
		t.Logf("%v", r)
	}
	return r
}
