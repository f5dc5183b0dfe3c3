package explore

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/explore/internal/testkit"
)

// savedProgram is the program of the states in testdata/states.
const savedProgram = "main: go p; go q; lock m; store x 1; unlock m; choose r0 2; send b1 1\n" +
	"p: lock m; load r0 x; unlock m; recv r1 b1\n" +
	"q: store x 2; add w 1; done w; wait w; load r2 x"

var updateStates = flag.Bool("update-states", false, "write testdata/states, for another stateVersion")

// TestSavedStates: states that an earlier release saved after so many executions are read, are
// written as they were, and lead through the same executions as a search that was not saved. Who
// changes the format changes stateVersion, and these files.
func TestSavedStates(t *testing.T) {
	for name, newSearch := range saveables {
		for _, executions := range []int{0, 3, 17} {
			t.Run(fmt.Sprint(name, "/", executions), func(t *testing.T) {
				path := filepath.Join("testdata", "states", fmt.Sprintf("%s-%d.state", name, executions))
				if *updateStates {
					state, err := partly(t, newSearch(), savedProgram, executions).Save()
					if err == nil {
						err = os.WriteFile(path, state, 0o644)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				state, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				resumed := newSearch()
				if err := resumed.Resume(state); err != nil {
					t.Fatal(err)
				}
				if again, err := resumed.Save(); err != nil || !bytes.Equal(again, state) {
					t.Errorf("it is saved as another state (%v):\n%x\n%x", err, again, state)
				}
				p := testkit.ParseProgram(savedProgram)
				all, verdict := testkit.Record(t, newSearch(), p, testkit.Never)
				rest, after := testkit.Record(t, resumed, p, testkit.Never)
				if diff := cmp.Diff(all[executions:], rest); diff != "" {
					t.Errorf("executions (-not saved +resumed):\n%s", diff)
				}
				if diff := cmp.Diff(verdict, after); diff != "" {
					t.Errorf("verdict (-not saved +resumed):\n%s", diff)
				}
			})
		}
	}
}
