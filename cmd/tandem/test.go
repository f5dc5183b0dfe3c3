package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// testFlags are the flags of tandem test.
type testFlags struct {
	checkFlags
	pattern string
	short   bool
	junit   string

	names map[string]string // of packages, in those of files
	files map[string]bool   // with counterexamples of this run
}

func testCommand() *cobra.Command {
	var f testFlags
	c := &cobra.Command{
		Use:   "test PACKAGES [-run REGEXP] [-- ARGS]",
		Short: "Explore the schedules of test functions, each by itself",
		Example: "  tandem test ./...\n" +
			"  tandem test ./queue -run 'TestQueue/empty' --junit results.xml",
		RunE: func(c *cobra.Command, args []string) error {
			patterns, rest := args, []string(nil)
			if dash := c.ArgsLenAtDash(); dash >= 0 {
				patterns, rest = args[:dash], args[dash:]
			}
			if len(patterns) == 0 {
				patterns = []string{"."}
			}
			return f.run(c, patterns, rest)
		},
	}
	p := c.Flags()
	f.register(p)
	p.StringVar(&f.pattern, "run", "", "check the tests and subtests that `regexp` matches, as go test does; default: all")
	p.BoolVar(&f.short, "short", false, "have the tests run in their short mode")
	p.StringVar(&f.junit, "junit", "", "write the verdicts to `file` in the format of JUnit")
	return c
}

// likeGoTest takes the flags of go test with one dash, as people are used to.
func likeGoTest(args []string) []string {
	if len(args) == 0 || args[0] != "test" {
		return args
	}
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if name, _, _ := strings.Cut(arg, "="); name == "-run" || name == "-short" {
			args[i] = "-" + arg
		}
	}
	return args
}

func (f *testFlags) run(c *cobra.Command, patterns, args []string) error {
	dir, err := os.Getwd()
	if err == nil {
		err = writable(f.junit)
	}
	if err != nil {
		return err
	}
	toolchain, err := sut.UserToolchain(c.Context(), dir)
	if err != nil {
		return err
	}
	packages, err := toolchain.Packages(c.Context(), dir, patterns...)
	if err != nil {
		return err
	}
	if err := f.validate(c.Flags().Changed); err != nil {
		return err
	}
	f.names, f.files = shortNames(packages), map[string]bool{}
	var results []report.TestPackage
	tested, matched := false, false
	for i, p := range packages {
		result, err := f.packageTests(c, p, args)
		switch {
		case errors.Is(err, sut.ErrNoTests), errors.Is(err, check.ErrNoMatch):
			tested = tested || errors.Is(err, check.ErrNoMatch)
			fmt.Fprintln(c.OutOrStdout(), err)
			continue
		case err != nil && c.Context().Err() != nil || errors.Is(err, errOutput):
			return errors.Join(err, f.writeJUnit(results))
		case err != nil:
			result.Error = err.Error()
			fmt.Fprintf(c.ErrOrStderr(), "tandem: %s: %s\n", p.ImportPath, report.Printable(result.Error))
		}
		tested, matched = true, true
		if results = append(results, result); c.Context().Err() != nil {
			notReached(c.ErrOrStderr(), packages[i+1:])
			break
		}
	}
	if err := f.writeJUnit(results); err != nil {
		return err
	}
	switch {
	case !tested:
		return fmt.Errorf("%s: there are no test files", strings.Join(patterns, " "))
	case !matched:
		return fmt.Errorf("no test matches -run %s", f.pattern)
	}
	return exitOf(results, c.Context().Err() != nil)
}

// notReached says which packages an interrupted run has not come to.
func notReached(out io.Writer, packages []sut.Package) {
	for _, p := range packages {
		fmt.Fprintf(out, "tandem: %s was not reached: the check was interrupted before\n", p.ImportPath)
	}
}

// exitOf is an error if anything could not be checked, else the worst verdict of all. Tests that an interrupted
// run has not come to are unknown.
func exitOf(packages []report.TestPackage, interrupted bool) error {
	code := exitHolds
	if interrupted {
		code = exitUnknown
	}
	var failed []string
	for _, p := range packages {
		if p.Error != "" {
			failed = append(failed, p.Name)
		}
		for _, t := range p.Tests {
			switch {
			case t.Verdict == report.Errored:
				failed = append(failed, p.Name+" "+t.Name)
			case t.Verdict == report.Violated:
				code = exitViolated
			case t.Verdict == report.Unknown && code == exitHolds:
				code = exitUnknown
			}
		}
	}
	switch {
	case len(failed) > 0:
		return unchecked(failed)
	case code == exitHolds:
		return nil
	}
	return verdictError(code)
}

