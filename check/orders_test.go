package check

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// holding has the schedules of a search hold goroutines of the execution before, other ones each
// time.
type holding struct {
	*explore.Search
	seed       uint64
	goroutines []explore.GoroutineID
	now        explore.Schedule
}

func (h *holding) Next() (explore.Schedule, bool) {
	s, more := h.Search.Next()
	s.WantEnabled = true
	for i := range uint64(len(h.goroutines)) {
		random := (h.seed + s.Seed + i) * 0x9e3779b97f4a7c15 >> 32
		s.Holds = append(s.Holds, explore.Hold{
			Goroutine: h.goroutines[random%uint64(len(h.goroutines))], Nth: 1 + int(random>>16%8)})
	}
	h.now = s
	return s, more
}

// Report takes note of the goroutines that there are.
func (h *holding) Report(x explore.Execution) error {
	for _, transition := range x.Transitions {
		if id := transition.Goroutine; id != 0 && !slices.Contains(h.goroutines, id) {
			h.goroutines = append(h.goroutines, id)
		}
	}
	return h.Search.Report(x)
}

// TestOrdersAgainstTwin: what executions show that are steered by holds, or sampled by POS or SURW,
// is what an abstract machine shows in some execution, and holds hold: of real random programs.
func TestOrdersAgainstTwin(t *testing.T) {
	p, err := buildProgram("testdata/programs", filepath.Join(tree, "programs"))
	if err != nil {
		t.Fatal(err)
	}
	programs, executions, held, found, outcomes := 0, 0, 0, 0, 0
	for _, flavour := range flavourNames {
		for number := range uint64(cases(40, 4)) {
			text := drawProgram(flavour, number).String()
			want, all := bruteForce(text, maxStates)
			if !all {
				continue
			}
			programs++
			seen := map[string]bool{}
			sampling := explore.Config{Algorithm: explore.POS, Executions: 40, Seed: number + 1}
			walking := sampling
			walking.Algorithm = explore.SURW
			for _, s := range []*holding{
				{Search: mustSearch(sampling)}, {Search: mustSearch(walking)},
				{Search: maxExecutions(dfsSearch(), 1), goroutines: []explore.GoroutineID{1}},
			} {
				_, err := eachExecution(p, sut.Options{Args: []string{text}}, s,
					func(log *sut.Log, x explore.Execution) bool {
						executions++
						held += checkHeld(t, s.now, x)
						if got := outcomeOf(log); !want[got] {
							t.Errorf("%s: %q is what no execution of the twin shows: %+v", text, got, s.now)
						}
						seen[outcomeOf(log)] = true
						return !t.Failed()
					})
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
			}
			found, outcomes = found+len(seen), outcomes+len(want)
		}
	}
	t.Logf("%d executions showed %d of %d outcomes; goroutines were held %d times", executions, found,
		outcomes, held)
	if programs < cases(40, 4)*len(flavourNames)/2 {
		t.Errorf("the twin got through %d programs only", programs)
	}
	if held < executions/4 || found < outcomes/2 {
		t.Error("that is too little")
	}
}

// checkHeld counts how often a goroutine was held, and sees that none was picked unless all were.
func checkHeld(t *testing.T, s explore.Schedule, x explore.Execution) (held int) {
	done, free := map[explore.GoroutineID]int{}, map[explore.Hold]bool{}
	next := func(g explore.GoroutineID) explore.Hold { return explore.Hold{Goroutine: g, Nth: done[g] + 1} }
	for i, transition := range x.Transitions {
		isHeld := func(a explore.Alternative) bool {
			h := next(a.Goroutine)
			return slices.Contains(s.Holds, h) && !free[h]
		}
		others := slices.ContainsFunc(transition.Enabled,
			func(a explore.Alternative) bool { return !isHeld(a) })
		for _, a := range transition.Enabled {
			if isHeld(a) {
				held++
			}
		}
		for _, h := range s.Holds {
			canBePicked := func(a explore.Alternative) bool { return next(a.Goroutine) == h && isHeld(a) }
			if !others && slices.ContainsFunc(transition.Enabled, canBePicked) {
				free[h] = true
				break
			}
		}
		if h := next(transition.Goroutine); i > 0 && slices.Contains(s.Holds, h) && !free[h] {
			t.Errorf("transition %d: %+v is picked of %v", i, h, transition.Enabled)
		}
		done[transition.Goroutine]++
	}
	return held
}
