package check

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/tandem-mc/tandem/check/internal/fingerprint"
	"github.com/tandem-mc/tandem/check/internal/modules"
	"github.com/tandem-mc/tandem/check/internal/saved"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/strategy"
	"github.com/tandem-mc/tandem/sut"
)

// Request asks for a check in the words of its user: where Options has objects, it has names.
type Request struct {
	Package    string   // a directory, an import path or files, as the go command takes them
	Args       []string // of the program, in place of those of the configuration; nil: those
	Config     configs.Config
	Tags       []string // of the build; empty: those of GOFLAGS
	Search     SearchRequest
	Isolation  string // snapshot, main or fork
	Shrink     int    // see Options
	Violations int    // see Options
	Daemon     string // socket of a shared checkpoint daemon; empty: the check starts one of its own

	// Flags are those that the user gave. A run that is saved keeps them for when it goes on.
	Flags map[string][]string
	// Save says where the run is saved. Resume is the run that goes on; then Save is not used.
	// Unsaved says that a check of nodes is not saved at all.
	Save    string
	Resume  *SavedCheck
	Unsaved bool
	// Cache is a file in which the answers of the peers are kept for the next check; may be empty.
	Cache        string
	Distribution Distribution
}

// Listener is told what happens while a job runs.
type Listener struct {
	// Say is given messages for the user, without a line feed. Several goroutines may call it.
	Say      func(format string, a ...any)
	Progress func(Progress) // several times a second; may be nil
	Log      io.Writer      // what the checkpoint daemon and CRIU say; may be nil
}

// Progress is how far a check is.
type Progress struct {
	Verdict explore.Verdict // of the search, so far
	Counts  Counts
	// Found are the distinct violations so far, in the order of the search. They have no size yet,
	// since they are made simpler in the end. Empty where only one is looked for, since that ends
	// the search.
	Found []report.Violation
	// Limit is how many executions there are at most to make a violation simpler, and Tried how
	// many there were; 0 and 0: none is made simpler at the moment.
	Tried, Limit int
}

// errNodes is the error of what is done with one program where the configuration has several.
var errNodes = errors.New("the configuration has nodes, which only tandem check runs: name another one " +
	"with -c")

// Options are those that the request stands for, for Run. The caller adds what is built and
// started: the program, and the daemon if there are peers.
func (r Request) Options() (Options, error) { return r.options(0) }

// options are those that the request stands for, but for what is built and started. before is the
// time that a resumed run has used up already.
func (r Request) options(before time.Duration) (Options, error) {
	dir, err := os.Getwd()
	if err != nil {
		return Options{}, err
	}
	config := r.Config
	if len(config.Nodes) > 0 {
		return Options{}, errNodes
	}
	o := Options{
		Package: r.Package, Args: config.Args, Env: config.Env, World: config.World, Dir: dir,
		Time: config.Bounds.Time, Depth: config.Bounds.Depth,
		Leaks: config.Leaks, SelfCheck: config.SelfCheck,
		Violations: r.Violations, Shrink: r.Shrink, Workers: usefulWorkers(config),
		PeerOptions: peerOptions(config),
		ReportOptions: ReportOptions{Distribution: r.Distribution, Modules: new(modules.Set),
			Assumed: r.Search.assumed(config.Bounds)},
	}
	o.World.Start = config.Date.Unix()
	if o.Audited = config.Scope == "auto"; o.Audited || config.Scope == iocache.Connection.String() {
		o.Scope = iocache.Connection
	}
	search := r.Search
	search.Punctual = search.Punctual || config.Group != nil // peers answer before deadlines
	o.Again = func() *explore.Search {
		s, _ := search.newSearch(config.Bounds, before) // the first time there was no error
		return s
	}
	if o.Strategy, err = strategy.ByName(config.Strategy); err != nil {
		return o, err
	}
	switch r.Isolation {
	case "snapshot":
	case "main":
		o.Isolation = sut.FromMain
	case "fork":
		o.Isolation = sut.Fork
	default:
		return o, fmt.Errorf("--isolation %s: there is no such isolation: choose snapshot, main or fork",
			r.Isolation)
	}
	o.Search, err = search.newSearch(config.Bounds, before)
	return o, err
}

// peerOptions say which peers a configuration has, but for the strategy.
func peerOptions(config configs.Config) PeerOptions {
	return PeerOptions{
		Group: config.Group, Absent: config.Absent,
		StrategyName: config.Strategy, BackendName: config.Backend,
		CheckpointBytes: int64(config.CheckpointMib) << 20,
		PeerPatience:    cmp.Or(config.PeerPatience, -1), // 0 would be the default
		Masks:           masks(config), CacheBytes: int64(config.CacheMib) << 20,
	}
}

// masks are the rules of the configuration, with addresses for names of peers. A mask for a peer
// gives one rule for each address at which the peer listens.
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

// StartDate is when the clocks of a check start that begins now, unless a flag says otherwise. The
// date of the configuration comes first. Then comes that of the kept cache, if one is named, since
// requests may depend on it; then the default.
func StartDate(config configs.Config, cache string, now time.Time) time.Time {
	if !config.Date.IsZero() {
		return config.Date
	}
	if cache != "" {
		was := &fingerprint.Peers{}
		text, err := saved.DescriptionOf(cache)
		if err == nil && json.Unmarshal([]byte(text), was) == nil && was.Date != "" {
			if date, err := configs.ParseDate(was.Date, now); err == nil {
				return date
			}
		} // what is wrong with the file is said when it is opened
	}
	return configs.DefaultDate(now)
}

// openKept opens the cache that is kept; nil if there is none. Failures to keep answers later are
// told to say, and the check goes on.
func (r Request) openKept(
	masks []iocache.Mask, say func(format string, a ...any),
) (*saved.AnswerFile, error) {
	file, config := r.Cache, r.Config
	switch {
	case file == "":
		return nil, nil
	case config.Group == nil:
		return nil, errors.New("--cache keeps the answers of peers, and none are configured: " +
			"name them under `peers` in the configuration")
	}
	d, err := fingerprint.DescribePeers(config)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	failed := func(err error) { say("%v; the check goes on", err) }
	return saved.OpenAnswerFile(file, string(text), masks, int64(config.CacheMib)<<20, d.Same, failed)
}
