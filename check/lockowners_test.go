package check

import (
	"fmt"
	"os"
	"path/filepath"
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
		"ended":    "lock (mutex 1) at WAITS; main/1, which has ended, has held it since HELD",
		"itself":   "lock (mutex 1) at WAITS; main itself has held it since HELD",
		"given on": "lock (mutex 1) at WAITS; main/1 has held it since HELD",
		"reader":   "wait for the readers of (rwmutex 1) at WAITS; main/1 has held it for reading since HELD",
		"claimant": "lock for reading (rwmutex 1) at WAITS; main itself has held it for reading since " +
			"HELD, main/1 has waited to write since CLAIMED",
		"writer": "lock for reading (rwmutex 1) at WAITS; main/1 has held it since HELD",
		"group":  "wait for (wait group 1) at WAITS; its counter is 2",
	} {
		for i, line := range strings.Split(string(source), "\n") {
			if _, mark, ok := strings.Cut(line, "// "+what+": "); ok {
				want = strings.ReplaceAll(want, strings.ToUpper(mark), fmt.Sprintf("held/main.go:%d", i+1))
			}
		}
		result := check(t, Options{Program: p, Args: []string{what}, Search: untilViolation(dporSearch())})
		if len(result.Violations) != 1 {
			t.Errorf("%s: %+v", what, result.Verdict)
			continue
		}
		if got := result.Violations[0].Counterexample.Goroutines[0].Blocked; got != want {
			t.Errorf("%s: main is blocked in %q, want %q", what, got, want)
		}
	}
}
