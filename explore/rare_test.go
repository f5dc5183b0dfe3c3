package explore

import (
	"slices"
	"testing"
)

// points is how an execution with so many points of faults looks, if the first fault of its
// schedule ends it.
func points(s Schedule, all int) Execution {
	for _, r := range s.Rare {
		if r.Kind == NetworkFault && r.At < all {
			all = r.At
		}
	}
	e := Execution{Transitions: []Transition{{Action: Action{Goroutine: 1, Choice: 0}, Choices: 1}}}
	e.RarePoints[NetworkFault] = all
	return e
}

// TestRare: about one fault comes in an execution, as often late as early, though faults make
// executions shorter, and one execution may have been a hundred times as long as the others.
func TestRare(t *testing.T) {
	for name, s := range map[string]*Search{"random": randomSearch(4000, 5), "pct": pctSearch(4000, 2, 5),
		"pos": posSearch(4000, 5), "surw": surwSearch(4000, 5)} {
		const length = 200
		calm, faults, quarters := 0, 0, [4]int{}
		for i := 0; ; i++ {
			schedule, more := s.Next()
			if !more {
				break
			}
			all := length
			if i == 10 {
				all *= 100
			}
			if len(schedule.Rare) == 0 {
				calm++
			}
			first := points(schedule, all).RarePoints[NetworkFault]
			if first < length {
				faults++
				quarters[4*(first-1)/length]++
			}
			if len(schedule.Rare) > MaxRare {
				t.Fatalf("%s: %d rare events", name, len(schedule.Rare))
			}
			if err := s.Report(points(schedule, all)); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%s: %d calm, %d with a fault, by quarters %v", name, calm, faults, quarters)
		if calm < 400 || calm > 700 || faults < 3000 {
			t.Errorf("%s: of 4000 executions %d are undisturbed and %d have faults", name, calm, faults)
		}
		for _, n := range quarters { // the first of several is early rather than late
			if n < 4000/8 {
				t.Errorf("%s: the first faults are in these quarters of an execution: %v", name, quarters)
			}
		}
	}
}

// TestRareIsKnownAhead: what others run ahead, and what a search does that was saved and gone on
// with after any execution, are the schedules of the search.
func TestRareIsKnownAhead(t *testing.T) {
	const executions = 120
	for name, newSearch := range map[string]func() *Search{
		"random": func() *Search { return randomSearch(executions, 9) },
		"pct":    func() *Search { return pctSearch(executions, 3, 9) },
		"pos":    func() *Search { return posSearch(executions, 9) },
		"surw":   func() *Search { return surwSearch(executions, 9) },
	} {
		list := func(s *Search, from []Schedule) (all []Schedule) {
			all = from
			var ahead []Schedule
			for {
				schedule, more := s.Next()
				if !more {
					return all
				}
				if len(ahead) > 0 {
					if !ahead[0].Equal(&schedule) {
						t.Fatalf("%s: %+v was announced, %+v comes", name, ahead[0], schedule)
					}
					ahead = ahead[1:]
				}
				schedule.Rare = slices.Clone(schedule.Rare)
				schedule.Priorities = nil
				all = append(all, schedule)
				ahead = append(ahead, s.Prefetch(7)...)
				if err := s.Report(points(schedule, 50+len(all)%9)); err != nil {
					t.Fatal(err)
				}
			}
		}
		want := list(newSearch(), nil)
		for cut := range executions {
			first := newSearch()
			before := list(maxExecutions(first, cut), nil)
			state, err := first.Save()
			if err != nil {
				t.Fatal(err)
			}
			second := newSearch()
			if err := second.Resume(state); err != nil {
				t.Fatal(err)
			}
			got := list(second, slices.Clip(before))
			if !slices.EqualFunc(got, want, func(a, b Schedule) bool { return a.Equal(&b) }) {
				t.Fatalf("%s: cut after %d executions, it goes on otherwise", name, cut)
			}
		}
	}
}
