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

// TestDefaultDate: it is later than the beginning of the check, by a day at most, and the same all day.
func TestDefaultDate(t *testing.T) {
	for now, want := range map[time.Time]string{
		time.Date(2026, time.November, 25, 0, 0, 0, 0, time.UTC):                          "2026-11-26T00:00:00Z",
		time.Date(2026, time.November, 25, 23, 59, 59, 999_999_999, time.UTC):             "2026-11-26T00:00:00Z",
		time.Date(2026, time.November, 25, 23, 0, 0, 0, time.FixedZone("west", -5*60*60)): "2026-11-27T00:00:00Z",
		time.Date(2026, time.December, 31, 12, 0, 0, 0, time.FixedZone("east", 13*60*60)): "2026-12-31T00:00:00Z",
		time.Date(2028, time.February, 28, 12, 0, 0, 0, time.UTC):                         "2028-02-29T00:00:00Z",
	} {
		if got := DefaultDate(now).Format(time.RFC3339); got != want {
			t.Errorf("a check that begins at %v has the date %s, want %s", now, got, want)
		}
	}
}
