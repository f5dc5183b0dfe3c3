// Package page draws a message sequence chart as a page: one file, which needs no network. A step
// that is chosen shows what each node keeps before and after it.
package page

import (
	_ "embed"
	"html/template"
	"io"

	"github.com/tandem-mc/tandem/protocol/internal/show"
)

//go:embed page.html
var text string

// page has its data as JSON inside of a script. The template escapes it, so that nothing that a
// node keeps is taken for a part of the page.
var page = template.Must(template.New("page").Parse(text))

// Chart is what a page shows.
type Chart struct {
	// What is violated; empty if nothing is. Run is the run as a text for Replay.
	What, Run string
	// Names are those of the nodes, and First is what they keep at the start.
	Names []string
	First [][]show.Field
	Steps []Step
	// Text is the chart for browsers that run no scripts.
	Text string
}

// Step is a step of a run.
type Step struct {
	show.Step
	// After is what the node of the step keeps after it; nil if it has not changed.
	After []show.Field
}

// Write writes the page.
func Write(w io.Writer, c *Chart) error { return page.Execute(w, c) }
