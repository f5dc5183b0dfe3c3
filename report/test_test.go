package report_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/report"
)

// TestUndialledOfTests: an entry is named only if it is so in every test.
func TestUndialledOfTests(t *testing.T) {
	test := func(entries ...string) report.Test {
		return report.Test{Missed: report.Missed{Undialled: entries}}
	}
	for _, c := range []struct {
		tests []report.Test
		want  string
	}{
		{nil, ""},
		{[]report.Test{test("a", "b:1")}, "a b:1"},
		{[]report.Test{test("a", "b:1", "c"), test("a", "c"), test("c", "d", "a")}, "a c"},
		{[]report.Test{test(), test("a")}, ""},
		{[]report.Test{test("a"), test()}, ""},
	} {
		got := strings.Join(report.TestPackage{Tests: c.tests}.Missed().Undialled, " ")
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.tests, got, c.want)
		}
	}
	notes := strings.Join(report.Missed{Undialled: []string{"b:1", "a"}}.Notes(), "; ")
	if notes != "absent: b:1 was never dialled: a misspelt address?; absent: a was never looked up: a "+
		"misspelt name?" {
		t.Error(notes)
	}
}

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
