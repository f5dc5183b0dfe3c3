package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandem-mc/tandem/configs"
)

// configCommand is tandem config. It takes the flags of a check, so that a command line can be
// tried by replacing one word of it.
func configCommand() *cobra.Command {
	f, asJSON := new(checkFlags), false
	c := &cobra.Command{
		Use:   "config [PACKAGE] [flags] [-- ARGS]",
		Short: "Print the configuration of a check, with the source of each value",
		Long: `Prints the configuration that a check of the package would have: that of the file, the flags
and the defaults. A comment says where each value comes from. The output can be kept as tandem.yaml,
and then means the same. Defaults that would change something if they stood in a file are comments.
Nothing is built, and nothing is run.`,
		Example: "  tandem config\n" +
			"  tandem config ./cmd/client --time 1h --strategy never >tandem.yaml\n" +
			"  tandem config ./cmd/client --json",
		RunE: func(c *cobra.Command, args []string) error {
			pkg, rest, err := packageOf(c, args)
			if err != nil {
				return err
			}
			return f.printConfig(c, pkg, rest, asJSON)
		},
	}
	p := c.Flags()
	// Those that say how results are shown are left out.
	f.register(p)
	p.DurationVar(&f.saveInterval, "save-interval", 0,
		"how often to save what is needed to go on; 0: only when interrupted (default 10s)")
	p.BoolVar(&asJSON, "json", false, "print JSON: an object with the value of each key, and its source")
	c.SetFlagErrorFunc(unknownFlag)
	return c
}

// keysOfFlags are the keys of the flags whose names are others, but for a hyphen instead of an
// underscore. These are the bounds, which have a key around them.
var keysOfFlags = map[string]string{
	"executions": "bounds.executions", "depth": "bounds.depth", "time": "bounds.time",
	"preemptions": "bounds.preemptions", "delays": "bounds.delays",
}

// keyOf is the key that a flag takes the place of; empty if there is none, since what the flag says
// is of one check.
func keyOf(flag string) string {
	key, renamed := keysOfFlags[flag]
	if !renamed {
		key = strings.ReplaceAll(flag, "-", "_")
	}
	// Such as --search: configurations are of programs, and not of searches.
	if !slices.Contains(configs.Keys(), key) {
		return ""
	}
	return key
}

// printConfig prints the configuration of a package. Flags that are no keys are named, so that
// nobody thinks that they are kept. The file is found in the same way as by a check, and what is
// wrong with it is the same error.
func (f *checkFlags) printConfig(c *cobra.Command, pkg string, args []string, asJSON bool) error {
	dir := f.directory(c.Context(), pkg)
	config, err := f.load(dir, c.Flags().Changed)
	if err != nil {
		return err
	}
	// Loading has said what is wrong, such as two files beside each other.
	file := f.file
	if file == "" && dir != "" {
		if file, err = configs.FileIn(dir); err != nil {
			return err
		}
	}
	// A flag that is no key would be lost where the output is kept.
	changed, others := map[string]string{}, []string(nil)
	c.Flags().Visit(func(flag *pflag.Flag) {
		switch key := keyOf(flag.Name); {
		case key == "preempt_in" && len(config.PreemptIn) > len(f.preemptIn):
			changed[key] = "the file and --preempt-in"
		case key != "":
			changed[key] = "--" + flag.Name
		case flag.Name != "config" && flag.Name != "json":
			others = append(others, "--"+flag.Name)
		}
	})
	// Arguments on the command line take the place of those of the file.
	if len(args) > 0 {
		config.Args, changed["args"] = args, "the command line"
	}
	e, err := configs.EffectiveOf(config, file, changed)
	if err != nil {
		return err
	}
	// JSON has no place for flags that are no keys.
	if asJSON {
		text, err := e.JSON()
		if err == nil {
			_, err = c.OutOrStdout().Write(text)
		}
		return err
	}
	text, err := e.YAML()
	if err != nil {
		return err
	}
	// The first line says what the rest is, since the file may be kept.
	head := fmt.Appendf(nil, "# The configuration of a check of %s, and the source of each value.\n", pkg)
	text = append(head, text...)
	if len(others) > 0 {
		text = fmt.Appendf(text, "# These flags have no key, and hold for one check only: %s\n",
			strings.Join(others, ", "))
	}
	_, err = c.OutOrStdout().Write(text)
	return err
}
