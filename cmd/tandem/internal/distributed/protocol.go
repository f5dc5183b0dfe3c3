package distributed

import (
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/check/protocols"
	"github.com/tandem-mc/tandem/report"
)

// Protocol is tandem protocol. A program that ends with another code than 0 ends it with what
// failed makes of a verdict. Code 1 may mean a violation, or another test that fails, or a bound:
// go test tells none of these apart, and the program has printed which one it is.
func Protocol(failed func(report.Verdict) error) *cobra.Command {
	o := protocols.Options{}
	c := &cobra.Command{
		Use:   "protocol [PACKAGE] [flags] [-- ARGS]",
		Short: "Check a model of package protocol with several processes, on several machines",
		Long: `Runs a test that checks a model of package protocol, and divides the search among processes:
those of tandem worker, or, if there is no worker for some seconds, of this machine. States,
transitions and verdict are those of go test. With --run the package has tests, else it is a
program.

Only a breadth-first search is divided. If it is reduced and runs may go on for ever, more parts may
visit more states. The result says how many states were sent, and how evenly they are divided.

Exit codes: 0 the test passes, 1 it fails, 3 error.`,
		Example: "  tandem protocol ./paxos --run TestPaxos --distribute embedded --parts 2\n" +
			"  tandem protocol ./paxos --run TestPaxos --distribute nats://10.0.0.5:4222 --parts 8",
		RunE: func(c *cobra.Command, args []string) error {
			// As for other commands, what comes after -- is for the program.
			rest := []string(nil)
			if dash := c.ArgsLenAtDash(); dash >= 0 {
				args, rest = args[:dash], args[dash:]
			}
			// One package, since its program is what all workers get.
			switch {
			case len(args) > 1:
				return fmt.Errorf("there are %d packages: name one", len(args))
			case len(args) == 1:
				o.Package = args[0]
			default:
				o.Package = "."
			}
			// Standard output is that of the program alone.
			o.Args, o.Stdout, o.Stderr = rest, c.OutOrStdout(), c.ErrOrStderr()
			o.Say = func(format string, a ...any) { fmt.Fprintf(c.ErrOrStderr(), format+"\n", a...) }
			// This takes as long as the search does. Workers may come and go meanwhile.
			err := protocols.Check(c.Context(), o)
			// What was wrong has been printed by the program.
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 {
				return failed(report.Violated)
			}
			return err
		},
	}
	// The number of parts stays the same in a run, whatever happens to workers: a state belongs to
	// one of them, and nobody looks for it anywhere else.
	f := c.Flags()
	// Whoever names no tests has a program: a test of the wrong name would check nothing.
	f.StringVar(&o.Tests, "run", "",
		"run the tests that `regexp` matches; without it the package is a program")
	f.IntVar(&o.Parts, "parts", 2, "divide the search into `n` parts, each of which is a process")
	f.StringVar(&o.Partition, "partition", "part", "divide states by this `function`: hash of all of a "+
		"state, part of it (the nodes that change least), part=N,... for nodes by their numbers, or "+
		"estimate (Options.Estimate)")
	// To save takes a twentieth of the time, however short this one is. Short ones are for tests.
	// What a lost process has not saved is done again.
	f.DurationVar(&o.Checkpoint, "checkpoint", 10*time.Second, "have each part save its states at the "+
		"server, at most once in this `time`; 0: never")
	// Shells offer the functions that have a name alone.
	// One with numbers of nodes is only known to whoever knows the model.
	functions := cobra.FixedCompletions([]string{"hash", "part", "estimate"},
		cobra.ShellCompDirectiveNoFileComp)
	if err := c.RegisterFlagCompletionFunc("partition", functions); err != nil {
		panic(err) // the flag is there
	}
	// The servers and the ways to log in are those of tandem check.
	AddFlags(f, &o.Options)
	return c
}
