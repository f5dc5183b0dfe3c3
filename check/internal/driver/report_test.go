package driver

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReportAnd: of what two drivers know, each text is the first there is, and peers are unused if
// neither has used them. Of caches that took too much memory it is that which took most.
func TestReportAnd(t *testing.T) {
	one := Report{Refusal: "too large", Uninstrumented: []string{"c", "a"},
		Unused: []string{"x", "y"}, Crowded: Crowding{2, "much"}}
	two := Report{Reads: "time", Refusal: "other", Killed: "by 9", Uninstrumented: []string{"a", "b"},
		Unused: []string{"y", "z"}, Crowded: Crowding{3, "more"}}
	want := Report{Reads: "time", Refusal: "too large", Killed: "by 9",
		Uninstrumented: []string{"a", "b", "c"}, Unused: []string{"y"}, Crowded: Crowding{3, "more"}}
	if d := cmp.Diff(want, one.And(two)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	idle := Report{Reads: "time", Skipped: "threads", Unstored: "full"}
	if d := cmp.Diff(idle, idle.And(Report{})); d != "" {
		t.Errorf("with one that knows nothing (-want +got)\n%s", d)
	}
}
