// Package html writes a counterexample as a page: the schedule with the goroutines as columns.
package html

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/rows"
	"github.com/tandem-mc/tandem/report/internal/words"
	"github.com/tandem-mc/tandem/report/text"
)

//go:embed counterexample.html
var page string

// pageTemplate escapes everything that a counterexample brings along.
var pageTemplate = template.Must(template.New("counterexample").Parse(page))

// Write writes the counterexample as one page that needs nothing else: the schedule
// with the goroutines as columns, and below it what text.Write has after the schedule. The
// error is the writer's.
func Write(w io.Writer, c *report.Counterexample) error {
	var text bytes.Buffer
	if err := pageTemplate.Execute(&text, pageOf(c)); err != nil {
		return fmt.Errorf("writing the counterexample as HTML: %w", err)
	}
	_, err := w.Write(text.Bytes())
	return err
}

// htmlPage is what the template shows.
type htmlPage struct {
	Title, Program, Size, Shrunk string
	Columns                      []htmlColumn
	Rows                         []htmlRow
	Rest                         string // of the report, as text
}

// htmlColumn is the head of a column: a goroutine.
type htmlColumn struct{ Name, Function, Created string }

// htmlRow is a row of the schedule: one cell in the column of its goroutine, or an
// omission across all of them.
type htmlRow struct {
	Number            string
	Before, After     []struct{} // empty cells
	What, Place       string
	Restored, Preempt string
	Messages          []string
	Omission          string
	Columns           int
}

// maxColumns bounds the goroutines that have a column of their own; the last one is
// shared by the rest.
const maxColumns = 40

// pageOf arranges a counterexample for the template. A goroutine gets its column when it is listed,
// or when it first runs. Listed goroutines beyond maxColumns share the last column. Those that are
// not listed have columns behind it; the bound on rows bounds them, too.
func pageOf(c *report.Counterexample) htmlPage {
	page := htmlPage{
		Title:   strings.ToUpper(string(c.Run.Verdict)) + ": " + words.Printable(c.Failure.Headline()),
		Program: words.Printable(c.Run.Program()),
		Size:    c.Size().String(), Rest: restOf(c),
	}
	if c.Shrunk != nil {
		page.Shrunk = c.Shrunk.String()
	}
	// The column of each goroutine, by its ID.
	place := map[int]int{}
	for _, g := range c.Goroutines {
		if len(page.Columns) == maxColumns {
			page.Columns[maxColumns-1] = htmlColumn{Name: "others"}
		} else {
			page.Columns = append(page.Columns,
				htmlColumn{words.Printable(g.Name), words.ShortFunction(g.Function),
					words.Printable(g.Created)})
		}
		place[g.ID] = len(page.Columns) - 1
	}
	last := report.Clock
	for _, r := range rows.Shorten(rows.Of(c.Steps)) {
		column, known := place[r.Goroutine]
		if !known && r.Omission == "" { // the clock, or nobody that is listed
			place[r.Goroutine] = len(page.Columns)
			column = len(page.Columns)
			name := "clock"
			if r.Goroutine != report.Clock {
				name = fmt.Sprintf("goroutine %d", r.Goroutine)
			}
			page.Columns = append(page.Columns, htmlColumn{Name: name})
		}
		// The row has its cells before; those after it come below.
		row := htmlRowOf(r, column)
		if r.Preempts && last != report.Clock {
			row.Preempt = "preempts " + rows.NameOf(c.Goroutines, last)
		}
		if page.Rows = append(page.Rows, row); r.Goroutine != report.Clock && r.Omission == "" {
			last = r.Goroutine
		}
	}
	for i := range page.Rows { // columns may have been added
		row := &page.Rows[i]
		row.Columns = len(page.Columns)
		row.After = make([]struct{}, max(len(page.Columns)-len(row.Before)-1, 0))
	}
	return page
}

// htmlRowOf is a row of the schedule, with empty cells before it up to its column. The cells after
// it are filled in when all columns are known.
func htmlRowOf(r rows.Row, column int) htmlRow {
	if r.Omission != "" {
		return htmlRow{Omission: r.Omission}
	}
	h := htmlRow{
		Number: fmt.Sprint(r.First + 1), Before: make([]struct{}, column),
		What:     strings.TrimSpace(r.What() + " " + words.Printable(r.Object)),
		Place:    strings.TrimSpace(words.Printable(r.Source) + " " + r.Function),
		Restored: words.Printable(r.Restored), Messages: r.Messages,
	}
	if r.Last > r.First {
		h.Number = fmt.Sprintf("%d-%d", r.First+1, r.Last+1)
	}
	return h
}

// restOf is what follows the schedule in the text of a counterexample.
func restOf(c *report.Counterexample) string {
	var rest strings.Builder
	text.WriteAfterSchedule(&rest, c) // a Builder has no errors
	return rest.String()
}
