package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// reader does what a document says, in a directory of its own, as somebody would who has one
// terminal: a change of directory and exported variables last from one command to the next.
type reader struct {
	dir string // where it began, and where files are
	// state is a script that brings back the terminal as the last command has left it.
	state string
	// code is the exit code of the last command.
	code int
	// patience is how long a command may take.
	patience time.Duration
	// log gets each command when it begins and how long it took. Verbose adds what it printed.
	log     io.Writer
	verbose bool
}

// newReader begins in an empty directory.
func newReader(dir string, patience time.Duration, log io.Writer, verbose bool) (*reader, error) {
	state, err := os.CreateTemp("", "follow-state-")
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(state, "cd %s\n", quote(dir))
	return &reader{dir: dir, state: state.Name(), patience: patience, log: log, verbose: verbose},
		errors.Join(err, state.Close())
}

// close removes what the reader has made outside its directory.
func (r *reader) close() error { return os.Remove(r.state) }

// do does one step, as often as it may be tried. Next is the command after it, if there is one:
// "echo $?" means that an exit code is looked at, whatever it is.
func (r *reader) do(s step, next string) (printed string, err error) {
	// Reading a document takes no time, so files are not timed.
	if s.command == "" {
		return "", r.write(s)
	}
	for range s.tries {
		if printed, err = r.try(s, next); err == nil {
			break
		}
		fmt.Fprintf(r.log, "  not as shown: %v\n", err)
	}
	return printed, err
}

// try runs a command once, and compares what it prints.
func (r *reader) try(s step, next string) (printed string, err error) {
	fmt.Fprintf(r.log, "$ %s\n", s.command)
	begun := time.Now()
	printed, err = r.run(s.command, strings.Join(s.typed, "\n"))
	if err != nil {
		return printed, err
	}
	if r.verbose {
		fmt.Fprint(r.log, printed)
	}
	fmt.Fprintf(r.log, "  %v\n", time.Since(begun).Round(10*time.Millisecond))
	shown := printed
	if s.typed != nil {
		shown = withoutPrompts(printed)
	}
	if err := compare(s.output, shown); err != nil {
		return printed, err
	}
	if want := exitCode(s.output); r.code != want && strings.TrimSpace(next) != "echo $?" {
		return printed, fmt.Errorf("the exit code is %d; the document says %d", r.code, want)
	}
	return printed, nil
}

// exitCode is what the shown output says about the exit code: tandem ends with 1 and 2 after these
// headlines.
func exitCode(shown []string) int {
	for _, line := range shown {
		if strings.HasPrefix(line, "VIOLATED") {
			return 1
		}
		if strings.HasPrefix(line, "UNKNOWN") {
			return 2
		}
	}
	return 0
}

// write writes or changes a file. Its name is relative to where the terminal is.
func (r *reader) write(s step) error {
	code := r.code // of the command before
	where, err := r.run("pwd", "")
	if err != nil {
		return err
	}
	r.code = code
	// The terminal tells where it is: the document may have changed the directory in any way.
	name, text := filepath.Join(strings.TrimSuffix(where, "\n"), s.file), s.text
	fmt.Fprintf(r.log, "  %s\n", s.file)
	// A change is made to what is there, so what an earlier step has written is tested, too.
	if s.change {
		before, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if text, err = applyChange(string(before), s.text); err != nil {
			return fmt.Errorf("%s: %w", s.file, err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// withoutPrompts leaves out the questions to which something is typed. On a terminal the answers
// would stand behind them, and the next output in a line of its own.
func withoutPrompts(printed string) string {
	var rest []string
	for line := range strings.SplitSeq(printed, "\n") {
		asked := prompt.FindAllStringIndex(line, -1)
		if asked == nil {
			rest = append(rest, line)
		} else if line = line[asked[len(asked)-1][1]:]; line != "" {
			rest = append(rest, line)
		}
	}
	return strings.Join(rest, "\n")
}

// run runs a command that is told what is typed, and returns what it printed to standard output and
// standard error, in order. An exit code is no error. What the command has started is ended with it
// if it takes too long.
func (r *reader) run(command, typed string) (string, error) {
	// The exit code of the last command is there for "echo $?". Exported variables are all that is
	// kept, as functions and other variables are for longer scripts than a document should have.
	const around = ". %[1]s\n(exit %[2]d)\n%[3]s\nfollow_code=$?\n" +
		"{ export -p; echo \"cd '$PWD'\"; } >%[1]s\nexit $follow_code\n"
	script := fmt.Sprintf(around, quote(r.state), r.code, command)
	ctx, cancel := context.WithTimeout(context.Background(), r.patience)
	defer cancel()
	var printed bytes.Buffer
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Stdout, cmd.Stderr = &printed, &printed
	cmd.Stdin = strings.NewReader(typed)
	cmd.Env = append(os.Environ(), "TERM=dumb") // no colours
	// A group of its own, so that what it has started can be ended with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	// Who has left the group and keeps the pipe open is not waited for.
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	r.code = cmd.ProcessState.ExitCode()
	// A command that ended by a signal has said nothing that could be compared.
	var exit *exec.ExitError
	if ctx.Err() != nil {
		return printed.String(), fmt.Errorf("not done after %v", r.patience)
	}
	if errors.As(err, &exit) && exit.Exited() {
		err = nil
	}
	return printed.String(), err
}

// quote makes a word for the shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
