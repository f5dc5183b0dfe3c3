package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
)

// result is what an experiment took with a strategy.
type result struct {
	// verdict: "" if it could not be run, for the reason
	strategy, verdict, reason                            string
	seconds                                              float64
	executions, transitions, checkpoints, restores, anew int
}

// decided says that the search came to its end.
func (r *result) decided() bool { return r.verdict == "holds" || r.verdict == "violated" }

// best is the fastest of those that came to an end, or else the one that got furthest; false if
// none could be run.
func best(tries []result) (result, bool) {
	tries = slices.DeleteFunc(slices.Clone(tries), func(r result) bool { return r.verdict == "" })
	if len(tries) == 0 {
		return result{}, false
	}
	undecided := func(r result) int {
		if r.decided() {
			return 0
		}
		return 1
	}
	return slices.MinFunc(tries, func(a, b result) int {
		if a.decided() && b.decided() {
			return cmp.Compare(a.seconds, b.seconds)
		}
		return cmp.Or(cmp.Compare(undecided(a), undecided(b)), cmp.Compare(b.executions, a.executions))
	}), true
}

// readComparison reads what tandem compare has written with --csv.
func readComparison(r io.Reader) (tries []result, lines [][]string, err error) {
	lines, err = csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, nil, fmt.Errorf("the numbers of tandem compare: %w", err)
	}
	if len(lines) < 2 {
		return nil, nil, errors.New("the numbers of tandem compare: there are none")
	}
	for _, fields := range lines[1:] {
		f := reader{heading: lines[0], fields: fields}
		tries = append(tries, result{
			strategy: f.text("strategy"), verdict: f.text("verdict"), reason: f.text("reason"),
			seconds:    f.number("seconds"),
			executions: int(f.number("executions")), transitions: int(f.number("transitions")),
			checkpoints: int(f.number("checkpoints")), restores: int(f.number("restores")),
			anew: int(f.number("restarts")),
		})
		err = errors.Join(err, f.err)
	}
	return tries, lines, err
}

// reader reads a line of CSV by the names of its columns.
type reader struct {
	heading, fields []string
	err             error
}

func (r *reader) text(column string) string {
	i := slices.Index(r.heading, column)
	if i < 0 {
		r.err = errors.Join(r.err, fmt.Errorf("there is no column %s", column))
		return ""
	}
	return r.fields[i]
}

// number is 0 where there is none.
func (r *reader) number(column string) float64 {
	text := r.text(column)
	if text == "" {
		return 0
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		r.err = errors.Join(r.err, fmt.Errorf("column %s: %w", column, err))
	}
	return x
}

// numbers are those of the paper for an experiment with its fastest strategy. All are empty
// where the paper has none.
type numbers struct {
	strategy, seconds, checkpoints string
	states                         string // the same with all strategies
}

// theirStrategies are the columns of the paper's numbers: our name of the strategy, its seconds and
// its checkpoints. Without checkpoints there is no column of them.
var theirStrategies = []struct{ name, seconds, checkpoints string }{
	{"never", "no_checkpoint_s", ""},
	{"after-nd", "after_nd_s", "checkpoints_after_nd"},
	{"after-io", "after_io_s", "checkpoints_after_io"},
	{"always", "always_s", "checkpoints_always"},
}

// readTheirs reads a file with the numbers of the paper, a line for each experiment.
func readTheirs(name string) (map[string]numbers, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err == nil && len(lines) == 0 {
		err = errors.New("there is no line")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	theirs, list := map[string]numbers{}, experiments()
	for i, fields := range lines {
		f := reader{heading: lines[0], fields: fields}
		title := f.text("experiment")
		if f.err != nil {
			return nil, fmt.Errorf("%s: %w", name, f.err)
		}
		if i == 0 {
			continue
		}
		if !slices.ContainsFunc(list, func(e experiment) bool { return e.name == title }) {
			return nil, fmt.Errorf("%s, line %d: there is no experiment %q", name, i+1, title)
		}
		theirs[title] = fastest(&f)
		if f.err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, i+1, f.err)
		}
	}
	return theirs, nil
}

// fastest has the paper's numbers for its fastest strategy.
func fastest(f *reader) (best numbers) {
	seconds := math.Inf(1)
	for _, s := range theirStrategies {
		text := f.text(s.seconds)
		if x := f.number(s.seconds); text == "" || x >= seconds {
			continue
		}
		seconds = f.number(s.seconds)
		best = numbers{strategy: s.name, seconds: text, checkpoints: "0"}
		if s.checkpoints != "" {
			best.checkpoints = f.text(s.checkpoints)
		}
	}
	best.states = f.text("states")
	return best
}

const format = "%-38s  %-8s  %-13s  %9s  %10s  %11s  %8s  %8s  |  %-8s  %6s  %9s  %11s\n"

func heading() string {
	return fmt.Sprintf("%-123s  |  paper\n", "") +
		fmt.Sprintf(format, "experiment", "verdict", "best strategy", "time",
			"executions", "checkpoints", "restores", "restarts", "strategy", "time", "states", "checkpoints")
}

// line is that of an experiment, with the paper's numbers beside ours.
func line(name string, tries []result, theirs numbers) string {
	r, ok := best(tries)
	if !ok {
		return fmt.Sprintf("%-38s  could not be run: %s\n", name, tries[0].reason)
	}
	s := fmt.Sprintf(format, name, r.verdict, r.strategy, fmt.Sprintf("%.2f s", r.seconds),
		fmt.Sprint(r.executions), fmt.Sprint(r.checkpoints), fmt.Sprint(r.restores), fmt.Sprint(r.anew),
		or(theirs.strategy, ""), or(theirs.seconds, " s"), or(theirs.states, ""), or(theirs.checkpoints, ""))
	if !r.decided() {
		s += fmt.Sprintf("%38s  not reached: %s\n", "", r.reason)
	}
	return s
}

// or is a text with a unit, or a dash where there is none.
func or(text, unit string) string {
	if text == "" {
		return "-"
	}
	return text + unit
}

// footing says what the columns mean.
const footing = `
Scope connection, as in the paper. The best strategy is the fastest one, here and now; the others
find the same. The paper's numbers (examples/paper/paper.csv) are for the strategy that was fastest
there. They count states of Java PathFinder on a machine of 2011; ours are executions, one for each
partial order, on this machine. A dash: the paper has no number, or its search took more than an hour.
`
