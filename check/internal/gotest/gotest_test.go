package gotest

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplitPattern(t *testing.T) {
	for pattern, want := range map[string][][]string{
		"":             {{""}},
		"TestA":        {{"TestA"}},
		"A/b/c":        {{"A", "b", "c"}},
		"A/":           {{"A", ""}},
		"A|B/c":        {{"A"}, {"B", "c"}},
		"(A|B)/(c/d)":  {{"(A|B)", "(c/d)"}},
		"[/|]/x":       {{"[/|]", "x"}},
		`A\/b|C`:       {{`A\/b`}, {"C"}},
		"A[(]/b[)]/c":  {{"A[(]", "b[)]", "c"}},
		"]/a":          {{"]", "a"}},
		"^A$/^b$|^C$/": {{"^A$", "^b$"}, {"^C$", ""}},
	} {
		if diff := cmp.Diff(want, splitPattern(pattern)); diff != "" {
			t.Errorf("%q:\n%s", pattern, diff)
		}
	}
}

// subtests is for TestPatternsSelect, which runs TestAwkward in processes of its own.
var subtests = flag.Bool("subtests", false, "run the subtests that other tests look at")

var awkward = []string{"a", "a/b", "a b", "a|b", "[x", "(y)", "c$", `d\e`, "#00", "é", "\x01"}

func TestAwkward(t *testing.T) {
	if !*subtests {
		t.Skip("for TestPatternsSelect only")
	}
	for _, name := range awkward {
		t.Run(name, func(t *testing.T) {
			t.Run("inner", func(t *testing.T) {})
		})
	}
}

// TestPatternsSelect: a pattern that is made for a subtest selects this one, the ones below and
// those around it, and skips it, as package testing itself has it.
func TestPatternsSelect(t *testing.T) {
	all := runAwkward(t, "-test.run=^TestAwkward$")
	if len(all.names) != 1+2*len(awkward) {
		t.Fatalf("%d tests, want %d: %q", len(all.names), 1+2*len(awkward), all.names)
	}
	for _, name := range all.children("TestAwkward", true) {
		want := []string{"TestAwkward"}
		var rest []string
		for _, other := range all.names {
			if other == name || strings.HasPrefix(name, other+"/") && other != "TestAwkward" ||
				strings.HasPrefix(other, name+"/") {
				want = append(want, other)
			}
			if other != name && !strings.HasPrefix(other, name+"/") {
				rest = append(rest, other)
			}
		}
		if diff := cmp.Diff(want, runAwkward(t, "-test.run="+exactly(name)).names); diff != "" {
			t.Errorf("%q is run:\n%s", name, diff)
		}
		if diff := cmp.Diff(rest,
			runAwkward(t, "-test.run=TestAwkward", "-test.skip="+exactly(name)).names); diff != "" {
			t.Errorf("%q is skipped:\n%s", name, diff)
		}
	}
}

func runAwkward(t *testing.T, args ...string) progress {
	t.Helper()
	cmd := exec.Command(os.Args[0], append(args, "-subtests", "-test.v=test2json")...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return readProgress(out)
}

func TestPatternsBelow(t *testing.T) {
	pattern := Pattern(splitPattern("B/x|TestB/y/z|A"))
	patterns, ok := pattern.below("TestB")
	if diff := cmp.Diff([]string{"^TestB$/x", "^TestB$/y/z"}, patterns); diff != "" || !ok {
		t.Error(diff)
	}
	if _, ok := pattern.below("TestC"); ok {
		t.Error("TestC is selected")
	}
	if diff := cmp.Diff([]string{"^TestB$/^y$/z"}, narrow(patterns, "TestB/y")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"^TestB$/^xy$", "^TestB$/^xy$/z"},
		narrow(patterns, "TestB/xy")); diff != "" {
		t.Error(diff)
	}
}

// output is what a test binary prints, with @ for the marker.
func output(text string) []byte {
	return bytes.ReplaceAll([]byte(strings.TrimPrefix(text, "\n")), []byte("@"), []byte(marker))
}

func TestBlamed(t *testing.T) {
	for name, test := range map[string]struct {
		output string
		want   []string
	}{
		"nothing said":    {"", []string{"TestX"}},
		"failed":          {"@=== RUN   TestX\n@--- FAIL: TestX (0.00s)\n", []string{"TestX"}},
		"panic elsewhere": {"@=== RUN   TestX\n@=== RUN   TestX/a\n", []string{"TestX/a"}},
		"subtest failed": {
			"@=== RUN   TestX\n@=== RUN   TestX/a\n@--- FAIL: TestX/a (0.00s)\n@--- FAIL: TestX (0.00s)\n",
			[]string{"TestX/a"}},
		"only that, so far": {
			"@=== RUN   TestX\n@=== RUN   TestX/a\n@--- FAIL: TestX/a (0.00s)\n@=== RUN   TestX/b\n",
			[]string{"TestX/a"}},
		"all passed": {"@=== RUN   TestX\n@--- PASS: TestX (0.00s)\n", []string{"TestX"}},
		"one waits its turn": {
			"@=== RUN   TestX\n@=== RUN   TestX/a\n@=== PAUSE TestX/a\n@=== RUN   TestX/b\n@=== PAUSE " +
				"TestX/b\n@=== CONT  TestX/b\n",
			[]string{"TestX/b"}},
		"not at the start of a line": {
			"@=== RUN   TestX\nwithout end@=== RUN   TestX/a\n@--- FAIL: TestX/a (0.00s)\n",
			[]string{"TestX/a"}},
		"output that looks like it": {"@=== RUN   TestX\n--- FAIL: TestY (0.00s)\n", []string{"TestX"}},
	} {
		p := readProgress(output(test.output))
		if diff := cmp.Diff(test.want, p.blamed("TestX")); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestTestText(t *testing.T) {
	got := Text(output(`
@=== RUN   TestX
@=== RUN   TestX/a
    x_test.go:1: said
no line end@--- FAIL: TestX/a (0.00s)
@=== NAME  TestX
    x_test.go:2: more
@--- FAIL: TestX (0.00s)
@=== NAME  
@FAIL
`))
	want := "    x_test.go:1: said\nno line end\n--- FAIL: TestX/a (0.00s)\n    x_test.go:2: more\n--- " +
		"FAIL: TestX (0.00s)\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestFailures: the lines of failing tests are told from those of others, which may come between
// them.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		output string
		want   []string
	}{
		"nothing": {"", nil},
		"a row": {`
@=== RUN   TestX
@=== RUN   TestX/good
@=== RUN   TestX/bad
@=== CONT  TestX/good
    x_test.go:1: fine
@--- PASS: TestX/good (0.00s)
@=== CONT  TestX/bad
    x_test.go:2: wrong
@=== NAME  TestX/good
    x_test.go:3: late
@=== NAME  TestX/bad
    x_test.go:4: more
        of it
@--- FAIL: TestX/bad (0.00s)
@=== NAME  TestX
    x_test.go:5: the whole
@--- FAIL: TestX (0.00s)
`, []string{"    x_test.go:2: wrong", "    x_test.go:4: more", "        of it"}},
		"without a word": {`
@=== RUN   TestX
said by nobody
@=== RUN   TestX/a b (c)
@--- FAIL: TestX/a b (c) (0.00s)
@--- FAIL: TestX (0.00s)
`, []string{"--- FAIL: TestX/a b (c) (0.00s)"}},
		"still running": {`
@=== RUN   TestX
    x_test.go:1: so far
`, []string{"    x_test.go:1: so far"}},
	} {
		if diff := cmp.Diff(c.want, Failures(output(c.output))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
