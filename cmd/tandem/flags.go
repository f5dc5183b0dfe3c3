package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/configs"
)

// checkFlags are the flags that the commands check, test and compare have in common. The zero value
// of a string stands for a flag that was not given.
type checkFlags struct {
	configFlags
	// file is the name of the configuration. Without it, that beside the package is taken.
	file string
	// search is how to search, with what only some searches have.
	search check.SearchRequest
	// isolation says how executions are kept apart: snapshot, main or fork.
	isolation string
	// ckptd is the socket of a shared checkpoint daemon. Without it, a check starts its own.
	ckptd string
	// shrink is a number of executions, or off; see parseShrink.
	shrink string
	// unfold and verbose say how much is shown: of a counterexample, and of what daemons log.
	unfold, verbose bool
	// tags are build tags; without them, those of GOFLAGS count.
	tags []string
}

// configFlags are flags that are keys of the configuration, too. A flag that is given wins. Whether
// it was given is told by its name, since every value can be meant, zero too.
type configFlags struct {
	// What the peers are saved with, and when, and what their answers depend on.
	strategy, backend, scope string
	// Bounds of the search and of an execution. The last two have no bound as their default, which
	// no number stands for.
	bounds              configs.Bounds
	preemptions, delays int
	// What of the machine may be used.
	checkpointMiB, searchMiB, workers int
	// What is preempted, and what else counts as a violation.
	preemptIn []string
	leaks     bool
	// What may happen in an execution besides the schedule.
	early, peerTimers int
	// Values with a syntax of their own: see package configs.
	faults, races, selfCheck, date string
	// saveInterval is of tandem check only.
	saveInterval time.Duration
}

// register adds the flags of a search whose result is shown. The command compare has not these,
// since it shows no counterexample.
func (f *checkFlags) register(p *pflag.FlagSet) {
	f.registerSearch(p)
	// Help texts name the defaults of the configuration, since the flags themselves have none.
	d := configs.Default()
	of := func(list []string, standard string) string {
		return strings.Join(list, ", ") + " (default " + standard + ")"
	}
	p.StringVar(&f.strategy, "strategy", "",
		"`strategy` for checkpoints of the peers: "+of(configs.Strategies(), d.Strategy))
	p.StringVar(&f.backend, "backend", "",
		"`backend` that takes checkpoints of the peers: "+of(configs.Backends, d.Backend))
	p.StringVar(&f.scope, "scope", "", "`scope` of the peers' answers, what one may depend on: group (all "+
		"that was sent to any peer), connection (what was sent on its connection), auto (connection, "+
		"audited by samples) (default "+d.Scope+")")
	p.StringVar(&f.shrink, "shrink", fmt.Sprint(check.DefaultShrink),
		"spend at most `n` executions on making a violation simpler before it is shown, or off; the "+
			"default is lower for long executions")
	p.BoolVar(&f.unfold, "unfold", false, "show every step of a counterexample")
}

// registerSearch adds the flags that all searches have. Flags that are keys of the configuration
// have the zero value as their default, and the help text says what holds then.
func (f *checkFlags) registerSearch(p *pflag.FlagSet) {
	d := configs.Default()
	p.StringVarP(&f.file, "config", "c", "",
		"configuration `file` (default: tandem.yaml in the directory of the package, if there is one)")
	p.StringVar(&f.ckptd, "ckptd", "",
		"use the shared checkpoint daemon that listens at `socket` (see tandem ckptd)")
	fileFlags(p, "config", "ckptd")
	p.IntVar(&f.checkpointMiB, "checkpoint-mib", 0, fmt.Sprintf("how much memory, in `MiB`, "+
		"checkpoints of the peers and their files may take (default %d)", d.CheckpointMib))
	p.IntVar(&f.searchMiB, "search-mib", 0, fmt.Sprintf("how much memory, in `MiB`, the search of several "+
		"programs (nodes) may take (default %d)", d.SearchMib))
	p.StringVar(&f.search.Name, "search", "auto",
		"search `algorithm`: auto (schedules aimed at what earlier ones hint at, random ones, and dpor), "+
			"dpor (one of each set of equivalent schedules), dfs (every schedule), random, pct (random "+
			"priorities of goroutines), pos (random priorities of operations), surw (random orders of the "+
			"accesses to some objects), directed (towards a violation, by tandem.Estimate or by which "+
			"goroutines are blocked)")
	p.StringVar(&f.isolation, "isolation", "snapshot", "`how` executions are kept apart: snapshot "+
		"(memory goes back to where an execution departs from the last one), main (memory goes back to "+
		"the start of main), fork (each execution has its own process)")
	p.Uint64Var(&f.search.Seed, "seed", 1, "seed `n` of the searches auto, random, pct, pos and surw")
	p.IntVar(&f.search.PCTDepth, "pct-depth", 3,
		"for pct: look for bugs of depth `n`, which need that many orders of two operations")
	f.registerBounds(p)
	p.StringSliceVar(&f.preemptIn, "preempt-in", nil,
		"`packages` besides the main module in which goroutines are preempted (PATH or PATH/...)")
	p.StringVar(&f.faults, "faults", "", "explore faults of the network between the "+
		"program and the peers, `n[,what]`: at most n in an execution, such as 2. Kinds ("+
		strings.Join(configs.FaultKinds(), ", ")+"), peers and operations narrow them: "+
		"2,reset,end,peer=NAME,on=read (or connect, write). Of nodes also partition, crash, pause and slow. "+
		"Without kinds: "+strings.Join(configs.DefaultFaultKinds(), ", "))
	p.StringVar(&f.date, "date", "", "`when` the clocks start, of the program and of peers with choices or "+
		"a virtual clock: a day (2026-01-31), a time (2026-01-31T18:00:00Z) or now "+
		"(default: the end of this day, in UTC)")
	p.IntVar(&f.early, "early-timers", 0,
		"let timers fire while goroutines can still run, up to `n` times in an execution")
	p.IntVar(&f.peerTimers, "peer-timers", 0, "let time pass for peers with a virtual clock while the "+
		"program can still run, until their next timer is due, up to `n` times in an execution")
	p.BoolVar(&f.leaks, "leaks", false,
		"treat goroutines that are blocked for ever when the program ends as a violation")
	p.StringVar(&f.races, "races", "", "`packages` whose memory is watched for data races: direct (the main "+
		"module, the modules that it requires directly, and data structures of the standard library), main "+
		"(without the other modules), all, off, or PATH or PATH/... (default direct)")
	p.IntVar(&f.workers, "workers", 0,
		"run up to `n` executions at the same time (default: one for each processor; with peers 1)")
	p.StringVar(&f.selfCheck, "self-check", "", fmt.Sprintf(
		"run some executions again and compare: all, off, or one of every `n` (default %d)", d.SelfCheck))
	p.StringSliceVar(&f.tags, "tags", nil,
		"build with these `tags`, as go build takes them (default: those of GOFLAGS)")
	p.BoolVarP(&f.verbose, "verbose", "v", false,
		"say more: how search and peers were run, and what the checkpoint daemon and CRIU say")
}

