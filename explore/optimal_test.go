package explore

import (
	"os"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// profiles are those of programs whose executions all run to their end.
var profiles = []struct {
	name string
	profile
}{
	{"variables", profile{blocks: variables}},
	{"mutexes", profile{blocks: join(mutexes, variables)}},
	{"rwmutexes", profile{blocks: join(rwmutexes, variables[:2])}},
	{"wait groups", profile{blocks: join(waitGroups, variables[:2])}},
	{"channels", profile{blocks: join(channels, variables[:2])}},
	{"choices", profile{blocks: join(choices, variables, branches)}},
	{"times", profile{blocks: join(times, variables, mutexes)}},
	{"everything", profile{blocks: join(variables, mutexes, waitGroups, channels, choices, times, branches)}},
	{"sealed", profile{blocks: join(variables, mutexes, waitGroups, channels, times, choices), seal: true, size: 4}},
}

// TestOptimal compares the number of executions of random programs with that of the
// partial orders that there are. PROGRAMS says how many programs.
func TestOptimal(t *testing.T) {
	programs := 300
	if text := os.Getenv("PROGRAMS"); text != "" {
		var err error
		if programs, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range profiles {
		t.Run(f.name, func(t *testing.T) {
			g := rapid.Custom(f.generate)
			compared, executions, orders, redundant, programsWith := 0, 0, 0, 0, 0
			worst, wrong, wrongs := "", "", 0
			for number := range programs / len(profiles) {
				p := g.Example(number)
				dfs, err := searchAll(MaxExecutions(DFS(), dfsBudget), p, 0)
				if err != nil {
					t.Fatal(err)
				}
				if dfs.verdict.Executions == dfsBudget {
					continue
				}
				compared++
				dpor, err := searchAll(DPOR(), p, 0)
				if err != nil {
					wrongs++
					if wrong == "" || len(err.Error()) < len(wrong) {
						wrong = err.Error()
					}
					continue
				}
				orders += len(dfs.fingerprints)
				executions += dpor.verdict.Executions
				redundant += dpor.verdict.Redundant
				if dpor.verdict.Redundant > 0 {
					programsWith++
					if worst == "" || len(p.String()) < len(worst) {
						worst = p.String()
					}
				}
				if len(dpor.fingerprints) != len(dfs.fingerprints) || dpor.complete() != len(dpor.fingerprints) {
					wrongs++
					if wrong == "" || len(p.String()) < len(wrong) {
						wrong = p.String()
					}
				}
			}
			t.Logf("%d programs: %d executions of %d partial orders, %d redundant in %d programs", compared, executions, orders, redundant, programsWith)
			if worst != "" {
				t.Logf("redundant:\n%s", worst)
			}
			if wrong != "" {
				t.Errorf("%d wrong:\n%s", wrongs, wrong)
			}
		})
	}
}
