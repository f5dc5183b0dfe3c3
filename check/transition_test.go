package check

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/shrink"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// TestPreemptionsAsBounded: a search that is bounded by preemptions runs the executions that have
// no more of them, by what transitionsOf counts.
func TestPreemptionsAsBounded(t *testing.T) {
	p, err := buildProgram("testdata/programs", filepath.Join(tree, "programs"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, flavour := range []string{"channels", "mutexes", "everything"} {
		for number := range uint64(8) {
			text := drawProgram(flavour, number).String()
			all, ended := countPreemptions(t, p, text, dfsSearch())
			if !ended {
				continue
			}
			compared++
			for n := range 3 {
				within := map[int]int{}
				for preemptions, executions := range all {
					if preemptions <= n {
						within[preemptions] = executions
					}
				}
				bounded, _ := countPreemptions(t, p, text, bounded(explore.DFS, n))
				if diff := cmp.Diff(within, bounded); diff != "" {
					t.Errorf("%s: executions with at most %d preemptions (-of all +bounded):\n%s", text, n,
						diff)
				}
			}
		}
	}
	if compared < 8 {
		t.Errorf("only %d programs are small enough", compared)
	}
}

// countPreemptions counts the executions of a search by their preemptions.
func countPreemptions(t *testing.T, p *sut.Program, text string, s *explore.Search) (executions map[int]int,
	ended bool) {
	t.Helper()
	executions = map[int]int{}
	count := 0
	ended, err := eachExecution(p, sut.Options{Args: []string{text}}, s,
		func(log *sut.Log, _ explore.Execution) bool {
			executions[shrink.CostOf(translate.Steps(log.Events))[0]]++
			count++
			return count <= 1000
		})
	if err != nil {
		t.Fatal(err)
	}
	return executions, ended
}
