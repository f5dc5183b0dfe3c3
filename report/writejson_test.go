package report_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/tandem-mc/tandem/internal/testkit/golden"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/reporttest"
)

func TestJSON(t *testing.T) {
	run, list := reporttest.Violations()
	var text bytes.Buffer
	if err := report.WriteJSON(&text, run, list); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(text.Bytes()) {
		t.Error("no valid JSON")
	}
	golden.Equal(t, "violations.json", text.String())
}

// TestWriteJSONOfPortfolio: the document says what the parts of a portfolio have done.
func TestWriteJSONOfPortfolio(t *testing.T) {
	run := report.Run{Counts: report.Counts{Executions: 6,
		Phases: report.Phases{Systematic: 1, Aimed: 2, Sampled: 3, FirstViolation: 4}}}
	var written bytes.Buffer
	if err := report.WriteJSON(&written, run, nil); err != nil {
		t.Fatal(err)
	}
	var got struct{ Counts map[string]any }
	if err := json.Unmarshal(written.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"systematic": 1, "aimed": 2, "sampled": 3,
		"first_violation": 4} {
		if got.Counts[name] != want {
			t.Errorf("%s is %v, want %v", name, got.Counts[name], want)
		}
	}
}
