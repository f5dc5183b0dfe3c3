package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandem-mc/tandem/cmd/tandem/internal/distributed"
	"github.com/tandem-mc/tandem/cmd/tandem/internal/man"
)

// helpColumns is where the lines of help texts end, wherever the terminal does.
const helpColumns = 100

// maxUngrouped is how many flags a command can have that are shown as one list.
const maxUngrouped = 8

// flagGroup are flags that belong together, in the order in which they are shown. An entry is the
// name of a flag, or "command flag" where two commands have different flags of one name.
type flagGroup struct {
	// title is the heading of the group. No other group has it.
	title string
	// flags that are asked for most come first.
	flags []string
}

// flagGroups are the groups of all commands that have many flags, in the order in which they are
// shown. What is asked for most comes first. A flag that is in none is listed at the end; a test
// sees to it that --help alone is.
var flagGroups = []flagGroup{
	// Of the tests, only tandem test and tandem protocol have some.
	{"What is run", []string{"config", "test run", "protocol run", "skip", "short", "together", "tags"}},
	// Of tandem compare only: its flags in the plural are lists.
	{"What is compared", []string{"strategies", "backends", "scopes", "repeat", "components"}},
	// What ends a search comes before what leaves executions out.
	{"Bounds", []string{"executions", "time", "timeout", "search-mib", "depth", "preemptions", "delays"}},
	{"How to search", []string{"search", "seed", "pct-depth", "violations", "shrink", "self-check",
		"isolation", "workers"}},
	// What is divided comes before who may log in.
	{"Other machines", []string{"distribute", "parts", "partition", "checkpoint", "nats-creds", "nats-nkey",
		"nats-ca", "nats-cert", "nats-key"}},
	// Each of these makes a search longer, but for the date.
	{"What is explored besides schedules", []string{"faults", "early-timers", "peer-timers", "date"}},
	{"What is watched", []string{"races", "preempt-in", "leaks"}},
	{"Peers", []string{"strategy", "backend", "scope", "checkpoint-mib", "cache", "ckptd"}},
	{"Resuming a check", []string{"resume", "check run", "save-interval"}},
	// Texts come before formats for other programs.
	{"Output", []string{"out", "out-dir", "unfold", "verbose", "json", "junit", "sarif", "github", "csv",
		"svg", "html", "follow"}},
}

// position is where a flag stands in the help of its command: the index of its group, and its place
// there. A flag without a group comes after all groups.
func position(c *cobra.Command, flag string) (group, place int) {
	for i, g := range flagGroups {
		for _, name := range []string{flag, c.Name() + " " + flag} {
			if place := slices.Index(g.flags, name); place >= 0 {
				return i, place
			}
		}
	}
	return len(flagGroups), 0
}

// Groups of commands, in the order in which they are shown. What is in none of the first two is in
// the third.
const (
	toCheck   = "check"
	toExplain = "explain"
	toSetUp   = "set up"
)

// groupCommands puts the commands below root into groups, for its help.
func groupCommands(root *cobra.Command) {
	root.AddGroup(&cobra.Group{ID: toCheck, Title: "Check:"},
		&cobra.Group{ID: toExplain, Title: "Inspect results:"},
		&cobra.Group{ID: toSetUp, Title: "Set up:"})
	// Names that are not here are those of commands that prepare a check, or look after peers.
	group := map[string]string{
		"check": toCheck, "protocol": toCheck, "worker": toCheck, "status": toCheck, "test": toCheck,
		"compare": toCheck, "replay": toExplain, "show": toExplain, "debug": toExplain, "cache": toExplain,
	}
	for _, c := range root.Commands() {
		c.GroupID = cmp.Or(group[c.Name()], toSetUp)
	}
}

