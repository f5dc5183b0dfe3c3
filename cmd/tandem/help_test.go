package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelp: each command and each flag says what it is for, in lines that fit a terminal.
func TestHelp(t *testing.T) {
	const columns = 100
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: the summary is %q", c.CommandPath(), c.Short)
		}
		for line := range strings.Lines(c.Long + "\n" + c.Example) {
			if len(line) > columns {
				t.Errorf("%s: a line of %d columns: %s", c.CommandPath(), len(line), line)
			}
		}
		seen := map[string]string{}
		c.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			usage := strings.ToLower(flag.Usage)
			switch {
			case usage == "" || strings.HasSuffix(usage, "."):
				t.Errorf("%s --%s: %q", c.CommandPath(), flag.Name, flag.Usage)
			case strings.Contains(usage, "likewise"):
				t.Errorf("%s --%s refers to another flag, which may stand elsewhere", c.CommandPath(),
					flag.Name)
			case seen[usage] != "":
				t.Errorf("%s --%s and --%s say the same", c.CommandPath(), flag.Name, seen[usage])
			}
			seen[usage] = flag.Name
		})
		for _, below := range c.Commands() {
			visit(below)
		}
	}
	visit(rootCommand())
}
