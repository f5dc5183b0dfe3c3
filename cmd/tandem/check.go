package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/strategy"
	"github.com/tandem-mc/tandem/sut"
)

// checkFlags are the flags of tandem check.
type checkFlags struct {
	config     string
	out        string
	strategy   string
	backend    string
	scope      string
	search     string
	ckptd      string
	isolation  string
	seed       uint64
	pctDepth   int
	bounds     configs.Bounds
	switches   struct{ preemptions, delays int }
	preemptIn  []string
	leaks      bool
	early      int
	faults     string
	peerTimers int
	races      string
	selfCheck  string
	workers    int
	shrink     string
	unfold     bool
	verbose    bool

	// Of tandem check only:
	violations    string
	json          bool
	resume        string
	cache         string
	saveTo        string
	saveInterval  time.Duration
	date          string
	elapsed       time.Duration // before the run was resumed
	checkpointMiB int
	within        configs.Bounds // of the file and the flags
}

func checkCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check PACKAGE [-- ARGS]",
		Short: "Explore the schedules of a program",
		Example: "  tandem check ./examples/scpto -c examples/scpto/tandem.yaml\n" +
			"  tandem check ./cmd/client -- -addr 127.0.0.1:8080\n" +
			"  tandem check --resume client-20260102-150405-4711",
		RunE: func(c *cobra.Command, args []string) error {
			if f.resume != "" && len(args) > 0 {
				return errResumeArgs
			}
			if f.resume != "" {
				return f.goOn(c)
			}
			if len(args) == 0 {
				return errors.New("name a package; or go on with a saved run: --resume RUN")
			}
			if dash := c.ArgsLenAtDash(); dash > 1 || dash < 0 && len(args) > 1 {
				return errors.New("name one package; arguments of the program come after --")
			}
			return f.run(c, args[0], args[1:], nil)
		},
	}
	p := c.Flags()
	f.register(p)
	p.StringVarP(&f.out, "out", "o", "", "write a counterexample to `file` (default: PACKAGE.counterexample)")
	p.StringVar(&f.resume, "resume", "", "go on with a saved `run`: its name, or its directory")
	p.StringVar(&f.cache, "cache", "", "keep the answers of the peers in `file`, for the next check of the same peers")
	p.StringVar(&f.saveTo, "run", "", "save what is needed to go on in `directory` (default: one below ~/.local/state/tandem/runs)")
	p.DurationVar(&f.saveInterval, "save-interval", 0, "how often to save what is needed to go on; 0: only when interrupted (default 10s)")
	p.StringVar(&f.violations, "violations", "1", "how many distinct violations to look for: `n` or all; of several, each has a file of its own")
	p.BoolVar(&f.json, "json", false, "print the result as JSON")
	return c
}

// register adds the flags of a search whose result is shown.
func (f *checkFlags) register(p *pflag.FlagSet) {
	f.registerSearch(p)
	p.StringVar(&f.strategy, "strategy", "", "when to checkpoint the peers: "+strings.Join(strategy.Names(), ", ")+" (default "+configs.Default().Strategy+")")
	p.StringVar(&f.backend, "backend", "", "what takes checkpoints of the peers: "+strings.Join(configs.Backends, ", ")+" (default "+configs.Default().Backend+")")
	p.StringVar(&f.scope, "scope", "", "what the peers' answers depend on: "+strings.Join(configs.Scopes, ", ")+" (default group)")
	p.StringVar(&f.shrink, "shrink", fmt.Sprint(check.DefaultShrink), "how many executions to spend on making a violation simpler before it is shown: `n` or off")
	p.BoolVar(&f.unfold, "unfold", false, "show every step of a counterexample")
}

