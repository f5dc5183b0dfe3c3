package main

import (
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandem-mc/tandem/cmd/tandem/internal/nodeflags"
)

// commands are all commands that tandem has, those of cobra too.
func commands() (all []*cobra.Command) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		all = append(all, c)
		for _, below := range c.Commands() {
			visit(below)
		}
	}
	visit(rootCommand())
	return all
}

// references send a reader of a help text to another one, which may be far away.
var references = regexp.MustCompile(`(?i)\blikewise\b|\bas (for|of|with|to) tandem\b|\bas tandem \w+ does\b`)

// TestHelp: each command and each flag says what it is for, in lines that fit a terminal, and
// without sending the reader to another one.
func TestHelp(t *testing.T) {
	for _, c := range commands() {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: the summary is %q", c.CommandPath(), c.Short)
		}
		help := helpOf(t, c)
		for line := range strings.Lines(help) {
			if len(line)-1 > helpColumns {
				t.Errorf("%s: a line of %d columns: %s", c.CommandPath(), len(line)-1, line)
			}
		}
		// A reference may go from one line to the next.
		if r := references.FindString(strings.Join(strings.Fields(help), " ")); r != "" {
			t.Errorf("%s: the help says %q: say it in full", c.CommandPath(), r)
		}
		seen := map[string]string{}
		c.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			usage := strings.ToLower(flag.Usage)
			switch {
			case usage == "" || strings.HasSuffix(usage, "."):
				t.Errorf("%s --%s: %q", c.CommandPath(), flag.Name, flag.Usage)
			case seen[usage] != "":
				t.Errorf("%s --%s and --%s say the same", c.CommandPath(), flag.Name, seen[usage])
			}
			seen[usage] = flag.Name
			// Names of Go types say nothing to people. A duration is one that people know.
			name, _ := pflag.UnquoteUsage(flag)
			if slices.Contains([]string{"int", "int64", "uint", "string", "strings"}, name) {
				t.Errorf("%s --%s: the value is shown as %q: name it in backquotes", c.CommandPath(),
					flag.Name, name)
			}
		})
	}
}

// TestNodeFlags: what is said of a flag beside nodes is said of one that there is.
func TestNodeFlags(t *testing.T) {
	there := map[string]bool{}
	for _, c := range commands() {
		c.Flags().VisitAll(func(flag *pflag.Flag) { there[flag.Name] = true })
	}
	for _, name := range nodeflags.Names() {
		if !there[name] {
			t.Errorf("there is no flag --%s", name)
		}
	}
}

// helpOf is what a command prints for --help.
func helpOf(t *testing.T, c *cobra.Command) string {
	t.Helper()
	var out strings.Builder
	c.SetOut(&out)
	defer c.SetOut(os.Stdout)
	if err := c.Help(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestFlagGroups: the help of each command shows each flag once. Where there are many, each is in a
// group; and no group has a flag that there is not.
func TestFlagGroups(t *testing.T) {
	used := map[string]bool{}
	for _, c := range commands() {
		shown := map[string]int{}
		for _, s := range flagSections(c) {
			s.Flags.VisitAll(func(flag *pflag.Flag) {
				shown[flag.Name]++
				if s.Title == "Other flags" && flag.Name != "help" {
					t.Errorf("%s --%s is in no group", c.CommandPath(), flag.Name)
				}
			})
		}
		count := func(flag *pflag.Flag) {
			if flag.Hidden {
				return
			}
			used[flag.Name], used[c.Name()+" "+flag.Name] = true, true
			if shown[flag.Name] != 1 {
				t.Errorf("%s --%s is shown %d times", c.CommandPath(), flag.Name, shown[flag.Name])
			}
		}
		c.LocalFlags().VisitAll(count)
		c.InheritedFlags().VisitAll(count)
	}
	listed := map[string]bool{}
	for _, g := range flagGroups {
		for _, name := range g.flags {
			if listed[name] || !used[name] {
				t.Errorf("%q in group %q: listed before %t, used %t", name, g.title, listed[name], used[name])
			}
			listed[name] = true
		}
	}
}

// TestExamples: each command has examples, and the command line of each is one that the command
// takes: its flags are there, and its arguments as many as they may be.
func TestExamples(t *testing.T) {
	calls := regexp.MustCompile(`\btandem [^|)>#]*`)
	for _, c := range commands() {
		own := false
		for line := range strings.Lines(strings.ReplaceAll(c.Example, "\\\n", "")) {
			if !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: an example that is not indented: %s", c.CommandPath(), line)
			}
			call := calls.FindString(line)
			args, err := likeGoTest(words(call))
			if err != nil || len(args) == 0 {
				t.Errorf("%s: %s: %v", c.CommandPath(), line, err)
				continue
			}
			used, rest, err := rootCommand().Find(args)
			if err != nil || used.Parent() == nil {
				t.Errorf("%s: %s: there is no such command: %v", c.CommandPath(), line, err)
				continue
			}
			own = own || c.Parent() == nil || strings.HasPrefix(used.CommandPath(), c.CommandPath())
			if err := used.ParseFlags(rest); err != nil {
				t.Errorf("%s: %s: %v", c.CommandPath(), line, err)
			}
			if err := used.ValidateArgs(used.Flags().Args()); err != nil {
				t.Errorf("%s: %s: %v", c.CommandPath(), line, err)
			}
		}
		if !own {
			t.Errorf("%s has no example of itself", c.CommandPath())
		}
	}
}

// words are the arguments of a call of tandem, as a shell takes them apart.
func words(call string) (args []string) {
	for i, part := range strings.Split(call, "'") {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	return args[min(1, len(args)):]
}

// TestVersion: what a build knows of its source is in its version.
func TestVersion(t *testing.T) {
	settings := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"},
		{Key: "vcs.modified", Value: "true"}}
	of := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: version},
			Settings: settings}
	}
	for _, c := range []struct {
		released string
		info     *debug.BuildInfo
		want     string
	}{
		{"v0.1.0", of("(devel)", settings...), "v0.1.0, go1.26.8"},
		{"", of("v0.2.0"), "v0.2.0, go1.26.8"},
		{"", of("v0.0.0-20260102150405-0123456789ab+dirty", settings...),
			"v0.0.0-20260102150405-0123456789ab+dirty, go1.26.8"},
		{"", of("(devel)", settings...), "(devel) at 0123456789ab, changed, go1.26.8"},
		{"", of("", settings[:1]...), "(devel) at 0123456789ab, go1.26.8"},
		{"", of("(devel)"), "(devel), go1.26.8"},
		{"v0.1.0", nil, "v0.1.0"},
		{"", nil, "unknown"},
	} {
		if got := versionOf(c.released, c.info); got != c.want {
			t.Errorf("%q, %v: %q, want %q", c.released, c.info, got, c.want)
		}
	}
}
