package explore

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// profiles are those of programs whose executions all run to their end. Optimal ones
// have no redundant executions; of the others, few are.
var profiles = []struct {
	name    string
	optimal bool
	profile
}{
	{"variables", true, profile{blocks: variables}},
	{"mutexes", true, profile{blocks: join(mutexes, variables)}},
	{"rwmutexes", false, profile{blocks: join(rwmutexes, variables[:2])}},
	{"wait groups", false, profile{blocks: join(waitGroups, variables[:2])}},
	{"channels", false, profile{blocks: join(channels, variables[:2])}},
	{"choices", true, profile{blocks: join(choices, variables, branches)}},
	{"times", true, profile{blocks: join(times, variables, mutexes)}},
	{"everything", false, profile{blocks: join(variables, mutexes, waitGroups, channels, choices, times, branches)}},
	{"sealed", false, profile{blocks: join(variables, mutexes, waitGroups, channels, times, choices), seal: true, size: 4}},
}

// TestOptimal compares what DPOR executes of random programs with the partial orders
// that there are: each once, all final states, and nothing redundant. It prints the
// numbers. PROGRAMS says how many programs.
func TestOptimal(t *testing.T) {
	programs, err := strconv.Atoi(cmp.Or(os.Getenv("PROGRAMS"), "450"))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range profiles {
		t.Run(f.name, func(t *testing.T) {
			var total optimality
			for number := range (programs + i) / len(profiles) {
				total.add(t, rapid.Custom(f.generate).Example(number))
			}
			t.Logf("%d programs, %d more are too large: %d partial orders, %d schedules, %d executions, %d of them redundant",
				total.programs, total.skipped, total.orders, total.schedules, total.executions, total.redundant)
			if f.optimal && total.redundant > 0 || total.redundant*200 > total.executions+200 {
				t.Errorf("%d redundant executions, for one in:\n%s", total.redundant, total.worst)
			}
			if total.programs == 0 {
				t.Error("no program was compared")
			}
		})
	}
}

// optimality sums up comparisons.
type optimality struct {
	programs, skipped                        int
	orders, schedules, executions, redundant int
	worst                                    string // the shortest program with a redundant execution
}

func (o *optimality) add(t *testing.T, p *program) {
	all, err := searchAll(MaxExecutions(DFS(), dfsBudget), p, 0)
	if err != nil {
		t.Fatal(err)
	}
	if all.verdict.Executions == dfsBudget {
		o.skipped++
		return
	}
	some, err := searchAll(DPOR(), p, 0)
	if err != nil {
		t.Fatal(err)
	}
	o.programs++
	o.orders += len(all.fingerprints)
	o.schedules += all.verdict.Executions
	o.executions += some.verdict.Executions
	if text := p.String(); some.verdict.Redundant > 0 && (o.worst == "" || len(text) < len(o.worst)) {
		o.worst = text
	}
	o.redundant += some.verdict.Redundant
	if len(some.fingerprints) != len(all.fingerprints) || some.complete() != len(all.fingerprints) {
		t.Errorf("%d complete executions of %d partial orders, but there are %d:\n%s",
			some.complete(), len(some.fingerprints), len(all.fingerprints), p)
	}
	if !slices.Equal(sortedKeys(all.states), sortedKeys(some.states)) || all.verdict.Kind != some.verdict.Kind {
		t.Errorf("other final states, or another verdict:\n%s", p)
	}
}
