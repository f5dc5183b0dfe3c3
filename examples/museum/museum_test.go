// Package museum_test finds bugs again that released libraries have had.
package museum_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const tandem = "../../bin/tandem"

var (
	most   = flag.String("most", "5m", "most time to find a bug, and then to look at the fixed version")
	update = flag.Bool("update", false, "put the table into README.md")
)

// exhibit is a program that uses a library as its users did. Its go.mod has the version with the
// bug, fixed.mod the first one without.
type exhibit struct {
	directory string
	kind      string   // the rule that is violated, as the JSON has it
	flags     []string // of tandem check: what a user would have set
}

var exhibits = []exhibit{
	{directory: "ldap-unbind", kind: "deadlock",
		flags: []string{"--preempt-in", "github.com/go-ldap/ldap/v3/..."}},
	{directory: "mqtt-disconnect", kind: "deadlock", flags: []string{"--faults", "1"}},
}

// outcome is what tandem says of one check.
type outcome struct {
	Verdict    string
	Violations []struct{ Rule string }
	Counts     struct {
		Executions int
		Seconds    float64
	}
}

// TestMuseum: each bug is found in the time that there is; its counterexample replays 20 times of
// 20; and the fixed version has none, in as many executions at least. It prints the table.
func TestMuseum(t *testing.T) {
	rows := []string{"exhibit | kind | settings | found after | fixed version"}
	for _, x := range exhibits {
		t.Run(x.directory, func(t *testing.T) {
			kept := filepath.Join(t.TempDir(), "counterexample")
			bug := x.check(t, "go.mod", "-o", kept)
			if bug.Verdict != "violated" || bug.Violations[0].Rule != x.kind {
				t.Fatalf("%s, %v", bug.Verdict, bug.Violations)
			}
			out, err := exec.Command(tandem, "replay", "--times", "20", kept).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("replay ends with %v, and not with exit code 1:\n%s", err, out)
			}
			fixed := x.check(t, "fixed.mod", "-o", kept)
			if fixed.Verdict == "violated" ||
				fixed.Verdict == "unknown" && fixed.Counts.Executions < bug.Counts.Executions {
				t.Errorf("the fixed version: %s after %d executions, %v", fixed.Verdict,
					fixed.Counts.Executions, fixed.Violations)
			}
			rows = append(rows, fmt.Sprintf(
				"[%s](%[1]s) | %s | `%s` | %d executions, %.1f s | %s, %d executions",
				x.directory, x.kind, strings.Join(x.flags, " "), bug.Counts.Executions,
				bug.Counts.Seconds, fixed.Verdict, fixed.Counts.Executions))
		})
	}
	t.Logf("\n%s", strings.Join(rows, "\n"))
	if *update && !t.Failed() {
		writeTable(t, append([]string{rows[0], "--- | --- | --- | --- | ---"}, rows[1:]...))
	}
}

// check checks the exhibit with the versions that a module file asks for.
func (x exhibit) check(t *testing.T, module string, flags ...string) outcome {
	t.Helper()
	arguments := append([]string{"check", "./" + x.directory, "--json", "--time", *most}, x.flags...)
	arguments = append(arguments, flags...)
	var stderr bytes.Buffer
	cmd := exec.Command(tandem, arguments...)
	cmd.Stderr = &stderr
	cmd.Env = append(os.Environ(), "GOFLAGS=-modfile="+module)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var o outcome
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatalf("tandem %q: %v\n%s%s", arguments, err, out, stderr.Bytes())
	}
	return o
}

// Between these lines README.md has the table.
const beginTable, endTable = "<!-- table -->\n", "<!-- end of table -->\n"

func writeTable(t *testing.T, rows []string) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), beginTable)
	_, after, ok2 := strings.Cut(rest, endTable)
	if !ok || !ok2 {
		t.Fatalf("README.md has no place for the table: %q and %q", beginTable, endTable)
	}
	table := "| " + strings.Join(rows, " |\n| ") + " |\n"
	if err := os.WriteFile("README.md", []byte(before+beginTable+table+endTable+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
