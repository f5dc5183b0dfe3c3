package explore

import "fmt"

// Until ends a search as soon as stop returns a reason, which becomes the reason
// of the verdict. It is asked before each execution, with the verdict so far but for its
// estimate.
// A budget of time is a stop that looks at a clock of the caller.
func Until(s Search, stop func(Verdict) string) Search {
	return &bounded{Search: s, stop: stop}
}

// MaxExecutions ends a search after n executions.
func MaxExecutions(s Search, n int) Search {
	return Until(s, func(v Verdict) string {
		if v.Executions < n {
			return ""
		}
		return fmt.Sprintf("the limit of %d executions was reached", n)
	})
}

// UntilViolation ends a search at the first execution that is a violation.
func UntilViolation(s Search) Search {
	return Until(s, func(v Verdict) string {
		if v.Violations == 0 {
			return ""
		}
		return "the search stopped at the first violation"
	})
}

// Room is the largest of most, most/2, most/4, ... more executions after which the bounds of a search do not end it; 0 if it is at its
// end. What they do not count, as time, is not foreseen.
func Room(s Search, most int) int {
	if r, ok := s.(roomy); ok && most > 0 {
		return r.room(most)
	}
	return most
}

// roomy is a decorator of a search.
type roomy interface{ room(most int) int }

func (b *bounded) room(most int) int {
	for n := Room(b.Search, most); ; n /= 2 {
		v := counted(b.Search)
		if v.Executions += n; n == 0 || b.stop(v) == "" {
			return n
		}
	}
}

func (l *limited) room(most int) int { return Room(l.Search, most) }

type bounded struct {
	Search
	stop   func(Verdict) string
	ended  bool
	reason string // why it ended early
}

func (b *bounded) Next() (Schedule, bool) {
	if b.ended {
		return Schedule{}, false
	}
	reason := b.stop(counted(b.Search))
	schedule, more := b.Search.Next()
	switch {
	case !more: // ended by itself, perhaps exactly at the bound
		b.ended = true
	case reason != "":
		b.ended, b.reason = true, reason
	default:
		return schedule, true
	}
	return Schedule{}, false
}

func (b *bounded) Verdict() Verdict { return b.explain(b.Search.Verdict()) }

func (b *bounded) counted() Verdict { return b.explain(counted(b.Search)) }

func (b *bounded) explain(v Verdict) Verdict {
	if b.reason != "" {
		v.Reason = b.reason
	}
	return v
}