// registerSearch adds the flags that all searches have.
func (f *checkFlags) registerSearch(p *pflag.FlagSet) {
	p.StringVarP(&f.config, "config", "c", "", "configuration `file` (default: tandem.yaml in the directory of the package, if there is one)")
	p.StringVar(&f.ckptd, "ckptd", "", "use the shared checkpoint daemon that listens at `socket` (tandem ckptd), not one of its own")
	p.IntVar(&f.checkpointMiB, "checkpoint-mib", 0, fmt.Sprintf("how much memory, in `MiB`, checkpoints of the peers and their files may take (default %d)", configs.Default().CheckpointMib))
	p.StringVar(&f.search, "search", "dpor", "how to search: dpor, dfs (every schedule), random, pct (random priorities)")
	p.StringVar(&f.isolation, "isolation", "snapshot", "how executions are kept apart: snapshot, fork")
	p.Uint64Var(&f.seed, "seed", 1, "seed of a search that is random")
	p.IntVar(&f.pctDepth, "pct-depth", 3, "depth of the bugs that a search by pct is for: how many orders of two operations they need")
	p.IntVar(&f.bounds.Executions, "executions", 0, fmt.Sprintf("greatest number of executions (default %d)", configs.Default().Bounds.Executions))
	p.IntVar(&f.bounds.Depth, "depth", 0, fmt.Sprintf("greatest number of transitions in an execution (default %d)", configs.Default().Bounds.Depth))
	p.DurationVar(&f.bounds.Time, "time", 0, fmt.Sprintf("greatest duration of the search (default %v)", configs.Default().Bounds.Time))
	p.IntVar(&f.switches.preemptions, "preemptions", 0, "leave out executions with more preemptions than this (without the flag there are any number)")
	p.IntVar(&f.switches.delays, "delays", 0, "leave out executions with more delays than this (likewise)")
	p.StringSliceVar(&f.preemptIn, "preempt-in", nil, "`packages` beside the main module in which goroutines are preempted (PATH or PATH/...)")
	p.StringVar(&f.faults, "faults", "", "how `often` the network may fail in an execution between the program and the peers, such as 2; narrowed to kinds ("+strings.Join(sut.FaultKinds, ", ")+"), peers and operations: 2,reset,end,peer=NAME,on=read (or connect, write). Without kinds: "+strings.Join(sut.DefaultFaultKinds, ", "))
	p.StringVar(&f.date, "date", "", "`when` the clocks of the program, and of peers that do not have the machine's, start: "+
		"a day (2026-01-31), a point of time (2026-01-31T18:00:00Z) or now (default: the end of this day, by UTC)")
	p.IntVar(&f.early, "early-timers", 0, "how often timers may fire early in an execution, although goroutines can go on")
	p.IntVar(&f.peerTimers, "peer-timers", 0, "how often in an execution time may pass for the peers whose clock is virtual, until a timer of theirs is due")
	p.BoolVar(&f.leaks, "leaks", false, "goroutines that are left blocked for ever when the program ends are a violation")
	p.StringVar(&f.races, "races", "", "`packages` whose accesses to memory are watched for data races: direct (those of the main module and of the modules that it requires directly, and what the standard library has for data), main (the same without the other modules), all, off, or PATH or PATH/... (default direct)")
	p.IntVar(&f.workers, "workers", 0, "greatest `number` of executions at the same time (default: that of the processors; with peers 1)")
	p.StringVar(&f.selfCheck, "self-check", "", "which executions to run again and compare: all, off, or one of `n` (default 1000)")
	p.BoolVarP(&f.verbose, "verbose", "v", false, "log what the checkpoint daemon and CRIU say")
}

