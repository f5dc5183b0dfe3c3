package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/report"
)

// debugFlags are the flags of tandem debug.
type debugFlags struct {
	dir    string // as for tandem replay
	step   int    // at which the program stops first; 0: none
	listen string // address for an editor; empty: the terminal is used
	init   string // a file with commands of Delve; empty: none
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
the step, or to a breakpoint; the last one ends at the violation.`,
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
	recording, dir, err := loadRecording(what, f.dir)
	if err != nil {
		return err
	}
	debugger, err := findDebugger()
	if err != nil {
		return err
	}
	// Where the program has changed, the person has to know before the session, not after it.
	return check.Debug(c.Context(), recording, dir, f.step, func(d check.Debugged) error {
		out := c.OutOrStdout()
		if d.Parted != nil {
			fmt.Fprintf(out, "the program has changed: %s\n", report.Line(d.Parted.String()))
		}
		if d.Step != "" {
			fmt.Fprintf(out, "continue stops before %s\n", report.Line(d.Step))
		}
		return f.attach(c, debugger, d)
	})
}

// attach runs the debugger, and returns when it has ended. It has the terminal meanwhile. The file
// with commands lies beside the executable, and goes with it. Delve reads commands also where there
// is no terminal: scripts use that.
func (f *debugFlags) attach(c *cobra.Command, debugger string, d check.Debugged) error {
	args := []string{"attach", fmt.Sprint(d.Pid), d.Executable}
	if f.listen != "" {
		args = append(args, "--headless", "--listen="+f.listen)
	} else {
		commands := filepath.Join(filepath.Dir(d.Executable), "debugger.init")
		if err := os.WriteFile(commands, []byte(f.commands(d)), 0o600); err != nil {
			return err
		}
		args = append(args, "--init", commands, "--allow-non-terminal-interactive")
	}
	// It is not bound to the context: an interruption is for the debugger.
	command := exec.Command(debugger, args...)
	command.Stdin, command.Stdout, command.Stderr = c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr()
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w", debugger, err)
	}
	return nil
}

// commands are those that Delve begins with. The user's come last, and may go on to the end. A step
// begins in the scheduler, which runs on no goroutine: so that of the step is printed. It is the
// one to switch to, for its calls and variables.
func (f *debugFlags) commands(d check.Debugged) string {
	text := "break violation " + check.EndFunction + "\n"
	if d.Step != "" {
		text += fmt.Sprintf("break step %s\ncondition step %s == %d\non step print gp.goid\n",
			check.StepFunction, check.StepRecord, d.Record)
	}
	if f.init != "" {
		text += "source " + f.init + "\n"
	}
	return text
}

// findDebugger finds Delve: the one that was built with Tandem, or one in the path. The first is
// known to work with the releases of Go that Tandem supports.
func findDebugger() (string, error) {
	self, err := os.Executable()
	if err == nil {
		own := filepath.Join(filepath.Dir(self), "tandem-dlv")
		if _, err := os.Stat(own); err == nil {
			return own, nil
		}
	}
	path, err := exec.LookPath("dlv")
	if err != nil {
		return "", errors.New("there is no Delve: make debugger builds bin/tandem-dlv, " +
			"or put dlv into the path")
	}
	return path, nil
}
