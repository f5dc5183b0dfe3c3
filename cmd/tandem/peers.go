package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/peers"
)

func peersCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "peers [PROFILE]",
		Short: "List the profiles of peers, or show what one stands for",
		Long: "Lists the profiles of peers with what of them is installed. With the name of one, prints what it stands for: a\n" +
			"configuration that does without it. In a configuration it is named under peers: - profile: NAME.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listProfiles(c)
			}
			p, err := peers.FindProfile(args[0])
			if err != nil {
				return err
			}
			return showProfile(c, p)
		},
	}
}

func listProfiles(c *cobra.Command) error {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, p := range peers.Profiles() {
		f := findingOf(p)
		state := f.Detail
		if f.Fix != "" {
			state += "; " + f.Fix
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", p.Name, p.Port, p.Title, state)
	}
	return w.Flush()
}

// showProfile prints the profile's configuration, and before it what can be given.
func showProfile(c *cobra.Command, p peers.Profile) error {
	text, err := configs.ProfileYAML(p)
	if err != nil {
		return err
	}
	out := c.OutOrStdout()
	fmt.Fprintf(out, "# %s: %s. The same as\n#   peers:\n#     - profile: %s\n", p.Name, p.Title, p.Name)
	if p.Program == "" {
		fmt.Fprintln(out, "#       program: program")
	}
	port, arguments := "", "of the command, after those below"
	if p.Asks != "" {
		port, arguments = ", where your program listens", p.Asks+", in place of the last below"
	}
	fmt.Fprintf(out, "# which can have, too:\n#       name: NAME            # %s\n#       port: NUMBER          # %d%s\n#       arguments: [TEXT...]  # %s\n", p.Name, p.Port, port, arguments)
	if p.Serves != "" {
		fmt.Fprintf(out, "#       directory: DIRECTORY  # %s\n", p.Serves)
	}
	if p.Runs != "" {
		fmt.Fprintf(out, "#       program: FILE         # %s\n", p.Runs)
	}
	if p.Offers != "" {
		fmt.Fprintf(out, "# It has %s.\n", p.Offers)
	}
	_, err = fmt.Fprintf(out, "# and env, working_directory, choices, and all else that a peer can have. %s\n%s", sentence(findingOf(p)), text)
	return err
}

func sentence(f ckptd.Finding) string {
	text := strings.ToUpper(f.Detail[:1]) + f.Detail[1:]
	if f.Fix != "" {
		text += ": " + f.Fix
	}
	return text + "."
}

// findingOf says whether the profile's program is there.
func findingOf(p peers.Profile) ckptd.Finding {
	f := ckptd.Finding{Name: p.Name, OK: true, Detail: "installed"}
	if p.Program == "" {
		f.Detail = "runs a program of yours"
		return f
	}
	if _, err := os.Stat(p.Program); err != nil {
		f.OK, f.Detail = false, "no "+p.Program
		if f.Fix = p.Advice; p.Package != "" {
			f.Fix = "`tandem doctor --fix " + p.Name + "` installs Debian's package " + p.Package
		}
	}
	return f
}
