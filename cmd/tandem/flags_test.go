package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/configs"
)

// parsed are the flags of tandem check after these arguments, and which of them were given.
func parsed(t *testing.T, args ...string) (*checkFlags, *pflag.FlagSet) {
	t.Helper()
	f, p := &checkFlags{}, pflag.NewFlagSet("check", pflag.ContinueOnError)
	f.register(p)
	p.DurationVar(&f.saveInterval, "save-interval", 0, "")
	if err := p.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f, p
}

// TestTimeLiftsExecutions: with --time alone as many executions are run as there is time for.
func TestTimeLiftsExecutions(t *testing.T) {
	for args, want := range map[string]int{
		"":                           configs.Default().Bounds.Executions,
		"--time 1h":                  configs.MaxExecutions,
		"--time 1h --executions 7":   7,
		"--executions 7 --time 1h":   7,
		"--depth 70 --preemptions 1": configs.Default().Bounds.Executions,
	} {
		f, p := parsed(t, strings.Fields(args)...)
		got, err := f.load("", p.Changed)
		if err != nil || got.Bounds.Executions != want {
			t.Errorf("%s: %d executions, error %v; want %d", args, got.Bounds.Executions, err, want)
		}
	}
}

// TestFlagsWin: a flag that is given takes the place of what the file has, and no other value
// changes.
func TestFlagsWin(t *testing.T) {
	two, three := 2, 3
	for _, c := range []struct {
		args   string
		change func(*configs.Config)
	}{
		{"", func(*configs.Config) {}},
		{"--strategy never", func(c *configs.Config) { c.Strategy = "never" }},
		{"--backend criu", func(c *configs.Config) { c.Backend = "criu" }},
		{"--scope connection", func(c *configs.Config) { c.Scope = "connection" }},
		{"--executions 7", func(c *configs.Config) { c.Bounds.SetExecutions(7) }},
		{"--depth 8", func(c *configs.Config) { c.Bounds.Depth = 8 }},
		{"--time 9s", func(c *configs.Config) { c.Bounds.Time = 9 * time.Second }},
		{"--preemptions 2", func(c *configs.Config) { c.Bounds.Preemptions = &two }},
		{"--delays 3", func(c *configs.Config) { c.Bounds.Delays = &three }},
		{"--early-timers 4", func(c *configs.Config) { c.SetEarlyTimers(4) }},
		{"--workers 5", func(c *configs.Config) { c.Workers = 5 }},
		{"--checkpoint-mib 64", func(c *configs.Config) { c.CheckpointMib = 64 }},
		{"--save-interval 0", func(c *configs.Config) { c.SaveInterval = 0 }},
		{"--leaks=false", func(c *configs.Config) { c.Leaks = false }},
		{"--races off", func(c *configs.Config) { c.Races = nil }},
		{"--self-check off", func(c *configs.Config) { c.SelfCheck = 0 }},
		{"--preempt-in a/b,c/...", func(c *configs.Config) { c.PreemptIn = []string{"own", "a/b", "c/..."} }},
		{"--faults 2,reset", func(c *configs.Config) {
			c.World.Faults, c.World.FaultKinds = 2,
				[]string{"reset"}
		}},
		{"--date 2026-01-31", func(c *configs.Config) {
			c.Date = time.Date(2026, 1, 31, 0, 0, 0, 0,
				time.UTC)
		}},
	} {
		file := filepath.Join(t.TempDir(), "tandem.yaml")
		text := "strategy: always\nleaks: true\npreempt_in: [own]\ndate: 2025-01-01\nbounds: " +
			"{executions: 11}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		want, err := configs.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		c.change(&want)
		if want.Bounds.Executions > 11 {
			t.Errorf("%s: the file's number of executions is lifted", c.args)
		}
		f, p := parsed(t, strings.Fields(c.args)...)
		got, err := f.load(filepath.Dir(file), p.Changed)
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.args, d)
		}
		if named, err := parsedFile(t, file, c.args); err != nil || !cmp.Equal(want, named) {
			t.Errorf("%s, with the file named: %+v, %v", c.args, named, err)
		}
	}
}