// run checks a package, or goes on with it.
func (f *checkFlags) run(c *cobra.Command, pkg string, args []string, r *resumed) error {
	config, err := f.load(f.directory(c.Context(), pkg), c.Flags().Changed)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		config.Args = args
	}
	if err := f.sameAs(r, c.Flags(), config); err != nil {
		return err
	}
	f.within = config.Bounds
	options, err := f.options(pkg, config)
	if err != nil {
		return err
	}
	if options.Violations, err = parseViolations(f.violations); err != nil {
		return err
	}
	if err := writable(f.out); err != nil {
		return err
	}
	log := newLog(f.verbose)
	defer log.Sync()
	status := &progress{out: c.ErrOrStderr(), title: pkg, bounds: config.Bounds, peers: config.Group != nil, workers: options.Workers, plain: f.verbose}
	defer status.pause()
	options.Progress, options.Contradicted = status.tell, status.contradicted
	if options.Saving, err = f.saving(request{c.Flags(), pkg, args, config}, r, status.say); err != nil {
		return err
	}
	if options.Kept, err = f.openKept(config, options.Masks, status.say); err != nil {
		return err
	}
	if options.Kept != nil {
		defer func() {
			if err := options.Kept.Close(); err != nil {
				status.say("%v", err)
			}
		}()
	}
	status.say("building %s", pkg)
	program, clean, err := buildProgram(c.Context(), sut.BuildOptions{Dir: options.Dir, Package: pkg, PreemptIn: config.PreemptIn, Races: config.Races})
	if err != nil {
		return err
	}
	defer clean()
	options.Program = program
	var result *check.Result
	err = f.withDaemon(c.Context(), config, log, func(client *ckptd.Client) error {
		options.Client = client
		result, err = check.Run(c.Context(), options)
		return err
	})
	status.pause()
	if err != nil && result != nil && result.Saved != "" {
		err = fmt.Errorf("%w\nwhat was saved before stays: %s", err, resumeCommand(result.Saved))
	}
	if err != nil && (result == nil || len(result.Violations) == 0) {
		return err
	}
	shown := f.show(c, options, result)
	if err != nil {
		status.say("%v", err)
	}
	return shown
}

// directory is that of a package, where its configuration is unless another one is given. The package may be named by
// its import path, or by its files.
func (f *checkFlags) directory(ctx context.Context, pkg string) string {
	if info, err := os.Stat(pkg); f.config != "" || err == nil && info.IsDir() {
		return pkg
	}
	dir, err := os.Getwd()
	if err != nil {
		return pkg
	}
	toolchain, err := sut.UserToolchain(ctx, dir)
	if err != nil {
		return pkg // as the build will say
	}
	packages, err := toolchain.Packages(ctx, dir, pkg)
	if err != nil {
		return pkg // likewise
	}
	return packages[0].Dir
}

// load reads the configuration, of a package in this directory, and lets the flags have the last word.
func (f *checkFlags) load(dir string, given func(flag string) bool) (configs.Config, error) {
	file := f.config
	if file == "" {
		beside := filepath.Join(dir, "tandem.yaml")
		if _, err := os.Stat(beside); err == nil {
			file = beside
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return configs.Default(), err
		}
	}
	return f.loadFile(file, given)
}

// loadFile is load of a file; none, if it has no name.
func (f *checkFlags) loadFile(file string, given func(flag string) bool) (configs.Config, error) {
	config := configs.Default()
	if file != "" {
		var err error
		if config, err = configs.Load(file); err != nil {
			return config, err
		}
	}
	for flag, value := range map[string]struct{ to, from *string }{
		"strategy": {&config.Strategy, &f.strategy}, "backend": {&config.Backend, &f.backend}, "scope": {&config.Scope, &f.scope},
	} {
		if given(flag) {
			*value.to = *value.from
		}
	}
	for flag, value := range map[string]struct{ to, from *int }{
		"executions": {&config.Bounds.Executions, &f.bounds.Executions}, "depth": {&config.Bounds.Depth, &f.bounds.Depth},
		"early-timers": {&config.World.EarlyTimers, &f.early}, "peer-timers": {&config.World.PeerTimers, &f.peerTimers},
		"workers": {&config.Workers, &f.workers}, "checkpoint-mib": {&config.CheckpointMib, &f.checkpointMiB},
	} {
		if given(flag) {
			*value.to = *value.from
		}
	}
	if given("time") {
		config.Bounds.Time = f.bounds.Time
	}
	if given("save-interval") {
		config.SaveInterval = f.saveInterval
	}
	if given("preemptions") {
		config.Bounds.Preemptions = &f.switches.preemptions
	}
	if given("delays") {
		config.Bounds.Delays = &f.switches.delays
	}
	if given("leaks") {
		config.Leaks = f.leaks
	}
	if given("faults") {
		faults, err := configs.ParseFaults(f.faults)
		if err != nil {
			return config, fmt.Errorf("--faults: %w", err)
		}
		config.SetFaults(faults)
	}
	if given("races") {
		var err error
		if config.Races, err = configs.ParseRaces(f.races); err != nil {
			return config, fmt.Errorf("--races: %w", err)
		}
	}
	if given("self-check") {
		var err error
		if config.SelfCheck, err = configs.ParseSelfCheck(f.selfCheck); err != nil {
			return config, fmt.Errorf("--self-check: %w", err)
		}
	}
	config.PreemptIn = append(config.PreemptIn, f.preemptIn...)
	if config.Group != nil && os.Geteuid() != 0 {
		return config, errors.New("checking against peers needs root, to checkpoint them: run tandem as root, for instance with sudo")
	}
	var err error
	if config.Date, err = f.dateFor(config, time.Now()); err != nil {
		return config, err
	}
	return config, config.Validate()
}

