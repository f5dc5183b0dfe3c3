package check

import "github.com/tandem-mc/tandem/explore"

// stepper is what runs a search: a search, or what a test puts around one.
type stepper interface {
	Next() (explore.Schedule, bool)
	Report(explore.Execution) error
}

// mustSearch returns a search of a configuration that is right.
func mustSearch(c explore.Config) *explore.Search {
	s, err := explore.New(c)
	if err != nil {
		panic(err)
	}
	return s
}

func dporSearch() *explore.Search { return mustSearch(explore.Config{}) }

func dfsSearch() *explore.Search { return mustSearch(explore.Config{Algorithm: explore.DFS}) }

func randomSearch(n int, seed uint64) *explore.Search {
	return mustSearch(explore.Config{Algorithm: explore.Random, Executions: n, Seed: seed})
}

func pctSearch(n, depth int, seed uint64) *explore.Search {
	return mustSearch(explore.Config{Algorithm: explore.PCT, Executions: n, Depth: depth, Seed: seed})
}

// bounded is a search within a bound on preemptions.
func bounded(a explore.Algorithm, preemptions int) *explore.Search {
	return mustSearch(explore.Config{Algorithm: a, Preemptions: &preemptions})
}

// maxExecutions ends a search after n executions.
func maxExecutions(s *explore.Search, n int) *explore.Search {
	s.Until(explore.MaxExecutions(n))
	return s
}

// untilViolation ends a search at the first violation.
func untilViolation(s *explore.Search) *explore.Search {
	s.Until(explore.AtViolation)
	return s
}