// unchecked names what could not be checked, or some of it.
func unchecked(failed []string) error {
	const most = 5
	more := ""
	if n := len(failed) - most; n > 0 {
		failed, more = failed[:most], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("could not be checked: %s%s", strings.Join(failed, ", "), more)
}

// validate refuses what would be wrong in every package: flags, and a configuration that is for all of them.
func (f *testFlags) validate(given func(flag string) bool) error {
	config, err := f.loadFile(f.config, given)
	if err == nil {
		_, err = f.options(".", config)
	}
	return err
}

// packageTests checks the tests of one package and prints what it finds.
func (f *testFlags) packageTests(c *cobra.Command, p sut.Package, args []string) (report.TestPackage, error) {
	result := report.TestPackage{Name: p.ImportPath}
	started := time.Now()
	config, err := f.load(p.Dir, c.Flags().Changed)
	if err != nil {
		return result, err
	}
	config.Args = args // those of the file are for the program
	options, err := f.options(p.ImportPath, config)
	if err != nil {
		return result, err
	}
	build := sut.BuildOptions{Dir: options.Dir, Package: p.ImportPath, Tests: true, PreemptIn: config.PreemptIn, Races: config.Races}
	options.Dir = p.Dir // where tests run
	log := newLog(f.verbose)
	defer log.Sync()
	status := &progress{out: c.ErrOrStderr(), title: p.ImportPath, bounds: config.Bounds, peers: config.Group != nil, workers: options.Workers, plain: f.verbose}
	defer status.pause()
	status.say("building the tests of %s", p.ImportPath)
	program, clean, err := buildProgram(c.Context(), build)
	if err != nil {
		return result, err
	}
	defer clean()
	options.Program, options.Progress, options.Contradicted = program, status.tell, status.contradicted
	err = f.withDaemon(c.Context(), config, log, func(client *ckptd.Client) error {
		options.Client = client
		return check.Tests(c.Context(), f.testOptions(options, config), func(v check.TestVerdict) error {
			if err := f.keep(c.ErrOrStderr(), p, &v); err != nil {
				return output(err)
			}
			result.Tests = append(result.Tests, v.Test)
			status.pause()
			return output(report.WriteTest(c.OutOrStdout(), v.Test, report.Options{}))
		})
	})
	result.Elapsed = time.Since(started)
	result.Assumptions = check.Assumptions(options)
	if err != nil && len(result.Tests) == 0 {
		return result, err
	}
	return result, errors.Join(err, output(report.WriteTestPackage(c.OutOrStdout(), result, report.Options{Unfold: f.unfold})))
}

// errOutput is the kind of error that ends a run, since its results cannot be told.
var errOutput = errors.New("the results could not be written")

func output(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errOutput, err)
}

func (f *testFlags) testOptions(o check.Options, config configs.Config) check.TestOptions {
	return check.TestOptions{Options: o, Run: f.pattern, Short: f.short, NewSearch: func() *explore.Search {
		s, _ := f.newSearch(config.Bounds) // options has found no error in it
		return s
	}}
}

// keep writes the counterexample of a violated test to a file named after it.
func (f *testFlags) keep(warn io.Writer, p sut.Package, v *check.TestVerdict) error {
	if v.Recording == nil {
		return nil
	}
	letters := func(r rune) rune {
		if strings.ContainsRune("/\\ \"'`$&|;<>()[]{}*?!#~", r) || r < ' ' || r > '~' {
			return '_'
		}
		return r
	}
	name := strings.Map(letters, f.names[p.ImportPath]+"."+v.Name)
	name = name[:min(len(name), 200)]
	file := name + ".counterexample"
	for n := 2; f.files[file]; n++ {
		file = fmt.Sprintf("%s.%d.counterexample", name, n) // of another test, with a name that is as good as the same
	}
	f.files[file] = true
	file, err := keepRecording(warn, file, v.Recording)
	if err != nil {
		return err
	}
	v.Counterexample.ReplayCommand = "tandem replay " + file
	return nil
}

// shortNames gives each package the last elements of its path, as many as it takes to tell it from the others.
func shortNames(packages []sut.Package) map[string]string {
	names := map[string]string{}
	for _, p := range packages {
		elements := strings.Split(p.ImportPath, "/")
		for n := 1; n <= len(elements); n++ {
			names[p.ImportPath] = strings.Join(elements[len(elements)-n:], "/")
			alike := func(other sut.Package) bool {
				return other.ImportPath != p.ImportPath && strings.HasSuffix("/"+other.ImportPath, "/"+names[p.ImportPath])
			}
			if !slices.ContainsFunc(packages, alike) {
				break
			}
		}
	}
	return names
}

func (f *testFlags) writeJUnit(packages []report.TestPackage) error {
	if f.junit == "" {
		return nil
	}
	file, err := os.Create(f.junit)
	if err != nil {
		return err
	}
	return errors.Join(report.WriteJUnit(file, packages), file.Close())
}
