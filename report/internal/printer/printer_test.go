package printer

import (
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/report"
)

func TestLines(t *testing.T) {
	for _, c := range []struct {
		color bool
		want  string
	}{
		{false, "plain\nred\n\n\ntitle\n3 of 4\n"},
		{true, "plain\n\x1b[1;31mred\x1b[0m\n\n\n\x1b[1mtitle\x1b[0m\n3 of 4\n"},
	} {
		p := New(report.Options{Color: c.color})
		p.Print("plain   ")
		p.Line(Red, "red")
		p.Line(Red, "  ") // has nothing to colour
		p.Heading("title")
		p.Printf("%d of %d", 3, 4)
		if p.String() != c.want || string(p.Bytes()) != c.want {
			t.Errorf("in colour %v: %q, want %q", c.color, p.String(), c.want)
		}
	}
}

// TestLinesAreBounded: a command that replays a counterexample may be long, but not endless.
func TestLinesAreBounded(t *testing.T) {
	p := New(report.Options{})
	p.Print(strings.Repeat("ä", 10*maxLine))
	if n := strings.Count(p.String(), "ä"); n != maxLine-3 || !strings.HasSuffix(p.String(), "...\n") {
		t.Errorf("%d characters are left", n)
	}
}

func TestEveryVerdictHasAColour(t *testing.T) {
	for _, v := range []report.Verdict{report.Holds, report.Violated, report.Unknown, report.Errored} {
		if OfVerdict[v] == Plain {
			t.Errorf("%s has none", v)
		}
	}
}
