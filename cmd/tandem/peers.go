package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/doctor"
)

// peersCommand is tandem peers, which lists profiles, or shows one. What it shows of one is a
// configuration that can be copied and changed.
func peersCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "peers [PROFILE]",
		Short: "List the profiles of peers, or show what one stands for",
		Long: `A profile describes a well-known server or client, so that a configuration needs only its
name:

  peers:
    - profile: NAME

Without an argument, lists all profiles and says which are installed. With the name of one,
prints the configuration that it stands for.`,
		Example: "  tandem peers\n" +
			"  tandem peers redis",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listProfiles(c)
			}
			// More than one name is refused by Args.
			return showProfile(c, args[0])
		},
	}
}

// listProfiles prints a line for each profile: its name, its port, what it is, and whether it is
// installed. The order is that of doctor.Profiles.
func listProfiles(c *cobra.Command) error {
	// Titles and states have any length.
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, p := range doctor.Profiles() {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", p.Name, p.Port, p.Title, p.State)
	}
	return w.Flush()
}

// showProfile prints the configuration that a profile stands for. Its comments say whether the
// program is installed. An unknown name is an error that lists those that there are.
func showProfile(c *cobra.Command, name string) error {
	state, err := doctor.ProfileState(name)
	if err != nil {
		return err
	}
	text, err := configs.DescribeProfile(name, state)
	if err != nil {
		return err
	}
	_, err = c.OutOrStdout().Write(text)
	return err
}
