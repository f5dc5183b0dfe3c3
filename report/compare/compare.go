// Package compare puts several checks of one program beside each other: a table, CSV, or bars.
package compare

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// Comparison is one search, run with several combinations of strategy, backend and scope. Functions
// only read it, so they may run at the same time.
type Comparison struct {
	Package string
	Args    []string
	Rows    []Row // in the order in which they were run

	repeated bool // each row is of several runs
}

// Row is the search with one combination. A search that was run several times has a row for each
// run, until Medians is called.
type Row struct {
	Strategy, Backend, Scope string
	Verdict                  report.Verdict // empty: there is none, and Reason is why
	Reason                   string         // what ended the search, or made it impossible
	// Failed: the search ended with an error, which is Reason. If there is a verdict all the
	// same, it is that of a violation found before.
	Failed      bool
	Interrupted bool // before it was run, or while it was
	Outcomes    map[string]int
	Counts      report.Counts
	Restarts    int   // of the peers, from nothing
	ImageBytes  int64 // of all images together, when they were taken
	// PeakBytes is the most that the store of the checkpoint daemon had just after a checkpoint:
	// images and scratch directories.
	PeakBytes int64
	Elapsed   time.Duration // of the search; with scope auto, with what was wasted

	// Of several runs (Comparison.Medians):
	fastest, slowest time.Duration
	toBest           float64 // 0: not known
}

// Name names the combination. Rows of the same name are runs of the same search.
func (c *Row) Name() string { return c.Strategy + ", " + c.Backend + ", " + c.Scope }

// found is the verdict with what it rests on, in short. Outcomes are in alphabetical order, so the
// same search reads the same each time.
func (c *Row) found() string {
	var list []string
	for _, outcome := range slices.Sorted(maps.Keys(c.Outcomes)) {
		list = append(list, fmt.Sprintf("%s %s", textutil.Count(c.Outcomes[outcome]), outcome))
	}
	return fmt.Sprintf("%s (%s)", c.Verdict, strings.Join(list, ", "))
}

// Verdict is that of the combinations together, if they do not disagree. A search that was ended
// early counts only if all were. It is empty if none has a verdict. A violation counts more than
// the rest: it was seen.
func (c *Comparison) Verdict() report.Verdict {
	// The order is that of what the verdicts say, the strongest first.
	for _, v := range []report.Verdict{report.Violated, report.Holds, report.Unknown} {
		if slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Verdict == v }) {
			return v
		}
	}
	return ""
}

// Disagreement is an error that names two combinations that cannot both be right; nil if there are
// none. All that come to a verdict must come to the same one. Within one scope, as many executions
// must end in each way, unless a bound has ended one of the two elsewhere. Between scopes the
// numbers differ, since other operations are dependent.
func (c *Comparison) Disagreement() error {
	for i := range c.Rows {
		for j := range i {
			// The earlier one is named first.
			if a, b := &c.Rows[j], &c.Rows[i]; a.contradicts(b) {
				return fmt.Errorf("the combinations disagree:\n  %s: %s\n  %s: %s%s", a.Name(), a.found(),
					b.Name(), b.found(), a.hint(b))
			}
		}
	}
	return nil
}

// contradicts reports whether two combinations cannot both be right; see Disagreement.
func (c *Row) contradicts(other *Row) bool {
	if c.Verdict == "" || other.Verdict == "" {
		return false
	}
	decided := c.Verdict != report.Unknown && other.Verdict != report.Unknown
	if decided && c.Verdict != other.Verdict {
		return true
	}
	if c.Failed || other.Failed || c.Scope != other.Scope ||
		!decided && c.Counts.Executions != other.Counts.Executions {
		return false
	}
	return !maps.Equal(c.Outcomes, other.Outcomes)
}

// hint says what may explain a disagreement, the likeliest reason first: the scope is too narrow,
// the peers are not deterministic, or it is not known whether they are. What is left is a fault of
// Tandem.
func (c *Row) hint(other *Row) string {
	switch {
	case c.Scope != other.Scope:
		return "\nThe answers on a connection depend on more than that connection: use scope group."
	case c.Counts.Reads != "":
		return "\nThe peers have read the time or random numbers (" + words.Printable(c.Counts.Reads) +
			"), and each combination has asked them anew:" +
			" with choices in their configuration they answer the same."
	case len(c.Counts.Uninstrumented) > 0:
		return "\nIt is not known whether the peers have read the time or random numbers. Each " +
			"combination has asked them anew, and they may have answered otherwise."
	}
	return "\nOne of them is wrong, and so is Tandem: please report it."
}