func parsedFile(t *testing.T, file, args string) (configs.Config, error) {
	f, p := parsed(t, append(strings.Fields(args), "--config", file)...)
	return f.load(f.directory(t.Context(), "nowhere"), p.Changed)
}

// TestWrongFlags: a value that cannot be is refused, and the message names the flag or the key.
func TestWrongFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--faults many":       "--faults: ",
		"--races ./x":         "--races: ",
		"--self-check 0":      "--self-check: ",
		"--date tomorrow":     "--date: ",
		"--executions 0":      "--executions: 0 is not allowed",
		"--strategy often":    `strategy: there is no checkpoint strategy "often"`,
		"--config nothing.ym": "nothing.ym: there is no such file",
	} {
		f, p := parsed(t, strings.Fields(args)...)
		if _, err := f.load(t.TempDir(), p.Changed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

func TestShrinkAndViolations(t *testing.T) {
	for text, want := range map[string]int{"off": 0, "1": 1, "400": 400, "1000000": 1_000_000} {
		if n, err := parseShrink(text); n != want || err != nil {
			t.Errorf("--shrink %s: %d, %v", text, n, err)
		}
	}
	for text, want := range map[string]int{"all": check.MaxViolations, "1": 1, "100": 100} {
		if n, err := parseViolations(text); n != want || err != nil {
			t.Errorf("--violations %s: %d, %v", text, n, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "none", "1000001", "1e3"} {
		if _, err := parseShrink(text); err == nil || !strings.Contains(err.Error(), "--shrink "+text) {
			t.Errorf("--shrink %s: %v", text, err)
		}
		if _, err := parseViolations(text); err == nil ||
			!strings.Contains(err.Error(), "--violations "+text) {
			t.Errorf("--violations %s: %v", text, err)
		}
	}
}

// TestFlagsComeBack: the flags that a saved run keeps, given again, are the same.
func TestFlagsComeBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var args []string
		for _, flag := range []string{"--strategy=never", "--seed=3", "--leaks", "--preempt-in=a,b",
			"--time=3s", "-v"} {
			if rapid.Bool().Draw(r, flag) {
				args = append(args, flag)
			}
		}
		f, p := parsed(t, args...)
		again, q := parsed(t)
		given := givenFlags(p, "verbose")
		if err := giveAgain(q, given); err != nil {
			r.Fatal(err)
		}
		f.verbose = false // was left out
		if d := cmp.Diff(f.configFlags, again.configFlags, cmp.AllowUnexported(configFlags{})); d != "" {
			r.Fatalf("%q (-given +again)\n%s", args, d)
		}
		if f.search != again.search || again.verbose {
			r.Fatalf("%q: %+v, and again %+v", args, f.search, again.search)
		}
	})
}

// TestFlagsAreGivenAgain: what is given now stays, and what does not exist any more is an error.
func TestFlagsAreGivenAgain(t *testing.T) {
	f, p := parsed(t, "--executions", "5")
	given := map[string][]string{"executions": {"7"}, "preempt-in": {"a", "b"}}
	if err := giveAgain(p, given); err != nil || f.bounds.Executions != 5 ||
		!slices.Equal(f.preemptIn, []string{"a", "b"}) {
		t.Errorf("%d, %q, %v", f.bounds.Executions, f.preemptIn, err)
	}
	for name, want := range map[string]string{
		"vanished": "the run began with --vanished, and there is no such flag",
		"depth":    "the run began with --depth many: ",
	} {
		if err := giveAgain(p, map[string][]string{name: {"many"}}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestStrategyNames(t *testing.T) {
	for list, want := range map[string]string{
		"":                                "",
		"never":                           "never",
		"never,after-io":                  "never; after-io",
		"after-io,every=3,images=9,never": "after-io,every=3,images=9; never",
		"every=3":                         "every=3",
	} {
		var parts []string
		if list != "" {
			parts = strings.Split(list, ",")
		}
		if got := strings.Join(strategyNames(parts), "; "); got != want {
			t.Errorf("%s: %q, want %q", list, got, want)
		}
	}
}
