package check

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// TestIndependentComponents: of two components that have nothing in common, each with n partial
// orders, there are n x n, and each is run once. That takes to know an object again although others
// were made before it: where the search took one for another, it ran some orders twice, and left
// out others.
func TestIndependentComponents(t *testing.T) {
	for name, races := range map[string][]string{"with the detector": {sut.RacesMain}, "without": nil} {
		t.Run(name, func(t *testing.T) {
			p, err := buildProgram("testdata/births", filepath.Join(t.TempDir(), "births"), races...)
			if err != nil {
				t.Fatal(err)
			}
			for _, scripts := range [][2]string{{"gfngl", "fl"}, {"gfngfl", "fl"}, {"ngfngl", "lfl"},
				{"gfnngl", "fnlf"}, {"fgdnfngl", "dfl"}, {"gfcngl", "cfl"}} {
				count := func(components int) int {
					v := check(t, Options{
						Program: p, Package: "births", Args: []string{scripts[0], scripts[1],
							fmt.Sprint(components)}, Search: dporSearch(),
					}).Verdict
					if v.Kind != explore.Holds || v.Redundant != 0 {
						t.Errorf("%v x %d: %v: %s, %d executions redundant", scripts, components, v.Kind,
							v.Reason, v.Redundant)
					}
					return v.Executions
				}
				if one, two := count(1), count(2); two != one*one {
					t.Errorf("%v: %d executions of two components, want %d squared", scripts, two, one)
				}
			}
		})
	}
}
