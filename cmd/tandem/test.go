package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/cmd/tandem/internal/progress"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/text"
)

// testFlags are the flags of tandem test. Most of these are of tandem check, too.
type testFlags struct {
	checkFlags
	formats
	// pattern and skip are those of go test -run and -skip: elements with slashes in between;
	// empty: all, and none.
	pattern, skip string
	// short has testing.Short return true.
	short bool
	// together explores parallel subtests with each other.
	together bool
	// several is how many distinct violations are looked for in each test: a number, or all.
	several string
	// timeout bounds the time of each search as go test -timeout does; 0: no bound.
	timeout time.Duration

	// files are the names of the counterexamples of this run, so that no two tests share one.
	files map[string]bool
}

// testCommand is tandem test, whose flags are those of go test as far as they have a meaning here.
// Without a package the tests are those of the working directory.
func testCommand() *cobra.Command { return testCommandOf(new(testFlags)) }

// testCommandOf is tandem test with the flags that it fills in.
func testCommandOf(f *testFlags) *cobra.Command {
	c := &cobra.Command{
		Use:   "test [PACKAGES] [flags] [-- ARGS]",
		Short: "Explore the schedules of test functions, each by itself",
		Long: `Builds the tests of the packages, and explores the schedules of each test function. A test is
violated if it fails under some schedule, or has a data race, a deadlock or a livelock there. Each
subtest, such as a row of a table, is checked by itself. With --together, those that call
t.Parallel are explored together, which also finds what goes wrong between them. Without packages
the tests are those of the working directory. Arguments after -- are for the tests.

Flags of go test that mean the same here can be given with one dash, too.

Exit codes: 0 all tests hold, 1 some test is violated, 2 unknown, 3 error.`,
		// Those of the working directory, of all packages, and of some tests only.
		Example: "  tandem test\n" +
			"  tandem test ./... --time 1m\n" +
			"  tandem test ./queue -run 'TestQueue/empty' --junit results.xml",
		RunE: func(c *cobra.Command, args []string) error {
			patterns, rest := args, []string(nil)
			if dash := c.ArgsLenAtDash(); dash >= 0 {
				patterns, rest = args[:dash], args[dash:]
			}
			if len(patterns) == 0 {
				patterns = []string{"."}
			}
			if len(patterns) == 1 { // several may be of several modules
				there, err := enter(c.ErrOrStderr(), c.Flags(), patterns[0])
				if err != nil {
					return err
				}
				patterns[0] = there
			}
			return f.run(c, patterns, rest)
		},
	}
	p := c.Flags()
	f.checkFlags.register(p)
	f.formats.register(p)
	f.search.Punctual = true // time-outs of tests are to fail them
	p.StringVar(&f.pattern, "run", "",
		"check the tests and subtests that `regexp` matches, as go test does; default: all")
	p.StringVar(&f.skip, "skip", "",
		"leave out the tests and subtests that this `regexp` matches, as go test does")
	p.BoolVar(&f.short, "short", false, "have the tests run in their short mode")
	p.BoolVar(&f.together, "together", false,
		"explore subtests that call t.Parallel together, in all orders, and not each by itself")
	p.StringVar(&f.several, "violations", "1",
		"look for `n` distinct violations in each test, or all; each has its own file")
	p.DurationVar(&f.timeout, "timeout", 0,
		"end each search after this `duration`, as for go test; 0 is no bound, and other bounds stay")
	return c
}

// run checks packages. Only an interruption, or results that cannot be written, end the run; what
// there is until then is in the results for other programs. Where no package has tests, or none of
// them is selected, a line says so: a misspelt name must not pass unseen.
func (f *testFlags) run(c *cobra.Command, patterns, args []string) error {
	texts := f.texts(c)
	if err := f.begin(texts, c.Flags().Changed); err != nil {
		return err
	}
	defer f.end(texts)
	packages, err := check.Packages(c.Context(), f.tags, patterns...)
	if err != nil {
		return err
	}
	if err := f.validate(c.Flags().Changed); err != nil {
		return err
	}
	f.files = map[string]bool{}
	results, tested, err := f.runPackages(c, packages, args)
	// The document is there after an interruption, too: what is known until then took time.
	if f.json {
		err = errors.Join(err, report.WriteTestsJSON(c.OutOrStdout(), results))
	}
	// Whatever cannot be written, the rest is.
	if err := errors.Join(err, f.write(texts, results.Packages)); err != nil {
		return err
	}
	// Standard error has this in any case, since a document of nothing may pass unseen.
	switch {
	case !tested:
		fmt.Fprintf(c.ErrOrStderr(), "tandem: nothing was checked: %s: there are no test files\n",
			strings.Join(patterns, " "))
	case len(results.Packages) == 0 && !results.Interrupted:
		fmt.Fprintf(c.ErrOrStderr(), "tandem: nothing was checked: no test is selected by%s\n",
			f.selecting())
	}
	return exitOf(results)
}

