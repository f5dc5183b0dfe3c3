package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/cmd/tandem/internal/distributed"
	"github.com/tandem-mc/tandem/cmd/tandem/internal/nodeflags"
	"github.com/tandem-mc/tandem/cmd/tandem/internal/progress"
)

// oneCheck is the command tandem check. The fields are its flags; they are read when cobra has
// parsed them.
type oneCheck struct {
	checkFlags
	formats
	// out is the file of the counterexample; empty: one in the working directory.
	out string
	// violations is how many distinct ones to look for, or all; see parseViolations.
	violations string
	// resume names a run to go on with; saveTo is where this one is saved.
	resume, saveTo string
	// cache is the file of an I/O cache that outlives the check.
	cache     string
	elsewhere check.Distribution
}

// checkCommand is tandem check. Without --resume it needs a package; with it, the saved run has
// one. Arguments of the program come after two dashes, so that none of them is taken for a flag.
// What is wrong with the arguments is an error that says how to give them.
func checkCommand() *cobra.Command {
	var f oneCheck
	c := &cobra.Command{
		Use:   "check [PACKAGE] [flags] [-- ARGS]",
		Short: "Explore the schedules of a program",
		Long: `Builds the program and runs it again and again, each time with another schedule of its
goroutines, until one run fails or every schedule is covered. A run fails if the program panics,
ends with a fatal error of the runtime or an exit code other than zero, deadlocks, loops for ever
(livelock), violates an assertion, or has a data race. Such a run is made simpler, shown step by
step, and kept in a file that tandem replay runs again. Without a package it is the program in the
working directory.`,
		Example: "  tandem check\n" +
			"  tandem check ./examples/scpto -c examples/scpto/tandem.yaml\n" +
			"  tandem check ./cmd/client -- -addr 127.0.0.1:8080\n" +
			"  tandem check --resume client-20260102-150405-4711",
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case f.resume != "" && len(args) > 0:
				return errors.New("--resume goes on with a run that has its package and arguments: " +
					"leave them out")
			case f.resume != "":
				return f.goOn(c)
			}
			pkg, rest, err := packageOf(c, args)
			if err != nil {
				return err
			}
			return f.run(c, pkg, rest, nil)
		},
	}
	// Most flags are those of other commands, too.
	p := c.Flags()
	// Flags that the other commands do not have follow.
	f.checkFlags.register(p)
	f.formats.register(p)
	p.StringVarP(&f.out, "out", "o", "", "write a counterexample to `file` (default: PACKAGE.counterexample)")
	p.StringVar(&f.resume, "resume", "", "go on with a saved `run`: its name, or its directory")
	p.StringVar(&f.cache, "cache", "",
		"keep the answers of the peers in `file`, for the next check of the same peers")
	p.StringVar(&f.saveTo, "run", "",
		"save the run in `directory` (default: one below ~/.local/state/tandem/runs)")
	p.DurationVar(&f.saveInterval, "save-interval", 0,
		"how often to save what is needed to go on; 0: only when interrupted (default 10s)")
	p.StringVar(&f.violations, "violations", "1",
		"look for `n` distinct violations, or all; each has its own file")
	distributed.AddFlags(p, &f.elsewhere)
	fileFlags(p, "out", "cache", "run")
	c.SetFlagErrorFunc(unknownFlag)
	return c
}

