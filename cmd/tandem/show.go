package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/github"
	"github.com/tandem-mc/tandem/report/html"
	"github.com/tandem-mc/tandem/report/junit"
	"github.com/tandem-mc/tandem/report/sarif"
	"github.com/tandem-mc/tandem/report/text"
)

// shownCounterexample is a counterexample that is to be written, in the forms that formats take.
// Those for tests take packages, those for alerts violations, and those for people the
// counterexample.
//
// The check as a whole is not known any more: there are no counts, and the reason is that it was
// recorded.
type shownCounterexample struct {
	run       report.Run
	violation report.Violation
	unfold    bool
}

// packages is the counterexample as a package with one test. The package has the name that it had
// on the command line, since the recording has no other one.
func (s shownCounterexample) packages() []report.TestPackage {
	return []report.TestPackage{s.run.AsPackage(s.run.Package, []report.Violation{s.violation})}
}

// showFormats are the formats of tandem show, in the order in which they are named. Those for
// people come first. The names stay: scripts have them.
var showFormats = []struct {
	name  string
	write func(io.Writer, shownCounterexample) error
}{
	{"text", func(w io.Writer, s shownCounterexample) error {
		// Several programs have a lane each, besides the schedule of one of them.
		if len(s.run.Nodes) > 0 {
			list := []report.Violation{s.violation}
			return text.WriteNodes(w, s.run, list, report.Options{Unfold: s.unfold})
		}
		return text.Write(w, s.violation.Counterexample, report.Options{Unfold: s.unfold})
	}},
	{"html", func(w io.Writer, s shownCounterexample) error {
		return html.Write(w, s.violation.Counterexample)
	}},
	{"json", func(w io.Writer, s shownCounterexample) error {
		return report.WriteJSON(w, s.run, []report.Violation{s.violation})
	}},
	{"sarif", func(w io.Writer, s shownCounterexample) error {
		return sarif.Write(w, []report.Violation{s.violation})
	}},
	{"junit", func(w io.Writer, s shownCounterexample) error {
		return junit.Write(w, s.packages())
	}},
	{"github", func(w io.Writer, s shownCounterexample) error {
		return github.WriteAnnotations(w, s.packages())
	}},
	// What a job appends to the file that GITHUB_STEP_SUMMARY names.
	{"markdown", func(w io.Writer, s shownCounterexample) error {
		return github.WriteSummary(w, s.packages())
	}},
}

// formatNames are the names of showFormats, in its order: flags, messages and shells name them so.
func formatNames() (names []string) {
	for _, format := range showFormats {
		names = append(names, format.name)
	}
	return names
}

// showCommand is tandem show. A counterexample holds the schedule and the answers of the peers, not
// what the program did; so the program is run once. The exit code says whether it could be shown.
func showCommand() *cobra.Command {
	names := formatNames()
	var name, out, dir string
	var unfold bool
	c := &cobra.Command{
		Use:   "show FILE|SCHEDULE",
		Short: "Show a counterexample as text, HTML, JSON, SARIF, JUnit, or for GitHub",
		Long: `Runs a counterexample that a check has kept once more, without the peers, and writes it in a
format for people or for other programs. Exit codes: 0 shown, 3 error.`,
		Example: "  tandem show client.counterexample\n" +
			"  tandem show client.counterexample --format sarif -o client.sarif",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			// All that can be wrong with flags is found before the program is built.
			i := slices.Index(names, name)
			if i < 0 {
				return fmt.Errorf("there is no format %q: choose one of %s", name, strings.Join(names, ", "))
			}
			if err := writable(out); err != nil {
				return err
			}
			shown, err := replayed(c, args[0], dir)
			if err != nil {
				return err
			}
			shown.unfold = unfold
			write := func(w io.Writer) error { return showFormats[i].write(w, shown) }
			// The file is opened only now, so that one that is there stays if the replay fails.
			if out != "" {
				return writeTo(out, write)
			}
			return write(c.OutOrStdout())
		},
	}
	p := c.Flags()
	p.StringVar(&name, "format", "text", "`format`: "+strings.Join(names, ", "))
	p.StringVarP(&out, "out", "o", "", "write to `file` (default: standard output)")
	p.StringVar(&dir, "dir", "", "`directory` in which the check was started, if it has moved")
	p.BoolVar(&unfold, "unfold", false, "show every step, as text")
	fileFlags(p, "out", "dir")
	return c
}

// replayed is the violation of a counterexample, which is run once: a file, or a schedule. The
// places are relative to the root of the source where the program is now. That the program has
// changed is said on standard error; if there is no violation any more, that is an error.
func replayed(c *cobra.Command, what, dir string) (s shownCounterexample, err error) {
	recording, err := report.Read(what)
	if err == nil {
		dir, err = recording.Directory(what, dir)
	}
	if err != nil {
		return s, err
	}
	changed := ""
	if recording.Several != nil {
		changed, err = s.ofNodes(c, recording.Several, dir)
	} else {
		changed, err = s.ofOne(c, recording.One, dir)
	}
	shown := s.violation.Counterexample
	switch {
	case err != nil:
		return s, err
	case shown == nil:
		return s, fmt.Errorf("%s no longer reproduces, so there is nothing to show: "+
			"see by tandem replay how it ends now", report.Line(what))
	case changed != "":
		fmt.Fprintf(c.ErrOrStderr(), "tandem: the program has changed: %s\n", report.Line(changed))
	}
	shown.ReplayCommand = "tandem replay " + what
	shown.RelativeTo(sourceRootOf(dir))
	if !strings.HasPrefix(what, report.SchedulePrefix) {
		s.violation.File = what
	}
	return s, nil
}

// ofOne replays a counterexample of one program, and says in what that has changed.
func (s *shownCounterexample) ofOne(c *cobra.Command, r *report.Recording, dir string) (string, error) {
	result, err := check.ReplayHere(c.Context(), r, dir, 1)
	if err != nil || result.Shown == nil {
		return "", err
	}
	// The summary is without its counterexample, since it is a part of that.
	s.run, s.violation = result.Shown.Run, result.Shown.Summary
	s.violation.Counterexample = result.Shown
	if result.Parted == nil {
		return "", nil
	}
	return result.Parted.String(), nil
}

// ofNodes replays a counterexample of several programs, and says which have changed: also where
// they do all that is recorded, since no step is known at which they part.
func (s *shownCounterexample) ofNodes(c *cobra.Command, r *report.NodesRecording, dir string) (
	string, error) {
	again, err := check.ReplayNodes(c.Context(), r, dir, 1)
	if err != nil || len(again.Result.Violations) == 0 {
		return "", err
	}
	s.run, s.violation = again.Result.Run, again.Result.Violations[0]
	return strings.Join(again.Changed, ", "), nil
}
