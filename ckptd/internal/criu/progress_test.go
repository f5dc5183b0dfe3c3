package criu

import (
	"testing"
	"time"
)

// look is one look at a restore.
type look struct {
	ran   time.Duration
	sleep bool
	made  int
}

// endsAfter is at which of so many looks a restore is given up; 0 if at none.
func endsAfter(looks int, at func(i int) look) int {
	p := progress{ran: -1}
	for i := range looks {
		l := at(i)
		p.look(l.ran, l.sleep, l.made)
		if p.hasEnded() {
			return i + 1
		}
	}
	return 0
}

// TestProgress: a restore is given up when it stands still, and not because it is slow.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		name string
		at   func(i int) look
		want int
	}{
		{"CRIU waits for a processor", func(int) look { return look{0, false, 0} }, mostAbsent},
		{"CRIU works, and has made nothing yet",
			func(i int) look { return look{time.Duration(i), true, 0} }, mostAbsent},
		{"nothing runs", func(int) look { return look{7, true, 0} }, mostIdle + 1},
		{"what was made waits", func(int) look { return look{7, true, 2} }, mostIdle + 1},
		{"what was made runs", func(i int) look { return look{time.Duration(i), true, 2} }, 0},
		{"what was made waits for a processor", func(int) look { return look{7, false, 2} }, 0},
		// The first look without it is not idle: its time has gone with it.
		{"what was made is killed", func(i int) look {
			if i < 10 {
				return look{time.Duration(i), true, 1}
			}
			return look{7, true, 0}
		}, 10 + 1 + mostGone},
		{"a helper of CRIU ends, and CRIU goes on", func(i int) look {
			if i < 3 {
				return look{time.Duration(i), true, 1}
			}
			return look{time.Duration(i), i%3 == 0, 0}
		}, 3 + mostAbsent},
		{"CRIU runs now and then", func(i int) look { return look{time.Duration(i / 4), true, 0} },
			mostAbsent},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := endsAfter(2*mostAbsent, c.at); got != c.want {
				t.Errorf("given up after %d looks, want %d", got, c.want)
			}
		})
	}
}