// registerBounds adds the flags that end a search, or that leave executions out.
func (f *checkFlags) registerBounds(p *pflag.FlagSet) {
	d := configs.Default().Bounds
	p.IntVar(&f.bounds.Executions, "executions", 0,
		fmt.Sprintf("run at most `n` executions (default %d, and %d of nodes; with --time as many as there "+
			"is time for)", d.Executions, configs.NodesExecutions))
	p.IntVar(&f.bounds.Depth, "depth", 0,
		fmt.Sprintf("cut executions off after `n` transitions (default %d)", d.Depth))
	p.DurationVar(&f.bounds.Time, "time", 0,
		fmt.Sprintf("end the search after this `duration` (default %v)", d.Time))
	p.IntVar(&f.preemptions, "preemptions", 0,
		"leave out executions with more than `n` preemptions, which are switches away from a goroutine "+
			"that could still run (default: no bound)")
	p.IntVar(&f.delays, "delays", 0,
		"leave out executions with more than `n` delays, which are turns that a goroutine is made to miss "+
			"(default: no bound)")
}

// directory is where the configuration of a package is looked for, unless a file is named. It is
// empty if a file is named: then no other one counts.
func (f *checkFlags) directory(ctx context.Context, pkg string) string {
	if f.file != "" {
		return ""
	}
	return check.PackageDirectory(ctx, f.tags, pkg)
}

// load reads the configuration, by default that in a directory, and applies the flags. Given says
// whether a flag was given. The result is valid. What is wrong with a file is a *configs.Error.
func (f *checkFlags) load(dir string, given func(flag string) bool) (configs.Config, error) {
	return f.loadWith("", dir, given)
}

// loadWith is load for a check that keeps answers in a cache, whose date it then takes over.
// Answers that were given at another date could differ, so the date of the cache is kept where
// neither the flag nor the file names one.
func (f *checkFlags) loadWith(cache, dir string, given func(flag string) bool) (
	config configs.Config, err error,
) {
	switch {
	case f.file != "":
		config, err = configs.Load(f.file)
	case dir != "":
		config, err = configs.LoadFrom(dir)
	default:
		config = configs.Default()
	}
	ofFile := len(config.PreemptIn)
	if err == nil {
		err = f.configFlags.apply(&config, given)
	}
	if err == nil {
		config.Date, err = f.dateOf(config, cache)
	}
	if err != nil {
		return config, err
	}
	return config, nameFlags(config.Validate(), given, ofFile)
}

// nameFlags has problems of values that flags have given name the flag, and not the key of a file.
// --preempt-in adds to the list of the file, which has so many packages.
func nameFlags(err error, given func(flag string) bool, ofFile int) error {
	wrong := (*configs.Error)(nil)
	if !errors.As(err, &wrong) {
		return err
	}
	for i, p := range wrong.Problems {
		// A bound is a flag without its prefix.
		key := strings.TrimPrefix(p.Key, "bounds.")
		// The only list that a flag adds to has packages of the file first.
		var at int
		if n, _ := fmt.Sscanf(key, "preempt_in[%d]", &at); n == 1 && at >= ofFile {
			key = "preempt_in"
		}
		if flag := strings.ReplaceAll(key, "_", "-"); given(flag) {
			wrong.Problems[i].Key = "--" + flag
		}
	}
	return err
}

