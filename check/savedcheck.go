package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/check/internal/fingerprint"
	"github.com/tandem-mc/tandem/check/internal/saved"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/sut"
)

// SavedCheck is a saved run together with how it was asked for. It is locked while it is open.
type SavedCheck struct {
	run   *saved.Run
	asked *savedRequest
}

// savedRequest is how a check was asked for: what is needed to ask for it again, and to see whether
// everything is still the same. It is kept as JSON, so fields may be added but not renamed.
type savedRequest struct {
	Package string              `json:"package"`
	Dir     string              `json:"dir"`             // where tandem was started
	Args    []string            `json:"args,omitempty"`  // that were given after --
	Flags   map[string][]string `json:"flags,omitempty"` // those that were given
	Config  map[string]string   `json:"config"`          // what came of the flags and the file
	Tandem  string              `json:"tandem"`          // hash of the checker
	Peers   map[string]string   `json:"peers,omitempty"` // see fingerprint.Files
}

// mayChange are the keys of the configuration that may change before a run goes on: the result does
// not depend on them, or they are bounds.
var mayChange = []string{
	"bounds.executions", "bounds.time", "workers", "backend", "save_interval", "cache_mib", "checkpoint_mib",
	"search_mib",
}

// OpenSavedCheck opens a saved run by its name or its directory. A place for runs is needed only
// for names. The caller closes the check.
func OpenSavedCheck(name string) (*SavedCheck, error) {
	runs, err := userRuns()
	if err != nil && !strings.ContainsRune(name, filepath.Separator) {
		return nil, err
	}
	run, err := runs.Open(name)
	if err != nil {
		return nil, err
	}
	s := &SavedCheck{run, &savedRequest{}}
	if err := json.Unmarshal(run.Asked(), s.asked); err != nil {
		run.Close()
		return nil, fmt.Errorf("%s: how the run was asked for cannot be read: %w", run.Path(), err)
	}
	return s, nil
}

// SavedRuns lists the names of the runs that are saved where the user's are, in their order. A
// place that cannot be read has none.
func SavedRuns() (names []string) {
	runs, err := userRuns()
	if err != nil {
		return nil
	}
	found, _ := os.ReadDir(string(runs))
	for _, entry := range found {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names
}

// Close gives the run free. What was saved stays.
func (s *SavedCheck) Close() { s.run.Close() }

// Path is the directory of the run.
func (s *SavedCheck) Path() string { return s.run.Path() }

// Dir is the directory in which the check was begun.
func (s *SavedCheck) Dir() string { return s.asked.Dir }

// Package is the package that is checked, as it was named.
func (s *SavedCheck) Package() string { return s.asked.Package }

// Args are the arguments of the program that were given.
func (s *SavedCheck) Args() []string { return s.asked.Args }

// Flags are the flags that were given, with their values.
func (s *SavedCheck) Flags() map[string][]string { return s.asked.Flags }

// describe says how the check is asked for, in the words in which a run keeps it. The date is fixed
// in it, so that a resumed check has the same clock.
func (r Request) describe() (a *savedRequest, err error) {
	a = &savedRequest{
		Package: r.Package, Args: r.Args, Flags: map[string][]string{}, Peers: map[string]string{},
	}
	if a.Dir, err = os.Getwd(); err != nil {
		return nil, err
	}
	if a.Config, err = fingerprint.Values(r.Config); err != nil {
		return nil, err
	}
	if a.Tandem, err = sut.HashFile("/proc/self/exe"); err != nil {
		return nil, err
	}
	if r.Config.Group != nil {
		a.Peers = fingerprint.Files(r.Config.Group)
	}
	for name, values := range r.Flags {
		a.Flags[name] = values
	}
	a.Flags["date"] = []string{r.Config.Date.Format(time.RFC3339)} // the default is another one tomorrow
	return a, nil
}

// unchanged is an error that names what is not as it was when the run began. Every difference has a
// line, and all are listed.
func (a *savedRequest) unchanged(now *savedRequest) error {
	var lines []string
	if a.Tandem != now.Tandem {
		lines = append(lines, "tandem: it is another build than the one that began the run")
	}
	lines = append(lines, fingerprint.Differences(a.Config, now.Config, mayChange...)...)
	if lines = append(lines, fingerprint.Changed(a.Peers, now.Peers)...); len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("the run cannot go on: since it began, this has changed:\n  %s\n"+
		"Put it back, or check from the beginning",
		strings.Join(lines, "\n  "))
}

// userRuns is where runs are kept: below the user's directory for state. A relative XDG_STATE_HOME
// is ignored, as its specification says.
func userRuns() (saved.Runs, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", &noPlaceError{err}
		}
		state = filepath.Join(home, ".local", "state")
	}
	return saved.Runs(filepath.Join(state, "tandem", "runs")), nil
}

// noPlaceError says why it is not known where runs are kept.
type noPlaceError struct{ why error }

// Error implements error, and tells how to save all the same.
func (e *noPlaceError) Error() string {
	return fmt.Sprintf("what is needed to go on with the check is not saved: %v; "+
		"name a directory with --run", e.why)
}

// saving says where and how often the check is saved; nil if there is no place for it. Without a
// place, the user is told, and the check goes on unsaved.
func (r Request) saving(say func(format string, a ...any)) (*Saving, error) {
	run, err := r.place()
	var nowhere *noPlaceError
	switch {
	case errors.As(err, &nowhere):
		say("%v", err)
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &Saving{
		Run: run, Interval: r.Config.SaveInterval,
		Asked: func() ([]byte, error) {
			a, err := r.describe()
			if err != nil {
				return nil, err
			}
			return json.Marshal(a)
		},
		Failed: func(err error) { say("%v; the check goes on", err) },
	}, nil
}

// place is the run in which the check is saved. A new run is not created on disk before the first
// save.
func (r Request) place() (*saved.Run, error) {
	if r.Resume != nil {
		return r.Resume.run, nil
	}
	if r.Save != "" {
		dir, err := filepath.Abs(r.Save)
		if err != nil {
			return nil, err
		}
		return saved.New(dir)
	}
	runs, err := userRuns()
	if err != nil {
		return nil, err
	}
	name := r.Package
	if build.IsLocalImport(name) { // . and .. are no names
		if name, err = filepath.Abs(name); err != nil {
			return nil, err
		}
	}
	return runs.New(filepath.Base(name))
}

// resumeCommand is the command that goes on with the run in a directory, with the help of the same
// workers. The name is enough for runs in the user's directory.
func resumeCommand(dir string, d Distribution) string {
	name := dir
	if runs, err := userRuns(); err == nil && filepath.Dir(dir) == string(runs) {
		name = filepath.Base(dir)
	}
	return "tandem check --resume " + textutil.QuoteArg(name) + d.Flags()
}
