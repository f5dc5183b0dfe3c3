package configs

import (
	"encoding/json"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// TestEffectiveOrder: each key of the schema is shown, once.
func TestEffectiveOrder(t *testing.T) {
	var want []string
	for name, f := range schema.fields {
		if f.shape != record {
			want = append(want, name)
		}
		for below := range maps.Keys(f.fields) {
			if f.shape == record {
				want = append(want, name+"."+below)
			}
		}
	}
	slices.Sort(want)
	got := Keys()
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-schema +shown)\n%s", d)
	}
}

// again loads what is printed of a configuration, from another directory.
func again(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, dir string, c Config, file string, changed map[string]string) Config {
	e, err := EffectiveOf(c, file, changed)
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.YAML()
	if err != nil {
		t.Fatal(err)
	}
	printed := filepath.Join(dir, "printed.yaml")
	if err := os.WriteFile(printed, text, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Load(printed)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return got
}

var equalAddresses = cmpopts.EquateComparable(netip.AddrPort{})

// TestEffectiveMeansTheSame: what is printed of a file, and kept elsewhere, means what the file
// does. Each line of the file is named that has a value.
func TestEffectiveMeansTheSame(t *testing.T) {
	files, err := filepath.Glob("../examples/*/tandem.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range append(files, "example.yaml") {
		c, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		// Programs of peers are large, and cmp is slow with them.
		if got := again(t, t.TempDir(), c, file, nil); !reflect.DeepEqual(c, got) {
			t.Errorf("%s (-file +printed)\n%s", file, cmp.Diff(c, got, equalAddresses))
		}
	}
}

// TestEffectiveRelativePaths: files and directories beside a configuration are found from
// elsewhere.
func TestEffectiveRelativePaths(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"input": "text", "program": "#!", "www/index.html": "<p>",
		"tandem.yaml": `stdin_from: input
peers:
  - {profile: python, name: one, program: program, listen: "127.0.0.1:8080"} # a comment
  - {profile: merecat, port: 8081, directory: www}
files: [{path: "{scratch}/x", from: ./input}]
`,
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "tandem.yaml")
	c, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(c, again(t, t.TempDir(), c, file, nil), equalAddresses); d != "" {
		t.Errorf("(-file +printed)\n%s", d)
	}
}

// TestEffectiveChanges: values that flags have set mean the same in a file, whichever they are.
// Whether a bound was asked for is a part of that.
func TestEffectiveChanges(t *testing.T) {
	dir := t.TempDir()
	changes := map[string]func(r *rapid.T, c *Config){
		"strategy": func(_ *rapid.T, c *Config) { c.Strategy = "after-io,every=3" },
		"scope":    func(_ *rapid.T, c *Config) { c.Scope = "auto" },
		"bounds.executions": func(r *rapid.T, c *Config) {
			c.Bounds.SetExecutions(rapid.SampledFrom([]int{1, 10_000, MaxExecutions}).Draw(r, "n"))
		},
		"bounds.time":        func(_ *rapid.T, c *Config) { c.Bounds.SetTime(10 * time.Minute) },
		"bounds.preemptions": func(_ *rapid.T, c *Config) { c.Bounds.Preemptions = new(0) },
		"bounds.delays":      func(_ *rapid.T, c *Config) { c.Bounds.Delays = new(4) },
		"early_timers": func(r *rapid.T, c *Config) {
			c.SetEarlyTimers(rapid.IntRange(0, 3).Draw(r, "timers"))
		},
		"faults": func(_ *rapid.T, c *Config) {
			c.SetFaults(Faults{2, []string{"reset", "end"}, []string{"read"}, nil, nil, nil, nil, false})
		},
		"races":      func(_ *rapid.T, c *Config) { c.Races = nil },
		"self_check": func(r *rapid.T, c *Config) { c.SelfCheck = rapid.IntRange(0, 2).Draw(r, "one of") },
		"preempt_in": func(_ *rapid.T, c *Config) { c.PreemptIn = []string{"a/b", "c/..."} },
		"args":       func(_ *rapid.T, c *Config) { c.Args = []string{"2", "", "# x", "a: b", "-n"} },
		"date": func(_ *rapid.T, c *Config) {
			c.Date = time.Date(2026, 1, 31, 18, 0, 1, 0, time.UTC)
		},
		"workers": func(_ *rapid.T, c *Config) { c.Workers = 3 },
		"leaks":   func(_ *rapid.T, c *Config) { c.Leaks = true },
	}
	names := slices.Sorted(maps.Keys(changes))
	rapid.Check(t, func(r *rapid.T) {
		c, changed := Default(), map[string]string{}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(r, "changed") {
			changes[name](r, &c)
			changed[name] = "--" + name
		}
		if d := cmp.Diff(c, again(r, dir, c, "", changed)); d != "" {
			r.Fatalf("(-changed +printed)\n%s", d)
		}
	})
}

// TestEffectiveSources: each value has its source, in both forms.
func TestEffectiveSources(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tandem.yml")
	if err := os.WriteFile(file, []byte("\nleaks: true\nbounds:\n  depth: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	c.Strategy = "never"
	e, err := EffectiveOf(c, file, map[string]string{"strategy": "--strategy"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.JSON()
	var entries map[string]struct {
		Value any
		From  string
	}
	if err == nil {
		err = json.Unmarshal(text, &entries)
	}
	if err != nil {
		t.Fatal(err)
	}
	yaml, err := e.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"leaks": "tandem.yml:2", "bounds.depth": "tandem.yml:4", "strategy": "--strategy", "scope": "default",
		"early_timers": "default: the search decides",
	} {
		if got := entries[key]; got.From != want || got.Value == nil {
			t.Errorf("%s: %+v, want %q", key, got, want)
		}
		name := key[strings.Index(key, ".")+1:]
		found := false
		for line := range strings.Lines(string(yaml)) {
			found = found || strings.Contains(line, name+": ") && strings.HasSuffix(line, " # "+want+"\n")
		}
		if !found {
			t.Errorf("%s from %s is not in\n%s", name, want, yaml)
		}
	}
}
