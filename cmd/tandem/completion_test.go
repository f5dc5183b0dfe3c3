package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// freeFlags have values that nobody can list: regular expressions, names of packages and of nodes,
// URLs.
var freeFlags = []string{"run", "skip", "preempt-in", "tags", "listen", "distribute", "node"}

// TestFlagsComplete: shells complete the value of each flag, unless it is a number, a duration or
// anything at all. So a new flag needs a decision.
func TestFlagsComplete(t *testing.T) {
	for _, c := range commands() {
		c.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			kind := flag.Value.Type()
			offer, completes := c.GetFlagCompletionFunc(flag.Name)
			if completes {
				values, directive := offer(c, nil, "")
				if directive != cobra.ShellCompDirectiveNoFileComp || slices.Contains(values, "") ||
					len(values) == 0 && flag.Name != "resume" {
					t.Errorf("%s --%s is completed by %q, %v", c.CommandPath(), flag.Name, values, directive)
				}
				return
			}
			_, isFile := flag.Annotations[cobra.BashCompFilenameExt]
			isNumber := strings.HasPrefix(kind, "int") || strings.HasPrefix(kind, "uint") ||
				kind == "duration"
			if kind != "bool" && !isFile && !isNumber && !slices.Contains(freeFlags, flag.Name) {
				t.Errorf("%s --%s is not completed: see valuesOf, and fileFlags", c.CommandPath(), flag.Name)
			}
		})
	}
}

// TestValuesAreListed: values that shells offer are those that the help text names.
func TestValuesAreListed(t *testing.T) {
	for _, c := range commands() {
		c.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			for _, value := range valuesOf(flag.Name) {
				value, _, _ = strings.Cut(value, ",") // of more than one, such as 1,reset
				help := flag.Usage + flag.DefValue
				if flag.Name != "resume" && value != "1" && !strings.Contains(help, value) {
					t.Errorf("%s --%s: the help does not say %q", c.CommandPath(), flag.Name, value)
				}
			}
		})
	}
}
