package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/doctor"
	"github.com/tandem-mc/tandem/report"
)

// valuesOf lists the values that a flag of this name can have, in whichever command it is; nil if
// that is anything. They are what shells offer.
func valuesOf(flag string) []string {
	switch flag {
	case "search":
		return check.Searches()
	case "strategy", "strategies":
		return configs.Strategies()
	case "backend", "backends":
		return configs.Backends
	case "scope", "scopes":
		return configs.Scopes
	case "isolation":
		return []string{"snapshot", "main", "fork"}
	case "races":
		return []string{"direct", "main", "all", "off"}
	case "violations":
		return []string{"1", "all"}
	case "shrink":
		return []string{"off"}
	case "self-check":
		return []string{"all", "off"}
	case "date":
		return []string{"now"}
	case "format":
		return formatNames()
	case "faults":
		return append([]string{"1"}, faultsOf("1,")...)
	case "resume":
		return check.SavedRuns()
	}
	return nil
}

// faultsOf are values of --faults with each kind of fault after a beginning.
func faultsOf(beginning string) (values []string) {
	for _, kind := range configs.FaultKinds() {
		values = append(values, beginning+kind)
	}
	return append(values, beginning+"partition", beginning+"crash", beginning+"pause", beginning+"slow")
}

// complete has shells complete the arguments of all commands, and the values of their flags. What a
// file or directory is to be is said where the flag is made. It is called once, when all commands
// and flags are there. The values are listed anew each time that a shell asks, since runs come and
// go.
func complete(root *cobra.Command) {
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(flag *pflag.Flag) {
			if valuesOf(flag.Name) == nil && flag.Name != "resume" { // there may be no run yet
				return
			}
			offer := func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return valuesOf(flag.Name), cobra.ShellCompDirectiveNoFileComp
			}
			if err := c.RegisterFlagCompletionFunc(flag.Name, offer); err != nil {
				panic(err) // the flag is there, and has no other one
			}
		})
		c.ValidArgsFunction = argumentsOf(c.Name())
	}
}

// argumentsOf completes the arguments of a command of this name: packages are directories,
// counterexamples are files with their ending, and profiles have names.
func argumentsOf(command string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch command {
		// Packages can be files, too, but nobody names them so.
		case "check", "test", "compare", "config", "init", "protocol":
			return nil, cobra.ShellCompDirectiveFilterDirs
		// A schedule is an argument, too, but nobody types one.
		case "replay", "show", "debug":
			ending := strings.TrimPrefix(report.CounterexampleSuffix, ".")
			return []string{ending}, cobra.ShellCompDirectiveFilterFileExt
		// Shells show the title beside the name.
		case "peers", "doctor":
			var names []string
			for _, p := range doctor.Profiles() {
				names = append(names, p.Name+"\t"+p.Title)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}
