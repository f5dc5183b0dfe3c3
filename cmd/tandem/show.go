package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/report"
)

// maxShrink bounds --shrink.
const maxShrink = 1_000_000

func parseShrink(text string) (int, error) {
	if text == "off" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxShrink {
		return 0, fmt.Errorf("--shrink %s: give a number of executions, 1 to %d, or off", text, maxShrink)
	}
	return n, nil
}

func parseViolations(text string) (int, error) {
	if text == "all" {
		return check.MaxViolations, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > check.MaxViolations {
		return 0, fmt.Errorf("--violations %s: give a number, 1 to %d, or all", text, check.MaxViolations)
	}
	return n, nil
}

// show prints the result and keeps the counterexamples.
func (f *checkFlags) show(c *cobra.Command, o check.Options, result *check.Result) error {
	saveError := f.saveAll(c.ErrOrStderr(), o, result)
	if err := f.print(c, o, result); err != nil {
		return err
	}
	switch {
	case saveError != nil:
		return saveError
	case len(result.Violations) > 0:
		return verdictError(exitViolated)
	case result.Verdict.Kind == explore.Holds:
		return nil
	}
	return verdictError(exitUnknown)
}

func (f *checkFlags) print(c *cobra.Command, o check.Options, result *check.Result) error {
	out, run := c.OutOrStdout(), check.Summary(o, result)
	if result.Saved != "" {
		run.ResumeCommand = resumeCommand(result.Saved) + raised(f.within, result)
	}
	var list []report.Violation
	for _, v := range result.Violations {
		list = append(list, v.Summary)
	}
	switch {
	case f.json:
		return report.WriteJSON(out, run, list)
	case len(list) == 0:
		return report.WriteSummary(out, run, report.Options{})
	case len(list) == 1:
		return report.WriteText(out, result.Counterexample, report.Options{Unfold: f.unfold})
	}
	return report.WriteViolations(out, run, list, report.Options{})
}

// saveAll keeps each counterexample in a file: the only one that was looked for in the
// one that is named, others in NAME.1.counterexample and so on.
func (f *checkFlags) saveAll(warn io.Writer, o check.Options, result *check.Result) error {
	const suffix = ".counterexample"
	name := f.out
	if name == "" {
		name = filepath.Base(o.Program.ImportPath) + suffix
	}
	for i := range result.Violations {
		v := &result.Violations[i]
		file := name
		if o.Violations > 1 {
			file = fmt.Sprintf("%s.%d%s", strings.TrimSuffix(name, suffix), i+1, suffix)
		}
		file, err := keepRecording(warn, file, v.Recording)
		if err != nil {
			return err
		}
		v.Summary.File, v.Counterexample.ReplayCommand = file, "tandem replay "+file
	}
	return nil
}
