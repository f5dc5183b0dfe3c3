package compare

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/words"
)

//go:embed comparison.html
var page string

// pageTemplate escapes everything that a comparison brings along.
var pageTemplate = template.Must(template.New("comparison").Parse(page))

// shownPage is what the template shows.
type shownPage struct {
	Headline, Program string
	Heading           []string
	Rows              [][]string
	Notes             []string
	Picture           template.HTML
}

// WriteHTML writes a comparison as a page that needs nothing else and has no script: the table, the
// reasons of those that have not come to a verdict, and the bars of WriteSVG. The error is the
// writer's.
func WriteHTML(w io.Writer, c *Comparison) error {
	table, notes := c.table()
	shown := shownPage{Heading: table[0], Rows: table[1:],
		Program: words.Printable(report.Run{Package: c.Package, Args: c.Args}.Program())}
	_, shown.Headline = c.headline()
	for i, note := range notes {
		shown.Notes = append(shown.Notes, fmt.Sprintf("[%d] %s", i+1, words.PrintableText(note)))
	}
	// The picture is XML in which all texts are escaped already.
	var picture, text bytes.Buffer
	if err := WriteSVG(&picture, c); err != nil {
		return err
	}
	shown.Picture = template.HTML(picture.String())
	if err := pageTemplate.Execute(&text, shown); err != nil {
		return fmt.Errorf("writing the comparison as HTML: %w", err)
	}
	_, err := w.Write(text.Bytes())
	return err
}
