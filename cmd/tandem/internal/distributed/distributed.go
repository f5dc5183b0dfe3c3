// Package distributed has the commands and flags of checks with which other machines help.
package distributed

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandem-mc/tandem/check"
)

// WithoutArguments is the annotation of a command that says what it says if it has no arguments.
const WithoutArguments = "without arguments"

// Worker is tandem worker. It ends when it is interrupted: it waits for the next check.
func Worker() *cobra.Command {
	d := check.Distribution{}
	c := &cobra.Command{
		Use:   "worker URL",
		Short: "Help with checks that other machines lead",
		Long: `Waits at a NATS server for tandem check --distribute, and explores parts of its search. It gets
the program from there, and needs neither its source nor Go. It has to be the same file as the
tandem that leads, and the directory in which the check runs has to be there. It may be ended at
any moment: somebody else then explores its part.`,
		Example: "  tandem worker nats://10.0.0.5:4222",
		Args:    cobra.ExactArgs(1),
		// Whoever has no URL has not led a check yet.
		Annotations: map[string]string{
			WithoutArguments: "name the server, as in tandem worker URL; the check that leads prints it"},
		RunE: func(c *cobra.Command, args []string) error {
			// One argument, since a worker is at one server, or one cluster.
			d.Server = args[0]
			// What it says goes to standard error, as what a check says on the way does.
			d.Say = func(format string, a ...any) { fmt.Fprintf(c.ErrOrStderr(), format+"\n", a...) }
			return check.Work(c.Context(), d)
		},
	}
	addLoginFlags(c.Flags(), &d)
	return c
}

// loginFlags are those that all commands have that connect to a NATS server.
var loginFlags = []string{"nats-creds", "nats-nkey", "nats-ca", "nats-cert", "nats-key"}

// Flags are those of a check that leads. They are not a part of its saved run.
var Flags = append([]string{"distribute"}, loginFlags...)

// AddFlags adds the flags of a check that leads.
func AddFlags(f *pflag.FlagSet, d *check.Distribution) {
	// The value is checked when the server is connected to, or started.
	f.StringVar(&d.Server, "distribute", "",
		"let workers at this NATS `server` help: its URL, or embedded[=HOST:PORT] for one in this process")
	addLoginFlags(f, d)
}

// addLoginFlags adds loginFlags.
func addLoginFlags(f *pflag.FlagSet, d *check.Distribution) {
	// NATS has the same ones for its own tools, so what works there works here.
	l := &d.Login
	f.StringVar(&l.Credentials, "nats-creds", "", "`file` of credentials for the NATS server")
	f.StringVar(&l.NKey, "nats-nkey", "", "`file` of the seed of a key for the NATS server")
	f.StringVar(&l.CA, "nats-ca", "", "`file` of certificates by which the NATS server is known")
	f.StringVar(&l.Certificate, "nats-cert", "", "`file` of the certificate to show the NATS server")
	f.StringVar(&l.Key, "nats-key", "", "`file` of the key of --nats-cert")
	for _, name := range loginFlags {
		markFile(f, name)
	}
}

// markFile has shells complete a flag with files.
func markFile(f *pflag.FlagSet, name string) {
	// --resume makes these absolute, before it goes to another directory.
	if err := cobra.MarkFlagFilename(f, name); err != nil {
		panic(err) // the flag is there
	}
}

// Files are the flags that name files, so that --resume can go to another directory.
func Files(d *check.Distribution) []*string {
	// Those that were not given are empty, and stay so.
	l := &d.Login
	return []*string{&l.Credentials, &l.NKey, &l.CA, &l.Certificate, &l.Key}
}
