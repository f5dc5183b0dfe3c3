package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/report/status"
)

// ckptdCommand is tandem ckptd, with a command below it for each thing that can be done to a shared
// checkpoint daemon. The commands share the description of the daemon, which their flags fill in.
func ckptdCommand() *cobra.Command {
	d := check.DefaultDaemon()
	c := &cobra.Command{
		Use:   "ckptd",
		Short: "Start, inspect and stop a checkpoint daemon that several checks share",
		Long: `A check with peers starts a checkpoint daemon of its own. A shared one serves all checks
that are told to use it, with --ckptd SOCKET. Clients are isolated from each other and have
separate budgets. When a check ends, its peers and images end with it.`,
		// All of a life of a daemon.
		Example: `  tandem ckptd start
  tandem check ./cmd/client --ckptd /run/tandem-ckptd.socket
  tandem ckptd status
  tandem ckptd stop`,
		Args: cobra.NoArgs,
	}
	c.PersistentFlags().StringVar(&d.Socket, "socket", d.Socket, "where it listens: `path` of a Unix socket")
	fileFlags(c.PersistentFlags(), "socket")
	c.AddCommand(ckptdStart(&d), ckptdStatus(&d), ckptdStop(&d))
	return c
}

// ckptdStart starts the daemon. In the foreground this process becomes the daemon, so that a
// service manager can watch it. Limits are those of each client and not of all together.
func ckptdStart(d *check.SharedDaemon) *cobra.Command {
	var foreground bool
	c := &cobra.Command{
		Use:   "start",
		Short: "Start a shared checkpoint daemon",
		Long: `Starts a checkpoint daemon, and leaves it running. Checks use it with --ckptd SOCKET. The
limits are those of each client, that is of each check. With --foreground this process becomes the
daemon, as service managers want it.`,
		Example: "  tandem ckptd start\n" +
			"  tandem ckptd start --foreground --socket /run/user/0/ckptd.socket --max-clients 4",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			// It does not come back until the daemon ends.
			if foreground {
				return d.Become()
			}
			pid, err := d.Start()
			if err == nil {
				fmt.Fprintf(c.OutOrStdout(), "process %d listens at %s\n", pid, d.Socket)
			}
			return err
		},
	}
	p := c.Flags()
	p.BoolVar(&foreground, "foreground", false,
		"stay in the foreground, and print messages to standard error")
	p.StringVar(&d.Log, "log", "", "append its messages to `file`")
	fileFlags(p, "log")
	p.IntVar(&d.MaxClients, "max-clients", d.MaxClients, "greatest `number` of clients at a time")
	p.Int64Var(&d.MaxBytes, "max-bytes", d.MaxBytes, "greatest number of `bytes` in the images of a client")
	p.IntVar(&d.MaxImages, "max-images", d.MaxImages, "greatest `number` of images of a client")
	return c
}

// ckptdStop stops the daemon, and refuses to if checks still use it. Without --force it is an error
// if there are any.
func ckptdStop(d *check.SharedDaemon) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "stop",
		Short: "Stop the shared checkpoint daemon",
		Long: `Stops the daemon that listens at the socket. While checks use it, that is an error: they would
lose their peers. With --force they do, and end with an error.`,
		Example: "  tandem ckptd stop\n" +
			"  tandem ckptd stop --force",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return d.Stop(force) },
	}
	c.Flags().BoolVar(&force, "force", false, "stop it even if it has clients, whose peers end then")
	return c
}

// ckptdStatus prints the status page, or all of what it shows as JSON. The page is for people and
// may change. JSON has the fields of the status as they are in Go.
func ckptdStatus(d *check.SharedDaemon) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the state of the shared checkpoint daemon",
		Long: `Shows the clients of the daemon that listens at the socket, their groups of peers, and the
images of these.`,
		Example: "  tandem ckptd status\n" +
			"  tandem ckptd status --json",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			// It is as of now, and may be another one at once.
			s, err := d.Status()
			if err != nil {
				return err
			}
			if !asJSON {
				return status.Write(c.OutOrStdout(), s, time.Now())
			}
			text, err := json.MarshalIndent(s, "", "  ")
			if err == nil {
				_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", text)
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print all as JSON, with times in nanoseconds")
	return c
}
