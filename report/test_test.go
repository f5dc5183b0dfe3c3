package report_test

import (
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/report"
)

// TestMissedOfTests: what several tests miss is named once.
func TestMissedOfTests(t *testing.T) {
	redis := report.Dial{Address: "127.0.0.1:6379", Result: "connection refused"}
	p := report.TestPackage{Tests: []report.Test{
		{},
		{Missed: report.Missed{Dialled: []report.Dial{redis},
			Configure: []string{"peers:", "  - {profile: redis}"}}},
		{Missed: report.Missed{Dialled: []report.Dial{redis}, Clients: []string{":80"},
			Configure: []string{"peers:", "  - {profile: redis}", "  - name: c", "    after: listen 80"}}},
		{Missed: report.Missed{Clients: []string{":80"},
			Configure: []string{"peers:", "  - name: c", "    after: listen 80"}}},
	}}
	m := p.Missed()
	want := []string{"peers:", "  - {profile: redis}", "  - name: c", "    after: listen 80"}
	if len(m.Dialled) != 1 || len(m.Clients) != 1 || !slices.Equal(m.Configure, want) {
		t.Errorf("%+v", m)
	}
	if m := (report.TestPackage{Tests: make([]report.Test, 3)}).Missed(); m.Configure != nil {
		t.Errorf("%+v where all were there", m)
	}
}