// measure is a column of a comparison. NaN stands for a value that is not known.
type measure struct {
	title string // of the column
	key   string // in CSV, with the unit
	value func(*Row) float64
	text  func(float64) string
}

// of is the value of a combination; unknown if it has none.
func (m *measure) of(c *Row) (value float64, known bool) {
	if c.Verdict == "" {
		return 0, false
	}
	value = m.value(c)
	return value, !math.IsNaN(value)
}

// measures are the columns of every comparison.
var measures = []measure{
	{"time", "seconds", func(c *Row) float64 { return c.Elapsed.Seconds() }, secondsText},
	{"executions", "executions", func(c *Row) float64 { return float64(c.Counts.Executions) }, countText},
	{"transitions", "transitions", func(c *Row) float64 { return float64(c.Counts.Transitions) }, countText},
	{"hits", "cache_hits", func(c *Row) float64 { return float64(c.Counts.CacheHits) }, countText},
	{"misses", "cache_misses", func(c *Row) float64 { return float64(c.Counts.CacheMisses) }, countText},
	{"checkpoints", "checkpoints", func(c *Row) float64 { return float64(c.Counts.Checkpoints) }, countText},
	{"restores", "restores", func(c *Row) float64 { return float64(c.Counts.Restores) }, countText},
	{"restarts", "restarts", func(c *Row) float64 { return float64(c.Restarts) }, countText},
	{"replayed", "replayed_requests", func(c *Row) float64 { return float64(c.Counts.Replayed) }, countText},
	{"images", "image_bytes", func(c *Row) float64 { return float64(c.ImageBytes) }, textutil.Bytes},
	{"peak", "peak_bytes", peakOf, textutil.Bytes},
}

// ofRuns are those of combinations that were run several times. They come after the time, whose
// spread they tell.
var ofRuns = []measure{
	{"fastest", "fastest_seconds", func(c *Row) float64 { return secondsOrNone(c.fastest) }, secondsText},
	{"slowest", "slowest_seconds", func(c *Row) float64 { return secondsOrNone(c.slowest) }, secondsText},
	{"to best", "to_best", func(c *Row) float64 {
		if c.toBest == 0 {
			return math.NaN()
		}
		return c.toBest
	}, func(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) + " x" }},
}

// secondsOrNone is a duration in seconds; NaN if it is not known.
func secondsOrNone(d time.Duration) float64 {
	if d == 0 {
		return math.NaN()
	}
	return d.Seconds()
}

// measures are the columns. A comparison of medians has more of them.
func (c *Comparison) measures() []measure {
	if c.repeated {
		return slices.Insert(slices.Clone(measures), 1, ofRuns...)
	}
	return measures
}

// peakOf is not known without checkpoints, after which it is measured.
func peakOf(c *Row) float64 {
	if c.Counts.Checkpoints == 0 {
		return math.NaN()
	}
	return float64(c.PeakBytes)
}

// countText is a whole number for people.
func countText(x float64) string { return textutil.Count(int(x)) }

// secondsText is a time for people.
func secondsText(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) + " s" }

// Write writes a comparison as a table, with the reasons of those that have not come to a verdict
// below it. The error is the writer's. It needs more than 100 columns: a table that is wrapped
// cannot be read.
func Write(w io.Writer, c *Comparison, options report.Options) error {
	p := printer.New(options)
	printComparison(p, c)
	_, err := w.Write(p.Bytes())
	return err
}

// headline is the verdict of the combinations together, and the line that says so. A disagreement
// takes the place of the verdict, since then none of them can be relied on.
func (c *Comparison) headline() (verdict report.Verdict, text string) {
	verdict = c.Verdict()
	runs := 0
	for i := range c.Rows {
		if c.Rows[i].Verdict == verdict && verdict != "" {
			runs++
		}
	}
	switch all := textutil.CountOf(len(c.Rows), "combination"); {
	case verdict == "":
		return "", fmt.Sprintf("NO VERDICT: none of %s could be run", all)
	case c.Disagreement() != nil:
		return "", "DISAGREEMENT"
	default:
		return verdict, fmt.Sprintf("%s: %s of %s", strings.ToUpper(string(verdict)), textutil.Count(runs),
			all)
	}
}

