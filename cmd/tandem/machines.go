package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandem-mc/tandem/internal/advice"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/github"
	"github.com/tandem-mc/tandem/report/junit"
	"github.com/tandem-mc/tandem/report/sarif"
)

// Exit codes. Scripts rely on them, so they stay as they are.
const (
	exitHolds    = 0
	exitViolated = 1
	exitUnknown  = 2
	exitError    = 3
)

// verdictError ends a command with an exit code other than that of an error. Commands return it as
// their error, since cobra has no other way to an exit code.
type verdictError int

// Error is never shown, since run turns the verdict into an exit code.
func (e verdictError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// verdictOf is what a command with this verdict ends with. Holds is no error. Everything that is
// neither holds nor violated is unknown.
func verdictOf(v report.Verdict) error {
	switch v {
	case report.Holds:
		return nil
	case report.Violated:
		return verdictError(exitViolated)
	}
	return verdictError(exitUnknown)
}

// formats are the formats for machines that results are written in beside the text.
type formats struct {
	// Files; empty: none.
	sarif, junit string
	// outDir is where counterexamples go; empty: to the working directory.
	outDir string
	// json has the result printed to standard output, and the text to standard error.
	json bool
	// github has GitHub Actions told.
	github bool
	// token ends what GitHub is not to take for commands; empty: nothing is to be ended.
	token string
}

// register adds the flags. In a job of GitHub Actions, GitHub is told unless that is turned off.
func (f *formats) register(p *pflag.FlagSet) {
	p.StringVar(&f.junit, "junit", "", "write the verdicts to `file` in the format of JUnit")
	p.StringVar(&f.sarif, "sarif", "",
		"write violations to `file` as SARIF 2.1.0, for code scanning; paths are relative to the repository")
	p.StringVar(&f.outDir, "out-dir", "",
		"write counterexamples to `directory`, which is created; those of other programs are not replaced")
	p.BoolVar(&f.github, "github", false, "print annotations for GitHub Actions, and add to the summary "+
		"of the step (default: where GITHUB_ACTIONS is true)")
	p.BoolVar(&f.json, "json", false,
		"print the result as JSON, with all counterexamples; see docs/machines.md")
	fileFlags(p, "junit", "sarif", "out-dir")
}

// texts is where the text for people goes, and lines for GitHub. Where standard output is JSON,
// that is standard error; GitHub reads both.
func (f *formats) texts(c *cobra.Command) io.Writer {
	if f.json {
		return c.ErrOrStderr()
	}
	return c.OutOrStdout()
}

// begin refuses files that cannot be written, before anything runs. From here to end, GitHub takes
// nothing for a command, since programs and peers print what they like. Out is where the text goes.
func (f *formats) begin(out io.Writer, given func(flag string) bool) error {
	// Whoever names the flag has decided; else the job does.
	if !given("github") {
		f.github = onGitHub()
	}
	// A directory that cannot be made or written is known now, and not after hours.
	if f.outDir != "" {
		if err := os.MkdirAll(f.outDir, 0o777); err != nil {
			return fmt.Errorf("counterexamples cannot go to %s: %w", f.outDir, err)
		}
		if err := writable(f.kept(report.CounterexampleSuffix)); err != nil {
			return err
		}
	}
	if err := writable(f.sarif, f.junit); err != nil {
		return err
	}
	if f.github {
		f.token = rand.Text()
		begin, _ := github.Mute(f.token)
		_, err := io.WriteString(out, begin)
		return err
	}
	return nil
}

// kept is the path of a counterexample with this name. Other results are in files that the user
// names, and do not go to that directory.
func (f *formats) kept(name string) string { return filepath.Join(f.outDir, name) }

// onGitHub reports whether this is a job of GitHub Actions.
func onGitHub() bool { return os.Getenv("GITHUB_ACTIONS") == "true" }

// end lets GitHub take commands again. It may be called again, and then does nothing.
func (f *formats) end(out io.Writer) {
	if f.token != "" {
		_, end := github.Mute(f.token)
		io.WriteString(out, end) // if it fails, so does what follows
		f.token = ""
	}
}

// write writes the results in all formats that were asked for. One that cannot be written does not
// keep the others from it. Out is that of begin.
func (f *formats) write(out io.Writer, packages []report.TestPackage) error {
	// SARIF has no tests: the violations of all of them are the results of one run.
	var violations []report.Violation
	for _, p := range packages {
		for _, t := range p.Tests {
			violations = append(violations, t.Violations...)
		}
	}
	f.end(out)
	var failed error
	if f.github {
		failed = errors.Join(github.WriteAnnotations(out, packages),
			appendTo(os.Getenv("GITHUB_STEP_SUMMARY"), func(w io.Writer) error {
				return github.WriteSummary(w, packages)
			}))
	}
	return errors.Join(failed,
		writeTo(f.junit, func(w io.Writer) error { return junit.Write(w, packages) }),
		writeTo(f.sarif, func(w io.Writer) error { return sarif.Write(w, violations) }))
}

// writeTo writes a file, unless its name is empty. An error of closing it counts, too: then the
// file may not be whole.
func writeTo(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// appendTo is writeTo at the end of a file, which other steps of a job have written.
func appendTo(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// sourceRoot is the directory that paths in formats for machines are relative to: that of the
// repository, or of the module where there is none. Outside of both it is the working directory.
func sourceRoot() string {
	here, err := os.Getwd()
	if err != nil {
		return "/"
	}
	return sourceRootOf(here)
}

// sourceRootOf is sourceRoot as seen from another directory.
func sourceRootOf(here string) string {
	// In a worktree .git is a file. Code scanning and annotations count from the repository, also
	// if it has several modules.
	for _, mark := range []string{".git", "go.mod"} {
		if root, ok := above(here, mark); ok {
			return root
		}
	}
	return here
}

// advised is an error as it is printed, with advice: its own, or else a general one in another
// line. So nobody is left with a message that says only what is wrong. Verbose says whether the
// command has --verbose: no flag is named that it does not have.
func advised(err error, verbose bool) string {
	text := report.Printable(err.Error())
	general := advice.General(err)
	// Commands such as worker tell all that they know as it is.
	if general == advice.Inner && !verbose {
		general = advice.InnerOf
	}
	if general != "" {
		text += "\n  to do: " + general
	}
	return text
}

// printError prints the error that a command ends with. It may have what programs have printed, so
// GitHub is not to take it for commands.
func printError(w io.Writer, err error, verbose bool) {
	begin, end := "", ""
	if onGitHub() {
		begin, end = github.Mute(rand.Text())
	}
	// It is written at once, so that no line of another process gets in between.
	var text bytes.Buffer
	fmt.Fprintf(&text, "%standem: %s\n%s", begin, advised(err, verbose), end)
	w.Write(text.Bytes())
}
