package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/html"
	"github.com/tandem-mc/tandem/report/text"
)

// replayCommand is tandem replay. What it replays is a violation, so that is also how it exits: 1
// says that it happened again, and 3 that the program now takes another way.
func replayCommand() *cobra.Command {
	var times int
	var dir, page string
	var unfold bool
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Run a counterexample again, event by event, without the peers",
		Long: `Runs a counterexample that a check has kept. The file holds the schedule and the answers of
the peers, so that no peer is needed. The program is built from its source, which may have
changed, as long as it takes the same steps.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if times < 1 {
				return errors.New("--times must be at least 1")
			}
			if err := writable(page); err != nil {
				return err
			}
			// All that can be wrong with the flags is known by now.
			recording, err := report.Load(args[0])
			if err != nil {
				return err
			}
			// The path in the file is that of the machine where it was recorded.
			if dir == "" {
				dir = recording.Program.Directory
			} else if dir, err = filepath.Abs(dir); err != nil {
				return err
			}
			if _, err := os.Stat(dir); err != nil {
				return fmt.Errorf("the directory that the program was checked from: %w; "+
					"say with --dir where that is now", err)
			}
			shown, same, err := check.ReplayHere(c.Context(), recording, dir, times)
			if err != nil {
				return err
			}
			// Whoever recorded it may have called the file something else.
			shown.ReplayCommand = "tandem replay " + args[0]
			if err := text.Write(c.OutOrStdout(), shown, report.Options{Unfold: unfold}); err != nil {
				return err
			}
			if err := writePage(page, shown); err != nil {
				return err
			}
			as := "every event as recorded"
			if !same {
				as = "every step as recorded, by another build of the program"
			}
			fmt.Fprintf(c.OutOrStdout(), "\nreplayed %d of %d times, %s\n", times, times, as)
			return verdictError(exitViolated)
		},
	}
	c.Flags().IntVarP(&times, "times", "n", 1, "how often to run it")
	c.Flags().StringVar(&dir, "dir", "", "`directory` in which tandem check was called, if it has moved")
	c.Flags().StringVar(&page, "html", "",
		"write the counterexample to `file` as an HTML page, with a column for each goroutine")
	c.Flags().BoolVar(&unfold, "unfold", false, "show every step")
	return c
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
