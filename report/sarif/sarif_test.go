package sarif

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/internal/testkit/golden"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/reporttest"
)

// written is the document of violations. It must be valid by the schema of the specification.
func written(t interface {
	Helper()
	Fatal(...any)
}, violations ...report.Violation) (*sarif.Report, string) {
	t.Helper()
	var text bytes.Buffer
	if err := Write(&text, violations); err != nil {
		t.Fatal(err)
	}
	document, err := sarif.FromBytes(text.Bytes(), sarif.WithStrictValidation())
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(); err != nil {
		t.Fatal(err)
	}
	return document, text.String()
}

// indented is a document for people.
func indented(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(text), "", " "); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestWrite: documents are as they were. Of these, a reader sees rules, places and schedules.
func TestWrite(t *testing.T) {
	_, text := written(t, reporttest.Located()...)
	golden.Equal(t, "violations.sarif", indented(t, text))
	_, text = written(t)
	golden.Equal(t, "none.sarif", indented(t, text))
}

// TestResults: a result has a rule that is there, a fingerprint, and paths relative to the root.
func TestResults(t *testing.T) {
	list := reporttest.Located()
	document, _ := written(t, list...)
	run := document.Runs[0]
	for i, r := range run.Results {
		rule := run.Tool.Driver.Rules[r.RuleIndex]
		if *rule.ID != *r.RuleID || *rule.ID != report.RuleOf(list[i]).ID || rule.Help == nil {
			t.Errorf("result %d: rule %d is %+v", i, r.RuleIndex, rule)
		}
		if r.PartialFingerprints[fingerprintKey] != report.Fingerprint(list[i]) {
			t.Errorf("result %d: %v", i, r.PartialFingerprints)
		}
		for _, l := range r.Locations {
			at := l.PhysicalLocation.ArtifactLocation
			if *at.URIBaseID != root || strings.HasPrefix(*at.URI, "/") {
				t.Errorf("result %d is at %s of %s", i, *at.URI, *at.URIBaseID)
			}
		}
	}
	orders := map[int]bool{}
	for _, thread := range run.Results[0].CodeFlows[0].ThreadFlows {
		last := 0
		for _, l := range thread.Locations {
			if l.ExecutionOrder <= last {
				t.Errorf("step %d comes after step %d", l.ExecutionOrder, last)
			}
			last = l.ExecutionOrder
			orders[last] = true
		}
	}
	if n := len(list[0].Counterexample.Steps); len(orders) != n || !orders[1] || !orders[n] {
		t.Errorf("of %d steps there are %v", n, orders)
	}
}

// TestLongSchedules: of a schedule the last steps are there, and fewer where all would be too much.
func TestLongSchedules(t *testing.T) {
	var list []report.Violation
	for range 40 {
		c := reporttest.Long(400, 9)
		c.Files = map[string]string{"long.go": "long.go"}
		list = append(list, report.Violation{Outcome: "deadlock", Counterexample: c})
	}
	document, text := written(t, list[0])
	var numbers []int
	for _, thread := range document.Runs[0].Results[0].CodeFlows[0].ThreadFlows {
		for _, l := range thread.Locations {
			numbers = append(numbers, l.ExecutionOrder)
		}
	}
	if len(numbers) != maxSteps || !strings.Contains(text, "; 3,000 steps not shown") {
		t.Errorf("there are %d steps", len(numbers))
	}
	document, text = written(t, list...)
	if len(text) > maxBytes || len(document.Runs[0].Results) != len(list) ||
		document.Runs[0].Results[39].CodeFlows == nil {
		t.Errorf("%d results in %d bytes", len(document.Runs[0].Results), len(text))
	}
}

// TestStepsWithoutPlaces: what is in no file of the tree is in no thread flow.
func TestStepsWithoutPlaces(t *testing.T) {
	c := reporttest.SSHSession()
	document, _ := written(t, report.Violation{Outcome: "panic", Counterexample: c})
	if r := document.Runs[0].Results[0]; len(r.CodeFlows) > 0 || len(r.Locations) > 0 {
		t.Errorf("no file is known, and there are %+v", r)
	}
	c.Files = map[string]string{"main.go": "main.go"}
	document, _ = written(t, report.Violation{Outcome: "panic", Counterexample: c})
	for _, thread := range document.Runs[0].Results[0].CodeFlows[0].ThreadFlows {
		for _, l := range thread.Locations {
			if l.Location.PhysicalLocation == nil {
				t.Errorf("step %d has no place", l.ExecutionOrder)
			}
		}
	}
}

// TestHostileTexts: whatever names and outputs are, the document is valid, and bounded.
func TestHostileTexts(t *testing.T) {
	c := reporttest.Hostile()
	v := report.Violation{Outcome: "\x1b\xff", Message: strings.Repeat("\xff\x00{0}[a](b)", 5000),
		File: "\x00", Counterexample: c}
	for range 1000 {
		v.Places = append(v.Places, strings.Repeat("\u202e", 1000))
	}
	_, text := written(t, v)
	if !utf8.ValidString(text) || len(text) > 300<<10 || strings.ContainsAny(text, "\x00\x1b\u202e") {
		t.Errorf("%d bytes: %.2000q", len(text), text)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("{}[]()0\\\x00\ufffd"))),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		draw := func(name string) string { return text.Draw(t, name) }
		c := &report.Counterexample{
			Files:      map[string]string{"a/b.go": draw("file") + "x"},
			Goroutines: []report.Goroutine{{ID: 1, Name: draw("name"), Function: draw("runs")}},
			Steps: []report.Step{{Goroutine: rapid.IntRange(-1, 2).Draw(t, "goroutine"),
				Operation: draw("does"),
				Object:    draw("object"), Source: "a/b.go:7", Function: draw("function"),
				IO: []report.Message{{Event: draw("event"), Data: []byte(draw("data"))}}}},
			Race: &report.Race{Later: report.MemoryAccess{Operation: draw("operation"),
				Stack: []report.Frame{{Function: draw("calls"), Source: draw("source")}}}},
		}
		document, _ := written(t, report.Violation{Outcome: draw("outcome"), Message: draw("message"),
			Places: []string{draw("place")}, Counterexample: c})
		for _, l := range document.Runs[0].Results[0].Locations {
			if *l.PhysicalLocation.Region.StartLine != 7 {
				t.Fatal(*l.PhysicalLocation.Region.StartLine)
			}
		}
	})
}

// TestEscape: no message is taken for a link or an argument.
func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "[101] Exit": "[101] Exit", "[a](b)": "[a] (b)", "{0} {a} {}": "{{0}} {a} {}",
	} {
		if got := escape(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestWriterFails: the error is that of the writer.
func TestWriterFails(t *testing.T) {
	if err := Write(full{}, nil); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

// FuzzMessage: a message of any text is JSON, and has no link and no argument.
func FuzzMessage(f *testing.F) {
	f.Add("[a](b) {0}\x00\xff")
	f.Fuzz(func(t *testing.T, text string) {
		encoded, err := json.Marshal(message(text).Text)
		if err != nil || !json.Valid(encoded) {
			t.Fatal(err)
		}
		got := *message(text).Text
		rest := strings.NewReplacer("{{", "", "}}", "").Replace(got)
		if strings.Contains(got, "](") || argument.MatchString(rest) || !utf8.ValidString(got) {
			t.Fatalf("%q", got)
		}
	})
}
