package register

import (
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/protocol"
)

// TestRegister: two writes and a read at the same time are linearizable, and so are a write and two
// reads. The second is much larger, and is not searched to its end.
func TestRegister(t *testing.T) {
	r := protocol.Test(t, Model(3, []any{Write{1}, Write{2}}, []any{Read{}}), protocol.Options{})
	if r.States != 871_509 {
		t.Errorf("%v; want 871509 states", r)
	}
	protocol.Test(t, Model(3, []any{Write{1}}, []any{Read{}, Read{}}), protocol.Options{
		States: 300_000, Partial: true,
	})
}

// TestNoWriteBack: reads that do not store what they return are not linearizable: one sees the new
// value, and one after it the old one.
func TestNoWriteBack(t *testing.T) {
	m := Model(3, []any{Write{1}}, []any{Read{}, Read{}})
	m.Nodes[0].(*Clients).NoWriteBack = true
	r, err := protocol.Check(m, protocol.Options{})
	if err != nil || r.Violation == nil {
		t.Fatalf("%v, error %v; want a violation", r, err)
	}
	v := r.Violation
	if v.What != "linearizable" || v.Steps != 12 || strings.Count(v.Chart, "\n") > 50 {
		t.Errorf("%v; want a history that is not linearizable after 12 steps\n%s", r, v.Chart)
	}
	t.Logf("%v\n%s", r, v.Chart)
}
