package check

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLockOwners: who is blocked is shown with who keeps it waiting, and since where.
func TestLockOwners(t *testing.T) {
	p, err := buildProgram("testdata/held", filepath.Join(tree, "held"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/held/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]string{
		"ended":    "Lock mutex 1 at WAITS; held by main/1, which has ended, since step N at HELD",
		"itself":   "Lock mutex 1 at WAITS; held by main itself since step N at HELD",
		"given on": "Lock mutex 1 at WAITS; held by main/1 since step N at HELD",
		"reader": "Lock, waiting for the readers of rwmutex 1 at WAITS; held for reading by main/1 since " +
			"step N at HELD",
		"claimant": "RLock rwmutex 1 at WAITS; held for reading by main itself since step N at HELD, " +
			"waited for by the writer main/1 since step N at CLAIMED",
		"writer": "RLock rwmutex 1 at WAITS; held by main/1 since step N at HELD",
		"group":  "Wait for wait group 1 at WAITS; its counter is 2",
	} {
		for i, line := range strings.Split(string(source), "\n") {
			if _, mark, ok := strings.Cut(line, "// "+what+": "); ok {
				want = strings.ReplaceAll(want, strings.ToUpper(mark),
					fmt.Sprintf("testdata/held/main.go:%d", i+1))
			}
		}
		result := check(t, Options{Program: p, Args: []string{what}, Search: untilViolation(dporSearch())})
		if len(result.Violations) != 1 {
			t.Errorf("%s: %+v", what, result.Verdict)
			continue
		}
		got := result.Violations[0].Counterexample.Goroutines[0].Blocked
		if got = regexp.MustCompile(`since step \d+`).ReplaceAllString(got, "since step N"); got != want {
			t.Errorf("%s: main is blocked in %q, want %q", what, got, want)
		}
	}
}
