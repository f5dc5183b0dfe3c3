// Package delve runs the debugger Delve for tandem debug. Delve is a program of its own, which a
// person uses at the terminal, or an editor over the network. What is debugged waits until Delve is
// attached. So nothing of the execution is missed, and a stop can be at its first step.
package delve

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/tandem-mc/tandem/check"
)

// Session is how a person, or an editor, is to debug.
type Session struct {
	Debugger string // the file of Delve
	Listen   string // address for an editor; empty: the terminal is used
	Init     string // a file with commands of Delve; empty: none
	In       io.Reader
	Out, Err io.Writer
}

// Find finds Delve: the one that was built with Tandem, or one in the path. The first is known to
// work with the releases of Go that Tandem supports.
func Find() (string, error) {
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

// Attach says what is debugged, runs the debugger, and returns when it has ended. It has the
// terminal meanwhile. The file with commands lies beside the executable, and goes with it. Delve
// reads commands also where there is no terminal: scripts use that.
func (s *Session) Attach(d check.Debugged) error {
	args := []string{"attach", fmt.Sprint(d.Pid), d.Executable}
	if s.Listen != "" {
		args = append(args, "--headless", "--listen="+s.Listen)
	} else {
		commands := filepath.Join(filepath.Dir(d.Executable), "debugger.init")
		if err := os.WriteFile(commands, []byte(s.commands(d)), 0o600); err != nil {
			return err
		}
		args = append(args, "--init", commands, "--allow-non-terminal-interactive")
	}
	// Delve keeps its own terminal, and ends with the process that it debugs, or by a command.
	// It is not bound to a context: an interruption is for the debugger.
	command := exec.Command(s.Debugger, args...)
	command.Stdin, command.Stdout, command.Stderr = s.In, s.Out, s.Err
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w", s.Debugger, err)
	}
	return nil
}

// commands are those that Delve begins with. The user's come last, and may go on to the end. A step
// begins in the scheduler, which runs on no goroutine: so that of the step is printed. It is the
// one to switch to, for its calls and variables.
func (s *Session) commands(d check.Debugged) string {
	// Where an execution ends, all goroutines are still there, with their calls and variables.
	text := "break violation " + check.EndFunction + "\n"
	if d.Step != "" {
		text += fmt.Sprintf("break step %s\ncondition step %s == %d\non step print gp.goid\n",
			check.StepFunction, check.StepRecord, d.Record)
	}
	if s.Init != "" {
		text += "source " + s.Init + "\n"
	}
	return text
}
