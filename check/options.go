package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/modules"
	"github.com/tandem-mc/tandem/check/internal/saved"
	"github.com/tandem-mc/tandem/check/internal/shrink"
	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/strategy"
	"github.com/tandem-mc/tandem/sut"
)

// DefaultShrink is a limit on executions that suffices for schedules of some hundred transitions.
const DefaultShrink = shrink.Default

// MaxViolations is the greatest number of distinct violations that a search keeps.
const MaxViolations = 100

// Options say what to check and how.
type Options struct {
	Program   *sut.Program
	Package   string // as the user named it
	Args      []string
	Env       []string // NAME=value
	World     sut.Environment
	Dir       string // working directory of the program; empty: the present one
	Isolation sut.Isolation
	Patience  time.Duration // see sut.Options

	// Search explores; bounds on executions and time are part of it. Run adds the end at the first
	// violation.
	Search *explore.Search
	// Time is how long the search may take. The search ends by itself at the next execution; one
	// that is under way soon after that is ended, too. 0: an execution is never ended.
	Time  time.Duration
	Depth int // greatest number of transitions in an execution; 0: no other than the log's
	// Leaks makes goroutines that are left blocked for ever at the end a violation.
	Leaks bool
	// SelfCheck: the first and then one of n executions is run twice more, and must be the same;
	// 0: none is. It picks by the schedule.
	SelfCheck int
	// Violations is how many distinct violations are looked for; 0 counts as 1. See Tests for those
	// of tests.
	Violations int
	// Shrink is how many executions may be spent on making a violation simpler before it is shown;
	// 0: it is shown as it was found.
	Shrink int
	// Workers is how many executions may be run at the same time; 0: 1. The result does not depend
	// on it, but for Counts.
	Workers int
	// Saving keeps what is needed to go on with the check; nil: nothing is kept.
	Saving *Saving

	PeerOptions
	ReportOptions
	hooks
}

// PeerOptions say which peers the program has, and how their answers are got and kept. The zero
// value is for a program that has none.
type PeerOptions struct {
	// Group is the peers; nil for a program that has none. Client starts them, when the first input
	// reaches them.
	Group  *peers.Group
	Client *ckptd.Client
	// Unstarted is why there is no Client, although there are peers: the check goes on as long as
	// answers that are known already do.
	Unstarted error
	// Without is what the check runs without, although it would have it elsewhere: a line each.
	Without []string
	// Absent is where nobody is on purpose.
	Absent []configs.Absent
	// Strategy says when checkpoints are taken. Reports call it StrategyName.
	Strategy     strategy.Strategy
	StrategyName string
	// BackendName is what takes checkpoints of the group, in the words of ckptd.Options.
	BackendName string
	// CheckpointBytes is how much memory the checkpoints of Client may take, as messages say it;
	// 0: ckptd.DefaultMaxBytes.
	CheckpointBytes int64
	// PeerPatience is how long timers of peers that have the machine's clock are waited for; 0:
	// watch.DefaultPatience. Below 0 none is.
	PeerPatience time.Duration

	// Scope is that of the I/O cache: what the peers' answers may depend on.
	Scope iocache.Scope
	// Audited is scope auto: Scope is Connection, some executions are run with the requests in
	// other orders, and should the peers then answer otherwise, the check starts over in group
	// scope, with the search that Again returns, and Contradicted is told why.
	Audited       bool
	Again         func() *explore.Search
	Contradicted  func(error)
	contradiction string // that ended the check in scope auto

	// Masks are rules for what may differ between two answers of the peers to the same request.
	Masks []iocache.Mask
	// CacheBytes is how much memory the I/O cache may take before it puts answers into a file; 0:
	// 1 GiB.
	CacheBytes int64
	// Kept has the answers of the peers in earlier checks, and those of this one are kept there;
	// nil: none are. A saved run that is gone on with does without.
	Kept *saved.AnswerFile
}

// ReportOptions say what is told of a check besides its result, and to whom.
type ReportOptions struct {
	Distribution Distribution // workers elsewhere are told of the check: the result is the same
	// Assumed is what else the verdict rests on, for reports: a line each.
	Assumed []string
	// Modules collects the modules without preemption that matter, for Assumptions; nil: they are
	// not looked for.
	Modules *modules.Set
	// Progress is told several times a second how far the check is; nil: nobody is.
	Progress func(Progress)
}

// hooks are for tests.
type hooks struct {
	// observe sees each execution before the search does. An error of it is one of the search.
	observe func(explore.Execution) error
	haste   bool // all workers are there before the search begins
	// overtime takes the place of the constant of that name; 0: it does not.
	overtime time.Duration
}

