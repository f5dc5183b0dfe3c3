package configs

import (
	"testing"
	"time"
)

func TestDates(t *testing.T) {
	now := time.Date(2026, time.November, 25, 23, 59, 59, 5, time.FixedZone("", 2*60*60))
	for text, want := range map[string]string{
		"2026-01-31":                "2026-01-31T00:00:00Z",
		"2026-01-31T18:00:00Z":      "2026-01-31T18:00:00Z",
		"2026-01-31T18:00:00.7Z":    "2026-01-31T18:00:00Z",
		"2026-01-31T18:00:00+02:00": "2026-01-31T16:00:00Z",
		"1971-01-01":                "1971-01-01T00:00:00Z",
		"2200-12-31":                "2200-12-31T00:00:00Z",
		"now":                       "2026-11-25T21:59:59Z",
		"":                          "",
		"today":                     "",
		"2026-02-29":                "",
		"2026-1-31":                 "",
		"31.01.2026":                "",
		"1767225600":                "",
		"1970-12-31":                "",
		"2201-01-01":                "",
		"9999-01-01T00:00:00Z":      "",
	} {
		got, err := ParseDate(text, now)
		if (err != nil) != (want == "") || err == nil && got.Format(time.RFC3339) != want {
			t.Errorf("%q is %v, %v, want %s", text, got, err, want)
		}
	}
}

// TestDefaultDate: it is the same all day, and at most a day after the beginning of the check.
func TestDefaultDate(t *testing.T) {
	for now, want := range map[string]string{
		"2026-11-25T00:00:00Z":           "2026-11-26T00:00:00Z",
		"2026-11-25T23:59:59.999999999Z": "2026-11-26T00:00:00Z",
		"2026-11-25T23:00:00-05:00":      "2026-11-27T00:00:00Z",
		"2026-12-31T12:00:00+13:00":      "2026-12-31T00:00:00Z",
		"2028-02-28T12:00:00Z":           "2028-02-29T00:00:00Z",
	} {
		at, err := time.Parse(time.RFC3339, now)
		if err != nil {
			t.Fatal(err)
		}
		if got := DefaultDate(at).Format(time.RFC3339); got != want {
			t.Errorf("a check that begins at %s has the date %s, want %s", now, got, want)
		}
	}
}
