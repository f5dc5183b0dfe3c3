package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/cmd/tandem/internal/delve"
	"github.com/tandem-mc/tandem/report"
)

// debugFlags are the flags of tandem debug.
type debugFlags struct {
	dir    string // as for tandem replay
	step   int    // at which the program stops first; 0: none
	listen string // address for an editor; empty: the terminal is used
	init   string // a file with commands of Delve; empty: none
	node   string // the one of several that is debugged; empty: that with the violation
}

// debugCommand is tandem debug. Its exit code is 0, whatever the program does: that is for the
// person to see who debugs it.
func debugCommand() *cobra.Command {
	f := new(debugFlags)
	c := &cobra.Command{
		Use:   "debug FILE|SCHEDULE",
		Short: "Run a counterexample under a debugger, with its schedule",
		Long: `Runs the program of a counterexample under Delve (make debugger builds it). The goroutines take
their steps in the recorded order, and the peers' answers are the recorded ones. So each run is the
same: to go back, call it again with the number of an earlier step. The first "continue" goes to
the step, or to a breakpoint; the last one ends at the violation.

Of several nodes, the one with the violation is run, or --node says which one. The others do not
run: what they send is recorded.`,
		// The second is for editors.
		Example: "  tandem debug found.counterexample --step 12\n" +
			"  tandem debug found.counterexample --listen 127.0.0.1:4040",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	p := c.Flags()
	p.IntVar(&f.step, "step", 0, "stop before step `n` of the schedule, as reports count them")
	p.StringVar(&f.listen, "listen", "", "wait at `address` for an editor, which speaks DAP or the "+
		"protocol of Delve (remote attach)")
	p.StringVar(&f.init, "init", "", "`file` with commands of Delve to begin with")
	p.StringVar(&f.node, "node", "", "debug the node with this `name`, instead of that with the violation")
	p.StringVar(&f.dir, "dir", "", "`directory` in which the check was started, if it has moved")
	fileFlags(p, "init", "dir")
	return c
}

// run debugs what a file or a string has. An interruption is for the debugger, which stops the
// program at it.
func (f *debugFlags) run(c *cobra.Command, what string) error {
	if f.step < 0 {
		return fmt.Errorf("--step %d is not allowed: give the number of a step, from 1 on", f.step)
	}
	// Delve takes commands from a file only where it has the terminal.
	if f.listen != "" && (f.step > 0 || f.init != "") {
		return errors.New("--listen leaves all to the editor: leave out --step and --init, which are for " +
			"the terminal")
	}
	recording, err := report.Read(what)
	if err != nil {
		return err
	}
	if f.node != "" && recording.Several == nil {
		return fmt.Errorf("--node %s: %s is of one program: leave it out", report.Line(f.node),
			report.Line(what))
	}
	dir, err := recording.Directory(what, f.dir)
	if err != nil {
		return err
	}
	debugger, err := delve.Find()
	if err != nil {
		return err
	}
	s := delve.Session{Debugger: debugger, Listen: f.listen, Init: f.init, In: c.InOrStdin(),
		Out: c.OutOrStdout(), Err: c.ErrOrStderr()}
	use := func(d check.Debugged) error {
		// Where the program has changed, the person has to know before the session, not after it.
		if d.Changed != "" {
			fmt.Fprintf(s.Out, "the program has changed: %s\n", report.Line(d.Changed))
		}
		if d.Step != "" {
			fmt.Fprintf(s.Out, "continue stops before %s\n", report.Line(d.Step))
		}
		return s.Attach(d)
	}
	if recording.Several != nil {
		return check.DebugNode(c.Context(), recording.Several, dir, f.node, f.step, use)
	}
	return check.Debug(c.Context(), recording.One, dir, f.step, use)
}
