package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/html"
	"github.com/tandem-mc/tandem/report/text"
)

// replayCommand is tandem replay. What it replays is a violation, so that is also how it exits: 1
// says that there is one again, and 0 that the program, which has changed, no longer has it.
func replayCommand() *cobra.Command {
	f := new(replayFlags)
	c := &cobra.Command{
		Use:   "replay FILE|SCHEDULE",
		Short: "Run a counterexample again, event by event, without the peers",
		Long: `Runs a counterexample again: a file that a check has kept, or the schedule that it has printed.
Both hold the schedule and the answers of the peers, so that no peer is needed. The program is
built from its source. If that has changed, the schedule is followed as far as the program agrees,
and the step and line at which it parts are named. Of several programs, which the configuration
calls nodes, all are run together.

Exit codes: 1 there is a violation again, 0 it no longer reproduces, 3 error. That it no longer
reproduces says nothing of other schedules: check the program for that.`,
		Example: "  tandem replay client.counterexample\n" +
			"  tandem replay client.counterexample --times 10\n" +
			"  tandem replay client.counterexample --html client.html",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	// Flags for what is shown are those of tandem check, where it has them.
	c.Flags().IntVarP(&f.times, "times", "n", 1, "run it `n` times")
	c.Flags().StringVar(&f.dir, "dir", "", "`directory` in which the check was started, if it has moved; "+
		"of a schedule, one of the module")
	c.Flags().StringVar(&f.page, "html", "",
		"write the counterexample to `file` as an HTML page, with a column for each goroutine")
	c.Flags().BoolVar(&f.unfold, "unfold", false, "show every step")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false,
		"say more, such as about goroutines and peers")
	fileFlags(c.Flags(), "dir", "html")
	return c
}

// replayFlags are the flags of tandem replay.
type replayFlags struct {
	times  int
	dir    string // where the program is built; empty: where the file says, or here
	page   string // a file for the counterexample as a page; empty: none
	unfold bool   // show every step
	// verbose is said more, as of a check.
	verbose bool
}

// run replays what a file or a string has, and says what it has led to. A violation is shown in
// full, as a check shows it. For a program without one there is nothing to show but where it has
// parted from the recording.
func (f *replayFlags) run(c *cobra.Command, what string) error {
	if f.times < 1 {
		return fmt.Errorf("--times %d is not allowed: give a number from 1 on", f.times)
	}
	if err := writable(f.page); err != nil {
		return err
	}
	// All that can be wrong with the flags is known by now.
	recording, err := report.Read(what)
	if err != nil {
		return err
	}
	dir, err := recording.Directory(what, f.dir)
	if err != nil {
		return err
	}
	if recording.Several != nil {
		return f.replayNodes(c, what, recording.Several, dir)
	}
	result, err := check.ReplayHere(c.Context(), recording.One, dir, f.times)
	if err != nil {
		return err
	}
	out := c.OutOrStdout()
	// A program that was not changed has shown the violation, or there was an error.
	if result.Shown == nil {
		// It may have asked the peers for what they were not asked before.
		ended := "how it ends is not known: the peers' answers are not recorded from there on"
		if result.Ended != "" {
			ended = "the program ends: " + report.Line(result.Ended)
		}
		fmt.Fprintf(out, "NO LONGER REPRODUCES: %s\n", ended)
		if result.Parted != nil {
			fmt.Fprintf(out, "  %s\n", report.Line(result.Parted.String()))
		}
		fmt.Fprintln(out, "  that is said of this schedule only: check the program for others")
		return nil
	}
	// It may be another violation than the recorded one, if the program has changed. And the file
	// may have been called something else when it was recorded.
	result.Shown.ReplayCommand = "tandem replay " + what
	options := report.Options{Unfold: f.unfold, Verbose: f.verbose}
	if err := text.Write(out, result.Shown, options); err != nil {
		return err
	}
	if err := writePage(f.page, result.Shown); err != nil {
		return err
	}
	// Addresses are those of one build, and a part of events.
	as := "every event as recorded"
	switch {
	case result.Parted != nil:
		as = "as far as the program agrees: " + report.Line(result.Parted.String())
	case !result.SameBuild:
		as = "every step as recorded, by another build of the program"
	}
	fmt.Fprintf(out, "\nreplayed %d of %d times, %s\n", f.times, f.times, as)
	return verdictError(exitViolated)
}

// replayNodes runs the nodes of a file again, whose packages are seen from a directory, and says
// what that has led to. Which of them have changed is said in any case, since one build takes one
// way, and another one may take any. Exit codes are those of one program.
func (f *replayFlags) replayNodes(c *cobra.Command, what string, r *report.NodesRecording,
	dir string) error {
	again, err := check.ReplayNodes(c.Context(), r, dir, f.times)
	if err != nil {
		return err
	}
	out := c.OutOrStdout()
	if len(again.Result.Violations) == 0 {
		fmt.Fprintf(out, "NO LONGER REPRODUCES: %s\n  %s\n", report.Line(again.Ending()), again.Since())
		fmt.Fprintln(out, "  that is said of this schedule only: check the nodes for others")
		return nil
	}
	// The file may have been called something else when it was written.
	v := &again.Result.Violations[0]
	v.File, v.Counterexample.ReplayCommand = what, "tandem replay "+what
	options := report.Options{Unfold: f.unfold, Verbose: f.verbose}
	if err := text.WriteNodes(out, again.Result.Run, again.Result.Violations, options); err != nil {
		return err
	}
	if err := writePage(f.page, v.Counterexample); err != nil {
		return err
	}
	as := "every event of all nodes as recorded"
	if len(again.Changed) > 0 {
		as = "all that the nodes do to each other as recorded; " + again.Since()
	}
	fmt.Fprintf(out, "\nreplayed %d of %d times, %s\n", f.times, f.times, as)
	return verdictError(exitViolated)
}

// writePage writes a counterexample as HTML, if a file for it is named. What was there before is
// replaced.
func writePage(path string, shown *report.Counterexample) error {
	if path == "" {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(html.Write(file, shown), file.Close())
}
