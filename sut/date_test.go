package sut_test

import (
	"testing"
	"time"

	"github.com/tandem-mc/tandem/sut"
)

// TestDate: the wall clock starts where the world says, in every execution, and goes on with the
// monotonic one.
func TestDate(t *testing.T) {
	for _, start := range []string{"1971-01-01T00:00:00Z", "2019-03-31T16:00:00Z", "2200-12-31T23:59:59Z"} {
		at, err := time.Parse(time.RFC3339, start)
		if err != nil {
			t.Fatal(err)
		}
		for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
			w := startIn(t, isolation, sut.Environment{Start: at.Unix()}, "date")
			for range 2 {
				log := run(t, w, sut.Schedule{Steps: 1000}, nil)
				want := start + " " + at.Add(24*time.Hour).Format(time.RFC3339) + "\n"
				if got := string(log.Stdout); got != want {
					t.Errorf("it is %q, and a day later; want %q", got, want)
				}
			}
		}
	}
}

// TestDateAfter: an execution may begin later. The one after it does not.
func TestDateAfter(t *testing.T) {
	at := time.Date(2026, 1, 31, 18, 0, 0, 0, time.UTC)
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
		w := startIn(t, isolation, sut.Environment{Start: at.Unix()}, "date")
		for _, after := range []time.Duration{0, time.Hour, 0, 2 * time.Hour, 2 * time.Hour} {
			log := run(t, w, sut.Schedule{Steps: 1000, Beginning: sut.Beginning{After: after}}, nil)
			begins := at.Add(after)
			want := begins.Format(time.RFC3339) + " " + begins.Add(24*time.Hour).Format(time.RFC3339) + "\n"
			if got := string(log.Stdout); got != want {
				t.Errorf("after %v it is %q, and a day later; want %q", after, got, want)
			}
		}
	}
}
