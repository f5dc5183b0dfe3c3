package check

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/strategy"
	"github.com/tandem-mc/tandem/sut"
)

// Request asks for a check in the words of its user: where Options has objects, it has names.
type Request struct {
	Package    string   // a directory, an import path or files, as the go command takes them
	Args       []string // of the program, in place of those of the configuration; nil: those
	Config     configs.Config
	Search     SearchRequest
	Isolation  string // snapshot or fork
	Shrink     int    // see Options
	Violations int    // see Options
	Daemon     string // socket of a shared checkpoint daemon; empty: the check starts one of its own

	// Flags are those that the user gave. A run that is saved keeps them for when it goes on.
	Flags map[string][]string
	// Save says where the run is saved. Resume is the run that goes on; then Save is not used.
	Save   string
	Resume *SavedCheck
	// Cache is a file in which the answers of the peers are kept from one check to the next; may be empty.
	Cache string
}

// Listener is told what happens while a job runs. Its functions are called by one goroutine at a time.
type Listener struct {
	Say      func(format string, a ...any) // a message for the user, without a line feed
	Progress func(Progress)                // several times a second; may be nil
	Log      io.Writer                     // what the checkpoint daemon and CRIU say; may be nil
}

// Progress is how far a check is.
type Progress struct {
	Verdict explore.Verdict // of the search, so far
	Counts  Counts
}

// Job is a request that has been understood: no name in it is wrong. Nothing is built or started yet.
type Job struct {
	request Request
	options Options
	before  time.Duration // that a run which goes on has taken already
}

// NewJob sees that a request can be fulfilled, as far as that shows without starting anything. If it
// goes on with a saved run, everything that the result depends on must be as it was.
func NewJob(r Request) (*Job, error) {
	if r.Config.Group != nil && os.Geteuid() != 0 {
		return nil, errors.New("checking against peers needs root, to checkpoint them: run tandem as root, for instance with sudo")
	}
	if len(r.Args) > 0 {
		r.Config.Args = r.Args
	}
	j := &Job{request: r}
	if r.Resume != nil {
		now, err := r.describe()
		if err != nil {
			return nil, err
		}
		if err := r.Resume.asked.unchanged(now); err != nil {
			return nil, err
		}
		j.before = r.Resume.run.Elapsed()
	}
	var err error
	j.options, err = r.options(j.before)
	return j, err
}

// Workers is how many executions the job runs at the same time, at most.
func (j *Job) Workers() int { return j.options.Workers }

// options are those that the request stands for, but for what is built and started.
func (r Request) options(before time.Duration) (Options, error) {
	dir, err := os.Getwd()
	if err != nil {
		return Options{}, err
	}
	config := r.Config
	o := Options{
		Modules: new(Modules), Package: r.Package, Args: config.Args, Env: config.Env, World: config.World, Dir: dir,
		Depth: config.Bounds.Depth, Group: config.Group, Leaks: config.Leaks, SelfCheck: config.SelfCheck,
		StrategyName: config.Strategy, BackendName: config.Backend,
		Workers:      cmp.Or(config.Workers, usefulWorkers(config)),
		PeerPatience: cmp.Or(config.PeerPatience, -1), // 0 would be the default
		Masks:        masks(config),
		Shrink:       r.Shrink, Violations: r.Violations,
		CacheBytes: int64(config.CacheMib) << 20, CheckpointBytes: int64(config.CheckpointMib) << 20,
		Assumed: r.Search.assumed(config.Bounds),
	}
	o.World.Start = config.Date.Unix()
	if o.Audited = config.Scope == "auto"; o.Audited || config.Scope == iocache.Connection.String() {
		o.Scope = iocache.Connection
	}
	o.Again = func() *explore.Search {
		s, _ := r.Search.newSearch(config.Bounds, before) // the first time there was no error
		return s
	}
	if o.Strategy, err = strategy.ByName(config.Strategy); err != nil {
		return o, err
	}
	switch r.Isolation {
	case "snapshot":
	case "fork":
		o.Isolation = sut.Fork
	default:
		return o, fmt.Errorf("--isolation %s: there is no such isolation: choose snapshot or fork", r.Isolation)
	}
	o.Search, err = r.Search.newSearch(config.Bounds, before)
	return o, err
}

// masks are the rules of the configuration, with addresses for names of peers.
func masks(config configs.Config) (list []iocache.Mask) {
	for _, m := range config.Masks {
		pattern := regexp.MustCompile(m.Pattern) // it was validated
		if m.Peer == "" {
			list = append(list, iocache.Mask{Pattern: pattern})
		}
		for _, at := range config.Listens(m.Peer) {
			list = append(list, iocache.Mask{Addr: at.String(), Pattern: pattern})
		}
	}
	return list
}
