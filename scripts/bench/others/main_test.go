package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A row has a program in C, and one of the same name in Go.
func TestProgramsExist(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	classics, err := os.ReadFile("../../../examples/classics/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if _, err := os.Stat(source(dir, r)); err != nil {
			t.Error(err)
		}
		if !bytes.Contains(classics, fmt.Appendf(nil, "%q:", r.program)) {
			t.Errorf("examples/classics has no program %s", r.program)
		}
	}
}

// What the tools print is as it was seen: Nidhugg 0.4, GenMC 0.11, and the JSON of this tool.
func TestCounts(t *testing.T) {
	for _, test := range []struct {
		tool      tool
		out       string
		want      int
		wantError string
	}{
		{nidhugg(), "Trace count: 720\nNo errors were detected.\n", 720, ""},
		{nidhugg(), "Segmentation fault", 0, "nothing that was printed matches"},
		{genMC(), "Number of complete executions explored: 720\nTotal wall-clock time: 0.02s\n", 720, ""},
		{tandem(1, "off"), `{"verdict": "holds", "counts": {"executions": 720}}`, 720, ""},
		{tandem(1, "off"), `{"verdict": "unknown", "reason": "a bound"}`, 0,
			"the verdict is unknown: a bound"},
		{tandem(1, "off"), `HOLDS`, 0, "invalid character"},
	} {
		n, err := test.tool.count([]byte(test.out))
		if n != test.want || (err == nil) != (test.wantError == "") ||
			err != nil && !strings.Contains(err.Error(), test.wantError) {
			t.Errorf("%s, %q: %d, %v", test.tool.name, test.out, n, err)
		}
	}
}

// script is a tool that is a script of the shell.
func script(body string) tool {
	return tool{
		name:    "script",
		command: func(dir string, r row) []string { return []string{"sh", "-c", body, "sh", dir} },
		count:   printed(`(\d+) executions`),
	}
}

// Of several runs the fastest counts, and a run that fails is an error that has what was printed.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	// The first run burns processor time, the second one does not.
	twice := script(`if [ -e "$1/again" ]; then echo 2 executions; exit; fi; touch "$1/again"
		i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo 1 executions`)
	results, err := measure(dir, rows[0], []tool{twice}, 2)
	if err != nil || len(results) != 1 || results[0].executions != 2 || results[0].processor <= 0 {
		t.Errorf("measured %v, %v; want the second run", results, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "again")); err != nil {
		t.Error(err)
	}
	good := script("echo 7 executions")
	results, err = measure(dir, rows[0], []tool{script("echo no memory >&2; exit 3"), good}, 2)
	if results[0].processor != 0 || results[1].executions != 7 {
		t.Errorf("beside one that fails: %v", results)
	}
	if err == nil || !strings.Contains(err.Error(), "script of writers(8): exit status 3\nno memory") {
		t.Errorf("the error is %v", err)
	}
}

// TestTable: the table has the format of Markdown, so it can be put into a document as it is. A
// tool that needs more executions than the least shows how many, and one that failed says so.
func TestTable(t *testing.T) {
	var out strings.Builder
	header(&out, []tool{{name: "one"}, {name: "other"}, {name: "third"}})
	fmt.Fprintln(&out, line(row{"locks", 2, 20}, []result{{20, time.Second / 100}, {25, time.Second}, {}}))
	want := `| executions in a second of processor time | executions | one | other | third |
|---|--:|--:|--:|--:|
| locks(2) | 20 | 2000 | 25 (25) | failed |
`
	if out.String() != want {
		t.Errorf("the table is\n%s\nand should be\n%s", out.String(), want)
	}
}

// TestBadArguments: what cannot be done is said before anything is measured, which takes minutes.
func TestBadArguments(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-rounds", "0"}, "each has to be run once"},
		{[]string{"-rows", "("}, "-rows: error parsing regexp"},
		{[]string{"-speed"}, "not defined: -speed"},
	} {
		var out, progress strings.Builder
		if err := run(test.args, &out, &progress); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.args, err, test.want)
		}
	}
}

// A tool that is not installed says how to get it.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := nidhugg().missing()
	if err == nil || !strings.Contains(err.Error(), "install.sh") || errors.Is(err, os.ErrNotExist) {
		t.Errorf("the error is %v", err)
	}
}
