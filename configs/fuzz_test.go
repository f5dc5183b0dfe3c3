package configs

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// FuzzValues reads arbitrary values of flags. Each is refused with a reason in one line, or means
// the same when it is written again.
func FuzzValues(f *testing.F) {
	for _, text := range []string{
		"2,reset,end,peer=a,on=read", "0", "1 lost", "off", "all", "direct", "main, a/b/...", "7", "now",
		"2026-01-31", "2026-01-31T18:00:00+01:00", "9999-01-01", "peer=,on=", "\x00", strings.Repeat("9", 30),
	} {
		f.Add(text)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		faults, faultsError := ParseFaults(text)
		races, racesError := ParseRaces(text)
		n, selfCheckError := ParseSelfCheck(text)
		date, dateError := ParseDate(text, now)
		for _, err := range []error{faultsError, racesError, selfCheckError, dateError} {
			if err != nil && (err.Error() == "" || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%q: %q is no message", text, err)
			}
		}
		if again, err := ParseFaults(written(faults)); faultsError == nil &&
			(err != nil || !equal(again, faults)) {
			t.Errorf("%q is %+v, which is %+v, %v", text, faults, again, err)
		}
		if again, err := ParseRaces(strings.Join(races, ",")); racesError == nil && len(races) > 0 &&
			(err != nil || !slices.Equal(again, races)) {
			t.Errorf("%q is %q, which is %q, %v", text, races, again, err)
		}
		if selfCheckError == nil && (n < 0 || n > MaxExecutions) {
			t.Errorf("%q: one execution of %d", text, n)
		}
		if again, err := ParseDate(date.Format(time.RFC3339), now); dateError == nil &&
			(err != nil || !again.Equal(date)) {
			t.Errorf("%q is %v, which is %v, %v", text, date, again, err)
		}
	})
}

// written is how faults are written.
func written(f Faults) string {
	words := []string{strconv.Itoa(f.Limit)}
	words = append(words, f.Kinds...)
	for _, name := range f.Peers {
		words = append(words, "peer="+name)
	}
	for _, name := range f.Operations {
		words = append(words, "on="+name)
	}
	return strings.Join(words, ",")
}

func equal(a, b Faults) bool {
	return a.Limit == b.Limit && slices.Equal(a.Kinds, b.Kinds) && slices.Equal(a.Operations, b.Operations) &&
		slices.Equal(a.Peers, b.Peers)
}
