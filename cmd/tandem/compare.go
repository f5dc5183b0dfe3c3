package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/cmd/tandem/internal/progress"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/compare"
)

// compareFlags are the flags of tandem compare. Those of checkFlags hold for all combinations; the
// lists say what is combined.
type compareFlags struct {
	checkFlags
	// What is combined. An empty list stands for what the configuration has.
	strategies, backends, scopes []string
	// Files for the table; empty: none.
	csv, svg, html string
	// repeat is how often each combination is run.
	repeat int
	// components compares nodes one by one with all of them together.
	components bool
}

// compareCommand is tandem compare. A violation is not made simpler there: only the costs matter.
// So --shrink and --unfold are left out. The strategies are all that there are, unless some are
// named.
func compareCommand() *cobra.Command {
	f := compareFlags{checkFlags: checkFlags{shrink: "off"}}
	c := &cobra.Command{
		Use:   "compare PACKAGE [flags] [-- ARGS]",
		Short: "Run a check with several strategies, backends and scopes, and compare what they cost",
		Long: `Runs the check once for each combination, one after the other, within the same bounds. All
must agree on the verdict, and those of one scope on how many executions ended in which way.
Two that do not are named, and the exit code is 3. A combination that cannot be run is shown
with the reason, and the others go on. Otherwise the exit code is that of the verdict.`,
		Example: `  tandem compare ./examples/httpget
  tandem compare ./examples/alphabet --strategies never,after-io --backends criu,memory \
    --svg alphabet.svg -- -connections 3`,
		RunE: func(c *cobra.Command, args []string) error {
			// Unlike tandem check, this command always needs a package.
			dash := c.ArgsLenAtDash()
			if len(args) == 0 || dash == 0 || dash > 1 || dash < 0 && len(args) > 1 {
				return onePackage(c, args)
			}
			pkg, err := enter(c.ErrOrStderr(), c.Flags(), args[0])
			if err != nil {
				return err
			}
			return f.run(c, pkg, args[1:])
		},
	}
	p := c.Flags()
	f.registerSearch(p)
	of := func(list []string) string {
		return " to compare, of " + strings.Join(list, ", ") + " (default: that of the configuration)"
	}
	p.StringSliceVar(&f.strategies, "strategies", configs.Strategies(),
		"`strategies` to compare; after-io,every=3 is one of them")
	p.StringSliceVar(&f.backends, "backends", nil, "`backends`"+of(configs.Backends))
	p.StringSliceVar(&f.scopes, "scopes", nil, "`scopes`"+of(configs.Scopes))
	p.IntVar(&f.repeat, "repeat", 1, "run each `n` times; the table has the run of the median time")
	p.BoolVar(&f.components, "components", false, "check the nodes of the configuration, and show how many "+
		"executions of the whole system those of single nodes stand for")
	p.StringVar(&f.csv, "csv", "", "write the table to `file` as comma-separated values")
	p.StringVar(&f.svg, "svg", "", "draw the table to `file` as bars")
	p.StringVar(&f.html, "html", "", "write the table, with the bars, to `file` as an HTML page")
	fileFlags(p, "csv", "svg", "html")
	c.SetFlagErrorFunc(unknownFlag)
	return c
}

