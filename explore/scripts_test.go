package explore

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/testkit"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// TestScripts runs the scripts in testdata. Each consists of blocks: a command, its
// input, a line "----", the full expected output, and an empty line.
//
//	program     sets the program
//	search S    shows S (dpor, dfs, random N SEED, until-violation, max N) step by step
//	count S     shows only the verdict
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var s script
			var got strings.Builder
			for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
				input, _, _ := strings.Cut(block, "\n----")
				if strings.HasPrefix(input, "#") {
					fmt.Fprintf(&got, "%s\n\n", block)
					continue
				}
				fmt.Fprintf(&got, "%s\n----\n%s\n", input, s.command(t, input))
			}
			out := strings.TrimSpace(got.String()) + "\n"
			if *update {
				if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if out != string(text) {
				t.Errorf("output differs (-update rewrites it):\n%s", out)
			}
		})
	}
}

// script is the state of a script.
type script struct{ program *testkit.Program }

func (s *script) command(t *testing.T, input string) string {
	line, body, _ := strings.Cut(input, "\n")
	fields := strings.Fields(line)
	switch fields[0] {
	case "program":
		s.program = testkit.ParseProgram(body)
		return ""
	case "search":
		return s.search(t, scriptSearch(t, fields[1:]), true)
	case "count":
		return s.search(t, scriptSearch(t, fields[1:]), false)
	}
	t.Fatalf("unknown command %q", line)
	return ""
}

// scriptSearch reads a search: decorators first, what they decorate last.
func scriptSearch(t *testing.T, words []string) *Search {
	number := func(i int) int {
		n, err := strconv.Atoi(words[i])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	switch words[0] {
	case "dpor":
		return dporSearch()
	case "dfs":
		return dfsSearch()
	case "random":
		return randomSearch(number(1), uint64(number(2)))
	case "until-violation":
		return until(scriptSearch(t, words[1:]), AtViolation)
	case "max":
		return maxExecutions(scriptSearch(t, words[2:]), number(1))
	}
	t.Fatalf("unknown search %q", words)
	return nil
}

// search runs a search and describes it.
func (s *script) search(t *testing.T, search *Search, steps bool) string {
	var b strings.Builder
	for n := 1; ; n++ {
		schedule, more := search.Next()
		if !more {
			v := search.Verdict()
			fmt.Fprintf(&b, "%v: %s\n%d executions (%d redundant, %d violations), %d transitions\n",
				v.Kind, v.Reason, v.Executions, v.Redundant, v.Violations, v.Transitions)
			return b.String()
		}
		prefix, asleep := len(schedule.Prefix), len(schedule.Sleep)
		w := testkit.Run(s.program, schedule, 0)
		if steps {
			fmt.Fprintf(&b, "%d:%s: %s", n, w.Path(prefix), w.Outcome())
			for i := range asleep {
				fmt.Fprintf(&b, " [%s asleep]", w.NameOf(schedule.Sleep[i].Action))
			}
			b.WriteByte('\n')
		}
		if err := search.Report(w.Log); err != nil {
			t.Fatal(err)
		}
	}
}
