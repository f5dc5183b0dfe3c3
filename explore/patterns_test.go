package explore

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/testkit"
)

// alike is a program in which main starts n goroutines that do the same, and others.
func alike(n int, body, main string, others ...string) string {
	var b strings.Builder
	b.WriteString("main: ")
	for i := range others {
		fmt.Fprintf(&b, "go o%d; ", i)
	}
	for i := range n {
		fmt.Fprintf(&b, "go p%d; ", i)
	}
	b.WriteString(main)
	for i, other := range others {
		fmt.Fprintf(&b, "\no%d: %s", i, other)
	}
	for i := range n {
		fmt.Fprintf(&b, "\np%d: %s", i, body)
	}
	return b.String()
}

// philosophers each take two mutexes, the last one as the others do.
func philosophers(n int) string {
	var all []string
	for i := range n {
		left, right := fmt.Sprintf("f%d_", i), fmt.Sprintf("f%d_", (i+1)%n)
		all = append(all, fmt.Sprintf("lock %s; lock %s; unlock %s; unlock %s; done w",
			left, right, right, left))
	}
	return strings.Replace(alike(0, "", "wait w", all...), "main: ", fmt.Sprintf("main: add w %d; ", n), 1)
}

func times(n int, body string) string { return strings.Repeat(body+"; ", n) }

// patterns are programs with one bug each, as suites for concurrency testing have them, and within
// how many executions the portfolio is to find it.
var patterns = []struct {
	name    string
	within  int
	program string
}{
	{"2 philosophers", 2, philosophers(2)},
	{"5 philosophers", 2, philosophers(5)},
	{"20 philosophers", 2, philosophers(20)},
	{"inversion among many", 2, alike(6, "lock m; lock n; unlock n; unlock m",
		"lock n; lock m; unlock m; unlock n")},
	{"inversion in loops", 2, alike(1, times(15, "lock m; lock n; unlock n; unlock m")+"send c 1",
		"recv r0 c", times(15, "lock a; load r0 x; unlock a")+"lock n; lock m; unlock m; unlock n")},
	{"lost update", 2, alike(2, "load r0 x; inc x r0; done w", "add w 2; wait w; load r0 x; assert r0 2")},
	{"lost update of 5", 2, alike(5, "load r0 x; inc x r0; done w",
		"add w 5; wait w; load r0 x; assert r0 5")},
	{"lost update under locks", 2, alike(3, "lock m; load r0 x; unlock m; lock m; inc x r0; unlock m; done w",
		"add w 3; wait w; load r0 x; assert r0 3")},
	{"two stores come apart", 9, alike(2, "store x 1; store y 1", "",
		"load r0 y; skip r0 0 2; load r1 x; assert r1 1; load r0 x; skip r0 0 2; load r1 y; assert r1 1")},
	{"two stores of 9", 9, alike(9, "store x 1; store y 1", "",
		"load r0 x; skip r0 0 2; load r1 y; assert r1 1")},
	{"two stores of 19", 9, alike(19, "store x 1; store y 1", "",
		"load r0 x; skip r0 0 2; load r1 y; assert r1 1")},
	{"two critical sections of 9", 9, alike(9, "lock m; store x 1; unlock m; lock n; store y 1; unlock n", "",
		"lock m; load r0 x; unlock m; skip r0 0 4; lock n; load r1 y; unlock n; assert r1 1")},
	{"use before it is made", 2, alike(4, "load r0 i; assert r0 1", "store i 1")},
	{"close before a send", 6, alike(1, "load r0 x; load r0 x; close c1",
		"store x 1; recv r0 c1; recv r0 c1", "store x 2; send c1 1")},
	{"a counter below zero", 2, alike(1, "done w", "add w 1; wait w", "load r0 x; load r0 x")},
	{"deep", 10, "main: go p; go q; go r\np: store x 1; load r0 y; skip r0 0 1; store z 1\n" +
		"q: load r0 x; skip r0 0 1; store y 1\n" +
		"r: load r0 z; load r0 z; load r0 z; skip r0 0 1; assert r0 0"},
	{"two loops", 10, alike(1, times(20, "lock m; inc x r0; unlock m")+
		"lock m; store y 1; unlock m; load r0 z; store y 2", "",
		times(20, "lock m; inc x r0; unlock m")+
			"load r0 y; store z 1; skip r0 0 1; skip r0 2 1; assert r0 0")},
	{"two alternatives", 20, "main: choose r0 5; choose r1 5; skip r0 3 1; exit 0; skip r1 4 1; exit 0; " +
		"assert r0 0"},
}

var compareAll = flag.Bool("compare", false, "have other searches look for the bugs of the patterns, too")

// TestPatterns: the portfolio needs few executions to find the bug of each pattern.
func TestPatterns(t *testing.T) {
	const most = 2000
	for _, pattern := range patterns {
		p := testkit.ParseProgram(pattern.program)
		auto := firstViolation(t, autoSearch(), p, most)
		line := fmt.Sprintf("%-26s auto %4d", pattern.name, auto)
		if *compareAll {
			for _, s := range []struct {
				name   string
				search *Search
			}{{"dpor", dporSearch()}, {"pct 2", pctSearch(most, 2, 1)}, {"pct 3", pctSearch(most, 3, 1)},
				{"random", randomSearch(most, 1)}} {
				line += fmt.Sprintf("%8s %4d", s.name, firstViolation(t, s.search, p, most))
			}
		}
		t.Log(line)
		if auto == 0 || auto > pattern.within {
			t.Errorf("%s: %d executions, want at most %d", pattern.name, auto, pattern.within)
		}
	}
}