// adviseOnUsage has errors about flags and arguments say where it is told which there are. Commands
// that programs have arguments for say more: see unknownFlag.
func adviseOnUsage(root *cobra.Command) {
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if wrong := wrongValue(c, err); wrong != nil {
			return wrong
		}
		return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
	})
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		// Cobra's own errors count arguments, and do not say what they are.
		if arguments := c.Args; arguments != nil {
			c.Args = func(c *cobra.Command, args []string) error {
				if arguments(c, args) == nil {
					return nil
				}
				return wrongArguments(c, args)
			}
		}
		for _, below := range c.Commands() {
			visit(below)
		}
	}
	visit(root)
}

// wrongArguments is the error of arguments that are too few or too many, with how it is right.
func wrongArguments(c *cobra.Command, args []string) error {
	if text := c.Annotations[distributed.WithoutArguments]; text != "" && len(args) == 0 {
		return errors.New(text)
	}
	// The form of a command has the names of its arguments. None of those that count has several.
	_, names, _ := strings.Cut(c.Use, " ")
	switch {
	// What is missing is named, and not counted: users do not know how many there should be.
	// What is too much is named, too, since a value of a flag may have become an argument.
	case len(args) == 0:
		return fmt.Errorf("%s needs an argument: give %s, and see %s --help", c.CommandPath(), names,
			c.CommandPath())
	case names == "":
		return fmt.Errorf("%s takes no arguments: leave out %s", c.CommandPath(), strings.Join(args, " "))
	}
	return fmt.Errorf("%s takes one argument, %s: leave out %s", c.CommandPath(), names,
		strings.Join(args[1:], " "))
}

// writeUsage writes how a command is called: its forms, examples, the commands below it, and its
// flags, in groups where there are many. It takes the place of cobra's own, which has no groups of
// flags.
func writeUsage(c *cobra.Command) error {
	// Cobra decides where it goes: to standard output for --help, and else to standard error. It is
	// written in one piece, so that other output cannot come between its lines.
	var text strings.Builder
	text.WriteString("Usage:\n")
	if c.Runnable() {
		fmt.Fprintf(&text, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "  %s COMMAND\n", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(&text, "\nExamples:\n%s\n", c.Example)
	}
	// Those of cobra, such as completion, are among them.
	if c.HasAvailableSubCommands() {
		writeCommands(&text, c)
	}
	for _, s := range flagSections(c) {
		fmt.Fprintf(&text, "\n%s:\n%s", s.Title, s.Flags.FlagUsagesWrapped(helpColumns))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "\n\"%s COMMAND --help\" says more about a command.\n", c.CommandPath())
	}
	_, err := fmt.Fprint(c.OutOrStderr(), text.String())
	return err
}

// writeCommands lists the commands below another one, in its groups.
func writeCommands(text *strings.Builder, c *cobra.Command) {
	groups := c.Groups()
	if len(groups) == 0 {
		// Commands without a group have this one. Cobra names it by the empty text.
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, g := range groups {
		fmt.Fprintf(text, "\n%s\n", g.Title)
		for _, below := range c.Commands() {
			if below.GroupID == g.ID && below.IsAvailableCommand() {
				fmt.Fprintf(text, "  %-*s %s\n", below.NamePadding(), below.Name(), below.Short)
			}
		}
	}
}

// flagSections are the flags of a command as its help shows them. Few flags are one section, in the
// order of the alphabet; many are those of flagGroups that the command has any of, and the rest.
func flagSections(c *cobra.Command) (sections []man.Section) {
	c.InitDefaultHelpFlag()
	var all []*pflag.Flag
	// Those of the commands above it hold, too.
	for _, set := range []*pflag.FlagSet{c.LocalFlags(), c.InheritedFlags()} {
		set.VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden {
				all = append(all, flag)
			}
		})
	}
	// Few flags have no groups: a reader finds one of a few at once.
	title := func(int) string { return "Flags" }
	if len(all) > maxUngrouped {
		// Each flag is compared by its group, and then by its place there.
		slices.SortStableFunc(all, func(a, b *pflag.Flag) int {
			group, place := position(c, a.Name)
			other, otherPlace := position(c, b.Name)
			return cmp.Or(group-other, place-otherPlace)
		})
		title = func(group int) string {
			if group == len(flagGroups) {
				return "Other flags"
			}
			return flagGroups[group].title
		}
	}
	// They are in order now, so each group is a run of them.
	for _, flag := range all {
		group, _ := position(c, flag.Name)
		if t := title(group); len(sections) == 0 || sections[len(sections)-1].Title != t {
			set := pflag.NewFlagSet(t, pflag.ContinueOnError)
			set.SortFlags = false // that is done
			sections = append(sections, man.Section{Title: t, Flags: set})
		}
		sections[len(sections)-1].Flags.AddFlag(flag)
	}
	return sections
}

