// Command house prints how the project is built, in numbers: how large its packages and
// functions are, how far its types are spread, and what else lint holds within limits.
// It runs in the root of the repository: make house.
package main

import (
	"cmp"
	_ "embed"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/tandem-mc/tandem/lint/internal/house"
)

// before has a row for each measure: its name, the value before the rebuilding, the value that is
// wanted, and the reason why that may not be reached. The heading of its table has the day on
// which it was measured.
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
	var missed []string
	// Columns are as wide as what is in them.
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "measure\t24 November\tnow\twanted")
	for _, row := range rows {
		value, ok := now[row[0]]
		if !ok {
			return fmt.Errorf("before.csv: there is no measure %q", row[0])
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", row[0], row[1], value, row[2])
		reached, err := isReached(value, row[2])
		if err != nil {
			return fmt.Errorf("before.csv: %s: %w", row[0], err)
		}
		// A reason is printed only where it is needed, so it cannot outlive its cause.
		if !reached {
			missed = append(missed, fmt.Sprintf("%s: %s.", row[0], cmp.Or(row[3], "no reason is given")))
		}
	}
	if len(missed) > 0 {
		fmt.Fprintf(w, "\nNot reached:\n%s\n", strings.Join(missed, "\n"))
	}
	fmt.Fprintln(w)
	fmt.Fprintln(w, strings.Join(house.Headings, "\t"))
	for _, p := range h.Packages {
		fmt.Fprintln(w, h.Row(p))
	}
	fmt.Fprint(w, footing)
	return w.Flush()
}

// isReached tells whether the first number of a value is as it is wanted: at most or at least a
// number (<= 5, >= 1), in a range (15-20 %), or a number (0). Other wishes are in words (keep), and
// are judged by people.
func isReached(value, wanted string) (bool, error) {
	if !wish.MatchString(wanted) {
		return true, nil
	}
	// A single number is both ends of its range.
	limits := number.FindAllString(wanted, 2)
	least, _ := strconv.ParseFloat(limits[0], 64)
	most, _ := strconv.ParseFloat(limits[len(limits)-1], 64)
	switch wanted[0] {
	case '<':
		least = math.Inf(-1)
	case '>':
		most = math.Inf(1)
	}
	// Some values have more behind it, such as where that is.
	got, err := strconv.ParseFloat(number.FindString(value), 64)
	if err != nil {
		return false, fmt.Errorf("there is no number in %q", value)
	}
	return least <= got && got <= most, nil
}

// The expressions of isReached: a number, and the beginning of a wish that is one.
var (
	number = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)
	wish   = regexp.MustCompile(`^([<>]= )?[0-9]`)
)

// footing explains the columns of the second table.
const footing = `
functions: median / 90th percentile / longest, in lines. comments: share of the lines.
tests: lines of tests for each line of code. spread: types whose methods lie in 4 files or more.
circle: files of the largest circle, of all. wide: lines of more than 110 columns, tests too.
fields: structs with more than 20. outside: exported names outside the face of a room.
`
