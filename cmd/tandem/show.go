package main

import (
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/text"
)

// show prints the result and keeps the counterexamples.
func (f *oneCheck) show(c *cobra.Command, result *check.Result) error {
	saveError := f.saveAll(c.ErrOrStderr(), result)
	if err := f.print(c.OutOrStdout(), result); err != nil {
		return err
	}
	if saveError != nil {
		return saveError
	}
	if len(result.Violations) > 0 {
		return verdictError(exitViolated)
	}
	return verdictOf(result.Summary.Verdict)
}

// print writes the result in the form that suits it: a single violation in full, several as a
// table, none as a summary; or all as JSON.
func (f *oneCheck) print(out io.Writer, result *check.Result) error {
	var list []report.Violation
	for _, v := range result.Violations {
		list = append(list, v.Summary)
	}
	switch {
	case f.json:
		return report.WriteJSON(out, result.Summary, list)
	case len(list) == 0:
		return text.WriteSummary(out, result.Summary, report.Options{})
	case len(list) == 1:
		return text.Write(out, result.Counterexample, report.Options{Unfold: f.unfold})
	}
	return text.WriteViolations(out, result.Summary, list, report.Options{})
}

// saveAll keeps each counterexample in a file. If only one was looked for, that is the file that is
// named; else they are NAME.1.counterexample and so on.
func (f *oneCheck) saveAll(warn io.Writer, result *check.Result) error {
	const suffix = ".counterexample"
	name := f.out
	if name == "" {
		name = path.Base(result.ImportPath) + suffix
	}
	several, _ := parseViolations(f.violations) // there was no error before
	for i := range result.Violations {
		v := &result.Violations[i]
		file := name
		if several > 1 {
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
