package compare

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// Lengths in the picture of a comparison, in pixels.
const (
	svgMargin    = 20
	svgText      = 12 // size of letters
	svgLetter    = 7  // about their width
	svgLine      = 18 // from bar to bar
	svgBar       = 12
	svgHeading   = 30 // of a panel
	svgBarWidth  = 220
	svgValue     = 80 // for the number behind a bar
	svgPanels    = 2  // beside each other
	svgGap       = 24
	svgTitle     = 56
	svgTitleSize = 16
	// svgTitleLetter is about the width of a letter of that size.
	svgTitleLetter = 9
	maxSVGLabel    = 44 // letters
	svgBarColour   = "#3b6ea5"
	svgNoColour    = "#696969"
)

// picture draws a comparison: a panel for each measure, in it a bar for each combination. All
// measures have panels of the same size. Bars are drawn to the scale of their own panel.
type picture struct {
	text bytes.Buffer
	rows []Row
	// label is the width of the names of combinations, panel and height are those of a panel.
	label, panel, height int
}

// WriteSVG draws a comparison as bars, in SVG 1.1 that needs nothing else. The error is the
// writer's. Widths of texts are estimated, since fonts are not known here.
func WriteSVG(w io.Writer, c *Comparison) error {
	p := &picture{rows: c.Rows}
	for i := range c.Rows {
		p.label = max(p.label, svgLetter*utf8.RuneCountInString(labelOf(&c.Rows[i])))
	}
	p.panel = p.label + svgBarWidth + svgValue
	p.height = svgHeading + svgLine*len(c.Rows) + svgGap
	width := 2*svgMargin + svgPanels*p.panel + (svgPanels-1)*svgGap
	height := svgTitle + (len(measures)+svgPanels-1)/svgPanels*p.height
	fmt.Fprintf(&p.text, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "+
		"viewBox=\"0 0 %[1]d %[2]d\" font-family=\"sans-serif\" font-size=\"%d\">\n",
		width, height, svgText)
	fmt.Fprintf(&p.text, "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", width, height)
	p.write(svgMargin, svgMargin+svgText, fmt.Sprintf("font-size=\"%d\" font-weight=\"bold\"", svgTitleSize),
		words.Fit(words.Printable(report.Run{Package: c.Package, Args: c.Args}.Program()),
			(width-2*svgMargin)/svgTitleLetter))
	for i, m := range measures {
		p.measure(m, svgMargin+i%svgPanels*(p.panel+svgGap), svgTitle+i/svgPanels*p.height)
	}
	p.text.WriteString("</svg>\n")
	_, err := w.Write(p.text.Bytes())
	return err
}

// labelOf is the name of a combination, cut to fit beside its bars.
func labelOf(c *Row) string { return words.Fit(words.Printable(c.Name()), maxSVGLabel) }

// measure draws a panel with its left upper corner at x, y. The longest bar is that of the greatest
// value. Where no value is known there is a stub in grey.
func (p *picture) measure(m measure, x, y int) {
	p.write(x, y+svgHeading-svgBar, "font-weight=\"bold\"", strings.ReplaceAll(m.key, "_", " "))
	// The scale of this panel: what is not known counts as nothing.
	most := 0.0
	for i := range p.rows {
		value, _ := m.of(&p.rows[i])
		most = max(most, value)
	}
	for i := range p.rows {
		r, top := &p.rows[i], y+svgHeading+i*svgLine
		text, length, colour := "not known", 0.0, svgNoColour
		if value, known := m.of(r); known {
			text, colour = m.text(value), svgBarColour
			if most > 0 {
				length = svgBarWidth * value / most
			}
		}
		p.write(x, top+svgText-2, "", labelOf(r))
		fmt.Fprintf(&p.text, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
			x+p.label, top, max(length, 1), svgBar, colour)
		p.write(x+p.label+int(length)+6, top+svgText-2, "fill=\""+colour+"\"", text)
	}
}

// write puts text with its base line at y. The attributes are XML already; the text is not, and is
// escaped.
func (p *picture) write(x, y int, attributes, text string) {
	if attributes != "" {
		attributes = " " + attributes
	}
	fmt.Fprintf(&p.text, "<text x=\"%d\" y=\"%d\"%s>", x, y, attributes)
	xml.EscapeText(&p.text, []byte(words.Printable(text))) // a Buffer has no errors
	p.text.WriteString("</text>\n")
}
