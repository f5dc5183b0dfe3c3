package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/cmd/tandem/internal/distributed"
)

// anew are the flags that may be given when a run goes on: bounds, what it may use of the machine,
// and what is shown. The others are part of the run, since another value would be another search.
var anew = []string{
	"resume", "executions", "time", "workers", "backend", "checkpoint-mib", "search-mib", "ckptd",
	"save-interval", "out", "shrink", "json", "unfold", "verbose", "sarif", "junit", "github", "out-dir",
}

// goOn goes on with a saved run, in the directory in which it began: packages and files were named
// from there. Only the counterexample goes where the user is now.
func (f *oneCheck) goOn(c *cobra.Command) error {
	var wrong []string
	c.Flags().Visit(func(flag *pflag.Flag) {
		// All of them are named at once.
		if !slices.Contains(anew, flag.Name) && !slices.Contains(distributed.Flags, flag.Name) {
			wrong = append(wrong, "--"+flag.Name)
		}
	})
	if len(wrong) > 0 {
		return fmt.Errorf("--resume goes on with a run as it began: leave out %s", strings.Join(wrong, ", "))
	}
	saved, err := check.OpenSavedCheck(f.resume)
	if err != nil {
		return err
	}
	defer saved.Close()
	// Before the directory changes.
	for _, file := range append(distributed.Files(&f.elsewhere), &f.out, &f.sarif, &f.junit, &f.outDir) {
		if *file, err = absolute(*file); err != nil {
			return err
		}
	}
	if err := os.Chdir(saved.Dir()); err != nil {
		return fmt.Errorf("%s: going to where the run began: %w", saved.Path(), err)
	}
	if err := giveAgain(c.Flags(), saved.Flags()); err != nil {
		return fmt.Errorf("%s: %w", saved.Path(), err)
	}
	// From here on it is a check like any other.
	return f.run(c, saved.Package(), saved.Args(), saved)
}

// giveAgain gives the flags that were given when a run began, but for those that are given now. A
// flag that is gone belongs to a run of another release. An error names the flag and its value.
func giveAgain(flags *pflag.FlagSet, given map[string][]string) error {
	// In a fixed order, so that the error is always the same.
	for _, name := range slices.Sorted(maps.Keys(given)) {
		flag := flags.Lookup(name)
		if flag == nil {
			return fmt.Errorf("the run began with --%s, and there is no such flag: check the program "+
				"from the beginning", name)
		}
		if flag.Changed {
			continue
		}
		for _, value := range given[name] {
			if err := flags.Set(name, value); err != nil {
				return fmt.Errorf("the run began with --%s %s: %w", name, value, err)
			}
		}
	}
	return nil
}
