package explore

import "fmt"

// MaxPreemptions leaves out executions in which goroutines are preempted more than n
// times (Musuvathi and Qadeer: Iterative Context Bounding for Systematic Testing of
// Multithreaded Programs, PLDI 2007). DFS is then exhaustive within the bound, and DPOR becomes
// another reduction, which is, too (bpor.go). Replay cannot be bounded.
func MaxPreemptions(s Search, n int) Search {
	if _, ok := s.(*dpor); ok {
		s = newBPOR()
	}
	return &limited{Search: s, within: atMost(n, "preemption"), limit: func(l *Limits) { l.Preemptions = &n }}
}

// MaxDelays does so with executions in which goroutines are delayed more than n times
// (Emmi, Qadeer, Rakamaric: Delay-Bounded Scheduling, POPL 2011). There is no reduction within
// that bound: neither DPOR nor Replay can be bounded so.
func MaxDelays(s Search, n int) Search {
	refuseReduction(s)
	return &limited{Search: s, within: atMost(n, "delay"), limit: func(l *Limits) { l.Delays = &n }}
}

// refuseReduction panics if a search, or what it decorates, explores one execution for many others. Where that
// one is beyond a limit and another is not, what they show would be lost.
func refuseReduction(s Search) {
	switch s := s.(type) {
	case *limited:
		refuseReduction(s.Search)
	case *bounded:
		refuseReduction(s.Search)
	case *dpor, *bpor:
		panic("explore: there is no reduction within a bound on delays")
	}
}

func atMost(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("at most %d %s", n, noun)
}

// limited has the worker, who picks, keep to a limit. A search that takes its branches
// from what could have been picked needs to know nothing of it.
type limited struct {
	Search
	limit  func(*Limits)
	within string
}

func (l *limited) Next() (Schedule, bool) {
	s, more := l.Search.Next()
	if !more {
		return s, false
	}
	if !s.WantEnabled && s.Seed == 0 {
		panic("explore: a limit on what is picked needs a search by what could have been, or at random")
	}
	l.limit(&s.Limits)
	return s, true
}

func (l *limited) ahead(n int) []Schedule {
	list := Ahead(l.Search, n)
	for i := range list {
		l.limit(&list[i].Limits)
	}
	return list
}

func (l *limited) Verdict() Verdict { return l.bound(l.Search.Verdict()) }

func (l *limited) counted() Verdict { return l.bound(counted(l.Search)) }

func (l *limited) bound(v Verdict) Verdict {
	if v.Within != "" {
		v.Within += " and "
	}
	v.Within += l.within
	if v.Kind == Holds {
		v.Reason = v.Covered()
	}
	return v
}
