package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/doctor"
)

// peersCommand is tandem peers, which lists profiles, or shows one. What it shows of one is a
// configuration that can be copied and changed.
func peersCommand() *cobra.Command {
	var knownHosts, clientKey bool
	c := &cobra.Command{
		Use:   "peers [PROFILE]",
		Short: "List the profiles of peers, or show what one stands for",
		Long: `A profile describes a well-known server or client, so that a configuration needs only its
name:

  peers:
    - profile: NAME

Without an argument, lists all profiles and says which are installed. With the name of one,
prints the configuration that it stands for: the command, the address, the files, and how a
client logs in.`,
		Example: `  tandem peers
  tandem peers redis
  tandem peers dropbear --known-hosts
  tandem peers dropbear --client-key >id_test`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case (knownHosts || clientKey) && len(args) == 0:
				return errors.New("--known-hosts and --client-key are about one profile: name an SSH " +
					"server, such as tandem peers dropbear --known-hosts")
			case knownHosts:
				return printKeys(c, configs.KnownHosts, args[0])
			case clientKey:
				return printKeys(c, configs.ClientKey, args[0])
			case len(args) == 0:
				return listProfiles(c)
			}
			// More than one name is refused by Args.
			return showProfile(c, args[0])
		},
	}
	// Both go to standard output: a shell puts them where they are wanted.
	c.Flags().BoolVar(&knownHosts, "known-hosts", false,
		"print only the host keys of an SSH server, as lines of known_hosts")
	c.Flags().BoolVar(&clientKey, "client-key", false,
		"print only the private key of a user that an SSH server lets in")
	c.MarkFlagsMutuallyExclusive("known-hosts", "client-key")
	return c
}

// printKeys prints keys of a profile and nothing else, so that they can go into a file. They are
// test keys that everybody knows, so there is no harm in a file that others can read. A profile
// that is no SSH server has none, which is an error. It says so before anything is printed, and
// the file stays empty.
func printKeys(c *cobra.Command, of func(profile string) (string, error), profile string) error {
	text, err := of(profile)
	if err != nil {
		return err
	}
	_, err = io.WriteString(c.OutOrStdout(), text)
	return err
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
