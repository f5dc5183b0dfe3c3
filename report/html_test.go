package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func htmlOf(t interface{ Fatal(...any) }, c *Counterexample) string {
	var text bytes.Buffer
	if err := WriteHTML(&text, c); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestHTML(t *testing.T) {
	golden(t, "ssh.html", htmlOf(t, sshSession()))
	clock := &Counterexample{
		Goroutines: []Goroutine{{ID: 0, Name: "main", Function: "main.main"}},
		Shrunk:     &Shrinking{Executions: 9, Before: Size{2, 5}, After: Size{1, 3}},
		Outcome:    "exit status 1\nfirst line",
		Steps: []Step{
			{Goroutine: Clock, Operation: "the clock advances", Kind: Timer},
			{Goroutine: 0, Operation: "lock", Kind: Synchronisation},
			{Goroutine: 7, Operation: "lock", Kind: Synchronisation, Preempts: true},
		},
	}
	golden(t, "clock.html", htmlOf(t, clock))
}

// TestHTMLOfAnything: whatever a counterexample holds, the page stays a table whose rows have
// as many cells as there are columns, with nothing in it that could act.
func TestHTMLOfAnything(t *testing.T) {
	evil := hostile()
	for _, c := range []*Counterexample{evil, {}, {Run: Run{Package: "</title><script>alert(1)</script>"}, Steps: evil.Steps}} {
		checkTable(t, htmlOf(t, c))
	}
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, name)) }
		c := &Counterexample{Run: Run{Package: text("package"), Verdict: Violated}, Outcome: text("outcome")}
		for i := range rapid.IntRange(0, maxColumns+3).Draw(t, "goroutines") {
			c.Goroutines = append(c.Goroutines, Goroutine{ID: i, Name: text("name"), Function: text("function"), Created: text("created")})
		}
		for range rapid.IntRange(0, 2*maxRows).Draw(t, "steps") {
			c.Steps = append(c.Steps, Step{Goroutine: rapid.IntRange(-1, 50).Draw(t, "goroutine"), Operation: "lock", Kind: Socket, Preempts: true})
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
