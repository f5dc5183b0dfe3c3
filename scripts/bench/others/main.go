// Command others compares Tandem with other model checkers of concurrent programs: executions for
// each second of processor time, on programs of the literature on partial-order reduction. `make
// bench-peers` runs it, in the root of the repository.
//
// Tandem checks examples/classics. Nidhugg and GenMC check the same programs, written in C, where
// they are installed (install.sh says how). They interpret code of LLVM, and Tandem runs the
// machine code of an unmodified Go program. So it is the kind of the figures that compares.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "others:", err)
		os.Exit(1)
	}
}

// row is a program with its size. A table has one line for each.
type row struct {
	program string
	n       int
	// executions are as few as an optimal search can have: one for each order of what depends on
	// each other.
	executions int
}

func (r row) String() string { return fmt.Sprintf("%s(%d)", r.program, r.n) }

// rows are from Abdulla, Aronis, Jonsson, Sagonas: "Optimal Dynamic Partial Order Reduction", POPL
// 2014 (lastzero, readers) and from Flanagan, Godefroid: "Dynamic Partial-Order Reduction for Model
// Checking Software", POPL 2005 (filesystem, indexer). In writers and locks everything depends on
// everything, so there is nothing to reduce, and only the cost of an execution counts.
var rows = []row{
	{"writers", 8, 40_320},
	{"writers", 9, 362_880},
	{"locks", 4, 369_600},
	{"lastzero", 13, 32_768},
	{"lastzero", 15, 147_456},
	{"readers", 13, 8_192},
	{"readers", 16, 65_536},
	{"filesystem", 19, 64},
	{"indexer", 15, 4_096},
}

// run prints a line for each row, with a column for each tool. A tool that is not installed has no
// column, and that is said. The rows before one that cannot be measured are printed in any case:
// what is wrong with it is returned at the end.
func run(args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("others", flag.ContinueOnError)
	flags.SetOutput(progress)
	wanted := flags.String("rows", ".", "`regexp` of rows, such as writers")
	rounds := flags.Int("rounds", 3, "how often each is run; the fastest counts")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := regexp.Compile(*wanted)
	if err != nil {
		return fmt.Errorf("-rows: %w", err)
	}
	if *rounds < 1 {
		return errors.New("-rounds: each has to be run once at least")
	}
	// Our own rows are of use alone, too.
	var tools []tool
	for _, t := range all() {
		if err := t.missing(); err != nil {
			fmt.Fprintf(progress, "no column for %s: %v\n", t.name, err)
			continue
		}
		tools = append(tools, t)
	}
	dir, err := os.MkdirTemp("", "tandem-others-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := write(dir); err != nil {
		return err
	}
	header(out, tools)
	var failed error
	for _, r := range rows {
		if !chosen.MatchString(r.String()) {
			continue
		}
		results, err := measure(dir, r, tools, *rounds)
		failed = errors.Join(failed, err)
		fmt.Fprintln(out, line(r, results))
	}
	return failed
}

// header says what is in the columns.
func header(out io.Writer, tools []tool) {
	fmt.Fprint(out, "| executions in a second of processor time | executions |")
	for _, t := range tools {
		fmt.Fprintf(out, " %s |", t.name)
	}
	fmt.Fprintln(out, "\n|---|--:|"+strings.Repeat("--:|", len(tools)))
}

// measure runs one row with all tools, by turns. Other programs on the machine only make a run
// longer, so the fastest one counts. A tool that fails has no result, and is not run again.
func measure(dir string, r row, tools []tool, rounds int) (fastest []result, failed error) {
	fastest, wrong := make([]result, len(tools)), make([]bool, len(tools))
	for range rounds {
		for i, t := range tools {
			if wrong[i] {
				continue
			}
			now, err := t.run(dir, r)
			if err != nil {
				wrong[i], fastest[i] = true, result{}
				failed = errors.Join(failed, fmt.Errorf("%s of %s: %w", t.name, r, err))
				continue
			}
			if fastest[i].processor == 0 || now.processor < fastest[i].processor {
				fastest[i] = now
			}
		}
	}
	return fastest, failed
}

// line is a line of the table. A tool that needs other executions than an optimal search has their
// number beside the speed.
func line(r row, results []result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | %d |", r, r.executions)
	for _, one := range results {
		if one.processor == 0 {
			b.WriteString(" failed |")
			continue
		}
		fmt.Fprintf(&b, " %.0f", float64(one.executions)/one.processor.Seconds())
		if one.executions != r.executions {
			fmt.Fprintf(&b, " (%d)", one.executions)
		}
		b.WriteString(" |")
	}
	return b.String()
}
