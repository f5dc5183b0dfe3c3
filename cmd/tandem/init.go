package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/cmd/tandem/internal/progress"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/doctor"
)

// initFlags are the flags of tandem init.
type initFlags struct {
	// force replaces a file; print writes none.
	force, print bool
	// time bounds the run of the program.
	time time.Duration
	// tags are those of the build, as for a check.
	tags []string
}

// initCommand is tandem init. Peers that are missing are no error: that is what it looks for. An
// address becomes a peer only if a profile has its port, so the file can be used at once. Its
// comments say what is left to do.
func initCommand() *cobra.Command {
	f := new(initFlags)
	c := &cobra.Command{
		Use:   "init [PACKAGE] [flags] [-- ARGS]",
		Short: "Write a first tandem.yaml, from what the program dials",
		Long: `Builds the program, runs it once without peers, and shows which addresses it dials and listens
at. Then it writes tandem.yaml into the directory of the package. An address whose port a profile
has becomes a peer; others become comments to be completed. A program that ends because a peer is
missing shows only what it has dialled by then. tandem check names what it misses later.`,
		Example: "  tandem init\n" +
			"  tandem init ./cmd/client -- -addr localhost:6379\n" +
			"  tandem init ./cmd/client --print",
		RunE: func(c *cobra.Command, args []string) error {
			pkg, rest, err := packageOf(c, args)
			if err != nil {
				return err
			}
			return f.run(c, pkg, rest)
		},
	}
	// There are no flags for what the file is to say: it is made to be edited.
	p := c.Flags()
	p.BoolVar(&f.force, "force", false, "replace a tandem.yaml that is there")
	p.BoolVar(&f.print, "print", false, "print the configuration, and write no file")
	p.DurationVar(&f.time, "time", 30*time.Second, "end the run of the program after this `duration`")
	p.StringSliceVar(&f.tags, "tags", nil,
		"build with these `tags`, as go build takes them (default: those of GOFLAGS)")
	c.SetFlagErrorFunc(unknownFlag)
	return c
}

// run looks at the program and writes the file. A file that is there is found before anything runs.
func (f *initFlags) run(c *cobra.Command, pkg string, args []string) error {
	if f.time <= 0 || f.time > configs.MaxTime {
		return fmt.Errorf("--time %v is not allowed: give a duration above 0 and up to %v", f.time,
			configs.MaxTime)
	}
	// Of a package that does not exist the directory is empty. The build below says what is wrong
	// with its name, before anything is written.
	dir := check.PackageDirectory(c.Context(), f.tags, pkg)
	file := filepath.Join(dir, configs.Files[0])
	there, err := configs.FileIn(dir)
	switch {
	case err != nil:
		return err
	case there != "" && !f.force && !f.print:
		return fmt.Errorf("%s is there already: --force replaces it, and --print prints what would be "+
			"written", there)
	case there != "": // it may be tandem.yml
		file = there
	}
	draft, err := f.look(c, pkg, args)
	if err != nil {
		return err
	}
	// Whether a program is installed is looked up once.
	states := map[string]string{}
	for _, p := range doctor.Profiles() {
		states[p.Name] = p.State
	}
	text := draft.YAML(func(profile string) string { return states[profile] })
	// What is printed can be piped, so nothing else is.
	if f.print {
		_, err := c.OutOrStdout().Write(text)
		return err
	}
	if err := os.WriteFile(file, text, 0o666); err != nil {
		return fmt.Errorf("the configuration cannot be written: %w; --print prints it", err)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s is written: look at it, and then run tandem check %s\n",
		file, pkg)
	return err
}

// look runs the program, and tells on standard error whom it dials and where it listens. An
// existing configuration is not read, since it is the one to be replaced.
func (f *initFlags) look(c *cobra.Command, pkg string, args []string) (d configs.Draft, err error) {
	// One execution is enough, and nothing else is of interest in it: no data races, no early
	// timers. It is the first of a search that takes every schedule, so nothing in it is at random.
	config := configs.Default()
	config.Bounds.SetExecutions(1)
	config.SetEarlyTimers(0)
	config.Args, config.SelfCheck, config.Races, config.Workers = args, 0, nil, 1
	config.Date = check.StartDate(config, "", time.Now())
	job, err := check.NewJob(check.Request{
		Package: pkg, Args: args, Config: config, Tags: f.tags, Isolation: "snapshot",
		Search: check.SearchRequest{Name: "dfs", Seed: 1, PCTDepth: 1},
	})
	if err != nil {
		return d, err
	}
	// A live view of one execution would be gone before anybody has read it.
	status := &progress.Progress{Out: c.ErrOrStderr(), Title: pkg, Plain: true}
	ctx, stop := context.WithTimeoutCause(c.Context(), f.time, errSlow)
	defer stop()
	log := newLog(false)
	defer log.Sync()
	d, err = job.Survey(ctx, check.Listener{Say: status.Say, Log: logWriter{log}})
	switch {
	// An interruption by the user is told apart from that by its cause.
	case errors.Is(context.Cause(ctx), errSlow):
		return d, fmt.Errorf("the program did not end in %v, so it is not known what it dials: give it more "+
			"with --time, or arguments with which it does less, after --", f.time)
	case err != nil:
		return d, err
	}
	// The same as the comments of the file say, for whoever does not look into it.
	for _, w := range d.Dialled {
		status.Say("the program dials %s%s", w, profilesOf(w))
	}
	for _, w := range d.Listened {
		status.Say("the program listens at %s", w)
	}
	if len(d.Dialled)+len(d.Listened) == 0 {
		status.Say("the program dialled nothing and listened nowhere in this run, so it needs no peers")
	}
	return d, nil
}

// errSlow is the cause for which the context of a run ends that takes too long. It is not shown:
// the message says what to do.
var errSlow = errors.New("the program takes too long")

// profilesOf names the profiles that may be meant by what was dialled, as a part of a line. The
// preferred one comes first. Another one is written into the file if that one is not installed.
func profilesOf(w configs.Wanted) (text string) {
	for i, p := range w.Profiles() {
		if i == 0 {
			text = ", which is the port of " + p.Name
		} else {
			text += ", " + p.Name
		}
	}
	if text == "" {
		return ", which is the port of no profile"
	}
	return text
}