// printComparison prints the headline, the table, and the reasons of combinations without a
// verdict.
func printComparison(p *printer.Printer, c *Comparison) {
	verdict, headline := c.headline()
	p.Line(printer.OfVerdict[verdict], headline)
	p.Print("  " + words.Printable(report.Run{Package: c.Package, Args: c.Args}.Program()))
	p.Print("")
	table, notes := c.table()
	for i, line := range aligned(table, textColumns) {
		style := printer.Plain
		if i == 0 {
			style = printer.Bold
		}
		p.Line(style, "  "+line)
	}
	if len(notes) > 0 {
		p.Print("")
	}
	for i, note := range notes {
		printNote(p, i+1, note)
	}
	p.Print("")
	p.Line(printer.Dim, "  hits and misses are of the I/O cache; images: bytes of all checkpoints when "+
		"they were taken; peak: most bytes in the")
	p.Line(printer.Dim, "  checkpoint daemon's store just after a checkpoint: the images that there were "+
		"then, and the scratch directories")
	if c.repeated {
		p.Line(printer.Dim, "  Each line is the run of the median time; to best: that time, as a "+
			"multiple of the fastest other strategy's")
	}
}

// printNote writes why a combination has come to no verdict. The number stands in front of the
// first line only. Reasons may hold what peers have answered.
func printNote(p *printer.Printer, number int, text string) {
	label := fmt.Sprintf("[%d]", number)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines[:min(len(lines), maxNoteLines)] {
		p.Printf("  %4s %s", label, words.Printable(line))
		label = ""
	}
	if more := len(lines) - maxNoteLines; more > 0 {
		p.Printf("       and %s", textutil.CountOf(more, "more line"))
	}
}

// maxNoteLines bounds the reason of one combination.
const maxNoteLines = 20

// textColumns are left-aligned.
const textColumns = 4

// table is a heading and a line for each combination; what needs more words is in notes. A note is
// referred to by its number behind the verdict: it has the reason of a search that failed or was
// ended early.
func (c *Comparison) table() (table [][]string, notes []string) {
	heading := []string{"strategy", "backend", "scope", "verdict"}
	for _, m := range c.measures() {
		heading = append(heading, m.title)
	}
	table = append(table, heading)
	for i := range c.Rows {
		r := &c.Rows[i]
		verdict := string(r.Verdict)
		if r.Verdict == "" {
			verdict = "none"
		}
		if r.Failed || r.Verdict == report.Unknown {
			notes = append(notes, r.Name()+": "+r.Reason)
			verdict += fmt.Sprintf(" [%d]", len(notes))
		}
		line := []string{words.Printable(r.Strategy), words.Printable(r.Backend), words.Printable(r.Scope),
			verdict}
		for _, m := range c.measures() {
			if value, known := m.of(r); known {
				line = append(line, m.text(value))
			} else {
				line = append(line, "-")
			}
		}
		table = append(table, line)
	}
	return table, notes
}

// aligned joins the cells of each line so that those of a column are below each other: the first
// ones by their beginnings, the others, which are numbers, by their ends. Cells are ASCII, so their
// bytes are their columns. All lines have as many cells as the first.
func aligned(table [][]string, left int) []string {
	widths := make([]int, len(table[0]))
	for _, line := range table {
		for i, cell := range line {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var lines []string
	for _, line := range table {
		text := ""
		for i, cell := range line {
			blanks := strings.Repeat(" ", widths[i]-len(cell))
			if i >= left {
				text += "  " + blanks + cell
			} else {
				text += "  " + cell + blanks
			}
		}
		lines = append(lines, text[2:])
	}
	return lines
}

// WriteCSV writes a comparison as comma-separated values with a heading (RFC 4180, but for the ends
// of lines), all numbers in full; those that are not known are left out. The error is the writer's.
// It is made for programs, so it has the numbers in base units (seconds, bytes) and no notes.
func WriteCSV(w io.Writer, c *Comparison) error {
	out := csv.NewWriter(w)
	heading := []string{"strategy", "backend", "scope", "verdict", "outcomes"}
	for _, m := range c.measures() {
		heading = append(heading, m.key)
	}
	lines := [][]string{append(heading, "reason")}
	for i := range c.Rows {
		r := &c.Rows[i]
		var outcomes []string
		for _, outcome := range slices.Sorted(maps.Keys(r.Outcomes)) {
			outcomes = append(outcomes, fmt.Sprintf("%s: %d", outcome, r.Outcomes[outcome]))
		}
		line := []string{r.Strategy, r.Backend, r.Scope, string(r.Verdict), strings.Join(outcomes, "; ")}
		for _, m := range c.measures() {
			if value, known := m.of(r); known {
				line = append(line, strconv.FormatFloat(value, 'f', -1, 64))
			} else {
				line = append(line, "")
			}
		}
		lines = append(lines, append(line, words.OneLine(r.Reason)))
	}
	return out.WriteAll(lines)
}
