package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/sut"
)

// asked is how a check was asked for: what is needed to ask for it again, and to see
// whether it is still the same.
type asked struct {
	Package string              `json:"package"`
	Dir     string              `json:"dir"`             // where tandem was started
	Args    []string            `json:"args,omitempty"`  // that were given after --
	Flags   map[string][]string `json:"flags,omitempty"` // those that were given
	Config  map[string]string   `json:"config"`          // what came of the flags and the file
	Tandem  string              `json:"tandem"`          // hash of the checker
	Peers   map[string]string   `json:"peers,omitempty"` // see restsOn
}

// anew are the flags that may be given when a run goes on. The others are part of the run.
var anew = []string{"resume", "executions", "time", "workers", "backend", "checkpoint-mib", "ckptd", "save-interval", "out", "shrink", "json", "unfold", "verbose"}

// notCompared are the keys of the configuration that may change between two sessions of a run.
var notCompared = []string{"bounds.executions", "bounds.time", "workers", "backend", "save_interval", "cache_mib", "checkpoint_mib"}

// request is a check that is to run.
type request struct {
	flags  *pflag.FlagSet
	pkg    string
	args   []string
	config configs.Config
}

// describe puts a request into the words in which it is saved.
func (r request) describe() (a *asked, err error) {
	a = &asked{Package: r.pkg, Args: r.args, Flags: map[string][]string{}, Peers: map[string]string{}}
	if a.Dir, err = os.Getwd(); err != nil {
		return nil, err
	}
	if a.Config, err = flatten(r.config); err != nil {
		return nil, err
	}
	if a.Tandem, err = sut.HashFile("/proc/self/exe"); err != nil {
		return nil, err
	}
	if r.config.Group != nil {
		a.Peers = restsOn(r.config.Group)
	}
	r.flags.Visit(func(flag *pflag.Flag) {
		if slices.Contains([]string{"resume", "run"}, flag.Name) {
			return
		}
		a.Flags[flag.Name] = []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			a.Flags[flag.Name] = list.GetSlice()
		}
	})
	a.Flags["date"] = []string{r.config.Date.Format(time.RFC3339)} // which may be that of today
	return a, nil
}

// goOn goes on with a saved run.
func (f *checkFlags) goOn(c *cobra.Command) error {
	var wrong []string
	c.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(anew, flag.Name) {
			wrong = append(wrong, "--"+flag.Name)
		}
	})
	if len(wrong) > 0 {
		return fmt.Errorf("--resume goes on with a run as it began: leave out %s", strings.Join(wrong, ", "))
	}
	runs, err := runsDirectory()
	if err != nil && !strings.ContainsRune(f.resume, filepath.Separator) {
		return err
	}
	run, err := runs.Open(f.resume)
	if err != nil {
		return err
	}
	defer run.Close()
	a := &asked{}
	if err := json.Unmarshal(run.Asked(), a); err != nil {
		return fmt.Errorf("%s: how the run was asked for cannot be read: %w", run.Path(), err)
	}
	if err := f.askAgain(c.Flags(), a); err != nil {
		return fmt.Errorf("%s: %w", run.Path(), err)
	}
	return f.run(c, a.Package, a.Args, &resumed{run, a})
}

// resumed is a run that is gone on with.
type resumed struct {
	run   *check.SavedRun
	asked *asked
}