// runPackages checks one package after the other. One that cannot be checked does not keep the
// others from it. It says whether any package has tests. An error has ended the run; what is known
// until then is in the results, also of the package that could not be told of.
func (f *testFlags) runPackages(c *cobra.Command, packages []check.Package, args []string) (
	results report.TestRun, tested bool, err error,
) {
	// The order is that of the go command.
	for i, p := range packages {
		result, err := f.packageTests(c, p, args)
		// An interrupted package may have an error, or tests whose verdict is unknown.
		ended := c.Context().Err() != nil
		switch {
		// It is no error yet: another package may have what was asked for.
		case errors.Is(err, check.ErrNoTests), errors.Is(err, check.ErrNoMatch):
			tested = tested || errors.Is(err, check.ErrNoMatch)
			fmt.Fprintln(f.texts(c), err)
			results.Unchecked = append(results.Unchecked, report.UncheckedPackage{
				Name: p.ImportPath, Reason: strings.TrimPrefix(err.Error(), p.ImportPath+": ")})
			continue
		case err != nil && ended || errors.Is(err, errOutput):
			left := packages[i:]
			if len(result.Tests) > 0 { // what is known of this package, though it could not be told
				results.Packages, left = append(results.Packages, result), left[1:]
			}
			// The error says what happened, so there is no line for each package.
			results.Interrupted = true
			results.Unchecked = append(results.Unchecked, notReached(io.Discard, left)...)
			return results, true, err
		case err != nil:
			result.Error = err.Error()
			fmt.Fprintf(c.ErrOrStderr(), "tandem: %s: %s\n", p.ImportPath, advised(err, true))
		}
		tested, results.Packages = true, append(results.Packages, result)
		if ended {
			results.Interrupted = true
			left := notReached(c.ErrOrStderr(), packages[i+1:])
			results.Unchecked = append(results.Unchecked, left...)
			break
		}
	}
	return results, tested, nil
}

// selecting is the flags that select tests, each with a blank in front. It is a part of the message
// that nothing matches, so there is one.
func (f *testFlags) selecting() (text string) {
	if f.pattern != "" {
		text = fmt.Sprintf(" --run %q", f.pattern)
	}
	if f.skip != "" {
		text += fmt.Sprintf(" --skip %q", f.skip)
	}
	return text
}

// notReached says which packages an interrupted run has not come to. They have no verdicts, so they
// are not among the packages that were checked.
func notReached(out io.Writer, packages []check.Package) (list []report.UncheckedPackage) {
	// Tests of a package that were not reached have the same reason.
	const reason = "the check was interrupted before"
	for _, p := range packages {
		fmt.Fprintf(out, "tandem: %s was not reached: %s\n", p.ImportPath, reason)
		list = append(list, report.UncheckedPackage{Name: p.ImportPath, Reason: reason})
	}
	return list
}

// exitOf is an error if anything could not be checked, else the verdict of the run; see
// report.TestRun.Verdict. That nothing was checked is no error, as it is none for go test.
func exitOf(run report.TestRun) error {
	var failed []string
	for _, p := range run.Packages {
		if p.Error != "" {
			failed = append(failed, p.Name)
		}
		for _, t := range p.Tests {
			if t.Verdict == report.Errored {
				failed = append(failed, p.Name+" "+t.Name)
			}
		}
	}
	switch verdict := run.Verdict(); {
	case len(failed) > 0:
		return unchecked(failed)
	case verdict == report.Nothing:
		return nil
	default:
		return verdictOf(verdict)
	}
}