// describeCompletion says in the help of tandem completion, which cobra has made, how it is used. A
// shell that cobra learns is listed without examples, and then a test fails.
func describeCompletion(root *cobra.Command) {
	all, _, _ := root.Find([]string{"completion"}) // it is there
	all.Short = "Print a completion script for a shell"
	all.Long = `Prints a script for a shell, which completes commands, flags, values of flags, profiles and
saved runs.`
	all.Example = "  source <(tandem completion bash)"
	// cobra's own texts have a form of their own, and no examples.
	for _, c := range all.Commands() {
		c.Short = "Print the script for " + c.Name()
		c.Long = "Prints the script that completes tandem in " + c.Name() + "."
		switch c.Name() {
		case "bash":
			c.Long += " It needs the package bash-completion."
			c.Example = "  source <(tandem completion bash)\n" +
				"  tandem completion bash >/etc/bash_completion.d/tandem"
		case "zsh":
			c.Example = "  source <(tandem completion zsh)\n" +
				`  tandem completion zsh >"${fpath[1]}/_tandem"`
		case "fish":
			c.Example = "  tandem completion fish | source\n" +
				"  tandem completion fish >~/.config/fish/completions/tandem.fish"
		case "powershell":
			c.Example = "  tandem completion powershell | Out-String | Invoke-Expression"
		}
		// Some shells have no such flag.
		if flag := c.Flags().Lookup("no-descriptions"); flag != nil {
			flag.Usage = "complete without descriptions"
		}
	}
	// Cobra's text for tandem help repeats that of --help, so it gets one of its own.
	help, _, _ := root.Find([]string{"help"})
	help.Short, help.Long = "Say more about a command", "Prints what a command does, and its flags."
	help.Example = "  tandem help check"
}

// versionCommand is tandem version, which many tools have beside the flag. It prints what the flag
// prints.
func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Prints the version of Tandem, and the release of Go by which it was built.",
		Example: "  tandem version",
		Args:    cobra.NoArgs,
		// Scripts read this line, so it has one form.
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "tandem version %s\n", version())
			return err
		},
	}
}

// manCommand is tandem man, which is for whoever packs Tandem. So the help does not list it, and
// neither do the pages themselves. Releases have its output, and make man writes it.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIRECTORY",
		Short:  "Write the pages of the manual",
		Hidden: true,
		Long: `Writes a page for man(1) for each command into a directory, which is made. The date of the
pages is that of the variable SOURCE_DATE_EPOCH, in seconds since 1970, or this day.`,
		Example: "  tandem man /usr/local/share/man/man1",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return writePages(c.Root(), args[0]) },
	}
}

// writePages writes the pages of a command, and of all below it, into a directory. Reproducible
// builds have the date of their source in SOURCE_DATE_EPOCH.
func writePages(root *cobra.Command, directory string) error {
	date := time.Now()
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH is %q: set it to seconds since 1970, or unset it", epoch)
		}
		date = time.Unix(seconds, 0)
	}
	err := os.MkdirAll(directory, 0o777)
	number, _, _ := strings.Cut(version(), ",") // without the release of Go
	info := man.Info{Version: number, Date: date, Sections: flagSections}
	for name, text := range man.Pages(root, info) {
		if err == nil {
			err = os.WriteFile(filepath.Join(directory, name), []byte(text), 0o666)
		}
	}
	if err != nil {
		return fmt.Errorf("the pages cannot be written: %w; name another directory", err)
	}
	return nil
}
