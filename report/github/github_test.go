package github

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/internal/testkit/golden"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/reporttest"
)

// packages are tests with every verdict, and a check with two violations.
func packages() []report.TestPackage {
	list := reporttest.Located()
	run := report.Run{Package: "./bank", Args: []string{"a b"}, Verdict: report.Violated, Reason: "found <2>"}
	broken := report.TestPackage{Name: "example.com/broken", Error: "x.go:1: 100% <wrong>\nand more"}
	return []report.TestPackage{reporttest.Package(), run.AsPackage("example.com/bank", list), broken}
}

func TestWriteAnnotations(t *testing.T) {
	var lines bytes.Buffer
	if err := WriteAnnotations(&lines, packages()); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "annotations.txt", lines.String())
}

func TestWriteSummary(t *testing.T) {
	var text bytes.Buffer
	if err := WriteSummary(&text, packages()); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "summary.md", text.String())
}

// command is a line as the runner of GitHub reads it. Properties are split at commas.
var command = regexp.MustCompile(`^::(error|warning) ([^:]*)::(.*)$`)

// read undoes what property and data do.
func read(text string) string {
	return strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%").Replace(text)
}

// TestAnnotationsOfAnyText: a text makes no second command, and no property of its own. What the
// runner reads is what was meant.
func TestAnnotationsOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		any := rapid.OneOf(rapid.String(), rapid.StringMatching(`[:%,\n\r=a0AD2:]*`),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		draw := func(name string) string { return any.Draw(t, name) }
		file := draw("file") + "x"
		v := report.Violation{Outcome: draw("outcome"), Message: draw("message"), File: draw("kept"),
			Places:         []string{"x.go:3"},
			Counterexample: &report.Counterexample{Files: map[string]string{"x.go": file}}}
		p := report.TestPackage{Name: draw("package"), Error: draw("error"), Tests: []report.Test{
			{Name: draw("name"), Verdict: report.Violated, Violations: []report.Violation{v}},
			{Name: draw("other"), Verdict: report.Unknown, Reason: draw("reason")}}}
		var out bytes.Buffer
		if err := WriteAnnotations(&out, []report.TestPackage{p}); err != nil {
			t.Fatal(err)
		}
		want := 2
		if p.Error != "" {
			want++
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != want || !utf8.ValidString(out.String()) {
			t.Fatalf("%d lines, want %d: %q", len(lines), want, out.String())
		}
		for i, line := range lines {
			parts := command.FindStringSubmatch(line)
			if parts == nil || strings.ContainsFunc(strings.ReplaceAll(line, "\t", ""), unicode.IsControl) {
				t.Fatalf("no command: %q", line)
			}
			properties := strings.Split(parts[2], ",")
			if i > 0 && len(properties) != 1 || i == 0 && len(properties) != 3 {
				t.Fatalf("%q", properties)
			}
			if i == 0 && (properties[1] != "line=3" || !strings.HasPrefix(properties[0], "file=")) {
				t.Fatalf("%q", properties)
			}
			if title := read(properties[len(properties)-1]); !strings.HasPrefix(title, "title=tandem: ") {
				t.Fatalf("%q", title)
			}
		}
	})
}

// TestEscapes: what is escaped comes back.
func TestEscapes(t *testing.T) {
	for _, text := range []string{"", "a:b,c%d", "%25", "%3A%", "\r\n"} {
		if got := read(property(text)); got != text {
			t.Errorf("%q comes back as %q", text, got)
		}
		if got := read(data(text)); got != text {
			t.Errorf("%q comes back as %q", text, got)
		}
	}
}

// TestAreBounded: GitHub refuses what is too large, so that is cut where a test ends.
func TestAreBounded(t *testing.T) {
	v := report.Violation{Outcome: "deadlock", Message: strings.Repeat("ä", 1<<16),
		Counterexample: reporttest.Hostile()}
	var list []report.Test
	for i := range 200 {
		list = append(list, report.Test{Name: "Test" + strconv.Itoa(i), Verdict: report.Violated,
			Reason: strings.Repeat("<", 1<<16), Violations: []report.Violation{v, v}})
	}
	p := []report.TestPackage{{Name: strings.Repeat("`", 1000), Tests: list}}
	var lines, summary bytes.Buffer
	if err := errors.Join(WriteAnnotations(&lines, p), WriteSummary(&summary, p)); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(lines.String(), "\n"); n != maxAnnotations || lines.Len() > 1<<20 {
		t.Errorf("%d lines, %d bytes", n, lines.Len())
	}
	text := summary.String()
	if len(text) > 1<<20 || !strings.HasSuffix(text, endOfTest+"The rest is too long for a summary.\n") ||
		strings.Count(text, "<pre>") != strings.Count(text, "</pre>") ||
		strings.Count(text, "<details>") != strings.Count(text, "</details>") {
		t.Errorf("%d bytes end with %q", len(text), text[max(len(text)-200, 0):])
	}
}

// TestSummaryOfAnyText: no text closes an element, or opens one.
func TestSummaryOfAnyText(t *testing.T) {
	tags := regexp.MustCompile(`<[^>]*>?`)
	rapid.Check(t, func(t *rapid.T) {
		any := rapid.OneOf(rapid.String(), rapid.StringMatching("[<>/`pre \n*\\[\\]!-]*"))
		draw := func(name string) string { return any.Draw(t, name) }
		p := report.TestPackage{Name: draw("package"), Error: draw("error") + "x", Tests: []report.Test{
			{Name: draw("name"), Verdict: report.Violated, Reason: draw("reason"),
				Violations: []report.Violation{{Outcome: draw("outcome"), Message: draw("message"),
					Places: []string{draw("place")}, File: draw("file")}}}}}
		var out bytes.Buffer
		if err := WriteSummary(&out, []report.TestPackage{p}); err != nil {
			t.Fatal(err)
		}
		// In code spans, brackets have no meaning. They end where they should.
		var rest strings.Builder
		for line := range strings.Lines(out.String()) {
			rest.WriteString(withoutCode(line))
		}
		got := strings.Join(tags.FindAllString(rest.String(), -1), "")
		const want = "<pre></pre><details><summary></summary><pre></pre></details><!-- end of test -->"
		if got != want {
			t.Fatalf("%s in\n%s", got, &out)
		}
	})
}

// withoutCode takes the code spans out of a line: from a run of backticks to the next that is as
// long.
func withoutCode(line string) string {
	if !strings.HasPrefix(line, "### ") && !strings.HasPrefix(line, "- ") {
		return line
	}
	runs := regexp.MustCompile("`+").FindAllStringIndex(line, -1)
	var out strings.Builder
	at := 0
	for i := 0; i < len(runs); i++ {
		for j := i + 1; j < len(runs); j++ {
			if runs[j][1]-runs[j][0] == runs[i][1]-runs[i][0] {
				out.WriteString(line[at:runs[i][0]])
				at, i = runs[j][1], j
				break
			}
		}
	}
	return out.String() + line[at:]
}

// TestMute: between the lines no command is read, until the token comes.
func TestMute(t *testing.T) {
	begin, end := Mute("secret")
	if begin != "::stop-commands::secret\n" || end != "::secret::\n" {
		t.Errorf("%q, %q", begin, end)
	}
}