// run checks a package, or goes on with a saved run of it. All that can be wrong with flags and
// files is found before the program is built. If the check fails after it has found violations,
// these are shown and kept, and the error is a line on standard error.
func (f *oneCheck) run(c *cobra.Command, pkg string, args []string, saved *check.SavedCheck) error {
	dir := f.directory(c.Context(), pkg)
	config, err := f.loadWith(f.cache, dir, c.Flags().Changed)
	if err != nil {
		return err
	}
	// Several programs are another kind of check, with fewer flags.
	if len(config.Nodes) > 0 {
		return f.runNodes(c, check.Request{Package: pkg, Config: config, Resume: saved}, dir, args)
	}
	request, err := f.request(pkg, args, config)
	if err != nil {
		return err
	}
	// Only this command looks for several violations.
	if request.Violations, err = parseViolations(f.violations); err != nil {
		return err
	}
	// The run that is saved keeps the flags, so that --resume need not be given them again.
	request.Flags = givenFlags(c.Flags(), append([]string{"resume", "run"}, distributed.Flags...)...)
	request.Distribution, request.Resume, request.Save, request.Cache = f.elsewhere, saved, f.saveTo, f.cache
	job, err := check.NewJob(request)
	if err != nil {
		return err
	}
	texts := f.texts(c)
	if err := f.prepare(c, texts); err != nil {
		return err
	}
	defer f.end(texts)
	log := newLog(f.verbose)
	defer log.Sync()
	status := &progress.Progress{
		Out: c.ErrOrStderr(), Title: pkg, Bounds: config.Bounds, Peers: config.Group != nil,
		Workers: job.Workers(), Plain: f.verbose,
	}
	// It is also called where the check ends with an error, or by a panic.
	defer status.Pause()
	result, err := job.Run(c.Context(), status.Listener(logWriter{log}))
	// The live view must be gone before the result is printed.
	status.Pause()
	if result == nil || err != nil && len(result.Violations) == 0 {
		return err
	}
	// What was found counts more than what went wrong later: that is the last line, not the exit
	// code.
	shown := f.show(c, result)
	if err != nil {
		status.Say("%s", advised(err, true))
	}
	return shown
}

// prepare refuses files that cannot be written, before anything runs, and begins the output.
func (f *oneCheck) prepare(c *cobra.Command, texts io.Writer) error {
	// The default file is in the working directory. Where that cannot be written to, report.Keep
	// finds another place.
	if err := writable(f.out); err != nil {
		return err
	}
	// A name in a directory would leave open whether -o is relative to it.
	if f.out != "" && f.outDir != "" {
		return errors.New("-o names a file and --out-dir a directory: give one of them")
	}
	return f.begin(texts, c.Flags().Changed)
}

// runNodes checks the programs of a configuration that has several, and prints the result. What it
// was asked for and does not do is an error before anything is built. Packages are seen from the
// directory of the configuration.
//
// The result is shown, kept and written as that of one program is: the same flags name the files,
// and the exit code is that of the verdict.
func (f *oneCheck) runNodes(c *cobra.Command, r check.Request, dir string, args []string) error {
	// The first thing that is wrong is told.
	var wrong error
	if len(args) > 0 {
		wrong = errors.New("arguments after -- are of one program, and there are nodes: give each its args " +
			"in the configuration")
	}
	c.Flags().Visit(func(flag *pflag.Flag) {
		if wrong == nil {
			wrong = nodeflags.Refused(flag.Name)
		}
	})
	if wrong != nil {
		return wrong
	}
	var err error
	if r.Violations, err = parseViolations(f.violations); err != nil {
		return err
	}
	if r.Shrink, err = parseShrink(f.shrink); err != nil {
		return err
	}
	r.Tags, r.Save, r.Search, r.Distribution = f.tags, f.saveTo, f.search, f.elsewhere
	r.Flags = givenFlags(c.Flags(), append([]string{"resume", "run"}, distributed.Flags...)...)
	texts := f.texts(c)
	if err := f.prepare(c, texts); err != nil {
		return err
	}
	defer f.end(texts)
	log := newLog(f.verbose)
	defer log.Sync()
	// There is no live view: what is told is a line each. It ends before the result, also where the
	// check ends with an error, or by a panic.
	status := &progress.Progress{Out: c.ErrOrStderr(), Title: "nodes", Bounds: r.Config.Bounds, Nodes: true,
		Plain: true}
	defer status.Pause()
	dir = check.NodesDirectory(f.file, dir)
	result, err := check.Nodes(c.Context(), r, dir, status.Listener(logWriter{log}))
	// Nothing must be told between the lines of the result.
	status.Pause()
	if err != nil {
		return err
	}
	// These are saved first, so that what is printed names their files.
	saveError := f.saveNodes(c.ErrOrStderr(), result, dir)
	if err := errors.Join(saveError, f.showNodes(c.OutOrStdout(), texts, result)); err != nil {
		return err
	}
	return verdictOf(result.Run.Verdict)
}
