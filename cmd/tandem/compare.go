package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/strategy"
	"github.com/tandem-mc/tandem/sut"
)

// compareFlags are the flags of tandem compare.
type compareFlags struct {
	checkFlags
	strategies, backends, scopes []string
	csv, svg                     string
	repeat                       int
}

// maxCombinations bounds what one comparison runs.
const maxCombinations = 1000

func compareCommand() *cobra.Command {
	f := compareFlags{checkFlags: checkFlags{shrink: "off"}}
	c := &cobra.Command{
		Use:   "compare PACKAGE [-- ARGS]",
		Short: "Run a check with several strategies, backends and scopes, and compare what they cost",
		Long: "Each combination is checked by itself, one after the other, within the same bounds. They must agree on the verdict, and those\n" +
			"of one scope on how many executions ended in which way; two that do not are named, and the exit code is 3. A combination that\n" +
			"cannot be run is shown with the reason, and the others go on. Otherwise the exit code is that of the verdict.",
		Example: "  tandem compare ./examples/httpget\n" +
			"  tandem compare ./examples/alphabet --strategies never,after-io --backends criu,memory --svg alphabet.svg -- -connections 3",
		RunE: func(c *cobra.Command, args []string) error {
			if dash := c.ArgsLenAtDash(); len(args) == 0 || dash == 0 || dash > 1 || dash < 0 && len(args) > 1 {
				return errors.New("name one package; arguments of the program come after --")
			}
			return f.run(c, args[0], args[1:])
		},
	}
	p := c.Flags()
	f.registerSearch(p)
	p.StringSliceVar(&f.strategies, "strategies", strategy.Names(), "`strategies` to compare; after-io,every=3 is one of them")
	p.StringSliceVar(&f.backends, "backends", nil, "`backends` to compare, of "+strings.Join(configs.Backends, ", ")+" (default: that of the configuration)")
	p.StringSliceVar(&f.scopes, "scopes", nil, "`scopes` to compare, of "+strings.Join(configs.Scopes, ", ")+" (default: that of the configuration)")
	p.IntVar(&f.repeat, "repeat", 1, "how often to run each: one after the other, and all of them again; the table has the run of the median time")
	p.StringVar(&f.csv, "csv", "", "write the table to `file` as comma-separated values")
	p.StringVar(&f.svg, "svg", "", "draw it to `file` as bars")
	return c
}

func (f *compareFlags) run(c *cobra.Command, pkg string, args []string) error {
	config, err := f.load(f.directory(c.Context(), pkg), c.Flags().Changed)
	if err != nil {
		return err
	}
	if config.Group == nil {
		return errors.New("compare is about checkpoints of peers, and none are configured: name them under peers: in the configuration")
	}
	if len(args) > 0 {
		config.Args = args
	}
	combinations, err := f.combinations(config)
	if err != nil {
		return err
	}
	if f.repeat < 1 || f.repeat > maxCombinations/len(combinations) {
		return fmt.Errorf("--repeat %d: want from 1 on, and not more than %d runs in all", f.repeat, maxCombinations)
	}
	options, err := f.options(pkg, config)
	if err != nil {
		return err
	}
	log := newLog(f.verbose)
	defer log.Sync()
	said := progress{out: c.ErrOrStderr(), plain: true}
	said.say("building %s", pkg)
	program, clean, err := buildProgram(c.Context(), sut.BuildOptions{Dir: options.Dir, Package: pkg, PreemptIn: config.PreemptIn, Races: config.Races})
	if err != nil {
		return err
	}
	defer clean()
	comparison := &report.Comparison{Package: pkg, Args: config.Args}
	for i, config := range slices.Repeat(combinations, f.repeat) {
		row := report.Compared{Strategy: config.Strategy, Backend: config.Backend, Scope: config.Scope}
		title := fmt.Sprintf("%d of %d: %s", i+1, f.repeat*len(combinations), row.Name())
		if c.Context().Err() != nil {
			row.Failed, row.Interrupted, row.Reason = true, true, "not run: the comparison was interrupted"
		} else {
			f.measure(c.Context(), &row, pkg, config, program, log, &progress{
				out: c.ErrOrStderr(), title: title, bounds: config.Bounds, peers: true, workers: options.Workers, plain: f.verbose,
			})
			row.Interrupted = c.Context().Err() != nil && row.Verdict != report.Violated
		}
		said.say("%s: %s", title, inShort(&row))
		comparison.Rows = append(comparison.Rows, row)
	}
	return f.show(c.OutOrStdout(), comparison)
}

