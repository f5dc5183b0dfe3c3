package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/configs"
)

func TestCombinations(t *testing.T) {
	cases := []struct {
		strategies, backends, scopes []string
		want                         string // strategy backend scope; ...
		wrong                        string
	}{
		{[]string{"never"}, nil, nil, "never auto group", ""},
		{
			[]string{"never", "after-io"},
			[]string{"criu", "memory"},
			[]string{"connection"},
			"never criu connection; after-io criu connection; " +
				"never memory connection; after-io memory connection",
			"",
		},
		{
			[]string{"after-io,every=3,images=9", "never"}, nil,
			[]string{"group", "auto"},
			"after-io,every=3,images=9 auto group; never auto group; " +
				"after-io,every=3,images=9 auto auto; never auto auto",
			"",
		},
		{[]string{"sometimes"}, nil, nil, "", `there is no checkpoint strategy "sometimes"`},
		{[]string{"every=3"}, nil, nil, "", `there is no checkpoint strategy "every=3"`},
		{[]string{"never"}, []string{"dmtcp"}, nil, "", `there is no backend "dmtcp"`},
		{[]string{"never"}, nil, []string{"all"}, "", `there is no scope "all"`},
		{
			[]string{"never", "always", "never"}, nil, nil,
			"", "strategy never, backend auto and scope group are named twice",
		},
		{nil, nil, nil, "", "--strategies names none"},
	}
	for _, test := range cases {
		r := CompareRequest{
			Request:    Request{Config: configs.Default()},
			Strategies: test.strategies, Backends: test.backends, Scopes: test.scopes,
		}
		list, err := r.combinations()
		if (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%v: %v, want %q", test.strategies, err, test.wrong)
		}
		var got []string
		for _, c := range list {
			got = append(got, c.Strategy+" "+c.Backend+" "+c.Scope)
		}
		if strings.Join(got, "; ") != test.want {
			t.Errorf("%v, %v, %v: %q, want %q", test.strategies, test.backends, test.scopes, got, test.want)
		}
	}
}

func TestTooManyCombinations(t *testing.T) {
	r := CompareRequest{Request: Request{Config: configs.Default()}}
	for n := range MaxComparisons + 1 {
		r.Strategies = append(r.Strategies, fmt.Sprintf("after-io,every=%d", n+1))
	}
	_, err := r.combinations()
	if err == nil || !strings.Contains(err.Error(), "more than 1000 combinations") {
		t.Errorf("%d combinations: %v", MaxComparisons+1, err)
	}
	r.Strategies = r.Strategies[:MaxComparisons]
	if list, err := r.combinations(); err != nil || len(list) != MaxComparisons {
		t.Errorf("%d combinations are %d: %v", MaxComparisons, len(list), err)
	}
}
