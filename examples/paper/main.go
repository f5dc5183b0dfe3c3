// Command paper runs the experiments of Table II of "Model Checking Distributed Systems by
// Combining Caching and Process Checkpointing" (Leungwattanakit, Artho, Hagiya, Tanabe,
// Yamamoto; ASE 2011) with every strategy, and prints for each of them what the best one took.
// It needs bin (make build) and root, and runs in the root of the repository.
package main

import (
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

func main() {
	rows := flag.String("rows", ".", "`expression` that the names of the experiments to run match")
	strategies := flag.String("strategies", "never,after-nd,after-connect,adaptive,after-io,always",
		"`strategies` to try")
	bound := flag.Duration("time", 10*time.Minute, "`time` that a strategy may take for an experiment")
	theirs := flag.String("theirs", "examples/paper/paper.csv", "`file` with the numbers of the paper")
	all := flag.String("csv", "", "`file` to write what each strategy took to")
	flag.Parse()
	t := &table{strategies: *strategies, bound: *bound}
	if err := t.run(os.Stdout, *rows, *theirs, *all); err != nil {
		fmt.Fprintln(os.Stderr, "paper:", err)
		os.Exit(1)
	}
}

// table is a run of some experiments.
type table struct {
	strategies string
	bound      time.Duration
	scratch    string     // directory for what is made on the way
	all        [][]string // what each strategy took for each experiment, as CSV
}

func (t *table) run(out io.Writer, wanted, theirFile, allFile string) (err error) {
	matches, err := regexp.Compile(wanted)
	if err != nil {
		return fmt.Errorf("-rows: %w", err)
	}
	theirs, err := readTheirs(theirFile)
	if err != nil {
		return err
	}
	if t.scratch, err = os.MkdirTemp("", "tandem-paper-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(t.scratch)) }()
	fmt.Fprint(out, heading())
	for _, e := range experiments() {
		if !matches.MatchString(e.name) {
			continue
		}
		tries, err := t.try(e)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		fmt.Fprint(out, line(e.name, tries, theirs[e.name]))
	}
	fmt.Fprint(out, footing)
	if allFile == "" {
		return nil
	}
	file, err := os.Create(allFile)
	if err != nil {
		return err
	}
	return errors.Join(csv.NewWriter(file).WriteAll(t.all), file.Close())
}

// try runs an experiment with every strategy.
func (t *table) try(e experiment) ([]result, error) {
	config, err := e.configuration(t.scratch)
	if err != nil {
		return nil, err
	}
	numbers := filepath.Join(t.scratch, "comparison.csv")
	args := []string{"compare", e.program, "-c", config, "--strategies", t.strategies, "--scopes",
		"connection", "--search", "dpor",
		"--executions", "100000000", "--time", t.bound.String(), "--csv", numbers, "--"}
	compare := exec.Command("bin/tandem", append(args, e.args...)...)
	said, err := compare.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() <= exitUnknown && exit.Exited() {
		err = nil // a verdict
	}
	if err != nil {
		return nil, fmt.Errorf("tandem compare: %w\n%s", err, said)
	}
	file, err := os.Open(numbers)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	tries, lines, err := readComparison(file)
	if err == nil && len(t.all) == 0 {
		t.all = append(t.all, append([]string{"experiment"}, lines[0]...))
	}
	for _, line := range lines[min(1, len(lines)):] {
		t.all = append(t.all, append([]string{e.name}, line...))
	}
	return tries, err
}

// exitUnknown is the highest exit code of tandem that is a verdict.
const exitUnknown = 2
