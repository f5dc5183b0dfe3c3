package pick

import (
	"slices"
	"strings"
	"testing"
)

// TestOf: a search is one of explorations or of walks, and what the other kind does is refused.
func TestOf(t *testing.T) {
	none, bound := Asked{}, Asked{Delays: new(1)}
	peers, choices := Asked{Peers: true}, Asked{Peers: true, Choices: true}
	all := []Pick{Uniformly, ByPriority, ByOperation}
	for _, c := range []struct {
		search string
		asked  Asked
		picks  []Pick
		beside bool
		wrong  string
	}{
		{"auto", none, all, true, ""},
		{"auto", bound, nil, false, ""},
		{"auto", peers, nil, false, ""},
		{"auto", choices, all, false, ""},
		{"auto", Asked{Choices: true, Delays: new(1)}, nil, false, "peers with choices"},
		{"", none, nil, false, ""},
		{"", bound, nil, false, ""},
		{"dpor", none, nil, false, ""},
		{"dpor", choices, nil, false, "peers with choices beside nodes are only run at random"},
		{"random", none, all, false, ""},
		{"pct", choices, []Pick{ByPriority}, false, ""},
		{"pos", none, []Pick{ByOperation}, false, ""},
		{"pos", bound, nil, false, "delays are not counted in executions at random"},
		{"surw", none, nil, false, "--search surw cannot be used together with nodes"},
		{"surw", bound, nil, false, "--search surw cannot be used together with nodes"},
	} {
		w, err := Of(c.search, 7, c.asked)
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: error %v, want %q", c.search, err, c.wrong)
		}
		if (w == nil) != (c.picks == nil) ||
			w != nil && (!slices.Equal(w.Picks, c.picks) || w.Beside != c.beside || w.Seed != 7) {
			t.Errorf("%s, %+v: %+v, want %v", c.search, c.asked, w, c.picks)
		}
	}
}
