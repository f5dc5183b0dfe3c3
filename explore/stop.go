package explore

import (
	"fmt"
)

// Stop ends a search as soon as it returns a reason, which becomes the reason of the verdict. It is
// asked before each execution, with the verdict so far but for its estimate. A budget of time
// is a Stop that looks at a clock of the caller.
type Stop func(Verdict) (reason string)

// MaxExecutions is the Stop after n executions.
func MaxExecutions(n int) Stop {
	return func(v Verdict) string {
		if v.Executions < n {
			return ""
		}
		return fmt.Sprintf("the limit of %d executions was reached", n)
	}
}

// AtViolation is the Stop at the first execution that is a violation.
func AtViolation(v Verdict) string {
	if v.Violations == 0 {
		return ""
	}
	return "the search stopped at the first violation"
}

// Until adds a reason to stop.
func (s *Search) Until(stop Stop) { s.stops = append(s.stops, stop) }

// stoppedAt is the reason to stop with a verdict; empty if there is none.
func (s *Search) stoppedAt(v Verdict) string {
	for _, stop := range s.stops {
		if reason := stop(v); reason != "" {
			return reason
		}
	}
	return ""
}

// Remaining is the largest of most, most/2, most/4, ... after so many executions more no Stop ends
// the search; 0 if it is at its end. What a Stop does not derive from the verdict, as time, is not
// foreseen.
func (s *Search) Remaining(most int) int {
	for n := most; n > 0; n /= 2 {
		v := s.counted()
		if v.Executions += n; s.stoppedAt(v) == "" {
			return n
		}
	}
	return 0
}

func atMost(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("at most %d %s", n, noun)
}