// apply puts the flags that are given in the place of what the file has. Only --preempt-in adds to
// it: packages in a file are there for a reason. An error names the flag.
func (f *configFlags) apply(config *configs.Config, given func(flag string) bool) (err error) {
	set(given("strategy"), &config.Strategy, f.strategy)
	set(given("backend"), &config.Backend, f.backend)
	set(given("scope"), &config.Scope, f.scope)
	set(given("depth"), &config.Bounds.Depth, f.bounds.Depth)
	if given("executions") {
		config.Bounds.SetExecutions(f.bounds.Executions)
	}
	if given("time") {
		config.Bounds.SetTime(f.bounds.Time)
	}
	set(given("preemptions"), &config.Bounds.Preemptions, &f.preemptions)
	set(given("delays"), &config.Bounds.Delays, &f.delays)
	if given("early-timers") {
		config.SetEarlyTimers(f.early)
	}
	set(given("peer-timers"), &config.World.PeerTimers, f.peerTimers)
	set(given("workers"), &config.Workers, f.workers)
	set(given("checkpoint-mib"), &config.CheckpointMib, f.checkpointMiB)
	set(given("search-mib"), &config.SearchMib, f.searchMiB)
	set(given("save-interval"), &config.SaveInterval, f.saveInterval)
	set(given("leaks"), &config.Leaks, f.leaks)
	// The zero value of the flag adds nothing.
	config.PreemptIn = append(config.PreemptIn, f.preemptIn...)
	// These values are texts here, and are taken apart only if they were given.
	if given("faults") {
		faults, err := configs.ParseFaults(f.faults)
		if err != nil {
			return fmt.Errorf("--faults: %w", err)
		}
		config.SetFaults(faults)
	}
	if given("races") {
		if config.Races, err = configs.ParseRaces(f.races); err != nil {
			return fmt.Errorf("--races: %w", err)
		}
	}
	if given("self-check") {
		if config.SelfCheck, err = configs.ParseSelfCheck(f.selfCheck); err != nil {
			return fmt.Errorf("--self-check: %w", err)
		}
	}
	return nil
}

// set changes a value if a flag was given.
func set[T any](given bool, to *T, value T) {
	if given {
		*to = value
	}
}

// dateOf is when the clocks start: what the flag says, or else what check.StartDate makes of the
// file, the cache and this day.
func (f *configFlags) dateOf(config configs.Config, cache string) (time.Time, error) {
	if f.date == "" {
		return check.StartDate(config, cache, time.Now()), nil
	}
	date, err := configs.ParseDate(f.date, time.Now())
	if err != nil {
		return date, fmt.Errorf("--date: %w", err)
	}
	return date, nil
}

// request is what the flags ask for. The configuration must be valid. Files and names in it are as
// the user gave them.
func (f *checkFlags) request(pkg string, args []string, config configs.Config) (r check.Request, err error) {
	r = check.Request{
		Package: pkg, Args: args, Config: config, Search: f.search, Isolation: f.isolation, Daemon: f.ckptd,
		Tags: f.tags,
	}
	// What is asked for governs all executions, also where it is none.
	r.Search.Punctual = r.Search.Punctual || config.Bounds.EarlyTimersAsked
	r.Shrink, err = parseShrink(f.shrink)
	return r, err
}

// maxShrink bounds --shrink. More executions than these take longer than anybody waits.
const maxShrink = 1_000_000

// parseShrink reads --shrink: a number of executions, or off, which is none. The error names the
// flag and what it can be.
func parseShrink(text string) (int, error) {
	if text == "off" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxShrink {
		return 0, fmt.Errorf("--shrink %s: give a number of executions, 1 to %d, or off", text, maxShrink)
	}
	return n, nil
}

// parseViolations reads --violations: a number, or all, which is as many as are ever kept. The
// error names the flag and what it can be.
func parseViolations(text string) (int, error) {
	if text == "all" {
		return check.MaxViolations, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > check.MaxViolations {
		return 0, fmt.Errorf("--violations %s: give a number, 1 to %d, or all", text, check.MaxViolations)
	}
	return n, nil
}

// givenFlags are the flags that the user gave, with their values, but for those that are named.
// Lists are kept element by element, so that commas inside of one survive.
func givenFlags(flags *pflag.FlagSet, without ...string) map[string][]string {
	given := map[string][]string{}
	flags.Visit(func(flag *pflag.Flag) {
		if slices.Contains(without, flag.Name) {
			return
		}
		given[flag.Name] = []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			given[flag.Name] = list.GetSlice()
		}
	})
	return given
}

// absolute makes a path independent of the working directory, which --resume changes; the empty one
// stays.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}