// resumes says whether a saved run is gone on with. A run that was made for this check has no state
// yet.
func (o *Options) resumes() bool { return o.Saving != nil && o.Saving.Run.State() != nil }

// driver says how the peers are kept at the cursor of a cache of some scope. Defaults are filled in
// here. Without a group it must not be called.
func (o *Options) driver(scope iocache.Scope) driver.Config {
	c := driver.Config{Start: driver.From(o.Client), Spec: *o.Group, Strategy: o.Strategy, Scope: scope}
	if why := o.Unstarted; why != nil {
		c.Start = func(context.Context, peers.Group) (driver.Group, error) {
			return nil, fmt.Errorf("no answer is kept to what the program asks of %s now, and no peer can "+
				"be started to give one: %w", namesOfPeers(o.Group), why)
		}
	}
	c.Patience = max(cmp.Or(o.PeerPatience, watch.DefaultPatience), 0)
	c.Room, c.Shared = cmp.Or(o.CheckpointBytes, ckptd.DefaultMaxBytes), o.Distribution.Shared()
	c.Guess = 2 * time.Millisecond // about what the first checkpoint of a small peer costs
	if o.BackendName == ckptd.BackendCRIU {
		c.Guess = 20 * time.Millisecond
	}
	return c
}

// namesOfPeers are those of a group, for messages.
func namesOfPeers(g *peers.Group) string {
	names := make([]string, len(g.Peers))
	for i, p := range g.Peers {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}

// selectFaults says where the peers are whose connections can fail. An error names the peer whose
// connections cannot fail. The places are addresses, since the program knows no names of peers.
func (o *Options) selectFaults() error {
	if len(o.World.FaultPeers) == 0 {
		return nil
	}
	if err := o.Group.CheckFaults(o.World.FaultPeers); err != nil {
		return fmt.Errorf("faults: %w", err)
	}
	at, clients := o.Group.FaultPlaces(o.World.FaultPeers)
	o.World.FaultPlaces, o.World.FaultsOpened = nil, clients
	for _, a := range at {
		place := sut.FaultPlace{Path: a.Path, Port: a.At.Port(), Datagrams: a.Network == proxy.UDP}
		if a.At.IsValid() && !a.At.Addr().IsUnspecified() {
			place.IP = a.At.Addr().As16()
		}
		o.World.FaultPlaces = append(o.World.FaultPlaces, place)
	}
	return nil
}

// executors says what the executors run, and which executions they keep. The peers and the auditor
// are added later, since they need the context.
func (o *Options) executors(in interest) *executor.Config {
	return &executor.Config{
		Program: o.Program, Package: o.Package, Modules: o.Modules,
		Worker: sut.Options{Args: o.Args, Env: o.Env, Dir: o.Dir, Isolation: o.Isolation,
			HangTimeout: o.Patience, Environment: o.World},
		Depth: o.Depth, Leaks: o.Leaks, SelfCheck: o.SelfCheck,
		Kind: in.kind, Distinct: o.Violations > 1,
	}
}

// prepare sees that the options go together, and tells the program's world what peers there are. It
// changes a copy of the group, so the caller's stays as it is.
func (o *Options) prepare() error {
	if o.Group == nil {
		return nil
	}
	if o.Scope == iocache.Connection {
		for _, p := range o.Group.Peers {
			if p.Listen == "" && !p.IsClient() {
				return fmt.Errorf("scope connection is for peers that listen and for clients, and %s "+
					"is neither: use scope group", p.Name)
			}
		}
	}
	if o.World.PeerTimers > 0 && o.Scope != iocache.Group {
		return errors.New("timers of the peers concern all connections: use scope group")
	}
	if err := o.selectFaults(); err != nil {
		return err
	}
	o.World.Clients = o.Group.Clients()
	o.World.NameServers = o.Group.ServesNames()
	o.World.Behaviours, o.World.PerConnection = o.Group.Behaviours(), o.Scope == iocache.Connection
	o.World.PeerTime = o.Scope == iocache.Group
	group := *o.Group
	if o.World.Start != 0 {
		group.Start = time.Unix(o.World.Start, 0).UTC()
	}
	o.Group = &group
	return nil
}

// The clocks of the program and of its peers start together, also where nothing is said.
var _ = [1]struct{}{}[sut.DefaultStart-peers.DefaultStart]

// limit sets what a cache may take, and what may differ in its answers. Each cache of a check has
// the same limit.
func (o *Options) limit(c *iocache.Cache) {
	c.SetMasks(o.Masks)
	c.Limit(cmp.Or(o.CacheBytes, driver.DefaultBytes))
}