// unchecked names what could not be checked, or some of it. What was wrong with each was printed
// when it happened.
func unchecked(failed []string) error {
	const most = 5
	more := ""
	if n := len(failed) - most; n > 0 {
		failed, more = failed[:most], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("could not be checked: %s%s; see the reasons above", strings.Join(failed, ", "), more)
}

// validate refuses what would be wrong in every package: flags, and a common configuration. Else
// each package would fail for the same reason.
func (f *testFlags) validate(given func(flag string) bool) error {
	config, err := f.config("", given)
	if err == nil {
		_, err = f.job(".", nil, config)
	}
	return err
}

// config is load with the time of -timeout. That is an upper bound: it lifts no other one.
func (f *testFlags) config(dir string, given func(flag string) bool) (configs.Config, error) {
	config, err := f.load(dir, given)
	switch {
	case err != nil || f.timeout == 0:
		return config, err
	case f.timeout < 0 || f.timeout > configs.MaxTime:
		return config, fmt.Errorf("-timeout %v is not allowed: give a time up to %v, or 0 for no bound",
			f.timeout, configs.MaxTime)
	case given("time"):
		config.Bounds.Time = min(config.Bounds.Time, f.timeout)
	default:
		config.Bounds.Time = f.timeout
	}
	return config, nil
}

// job is the check of a package. An error is about the flags or the configuration: nothing runs
// yet.
func (f *testFlags) job(pkg string, args []string, config configs.Config) (*check.Job, error) {
	request, err := f.request(pkg, args, config)
	if err == nil {
		request.Violations, err = parseViolations(f.several)
	}
	if err != nil {
		return nil, err
	}
	return check.NewJob(request)
}

// packageTests checks the tests of one package and prints what it finds. Verdicts are printed as
// they come; counterexamples follow when all tests are done. If some tests were checked before an
// error, their verdicts are in the result.
func (f *testFlags) packageTests(c *cobra.Command, p check.Package, args []string) (
	report.TestPackage, error,
) {
	result := report.TestPackage{Name: p.ImportPath}
	started := time.Now()
	// Each package has a configuration of its own, as it has with tandem check.
	config, err := f.config(f.directory(c.Context(), p.Dir), c.Flags().Changed)
	if err != nil {
		return result, err
	}
	job, err := f.job(p.ImportPath, args, config)
	if err != nil {
		return result, err
	}
	log := newLog(f.verbose)
	defer log.Sync()
	status := &progress.Progress{
		Out: c.ErrOrStderr(), Title: p.ImportPath, Bounds: config.Bounds, Peers: config.Group != nil,
		Workers: job.Workers(), Plain: f.verbose,
	}
	defer status.Pause()
	which := check.TestSelection{
		Run: f.pattern, Skip: f.skip, Short: f.short, Together: f.together,
	}
	tell := func(v check.TestVerdict) error {
		if err := f.keep(c.ErrOrStderr(), p, &v); err != nil {
			return output(err)
		}
		// A later verdict on a test takes the place of an earlier one.
		result.Tests = slices.DeleteFunc(result.Tests, func(t report.Test) bool { return t.Name == v.Name })
		result.Tests = append(result.Tests, v.Test)
		status.Pause()
		return output(text.WriteTest(f.texts(c), v.Test, report.Options{}))
	}
	result.Assumptions, err = job.Tests(c.Context(), p, which, status.Listener(logWriter{log}), tell)
	result.Elapsed = time.Since(started)
	if err != nil && len(result.Tests) == 0 {
		return result, err
	}
	// What was checked before an error is told, too. With -v each counterexample of a test says
	// more, as it does for check.
	written := text.WriteTestPackage(f.texts(c), result,
		report.Options{Unfold: f.unfold, Verbose: f.verbose})
	return result, errors.Join(err, output(written))
}

// errOutput is the kind of error that ends a run, since its results cannot be told. It is told
// apart from what is wrong with a package, which others do not share.
var errOutput = errors.New("the results could not be written")

// output marks an error as one of writing results; see errOutput.
func output(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errOutput, err)
}

// keep writes the counterexample of a violated test to a file named after it, in the working
// directory. The name has at most 200 bytes, so that there is room for a number. Files of earlier
// runs are replaced.
func (f *testFlags) keep(warn io.Writer, p check.Package, v *check.TestVerdict) error {
	several, root := len(v.All) > 1, sourceRoot()
	for i := range v.All {
		one, number := &v.All[i], 0
		if several {
			number = i + 1
		}
		file, err := f.keepOne(warn, p, v.Name, number, one.Recording)
		if err != nil {
			return err
		}
		one.Counterexample.ReplayCommand = "tandem replay " + file
		one.Counterexample.RelativeTo(root)
		one.Summary.File = file
		v.Violations = append(v.Violations, one.Summary)
	}
	return nil
}

// keepOne writes a counterexample of a test, with a number unless that is 0. It returns the file.
func (f *testFlags) keepOne(
	warn io.Writer, p check.Package, test string, number int, r *report.Recording,
) (string, error) {
	name := strings.Map(letterOfFile, p.ShortName+"."+test)
	// The limit of most file systems is 255 bytes.
	name = f.kept(name[:min(len(name), 200)])
	if number > 0 {
		name = fmt.Sprintf("%s.%d", name, number)
	}
	kept := report.AnyRecording{One: r}
	file := kept.File(warn, name, func(file string) bool { return f.files[file] })
	f.files[file] = true
	return kept.Keep(warn, file)
}

// letterOfFile replaces what a shell or a file system could take for something else. So does it
// with everything that is no ASCII, since names are cut by bytes.
func letterOfFile(r rune) rune {
	if strings.ContainsRune("/\\ \"'`$&|;<>()[]{}*?!#~", r) || r < ' ' || r > '~' {
		return '_'
	}
	return r
}