// askAgain gives the flags that were given when the run began, where it began.
func (f *checkFlags) askAgain(flags *pflag.FlagSet, a *asked) error {
	if f.out != "" {
		out, err := filepath.Abs(f.out)
		if err != nil {
			return err
		}
		f.out = out
	}
	if err := os.Chdir(a.Dir); err != nil {
		return fmt.Errorf("going to where the run began: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Flags)) {
		flag := flags.Lookup(name)
		if flag == nil {
			return fmt.Errorf("the run began with --%s, and there is no such flag", name)
		}
		if flag.Changed {
			continue
		}
		for _, value := range a.Flags[name] {
			if err := flags.Set(name, value); err != nil {
				return fmt.Errorf("the run began with --%s %s: %w", name, value, err)
			}
		}
	}
	return nil
}

// sameAs sees that what is to run is what a saved run has begun with.
func (f *checkFlags) sameAs(r *resumed, flags *pflag.FlagSet, config configs.Config) error {
	if r == nil {
		return nil
	}
	f.elapsed = r.run.Elapsed()
	now, err := request{flags, r.asked.Package, r.asked.Args, config}.describe()
	if err != nil {
		return err
	}
	return r.asked.unchanged(now)
}

// unchanged is an error that names what is not as it was when the run began.
func (a *asked) unchanged(now *asked) error {
	var list []string
	changed := func(what, was, is string) {
		if was != is {
			list = append(list, fmt.Sprintf("%s: it was %s, and is %s", what, orNothing(was), orNothing(is)))
		}
	}
	if a.Tandem != now.Tandem {
		list = append(list, "tandem: it is another build than the one that began the run")
	}
	for _, key := range bothKeys(a.Config, now.Config) {
		if !slices.Contains(notCompared, key) {
			changed(key, a.Config[key], now.Config[key])
		}
	}
	if list = append(list, changes(a.Peers, now.Peers)...); len(list) == 0 {
		return nil
	}
	return fmt.Errorf("the run cannot go on: since it began, this has changed:\n  %s\nPut it back, or check from the beginning", strings.Join(list, "\n  "))
}

func orNothing(value string) string {
	if value == "" {
		return "not there"
	}
	return value
}

// flatten lists the values of a configuration, or of a part of one, by their keys, as a file
// writes them. Long values are given by their hash.
func flatten(config any) (map[string]string, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	flat := map[string]string{}
	var walk func(key string, value any)
	walk = func(key string, value any) {
		switch value := value.(type) {
		case nil:
		case map[string]any:
			for name, inner := range value {
				walk(join(key, name), inner)
			}
		case []any:
			for i, inner := range value {
				walk(fmt.Sprintf("%s[%d]", key, i), inner)
			}
		default:
			text, _ := json.Marshal(value) // it has just been read
			if flat[key] = string(text); len(text) > 100 {
				flat[key] = fmt.Sprintf("%d bytes with the hash %x", len(text), sha256.Sum256(text))
			}
		}
	}
	walk("", tree)
	return flat, nil
}

// join is the key of a field, as a file writes it: SelfCheck is self_check, and what is in World
// and Group stands at the top.
func join(key, name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	if key == "" || key == "world" || key == "group" {
		return b.String()
	}
	return key + "." + b.String()
}

// runsDirectory is where runs are kept: below the user's directory for state.
func runsDirectory() (check.Runs, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", &noPlaceError{err}
		}
		state = filepath.Join(home, ".local", "state")
	}
	return check.Runs(filepath.Join(state, "tandem", "runs")), nil
}

// saving says where and how often a check is saved; nil if there is no place for it.
func (f *checkFlags) saving(asked request, r *resumed, say func(format string, a ...any)) (*check.Saving, error) {
	run, err := f.place(asked.pkg, r)
	var nowhere *noPlaceError
	switch {
	case errors.As(err, &nowhere):
		say("%v", err)
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &check.Saving{
		Run: run, Interval: asked.config.SaveInterval,
		Asked: func() ([]byte, error) {
			a, err := asked.describe()
			if err != nil {
				return nil, err
			}
			return json.Marshal(a)
		},
		Failed: func(err error) { say("%v; the check goes on", err) },
	}, nil
}

// place is where a check is saved.
func (f *checkFlags) place(pkg string, r *resumed) (*check.SavedRun, error) {
	if r != nil {
		return r.run, nil
	}
	if f.saveTo != "" {
		dir, err := filepath.Abs(f.saveTo)
		if err != nil {
			return nil, err
		}
		return check.NewSavedRun(dir)
	}
	runs, err := runsDirectory()
	if err != nil {
		return nil, err
	}
	if build.IsLocalImport(pkg) { // . and .. have no name
		if pkg, err = filepath.Abs(pkg); err != nil {
			return nil, err
		}
	}
	return runs.New(filepath.Base(pkg))
}

// noPlaceError says why it is not known where runs are kept.
type noPlaceError struct{ why error }

func (e *noPlaceError) Error() string {
	return fmt.Sprintf("what is needed to go on with the check is not saved: %v; name a directory with --run", e.why)
}

// resumeCommand is how to go on from a directory.
func resumeCommand(dir string) string {
	name := dir
	if runs, err := runsDirectory(); err == nil && filepath.Dir(dir) == string(runs) {
		name = filepath.Base(dir)
	}
	return "tandem check --resume " + name
}

// raised are the flags with which a search that a bound has ended gets any further: ten times as far.
func raised(b configs.Bounds, result *check.Result) string {
	const by = 10
	switch {
	case result.Verdict.Executions >= b.Executions && b.Executions < configs.MaxExecutions:
		return fmt.Sprint(" --executions ", min(by*b.Executions, configs.MaxExecutions))
	case result.Counts.Elapsed >= b.Time && b.Time < configs.MaxTime:
		return fmt.Sprint(" --time ", min(by*b.Time, configs.MaxTime))
	}
	return ""
}

var errResumeArgs = errors.New("--resume goes on with a run that has its package and arguments: leave them out")
