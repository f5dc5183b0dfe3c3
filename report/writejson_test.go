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