func (f *checkFlags) options(pkg string, config configs.Config) (check.Options, error) {
	dir, err := os.Getwd()
	if err != nil {
		return check.Options{}, err
	}
	o := check.Options{
		Modules: new(check.Modules), Package: pkg, Args: config.Args, Env: config.Env, World: config.World, Dir: dir, Depth: config.Bounds.Depth,
		StrategyName: config.Strategy, BackendName: config.Backend, Group: config.Group, Leaks: config.Leaks, SelfCheck: config.SelfCheck,
		Workers:      cmp.Or(config.Workers, ownWorkers(config)),
		PeerPatience: cmp.Or(config.PeerPatience, -1),
	}
	o.World.Start = config.Date.Unix()
	o.CacheBytes, o.CheckpointBytes = int64(config.CacheMib)<<20, int64(config.CheckpointMib)<<20
	for _, m := range config.Masks {
		pattern := regexp.MustCompile(m.Pattern)
		if m.Peer == "" {
			o.Masks = append(o.Masks, iocache.Mask{Pattern: pattern})
		}
		for _, at := range config.Listens(m.Peer) {
			o.Masks = append(o.Masks, iocache.Mask{Addr: at.String(), Pattern: pattern})
		}
	}
	if o.Audited = config.Scope == "auto"; o.Audited || config.Scope == iocache.Connection.String() {
		o.Scope = iocache.Connection
	}
	o.Again = func() *explore.Search {
		s, _ := f.newSearch(config.Bounds) // the first time there was no error
		return s
	}
	if o.Strategy, err = strategy.ByName(config.Strategy); err != nil {
		return o, err
	}
	switch f.isolation {
	case "snapshot":
	case "fork":
		o.Isolation = sut.Fork
	default:
		return o, fmt.Errorf("--isolation %s: there is no such isolation: choose snapshot or fork", f.isolation)
	}
	o.Assumed = f.assumed(config.Bounds)
	if o.Shrink, err = parseShrink(f.shrink); err != nil {
		return o, err
	}
	o.Search, err = f.newSearch(config.Bounds)
	return o, err
}

// buildProgram builds into a directory of its own, which clean removes.
func buildProgram(ctx context.Context, o sut.BuildOptions) (p *sut.Program, clean func(), err error) {
	toolchain, err := sut.UserToolchain(ctx, o.Dir)
	if err != nil {
		return nil, nil, err
	}
	to, clean, err := makeScratch()
	if err != nil {
		return nil, nil, err
	}
	o.Output = filepath.Join(to, "program")
	if p, err = toolchain.Build(ctx, o); err != nil {
		clean()
	}
	return p, clean, err
}

// withDaemon has a checkpoint daemon, where peers are configured, for as long as do takes.
func (f *checkFlags) withDaemon(ctx context.Context, config configs.Config, log *zap.Logger, do func(*ckptd.Client) error) error {
	if config.Group == nil {
		return do(nil)
	}
	var client *ckptd.Client
	var err error
	if o := (ckptd.Options{Backend: config.Backend, MaxBytes: int64(config.CheckpointMib) << 20, Quiescence: config.Quiescence, Log: logWriter{log}}); f.ckptd != "" {
		client, err = ckptd.Dial(ctx, f.ckptd, o)
	} else {
		client, err = ckptd.Spawn(ctx, o)
	}
	if err != nil {
		return err
	}
	if method, why := client.Quiescence(); why != nil {
		log.Info("eBPF cannot be loaded", zap.String("quiescence", method), zap.Error(why))
	}
	err = do(client)
	return errors.Join(err, client.Close())
}
