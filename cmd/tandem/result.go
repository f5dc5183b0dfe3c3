package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/text"
)

// show prints the result and keeps the counterexamples. These are saved first, so that what is
// printed names their files. If that fails, the result is printed all the same.
func (f *oneCheck) show(c *cobra.Command, result *check.Result) error {
	// The names of the files are known only then.
	saveError := f.saveAll(c.ErrOrStderr(), result)
	list := violationsOf(result)
	printError := f.print(c.OutOrStdout(), result, list)
	// Whatever cannot be written, the rest is.
	written := f.write(f.texts(c), []report.TestPackage{result.Summary.AsPackage(result.ImportPath, list)})
	if err := errors.Join(printError, saveError, written); err != nil {
		return err
	}
	if len(result.Violations) > 0 {
		return verdictError(exitViolated)
	}
	return verdictOf(result.Summary.Verdict)
}

// violationsOf are the violations of a result, with places that are relative to the root of the
// source.
func violationsOf(result *check.Result) (list []report.Violation) {
	root := sourceRoot()
	for _, v := range result.Violations {
		v.Counterexample.RelativeTo(root)
		list = append(list, v.Summary)
	}
	return list
}

// print writes the result in the form that suits it: a single violation in full, several as a
// table, none as a summary; or all as JSON, which has the counterexamples, too.
func (f *oneCheck) print(out io.Writer, result *check.Result, list []report.Violation) error {
	// JSON has the same fields however many violations there are. It has all that -v shows, so that
	// a program that reads it needs no flag.
	switch {
	case f.json:
		return report.WriteJSON(out, result.Summary, list)
	case len(list) == 0:
		return text.WriteSummary(out, result.Summary, report.Options{Verbose: f.verbose})
	case len(list) == 1:
		return text.Write(out, result.Counterexample, report.Options{Unfold: f.unfold, Verbose: f.verbose})
	}
	return text.WriteViolations(out, result.Summary, list, report.Options{Verbose: f.verbose})
}

// saveAll keeps each counterexample in a file. It fills in the names of the files, and the command
// that replays each.
func (f *oneCheck) saveAll(warn io.Writer, result *check.Result) error {
	taken := map[string]bool{}
	for i := range result.Violations {
		v := &result.Violations[i]
		r := report.AnyRecording{One: v.Recording}
		file, err := f.keepOne(warn, path.Base(result.ImportPath), i+1, r, taken)
		if err != nil {
			return err
		}
		v.Summary.File, v.Counterexample.ReplayCommand = file, "tandem replay "+file
	}
	return nil
}

// keepOne keeps a counterexample in a file. If only one was looked for, that is the file that is
// named; else they are NAME.1.counterexample and so on. A file that the user has not named takes
// the place of no other counterexample; where one that is named was there, a line says so. Taken
// are the files of this run.
func (f *oneCheck) keepOne(warn io.Writer, program string, number int, r report.AnyRecording,
	taken map[string]bool) (string, error) {
	name, file := strings.TrimSuffix(f.out, report.CounterexampleSuffix), f.out
	if f.out == "" {
		name = f.kept(program)
	}
	// One that is found of several has a number, too: the next run may find more.
	if several, _ := parseViolations(f.violations); several > 1 { // there was no error before
		name = fmt.Sprintf("%s.%d", name, number)
		file = name + report.CounterexampleSuffix
	}
	// What lies at a path that the user names may be of another program, or no counterexample.
	if f.out == "" {
		file = r.File(warn, name, func(file string) bool { return taken[file] })
		taken[file] = true
	} else if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
		fmt.Fprintf(warn, "tandem: %s: the file that was there is replaced\n", file)
	}
	return r.Keep(warn, file)
}

// saveNodes keeps each counterexample of several programs in a file, which is called like the
// directory of their configuration unless the user has named one. A violation that could not be run
// again by all nodes together has no file, and the report says why. It fills in the names of the
// files, and the command that replays each.
func (f *oneCheck) saveNodes(warn io.Writer, result *check.NodesResult, dir string) error {
	name, taken := check.NodesName(dir), map[string]bool{}
	for i, r := range result.Recordings {
		if r == nil {
			continue
		}
		file, err := f.keepOne(warn, name, i+1, report.AnyRecording{Several: r}, taken)
		if err != nil {
			return err
		}
		result.Violations[i].File = file
		result.Violations[i].Counterexample.ReplayCommand = "tandem replay " + file
	}
	return nil
}

// showNodes prints a result of several programs in the form that was asked for, and writes those
// for other programs. Whatever cannot be written, the rest is. For formats that are made for tests
// the check is one test, which is called like the directory.
func (f *oneCheck) showNodes(out, texts io.Writer, result *check.NodesResult) error {
	result.RelativeTo(sourceRoot())
	run, list := result.Run, result.Violations
	var failed error
	if f.json {
		failed = report.WriteJSON(out, run, list)
	} else {
		failed = text.WriteNodes(out, run, list, report.Options{Unfold: f.unfold, Verbose: f.verbose})
	}
	return errors.Join(failed, f.write(texts, []report.TestPackage{run.AsPackage(run.Package, list)}))
}
