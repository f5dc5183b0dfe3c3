package pick

import (
	"slices"
	"strings"
	"testing"
)

// TestOf: a search is one of explorations or of walks, and what the other kind does is refused.
func TestOf(t *testing.T) {
	none, bound, slow := Asked{}, Asked{Delays: new(1)}, Asked{Slow: true}
	for _, c := range []struct {
		search string
		asked  Asked
		picks  []Pick
		wrong  string
	}{
		{"auto", none, nil, ""},
		{"", bound, nil, ""},
		{"dpor", slow, nil, "slow connections are only explored at random"},
		{"random", none, []Pick{Uniformly, ByPriority, ByOperation}, ""},
		{"pct", slow, []Pick{ByPriority}, ""},
		{"pos", none, []Pick{ByOperation}, ""},
		{"pos", bound, nil, "delays are not counted in executions at random"},
		{"surw", none, nil, "--search surw cannot be used together with nodes"},
		{"surw", bound, nil, "--search surw cannot be used together with nodes"},
	} {
		w, err := Of(c.search, 7, c.asked)
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: error %v, want %q", c.search, err, c.wrong)
		}
		if (w == nil) != (c.picks == nil) || w != nil && (!slices.Equal(w.Picks, c.picks) || w.Seed != 7) {
			t.Errorf("%s: %+v, want %v", c.search, w, c.picks)
		}
	}
}
