package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed counterexample.html
var page string

var pageTemplate = template.Must(template.New("counterexample").Parse(page))

// WriteHTML writes the counterexample as one page that needs nothing else: the schedule
// with the goroutines as columns, and below it what WriteText has after the schedule. The
// error is the writer's.
func WriteHTML(w io.Writer, c *Counterexample) error {
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

func pageOf(c *Counterexample) htmlPage {
	page := htmlPage{
		Title: strings.ToUpper(string(c.Run.Verdict)) + ": " + printable(c.headline()), Program: printable(programOf(c.Run)),
		Size: c.Size().String(), Rest: restOf(c),
	}
	if c.Shrunk != nil {
		page.Shrunk = c.Shrunk.String()
	}
	place := map[int]int{}
	for _, g := range c.Goroutines {
		if len(page.Columns) == maxColumns {
			page.Columns[maxColumns-1] = htmlColumn{Name: "others"}
		} else {
			page.Columns = append(page.Columns, htmlColumn{printable(g.Name), shortFunction(g.Function), printable(g.Created)})
		}
		place[g.ID] = len(page.Columns) - 1
	}
	last := Clock
	for _, r := range shorten(rowsOf(c.Steps)) {
		column, known := place[r.goroutine]
		if !known && r.omission == "" { // the clock, or nobody that is listed
			place[r.goroutine] = len(page.Columns)
			column = len(page.Columns)
			name := "clock"
			if r.goroutine != Clock {
				name = fmt.Sprintf("goroutine %d", r.goroutine)
			}
			page.Columns = append(page.Columns, htmlColumn{Name: name})
		}
		row := htmlRowOf(r, column)
		if r.preempts && last != Clock {
			row.Preempt = "preempts " + nameOf(c.Goroutines, last)
		}
		if page.Rows = append(page.Rows, row); r.goroutine != Clock && r.omission == "" {
			last = r.goroutine
		}
	}
	for i := range page.Rows { // columns may have been added
		row := &page.Rows[i]
		row.Columns = len(page.Columns)
		row.After = make([]struct{}, max(len(page.Columns)-len(row.Before)-1, 0))
	}
	return page
}

func htmlRowOf(r row, column int) htmlRow {
	if r.omission != "" {
		return htmlRow{Omission: r.omission}
	}
	h := htmlRow{
		Number: fmt.Sprint(r.first + 1), Before: make([]struct{}, column), What: strings.TrimSpace(r.what() + " " + printable(r.object)),
		Place: strings.TrimSpace(printable(r.source) + " " + r.function), Restored: printable(r.restored), Messages: r.messages,
	}
	if r.last > r.first {
		h.Number = fmt.Sprintf("%d-%d", r.first+1, r.last+1)
	}
	return h
}

// restOf is what follows the schedule in the text of a counterexample.
func restOf(c *Counterexample) string {
	p := &printer{}
	p.failure(c)
	p.outputs(c)
	p.restores(c.Steps)
	p.summary(c.Run)
	p.replay(c)
	return strings.TrimSpace(p.text.String())
}
