package html

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/internal/testkit/golden"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/reporttest"
)

func htmlOf(t interface{ Fatal(...any) }, c *report.Counterexample) string {
	var text bytes.Buffer
	if err := Write(&text, c); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// bodyOf is a page without the style, the script and the data: what is seen without the script.
func bodyOf(page string) string {
	for _, part := range []string{"style", "script"} {
		page = regexp.MustCompile(`(?s)(<`+part+`\b[^>]*>).*?(</`+part+`>)`).ReplaceAllString(page, "$1$2")
	}
	return regexp.MustCompile(`sha256-[\w+/=&#;]+`).ReplaceAllString(page, "sha256")
}

// TestFrame: what is said of examples above and below the schedule. It leads to the steps.
func TestFrame(t *testing.T) {
	golden.Equal(t, "ssh.html", bodyOf(htmlOf(t, reporttest.SSHSession())))
	golden.Equal(t, "queue.html", bodyOf(htmlOf(t, sample())))
}

// TestFrameOfAnything: whatever a counterexample holds, the page has the elements of the frame, and
// links, but no others.
func TestFrameOfAnything(t *testing.T) {
	want := elementsOf(t, htmlOf(t, &report.Counterexample{}))
	for _, c := range []*report.Counterexample{reporttest.Hostile(), hostile()} {
		if got := elementsOf(t, htmlOf(t, c)); !slices.Equal(got, want) {
			t.Errorf("elements %v, want %v", got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string {
			parts := rapid.SliceOfN(rapid.SampledFrom([]string{markup, "<!--", "step 1", "]]>", "\xff",
				"</pre>",
				"'\"", "${x}", "{{.}}"}), 0, 4)
			return strings.Join(parts.Draw(t, name), "")
		}
		c := &report.Counterexample{Run: report.Run{Package: text("package"), Verdict: report.Violated},
			Failure: report.Failure{Message: text("message"), Printed: text("printed")}}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			c.Steps = append(c.Steps, report.Step{Goroutine: rapid.IntRange(-1, 50).Draw(t, "goroutine"),
				Operation: text("operation"), Kind: report.Socket, Preempts: true})
		}
		if got := elementsOf(t, htmlOf(t, c)); !slices.Equal(got, want) {
			t.Fatalf("elements %v, want %v", got, want)
		}
	})
}

// elementsOf are the elements of a page, in order, but for links.
func elementsOf(t interface{ Fatal(...any) }, page string) (list []string) {
	decoder := xml.NewDecoder(strings.NewReader(bodyOf(page)))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local != "a" {
			list = append(list, e.Name.Local)
		}
	}
}

// TestPolicy: the page forbids everything but its own script and style, which it names by what they
// are. The script has nothing that makes markup or code of text.
func TestPolicy(t *testing.T) {
	page := htmlOf(t, sample())
	for part, text := range map[string]string{"script-src": script(), "style-src": asset("style.css")} {
		if !strings.Contains(page, text) {
			t.Errorf("%s: the page has another text", part)
		}
		want := strings.NewReplacer("+", "&#43;", "'", "&#39;").Replace(part + " " + hashOf(text))
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
		"Function(",
		"srcdoc", "setHTML", "http:", "https:"} {
		if text := strings.ReplaceAll(script(), svgName, ""); strings.Contains(text, bad) {
			t.Errorf("the script has %s", bad)
		}
	}
}

// svgName is the one address in the script: a name that nothing is loaded from.
const svgName = "http://www.w3.org/2000/svg"

// TestLinks: mentions of steps that there are lead to them.
func TestLinks(t *testing.T) {
	for given, want := range map[string]string{
		"":                            "",
		"in step 3, step 9":           "in |step 3>3|, step 9",
		"step 1step 2 step 4":         "step 1step 2 |step 4>4|",
		"step 0 misstep 1 step 99999": "step 0 misstep 1 step 99999",
	} {
		var got []string
		for _, p := range linked(given, 4) {
			if p.Step > 0 {
				p.Text += fmt.Sprint(">", p.Step)
			}
			got = append(got, p.Text)
		}
		if text := strings.Join(got, "|"); text != want {
			t.Errorf("%q: %q, want %q", given, text, want)
		}
	}
}

// TestContrast: colours of text differ from those behind it by at least 4.5 in both themes (WCAG
// 2.2, 1.4.3).
func TestContrast(t *testing.T) {
	colour := regexp.MustCompile(`--(\w+): light-dark\((#\w{6}), (#\w{6})\)`)
	behind := []string{"bg", "panel", "chosen"}
	values := map[string][]string{}
	for _, m := range colour.FindAllStringSubmatch(asset("style.css"), -1) {
		values[m[1]] = m[2:]
	}
	if len(values) < 16 {
		t.Fatalf("%d colours", len(values))
	}
	for name, value := range values {
		if slices.Contains(behind, name) || name == "border" {
			continue
		}
		for _, b := range behind {
			for theme := range 2 {
				if c := contrast(value[theme], values[b][theme]); c < 4.5 {
					t.Errorf("%s on %s, theme %d: %.2f", name, b, theme, c)
				}
			}
		}
	}
	if c := contrast("#000000", "#ffffff"); math.Abs(c-21) > 0.01 {
		t.Errorf("black on white: %.2f", c)
	}
}

// contrast is that of two colours, by the definition of WCAG 2.2.
func contrast(a, b string) float64 {
	luminance := func(colour string) (sum float64) {
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			n, _ := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
			v := float64(n) / 255
			if v <= 0.04045 {
				v /= 12.92
			} else {
				v = math.Pow((v+0.055)/1.055, 2.4)
			}
			sum += weight * v
		}
		return sum
	}
	x, y := luminance(a)+0.05, luminance(b)+0.05
	return max(x, y) / min(x, y)
}

// fullDisk is a writer that has no room.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestWriteError: the error of the writer is returned.
func TestWriteError(t *testing.T) {
	if err := Write(fullDisk{}, sample()); err == nil {
		t.Error("no error")
	}
}
