package html

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/testkit/golden"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/reporttest"
	"pgregory.net/rapid"
)

func htmlOf(t interface{ Fatal(...any) }, c *report.Counterexample) string {
	var text bytes.Buffer
	if err := Write(&text, c); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestHTML(t *testing.T) {
	golden.Equal(t, "ssh.html", htmlOf(t, reporttest.SSHSession()))
	clock := &report.Counterexample{
		Goroutines: []report.Goroutine{{ID: 0, Name: "main", Function: "main.main"}},
		Shrunk: &report.Shrinking{Executions: 9, Before: report.Size{Preemptions: 2, Transitions: 5},
			After: report.Size{Preemptions: 1, Transitions: 3}},
		Failure: report.Failure{Kind: model.Exited, Message: "exit status 1", Status: 1,
			Printed: "first line"},
		Steps: []report.Step{
			{Goroutine: report.Clock, Operation: "the clock advances", Kind: report.Timer},
			{Goroutine: 0, Operation: "lock", Kind: report.Synchronisation},
			{Goroutine: 7, Operation: "lock", Kind: report.Synchronisation, Preempts: true},
		},
	}
	golden.Equal(t, "clock.html", htmlOf(t, clock))
}

// TestHTMLOfAnything: whatever a counterexample holds, the page stays a table whose rows have
// as many cells as there are columns, with nothing in it that could act.
func TestHTMLOfAnything(t *testing.T) {
	evil := reporttest.Hostile()
	for _, c := range []*report.Counterexample{evil, {},
		{Run: report.Run{Package: "</title><script>alert(1)</script>"}, Steps: evil.Steps}} {
		checkTable(t, htmlOf(t, c))
	}
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, name)) }
		c := &report.Counterexample{Run: report.Run{Package: text("package"), Verdict: report.Violated},
			Failure: report.Failure{Message: text("message"), Printed: text("printed")}}
		for i := range rapid.IntRange(0, maxColumns+3).Draw(t, "goroutines") {
			c.Goroutines = append(c.Goroutines,
				report.Goroutine{ID: i, Name: text("name"), Function: text("function"),
					Created: text("created")})
		}
		for range rapid.IntRange(0, 800).Draw(t, "steps") {
			c.Steps = append(c.Steps, report.Step{Goroutine: rapid.IntRange(-1, 50).Draw(t, "goroutine"),
				Operation: "lock", Kind: report.Socket, Preempts: true})
		}
		checkTable(t, htmlOf(t, c))
	})
}

func checkTable(t interface {
	Errorf(string, ...any)
	Fatal(...any)
}, page string) {
	_, body, _ := strings.Cut(page, "<thead>")
	body, _, _ = strings.Cut("<table><thead>"+body, "</div>")
	decoder := xml.NewDecoder(strings.NewReader(body))
	decoder.Entity = xml.HTMLEntity
	columns, cells := 0, 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			switch token.Name.Local {
			case "tr":
				cells = 0
			case "th":
				columns++
			case "td":
				cells++
				for _, attribute := range token.Attr {
					if attribute.Name.Local == "colspan" {
						cells = columns
					}
				}
			case "table", "thead", "tbody", "small", "span":
			default:
				t.Errorf("there is an element %s", token.Name.Local)
			}
		case xml.EndElement:
			if token.Name.Local == "tr" && cells != 0 && cells != columns {
				t.Errorf("a row has %d cells, the table %d columns", cells, columns)
			}
		}
	}
}