// run makes the comparison. While a combination runs, its progress is shown; what came of it is
// then one line. A combination that fails, or that an interruption leaves out, is a row with the
// reason.
func (f *compareFlags) run(c *cobra.Command, pkg string, args []string) error {
	dir := f.directory(c.Context(), pkg)
	config, err := f.load(dir, c.Flags().Changed)
	if err != nil {
		return err
	}
	// All together are never run: how many there are is known by the product.
	if f.components {
		if len(config.Nodes) == 0 {
			return errors.New("--components is about nodes, and the configuration has none: leave it out")
		}
		one := oneCheck{checkFlags: f.checkFlags, violations: "1"}
		one.verbose = true
		return one.runNodes(c, check.Request{Package: pkg, Config: config, Unsaved: true}, dir, args)
	}
	if f.csv != "" && f.csv == f.svg {
		return fmt.Errorf("--csv and --svg name the same file, %s: give each its own", f.csv)
	}
	// A page has both, but as text of its own.
	if f.html != "" && (f.html == f.csv || f.html == f.svg) {
		return fmt.Errorf("--html and another flag name the same file, %s: give each its own", f.html)
	}
	if err := writable(f.csv, f.svg, f.html); err != nil {
		return err
	}
	// Files are tried first: a comparison takes long, and its results would be lost.
	r := check.CompareRequest{
		Strategies: strategyNames(f.strategies), Backends: f.backends, Scopes: f.scopes, Repeat: f.repeat,
	}
	if r.Request, err = f.request(pkg, args, config); err != nil {
		return err
	}
	comparison, err := check.NewComparison(r)
	if err != nil {
		return err
	}
	log := newLog(f.verbose)
	defer log.Sync()
	// What stays on the screen: one line for each combination.
	lines := progress.Progress{Out: c.ErrOrStderr(), Plain: true}
	// Each combination has a display of its own, with a title.
	var status *progress.Progress // of the combination that runs
	begin := func(title string) check.Listener {
		status = &progress.Progress{
			Out: c.ErrOrStderr(), Title: title, Bounds: config.Bounds, Peers: true,
			Workers: comparison.Workers(), Plain: f.verbose,
		}
		return status.Listener(logWriter{log})
	}
	// A combination that cannot begin has no status yet.
	end := func(title string, row *compare.Row) {
		if status != nil {
			status.Pause()
		}
		lines.Say("%s: %s", title, inShort(row))
	}
	rows, err := comparison.Run(c.Context(), lines.Say, begin, end)
	if err != nil {
		return err
	}
	return f.show(c.OutOrStdout(), rows)
}

// strategyNames puts together again what the flag has cut at commas: after-io and every=3.
// Parameters have an equals sign, and names of strategies have none.
func strategyNames(list []string) (names []string) {
	for _, part := range list {
		if len(names) > 0 && strings.Contains(part, "=") {
			names[len(names)-1] += "," + part
		} else {
			names = append(names, part)
		}
	}
	return names
}

// inShort is what came of one combination, in a line: the verdict, or the first line of the reason
// why there is none.
func inShort(row *compare.Row) string {
	if row.Failed {
		first, _, _ := strings.Cut(row.Reason, "\n")
		return report.Line(first)
	}
	executions := textutil.CountOf(row.Counts.Executions, "execution")
	return fmt.Sprintf("%s, %s in %v", row.Verdict, executions, row.Elapsed.Round(time.Millisecond))
}

// show prints the comparison and writes the files that were asked for. It returns what the command
// ends with. All that can be written is written, whatever else fails. A disagreement is an error:
// then no verdict can be relied on. Files are made in memory first, and are written even where the
// table could not be printed.
func (f *compareFlags) show(out io.Writer, c *compare.Comparison) error {
	// Medians hide all but one run of each, so this comes first.
	wrong := []error{c.Disagreement()} // of any two runs
	if f.repeat > 1 {
		c = c.Medians()
	}
	wrong = append(wrong, compare.Write(out, c, report.Options{}))
	// A file that is not named is not written.
	// All files have the same rows as the table.
	for _, file := range []struct {
		name  string
		write func(io.Writer, *compare.Comparison) error
	}{{f.csv, compare.WriteCSV}, {f.svg, compare.WriteSVG}, {f.html, compare.WriteHTML}} {
		if file.name == "" {
			continue
		}
		var text bytes.Buffer
		wrong = append(wrong, file.write(&text, c), os.WriteFile(file.name, text.Bytes(), 0o666))
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	if c.Verdict() == "" {
		return errors.New("none of the combinations could be run: see the reasons above")
	}
	return verdictOf(c.Verdict())
}
