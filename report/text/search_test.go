package text

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGrouped(t *testing.T) {
	for _, c := range [][2][]string{
		{{"main", "a.b/c", "a.b/c/d"}, {"main", "a.b/c", "a.b/c/d"}},
		{{"main", "a.b/c/d", "a.b/c/e", "a.b/c", "a.b/c/d/e", "a.b/c/f", "a.b/cc"},
			{"main", "a.b/c, and 4 packages below it", "a.b/cc"}},
		// what is above is not among them
		{{"a.b/c/1", "a.b/c/2", "a.b/c/3", "a.b/c/4"}, {"a.b/c/1", "a.b/c/2", "a.b/c/3", "a.b/c/4"}},
		{{"a/...", "/", "", "."}, {"a/...", "/", "", "."}},
	} {
		if diff := cmp.Diff(c[1], grouped(c[0])); diff != "" {
			t.Errorf("%q:\n%s", c[0], diff)
		}
	}
}
