package configs

import (
	"fmt"
	"time"
)

// The years of a date. Clocks count nanoseconds since 1970, and overflow in 2262.
const (
	minYear = 1971
	maxYear = 2200
)

// day is that of UTC, which has no other lengths.
const day = 24 * time.Hour

// DefaultDate is the date of a check that begins now: the end of that day, by UTC. So two checks
// of a day are the same, and what was made just before, such as a certificate, is valid already.
func DefaultDate(now time.Time) time.Time { return now.UTC().Truncate(day).Add(day) }

// ParseDate reads a date: a day, which stands for its beginning by UTC, a point of time as in RFC
// 3339, or "now". The result is in UTC and in whole seconds. The error names the years that are
// allowed.
func ParseDate(text string, now time.Time) (time.Time, error) {
	var date time.Time
	var err error
	if text == "now" {
		date = now
	} else if date, err = time.Parse(time.DateOnly, text); err != nil {
		// Fractions of a second are allowed there, and cut off.
		date, err = time.Parse(time.RFC3339, text)
	}
	if date = date.UTC().Truncate(time.Second); err != nil || date.Year() < minYear || date.Year() > maxYear {
		return time.Time{}, fmt.Errorf(
			"%.80q is no date from %d to %d: give one such as 2026-01-31 or 2026-01-31T18:00:00Z, or now",
			text, minYear, maxYear)
	}
	return date, nil
}
