package main

import (
	"cmp"
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/check"
)

// A part of the table is made in each test run. `make finders` makes all of it.
var (
	rowFlag = flag.String("rows", "^(account|reorder-3|timer-1ns|async-ticker-leak)$",
		"`expression` that the names of the programs in the table, or their families, match")
	searchFlag = flag.String("searches", "", "`names` of the searches to compare, with commas in between; "+
		"empty: all but dfs")
	executionFlag = flag.Int("executions", 10_000, "greatest number of executions of one search")
	timeFlag      = flag.Duration("time", 5*time.Second, "greatest duration of one search")
	csvFlag       = flag.String("csv", "", "`file` to write what each search of each program took to")
	update        = flag.Bool("update", false, "rewrite the table in README.md")
)

// searches are those that are compared: all that the product has but the enumeration of schedules.
func searches() []string {
	if *searchFlag != "" {
		return strings.Split(*searchFlag, ",")
	}
	return slices.DeleteFunc(check.Searches(), func(name string) bool { return name == "dfs" })
}

// portfolio is the search that is compared with the best of the others.
const portfolio = "auto"

// seeds is how often a search is run that draws its schedules, and moreSeeds how often if its
// executions are at most so many on average that the bug is found soon. Its number is the median.
//
// A seed draws alike in all programs, so that a few lucky ones would make a search look better in
// every row, and the best of four searches more so.
const (
	seeds     = 5
	moreSeeds = 25
	soon      = 500
)

// undrawn are the searches that do the same with each seed.
var undrawn = []string{"dpor", "directed"}

// cell is what one search came to with one program.
type cell []attempt

// found is the number of executions until the violation, the median of all seeds. It is false if
// half of them did not find any.
func (c cell) found() (executions int, ok bool) {
	var list []int
	for _, a := range c {
		if a.Violation != "" {
			list = append(list, a.Executions)
		}
	}
	if len(list) <= len(c)/2 {
		return 0, false
	}
	slices.Sort(list)
	return list[len(c)/2], true
}

// String is the number of executions. Where nothing was found it is a dash, with the number where
// the time ended the search, or what the verdict was.
func (c cell) String() string {
	if n, ok := c.found(); ok {
		return grouped(n)
	}
	for _, a := range c {
		switch {
		case strings.HasPrefix(a.Verdict, "holds"):
			return "holds"
		case a.Violation == "" && a.Executions < *executionFlag:
			return "– (" + grouped(a.Executions) + ")"
		}
	}
	return "–"
}

func (c cell) processor() (sum time.Duration) {
	for _, a := range c {
		sum += a.Processor
	}
	return sum
}

// grouped writes a number with commas.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// line is a row of the table with its cells, one for each search.
type line struct {
	row
	cells []cell
}

// best is the least number of executions, among all cells but that of the search with this index.
func (l line) best(without int) (executions int, ok bool) {
	for i, c := range l.cells {
		if n, found := c.found(); found && i != without && (!ok || n < executions) {
			executions, ok = n, true
		}
	}
	return executions, ok
}

// ratio compares the portfolio with the best of the others.
func (l line) ratio(at int) string {
	mine, found := l.cells[at].found()
	theirs, any := l.best(at)
	switch {
	case found && any:
		return fmt.Sprintf("%.2f", float64(mine)/float64(theirs))
	case found:
		return "alone"
	case any:
		return "missed"
	}
	return "–"
}

// TestTable makes the table, or a part of it. In each row, what is found is the known bug.
func TestTable(t *testing.T) {
	wanted, err := regexp.Compile(*rowFlag)
	if err != nil {
		t.Fatalf("-rows: %v", err)
	}
	all, err := rows()
	if err != nil {
		t.Fatal(err)
	}
	lines := compare(t, slices.DeleteFunc(all, func(r row) bool {
		return !wanted.MatchString(r.name) && !wanted.MatchString(r.family)
	}))
	if len(lines) == 0 {
		t.Fatalf("-rows %s: no program has such a name", *rowFlag)
	}
	text := table(lines)
	fmt.Println(text)
	if *csvFlag != "" {
		writeCSV(t, lines)
	}
	if *update && !t.Failed() {
		replaceTable(t, text)
	}
}

// table is what is printed. Programs whose bug is found by each search at once are only counted.
func table(lines []line) string {
	listed := slices.DeleteFunc(slices.Clone(lines), line.atOnce)
	text := fmt.Sprintf("Each search finds the bugs of %d of the %d programs in its first execution. The "+
		"others are:\n\n", len(lines)-len(listed), len(lines))
	return text + programTable(listed) + "\nThe same, for each search:\n\n" + searchTable(listed) +
		"\nAll programs, by family:\n\n" + familyTable(lines)
}

