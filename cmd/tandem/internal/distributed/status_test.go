package distributed

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/distribute"
)

// TestStatus: the table and the page say how far the check is, and what each worker does.
func TestStatus(t *testing.T) {
	none := &check.Distributed{}
	var s check.Distributed
	if err := json.Unmarshal([]byte(`{"Progress": {"run": {"id": "r", "package": "./cmd/<client>"},
		"parts": {"given": 9, "done": 5, "withdrawn": 3, "executions": 700, "repeated": 20},
		"executions": 1234, "elapsed": 61000000000},
		"Workers": [{"id": "A", "host": "one", "run": "r", "part": 7, "parts": 3, "executions": 40000,
		"rate": 9999.6},
		{"id": "E", "host": "five", "run": "r", "shares": [4, 5]},
		{"id": "F", "host": "six", "run": "r", "shares": [6]},
		{"id": "B", "host": "two", "run": "r"}, {"id": "C", "host": "three"},
		{"id": "D", "host": "four", "problem": "another build"}]}`), &s); err != nil {
		t.Fatal(err)
	}
	run := distribute.Run{Package: "./paxos", Key: "k"}
	early := check.Distributed{Progress: &distribute.Progress{Run: run, Elapsed: 61 * time.Second}}
	states := check.Distributed{Progress: &distribute.Progress{Run: run, Elapsed: 61 * time.Second,
		States: &distribute.States{Count: 25317, Transitions: 81345, Depth: 12}}}
	for name, c := range map[string]struct {
		s    *check.Distributed
		want []string
	}{
		"none": {none, []string{"no check leads there", "WORKER  HOST"}},
		"one": {&s, []string{"check ./cmd/<client>", "executions 1,234 in 1m1s",
			"5 done, 1 open, 3 withdrawn",
			"720 executions, 20 of them twice or too late", "A one 3 40,000 10,000 explores part 7",
			"B two 0 0 0 waits for a part", "C three 0 0 0 waits for a check", "D four 0 0 0 another build",
			"E five 2 - - does 2 parts of a search over states",
			"F six 1 - - does 1 part of a search over states"}},
		"states": {&states, []string{"check ./paxos",
			"states 25,317 in 1m1s, the last ones 12 transitions from the start", "transitions 81,345"}},
		"early": {&early, []string{"check ./paxos", "states none is told yet, after 1m1s"}},
	} {
		var table strings.Builder
		writeStatus(&table, c.s)
		words := strings.Join(strings.Fields(table.String()), " ")
		for _, want := range c.want {
			if !strings.Contains(words, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s: the table lacks %q:\n%s", name, want, &table)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "status.html")
	for _, follow := range []bool{false, true} {
		if err := writeStatusPage(file, &s, follow); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(file)
		for _, want := range []string{"./cmd/&lt;client&gt;", "<td>explores part 7</td>",
			"<th>per second</th>", "<td>1,234 in 1m1s</td>"} {
			if !strings.Contains(string(page), want) {
				t.Errorf("the page lacks %q: %v\n%s", want, err, page)
			}
		}
		if strings.Contains(string(page), `http-equiv="refresh"`) != follow {
			t.Errorf("the page loads itself anew: %v", !follow)
		}
	}
	if err := writeStatusPage(filepath.Join(t.TempDir(), "none", "status.html"), none, false); err == nil {
		t.Error("a page in a directory that is not there")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); len(left) != 1 {
		t.Errorf("what is left: %v", left)
	}
}
