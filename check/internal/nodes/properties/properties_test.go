package properties

import (
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/published"
)

// TestWhy: what is said of names that nobody publishes, and which ones are kept for that.
func TestWhy(t *testing.T) {
	w := Wanted{Agree: published.Names{"decided", "log/*"}, Exclusive: published.Names{"log/1", "lock"}}
	known := w.Add(nil, []string{"log/2", "other", "log/1", "log/3"})
	if !slices.Equal(known, []string{"log/2", "other", "log/1", "log/3"}) {
		t.Errorf("of those are kept %q", known)
	}
	for _, c := range []struct {
		unknown string
		known   []string
		want    string
	}{
		{"", known, "no node has published decided, on which all are to agree; no node has published lock, " +
			"which one is to hold at a time; published were: log/1, log/2, log/3, other"},
		{"it ended", append(known, "decided"),
			"; no node has published lock, which one is to hold at a time; published were: decided, " +
				"log/1, log/2, log/3, other"},
		{"", []string{"lock", "log/1"}, "no node has published decided, on which all are " +
			"to agree; published were: lock, log/1"},
		{"it ended", append(known, "lock", "decided"), ""},
	} {
		if got := w.Why(c.unknown, c.known); got != c.want {
			t.Errorf("of %q: %q, want %q", c.known, got, c.want)
		}
	}
	one, many := Wanted{Agree: published.Names{"ownr"}}, []string(nil)
	for _, names := range [][]string{{"owner"}, nil, {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}} {
		many = append(many, one.Why("", one.Add(nil, names)))
	}
	const ownr = "no node has published ownr, on which all are to agree; published "
	want := []string{ownr + "was: owner", ownr + "was nothing",
		ownr + "were: 1, 2, 3, 4, 5, 6, 7, 8 and others"}
	if !slices.Equal(many, want) {
		t.Errorf("%q, want %q", many, want)
	}
	if none := (&Wanted{}); none.Any() || none.IsExclusive() != nil || !w.Any() || !w.IsExclusive()("lock") {
		t.Error("what is wanted is not known")
	}
}