// atOnce says that each search has found the bug in its first execution.
func (l line) atOnce() bool {
	return !slices.ContainsFunc(l.cells, func(c cell) bool {
		n, ok := c.found()
		return !ok || n > 1
	})
}

// programTable has a line for each program.
func programTable(lines []line) string {
	names := searches()
	at := slices.Index(names, portfolio)
	var s strings.Builder
	head := "| program | violation | " + strings.Join(names, " | ") + " |"
	if at >= 0 {
		head += " " + portfolio + " : best of the others |"
	}
	fmt.Fprintf(&s, "%s\n%s\n", head, strings.Repeat("|---", strings.Count(head, "|")-1)+"|")
	for _, l := range lines {
		fmt.Fprintf(&s, "| `%s` | %s |", l.name, l.shows)
		for _, c := range l.cells {
			fmt.Fprintf(&s, " %v |", c)
		}
		if at >= 0 {
			fmt.Fprintf(&s, " %s |", l.ratio(at))
		}
		s.WriteString("\n")
	}
	return s.String()
}

// searchTable has a line for each search.
func searchTable(lines []line) string {
	var s strings.Builder
	s.WriteString("| search | bugs found | median of executions | best or as good | processor time |\n" +
		"|---|---|---|---|---|\n")
	for i, name := range searches() {
		found, first := 0, 0
		var processor time.Duration
		for _, l := range lines {
			n, ok := l.cells[i].found()
			best, _ := l.best(-1)
			if ok {
				found++
			}
			if ok && n == best {
				first++
			}
			processor += l.cells[i].processor()
		}
		fmt.Fprintf(&s, "| %s | %d of %d | %s | %d | %.1f s |\n", name, found, len(lines),
			median(lines, i), first, processor.Seconds())
	}
	return s.String()
}

// familyTable says for each family how many bugs each search has found, and its median.
func familyTable(lines []line) string {
	names := searches()
	var s strings.Builder
	head := "| family | programs | " + strings.Join(names, " | ") + " |"
	fmt.Fprintf(&s, "%s\n%s|\n", head, strings.Repeat("|---", len(names)+2))
	for len(lines) > 0 {
		family := lines[0].family
		end := slices.IndexFunc(lines, func(l line) bool { return l.family != family })
		if end < 0 {
			end = len(lines)
		}
		fmt.Fprintf(&s, "| %s | %d |", family, end)
		for i := range names {
			found := 0
			for _, l := range lines[:end] {
				if _, ok := l.cells[i].found(); ok {
					found++
				}
			}
			fmt.Fprintf(&s, " %d, median %s |", found, median(lines[:end], i))
		}
		s.WriteString("\n")
		lines = lines[end:]
	}
	return s.String()
}

// median is that of the executions that a search took over some lines. A bug that it has not found
// counts as more than any number.
func median(lines []line, search int) string {
	var list []int
	for _, l := range lines {
		if n, ok := l.cells[search].found(); ok {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	if middle := (len(lines) - 1) / 2; middle < len(list) {
		return grouped(list[middle])
	}
	return "–"
}

func writeCSV(t *testing.T, lines []line) {
	t.Helper()
	records := [][]string{{"family", "program", "search", "seed", "violation", "executions", "verdict",
		"processor seconds"}}
	for _, l := range lines {
		for _, a := range slices.Concat(l.cells...) {
			records = append(records, []string{l.family, l.name, a.Search, fmt.Sprint(a.Seed),
				string(a.Violation), fmt.Sprint(a.Executions), a.Verdict,
				fmt.Sprintf("%.3f", a.Processor.Seconds())})
		}
	}
	file, err := os.Create(*csvFlag)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmp.Or(csv.NewWriter(file).WriteAll(records), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// The table stands between these lines of README.md.
const (
	tableBegins = "<!-- table: make finders UPDATE=1 -->\n"
	tableEnds   = "<!-- end of table -->\n"
)

// replaceTable puts a table into README.md, with the tree that it was made with.
func replaceTable(t *testing.T, table string) {
	t.Helper()
	commit, err := exec.Command("git", "log", "-1", "--format=%h of %cs").Output()
	if err != nil {
		t.Fatalf("git log: %v", err)
	}
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(data), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		t.Fatalf("README.md lacks %q or %q", tableBegins, tableEnds)
	}
	made := fmt.Sprintf("Made on %s with tree %s, %s.\nA search has at most %s executions and %v.\n\n",
		time.Now().UTC().Format(time.DateOnly), strings.TrimSpace(string(commit)), runtime.Version(),
		grouped(*executionFlag), *timeFlag)
	text := before + tableBegins + made + table + tableEnds + after
	if err := os.WriteFile("README.md", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