// combinations are the configurations to compare, those of one scope and backend beside each other.
func (f *compareFlags) combinations(config configs.Config) ([]configs.Config, error) {
	if len(f.strategies) == 0 {
		return nil, fmt.Errorf("--strategies names none: choose of %s", strings.Join(strategy.Names(), ", "))
	}
	if f.csv != "" && f.csv == f.svg {
		return nil, fmt.Errorf("--csv and --svg name the same file, %s", f.csv)
	}
	if err := writable(f.csv, f.svg); err != nil {
		return nil, err
	}
	var list []configs.Config
	for _, scope := range orDefault(f.scopes, config.Scope) {
		for _, backend := range orDefault(f.backends, config.Backend) {
			for _, name := range strategyNames(f.strategies) {
				next := config
				next.Strategy, next.Backend, next.Scope = name, backend, scope
				if err := next.Validate(); err != nil {
					return nil, err
				}
				if slices.ContainsFunc(list, func(c configs.Config) bool {
					return c.Strategy == name && c.Backend == backend && c.Scope == scope
				}) {
					return nil, fmt.Errorf("strategy %s, backend %s and scope %s are named twice", name, backend, scope)
				}
				if list = append(list, next); len(list) > maxCombinations {
					return nil, fmt.Errorf("these are more than %d combinations: name fewer strategies, backends or scopes", maxCombinations)
				}
			}
		}
	}
	return list, nil
}

func orDefault(list []string, otherwise string) []string {
	if len(list) == 0 {
		return []string{otherwise}
	}
	return list
}

// strategyNames puts together what a list that is cut at commas has of a strategy: after-io and every=3.
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

// measure runs one combination and notes what came of it.
func (f *compareFlags) measure(ctx context.Context, row *report.Compared, pkg string, config configs.Config, program *sut.Program, log *zap.Logger, status *progress) {
	defer status.pause()
	started, inVain := time.Now(), time.Duration(0)
	options, err := f.options(pkg, config)
	if err == nil {
		options.Program, options.Progress = program, status.tell
		options.Contradicted = func(err error) {
			inVain = time.Since(started)
			status.contradicted(err)
		}
		err = f.withDaemon(ctx, config, log, func(client *ckptd.Client) error {
			options.Client, started = client, time.Now()
			result, err := check.Run(ctx, options)
			if err == nil || result != nil && len(result.Violations) > 0 {
				fill(row, check.Summary(options, result), result)
				row.Elapsed += inVain
			}
			if err != nil {
				return err
			}
			store, err := client.Status(context.WithoutCancel(ctx))
			row.PeakBytes = store.PeakBytes
			return err
		})
	}
	if err != nil {
		row.Failed, row.Reason = true, err.Error()
	}
}

// fill takes over what a check has found and counted.
func fill(row *report.Compared, run report.Run, result *check.Result) {
	row.Verdict, row.Reason, row.Counts, row.Elapsed = run.Verdict, run.Reason, run.Counts, run.Counts.Elapsed
	row.Restarts, row.ImageBytes = result.Counts.Restarts, result.Counts.ImageBytes
	row.Outcomes = map[string]int{}
	for outcome, n := range result.Outcomes {
		row.Outcomes[outcome.String()] = n
	}
}

// inShort is what came of one combination, in a line.
func inShort(row *report.Compared) string {
	if row.Failed {
		first, _, _ := strings.Cut(row.Reason, "\n")
		return printableLine(first)
	}
	return fmt.Sprintf("%s, %s in %v", row.Verdict, countOf(row.Counts.Executions, "execution"), row.Elapsed.Round(time.Millisecond))
}

// show prints the comparison, writes the files that were asked for, and returns what the command ends with.
func (f *compareFlags) show(out io.Writer, c *report.Comparison) error {
	wrong := []error{c.Disagreement()} // of any two runs
	if f.repeat > 1 {
		c = c.Medians()
	}
	wrong = append(wrong, report.WriteComparison(out, c, report.Options{}))
	for _, file := range []struct {
		name  string
		write func(io.Writer, *report.Comparison) error
	}{{f.csv, report.WriteComparisonCSV}, {f.svg, report.WriteComparisonSVG}} {
		if file.name == "" {
			continue
		}
		var text bytes.Buffer
		wrong = append(wrong, file.write(&text, c), os.WriteFile(file.name, text.Bytes(), 0o666))
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	switch c.Verdict() {
	case report.Holds:
		return nil
	case report.Violated:
		return verdictError(exitViolated)
	case report.Unknown:
		return verdictError(exitUnknown)
	}
	return errors.New("none of the combinations could be run")
}
