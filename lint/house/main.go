// Command house prints how the project is built, in numbers: how large its packages and
// functions are, how far its types are spread, and what else lint holds within limits.
// It runs in the root of the repository: make house.
package main

import (
	_ "embed"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/tandem-mc/tandem/lint/internal/house"
)

// before has a row for each measure: its name, the value before the rebuilding, the value that is
// wanted and, where that is not reached, the reason. The heading of its table has the day on which
// it was measured.
//
//go:embed before.csv
var before string

// main writes to standard output: what has changed, or the table. The exit code is 1 for an error,
// and 0 however far a measure is from what is wanted: the tests of lint judge.
func main() {
	documents := flag.Bool("documents", false,
		"make anew what documents have of the code, and print which have changed")
	flag.Parse()
	h, err := house.Measure(".")
	// Both kinds of output need the measures.
	switch {
	case err != nil:
	case *documents:
		var changed []string
		changed, err = house.PutDocuments(h, ".")
		for _, name := range changed {
			fmt.Println(name)
		}
	default:
		err = print(os.Stdout, h)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

// print writes two tables: each measure of before.csv with its value now, and a row for each
// package. A measure that was renamed without before.csv is an error.
func print(out io.Writer, h *house.House) error {
	rows, err := csv.NewReader(strings.NewReader(before)).ReadAll()
	if err != nil {
		return err
	}
	now := h.Summary()
	var reasons []string
	// Columns are as wide as what is in them.
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "measure\t24 November\tnow\twanted")
	for _, row := range rows {
		value, ok := now[row[0]]
		if !ok {
			return fmt.Errorf("before.csv: there is no measure %q", row[0])
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", row[0], row[1], value, row[2])
		if row[3] != "" {
			reasons = append(reasons, fmt.Sprintf("%s: %s.", row[0], row[3]))
		}
	}
	fmt.Fprintf(w, "\nNot reached:\n%s\n", strings.Join(reasons, "\n"))
	fmt.Fprintln(w)
	fmt.Fprintln(w, strings.Join(house.Headings, "\t"))
	for _, p := range h.Packages {
		fmt.Fprintln(w, h.Row(p))
	}
	fmt.Fprint(w, footing)
	return w.Flush()
}

// footing explains the columns of the second table.
const footing = `
functions: median / 90th percentile / longest, in lines. comments: share of the lines.
tests: lines of tests for each line of code. spread: types whose methods lie in 4 files or more.
circle: files of the largest circle, of all. wide: lines of more than 110 columns, tests too.
fields: structs with more than 20. outside: exported names outside the face of a room.
`
