package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/configs"
)

func TestBest(t *testing.T) {
	holds := func(strategy string, seconds float64) result {
		return result{strategy: strategy, verdict: "holds", seconds: seconds}
	}
	unknown := func(strategy string, executions int) result {
		return result{strategy: strategy, verdict: "unknown", executions: executions, seconds: 1}
	}
	failed := result{strategy: "failed", reason: "it cannot be"}
	for want, tries := range map[string][]result{
		"fast":    {failed, holds("slow", 2.5), holds("fast", 2.4), unknown("far", 100)},
		"decided": {unknown("far", 100), holds("decided", 9)},
		"far":     {unknown("near", 99), unknown("far", 100), failed},
		"":        {failed},
	} {
		if got, ok := best(tries); got.strategy != want || ok != (want != "") {
			t.Errorf("the best is %q, want %q", got.strategy, want)
		}
	}
}

const columns = "strategy,backend,scope,verdict,outcomes,seconds,executions,transitions," +
	"checkpoints,restores,restarts,reason"

const comparison = columns + `
never,auto,connection,,,,,,,,,the answers differ
always,auto,connection,holds,completed: 4,0.25,4,68,7,1,2,every execution is covered
after-io,auto,connection,unknown,completed: 3,600,3,50,7,1,2,the time of 10m0s is over
`

func TestReadComparison(t *testing.T) {
	tries, lines, err := readComparison(strings.NewReader(comparison))
	if err != nil || len(lines) != 4 || len(tries) != 3 {
		t.Fatalf("%d results, %d lines, error %v", len(tries), len(lines), err)
	}
	want := result{"always", "holds", "every execution is covered", 0.25, 4, 68, 7, 1, 2}
	if tries[1] != want {
		t.Errorf("%+v, want %+v", tries[1], want)
	}
	for input, says := range map[string]string{
		"": "there are none", "strategy\n": "there are none", "a,b\n1\n": "wrong number of fields",
		"strategy\nalways\n":                           "no column verdict",
		strings.Replace(comparison, "0.25", "soon", 1): "column seconds",
	} {
		if _, _, err := readComparison(strings.NewReader(input)); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, want %s", input, err, says)
		}
	}
}

// TestLines: a line says what came of an experiment, and what the paper says of it.
func TestLines(t *testing.T) {
	tries, _, err := readComparison(strings.NewReader(comparison))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tries []result
		known numbers
		want  string
	}{
		{tries, numbers{"after-nd", "7200", "8", "1234567"},
			"x holds always 0.25 s 4 7 1 2 | after-nd 7200 s 1234567 8"},
		{tries, numbers{}, "x holds always 0.25 s 4 7 1 2 | - - - -"},
		{tries[:1], numbers{}, "x could not be run: the answers differ"},
		{tries[2:], numbers{}, "x unknown after-io 600.00 s 3 7 1 2 | - - - - " +
			"not reached: the time of 10m0s is over"},
	} {
		if got := strings.Join(strings.Fields(line("x", c.tries, c.known)), " "); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

// TestTheirs: the file with the paper's numbers has a line for every experiment.
func TestTheirs(t *testing.T) {
	known, err := readTheirs("paper.csv")
	if err != nil || len(known) != len(experiments()) {
		t.Errorf("%d experiments, error %v; want %d", len(known), err, len(experiments()))
	}
	for name, want := range map[string]numbers{
		"HTTP client, merecat, 2 connections": {"never", "2", "0", "415"},
		"ScpTo, Dropbear":                     {"after-nd", "15", "9", "1027"},
		"ScpTo fixed, abstract server, 2 x":   {"after-nd", "559", "3", "557700"},
		"ND alphabet client, 3 x 4":           {},
	} {
		if known[name] != want {
			t.Errorf("%s: the paper has %+v, want %+v", name, known[name], want)
		}
	}
	experiment := "experiment,no_checkpoint_s\n\"ScpTo, Dropbear\","
	for text, says := range map[string]string{
		"name\n": "no column experiment", "\"": "parse error", "": "no line",
		experiment + "1\n":    "line 2: there is no column after_nd_s",
		experiment + "soon\n": "column no_checkpoint_s",
		"experiment\nnone\n":  `line 2: there is no experiment "none"`,
	} {
		name := filepath.Join(t.TempDir(), "theirs.csv")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readTheirs(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, want %s", text, err, says)
		}
	}
}

// TestConfigurations: each experiment has a program and a valid configuration with peers, and a
// name of its own.
func TestConfigurations(t *testing.T) {
	t.Chdir("../..")
	for _, name := range []string{"alphabet-server", "alphabet-client", "scpto-server"} {
		lookAt := filepath.Join("bin", name)
		if _, err := os.Stat(lookAt); err != nil {
			t.Skipf("%v: make build", err)
		}
	}
	seen := map[string]bool{}
	for _, e := range experiments() {
		if seen[e.name] {
			t.Errorf("two experiments are called %s", e.name)
		}
		seen[e.name] = true
		if _, err := os.Stat(filepath.Join(e.program, "main.go")); err != nil {
			t.Errorf("%s: %v", e.name, err)
		}
		config, err := e.configuration(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		c, err := configs.Load(config)
		if err != nil || c.Group == nil || e.clients > 0 && len(c.Group.Peers) != e.clients {
			t.Errorf("%s: %v, %+v", e.name, err, c.Group)
		}
	}
}
